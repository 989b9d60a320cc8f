"use strict";
// Keeps the page up to date: asks for it again, exchanges the parts that differ, and marks what has changed in them. The filter
// works on what is there. Without this script the page is complete as it was loaded, and the form filters on the server.
(() => {
  const every = 2000;
  const byID = (id) => document.getElementById(id);
  const form = byID("filter");
  let tag = "";
  const opensAtOnce = 5; // of more stores that change together, none is opened
  const parts = (page) => page.querySelectorAll("#summary, #latest, details.store");
  const known = new Map(); // the last HTML of each part, by id
  for (const part of parts(document)) known.set(part.id, part.outerHTML);

  function filter() {
    const q = form.elements.q.value.trim().toLowerCase();
    const written = form.elements.written.checked;
    const all = document.querySelectorAll("details.store");
    let n = 0;
    for (const s of all) {
      s.hidden = !s.dataset.find.includes(q) || (written && !s.dataset.written);
      if (!s.hidden) n++;
    }
    byID("shown").textContent = `${n} of ${all.length}`;
    byID("none").hidden = n > 0;
  }

  // put exchanges a part; what is new or reads differently in it flashes, and what was open stays open.
  function put(old, next, few) {
    const before = new Map();
    for (const e of old.querySelectorAll("[data-key]")) before.set(e.dataset.key, e.textContent);
    let changes = 0;
    for (const e of next.querySelectorAll("[data-key]")) {
      if (before.get(e.dataset.key) === e.textContent) continue;
      e.classList.add("flash");
      changes++;
    }
    if (next.tagName === "DETAILS") {
      next.open = old.open || (few && changes > 0);
    }
    old.replaceWith(next);
  }

  function merge(page) {
    const list = byID("stores");
    const seen = new Set();
    const differing = [];
    let after = null;
    for (const next of parts(page)) {
      const html = next.outerHTML;
      const old = byID(next.id);
      seen.add(next.id);
      if (!old) {
        const added = document.importNode(next, true);
        if (after) after.after(added); else list.prepend(added);
      } else if (known.get(next.id) !== html) {
        differing.push([old, document.importNode(next, true)]);
      }
      known.set(next.id, html);
      if (next.tagName === "DETAILS") after = byID(next.id);
    }
    const few = differing.filter(([old]) => old.tagName === "DETAILS").length <= opensAtOnce;
    for (const [old, next] of differing) put(old, next, few);
    for (const s of document.querySelectorAll("details.store")) {
      if (seen.has(s.id)) continue;
      known.delete(s.id);
      s.remove();
    }
    filter();
  }

  async function look() {
    let state = " · updates itself";
    try {
      const answer = await fetch("./", { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      if (answer.headers.get("Gbpsim-Now")) byID("now").textContent = answer.headers.get("Gbpsim-Now");
      if (answer.ok) {
        merge(new DOMParser().parseFromString(await answer.text(), "text/html"));
        tag = answer.headers.get("ETag") || "";
      } else if (answer.status !== 304) {
        state = ` · the simulator answers ${answer.status}`;
      }
    } catch {
      state = " · the simulator does not answer; trying again";
    }
    byID("live").textContent = state;
    setTimeout(look, every);
  }

  // A link from the list of writes opens its store.
  function open() {
    const s = location.hash.length > 1 && byID(location.hash.slice(1));
    if (!s || s.tagName !== "DETAILS") return;
    s.hidden = false;
    s.open = true;
    s.scrollIntoView();
  }

  form.addEventListener("input", filter);
  form.addEventListener("submit", (e) => { e.preventDefault(); filter(); });
  addEventListener("hashchange", open);
  addEventListener("click", (e) => { const a = e.target.closest("#latest a"); if (a && a.hash === location.hash) open(); }); // no hashchange then
  filter();
  open();
  look();
})();
