// Loaded before a program (node --import): what it sends to Google's addresses goes to the simulator instead, and its code is
// none the wiser. Anything else that would leave this machine fails.
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";

const base = new URL(process.env.GBPSIM_URL);

function diverted(address) {
  const url = new URL(address);
  if (!url.hostname.endsWith(".googleapis.com")) throw new Error(`a request to ${url.host}, which is no Google API`);
  return new URL(`/${url.host}${url.pathname}${url.search}`, base);
}

https.request = (address, options, answered) => {
  if (typeof address !== "string" && !(address instanceof URL)) {
    [address, options, answered] = [`https://${address.hostname ?? address.host}${address.path}`, address, options];
  }
  if (typeof options === "function") [options, answered] = [{}, options];
  const to = diverted(address);
  const own = { ...options, agent: undefined, protocol: to.protocol, host: to.hostname, hostname: to.hostname, port: to.port, path: to.pathname + to.search };
  return http.request(own, answered);
};
syncBuiltinESMExports();

const fetched = globalThis.fetch;
globalThis.fetch = (address, options) => fetched(address instanceof Request ? new Request(diverted(address.url), address) : diverted(address), options);
