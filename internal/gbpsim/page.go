package gbpsim

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html page.css page.js
var pageFiles embed.FS

// recentFor is how long, by the simulator's clock, the page marks a write as new.
const recentFor = 2 * time.Minute

// Bounds of what the page shows of the journal: how far back it looks, and how many writes it lists above the stores.
const (
	pageLooksBack = 5000
	pageLatest    = 10
)

// pageOpens is how many stores the page opens by itself when they were written to of late; of more it opens none.
const pageOpens = 5

type pageData struct {
	Now                               time.Time
	Posts, Media, Reviews, Unanswered int
	// Rejected are posts that Google keeps and shows to nobody; Posts are the others.
	Rejected int
	// Query and Written are the filter of the address; Shown is how many of All stores it leaves.
	Query   string
	Written bool
	All     int
	Latest  []pageCall
	Stores  []pageStore
}

// page shows a person what each profile holds now, and what was called last. The page asks for itself again every few seconds;
// its ETag is that of everything but the clock. Nothing in it comes from elsewhere: stored text is a stranger's, so scripts are
// allowed from this address alone and none stands in the page itself.
func (s *Sim) page(w http.ResponseWriter, r *http.Request) {
	d := s.pageData(r.Host)
	d.Query, d.Written = strings.TrimSpace(r.URL.Query().Get("q")), r.URL.Query().Get("written") != ""
	d.Stores = slices.DeleteFunc(d.Stores, func(x pageStore) bool {
		return !strings.Contains(x.Find(), strings.ToLower(d.Query)) || d.Written && !x.Written
	})
	var head, body bytes.Buffer
	t, err := template.New("page.html").Funcs(template.FuncMap{"word": word, "counted": counted}).ParseFS(pageFiles, "page.html")
	if err == nil {
		err = t.ExecuteTemplate(&head, "head", d)
	}
	if err == nil {
		err = t.ExecuteTemplate(&body, "body", d)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	digest := sha256.Sum256(body.Bytes())
	tag := `"` + hex.EncodeToString(digest[:12]) + `"`
	h := w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Gbpsim-Now", d.Now.Format(pageClock))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(append(head.Bytes(), body.Bytes()...)) // the browser may be gone
}

// pageClock is how the page writes times, all in UTC.
const pageClock = "2006-01-02 15:04:05"

// pageFile serves the page's style and script.
func pageFile(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		b, err := pageFiles.ReadFile(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(b) // the browser may be gone
	}
}

// pageData collects what the page shows. host is the page's own, whose sample pictures it may show.
func (s *Sim) pageData(host string) pageData {
	d := pageData{Now: s.Now().UTC()}
	rejected := map[string]bool{}
	posts, media, reviews := map[LocationName][]pagePost{}, map[LocationName][]pageMedia{}, map[LocationName][]pageReview{}
	for _, p := range s.Posts("") {
		posts[p.Location] = append(posts[p.Location], d.post(p))
		if p.State == stateRejected {
			d.Rejected++
			rejected[string(p.Name)] = true
		} else {
			d.Posts++
		}
	}
	for _, m := range s.Media("") {
		media[m.Location] = append(media[m.Location], d.media(m, host))
		d.Media++
	}
	for _, r := range s.Reviews("") {
		reviews[r.Location] = append(reviews[r.Location], d.review(r))
		d.Reviews++
		if r.Reply == nil {
			d.Unanswered++
		} else if r.Reply.State == replyRejected {
			rejected[string(r.Name)] = true
		}
	}
	calls := s.journal.last(pageLooksBack)
	titles := map[LocationName]string{}
	for _, l := range s.World().Locations {
		x := pageStore{Location: l, Posts: posts[l.Name], Media: media[l.Name], Reviews: reviews[l.Name]}
		titles[l.Name] = l.Title
		x.read(d.Now, calls[l.Name], rejected)
		if store, err := s.Store(l.Name); err == nil { // else it was taken away this moment
			x.describe(store)
		}
		d.Stores = append(d.Stores, x)
	}
	d.All = len(d.Stores)
	fresh := 0
	for _, x := range d.Stores {
		if x.New {
			fresh++
		}
	}
	for i := range d.Stores {
		d.Stores[i].Open = d.Stores[i].New && fresh <= pageOpens
	}
	d.Latest = latest(d.Now, calls, titles, rejected)
	return d
}

// word is one's plural unless n is 1; counted puts the number before it.
func word(n int, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

func counted(n int, one string) string { return strconv.Itoa(n) + " " + word(n, one) }

// recent tells whether an instant is worth a mark.
func (d pageData) recent(t time.Time) bool { return d.Now.Sub(t) < recentFor }
