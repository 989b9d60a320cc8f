package gbpsim

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"time"
)

//go:embed page.html
var pageHTML string

type pageStore struct {
	Location Location
	Posts    []Post
	Reviews  []Review
}

type pageData struct {
	Now   time.Time
	Total int
	// Reviews and Unanswered count over all stores.
	Reviews, Unanswered int
	Stores              []pageStore
}

// page shows all stores with their posts and reviews to a person.
func (s *Sim) page(w http.ResponseWriter, _ *http.Request) {
	d := pageData{Now: s.Now().UTC()}
	posts := map[LocationName][]Post{}
	for _, p := range s.Posts("") {
		posts[p.Location] = append(posts[p.Location], p)
		d.Total++
	}
	reviews := map[LocationName][]Review{}
	for _, r := range s.Reviews("") {
		reviews[r.Location] = append(reviews[r.Location], r)
		d.Reviews++
		if r.Reply == nil {
			d.Unanswered++
		}
	}
	for _, l := range s.World().Locations {
		d.Stores = append(d.Stores, pageStore{Location: l, Posts: posts[l.Name], Reviews: reviews[l.Name]})
	}
	var b bytes.Buffer
	t, err := template.New("page").Parse(pageHTML)
	if err == nil {
		err = t.Execute(&b, d)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = w.Write(b.Bytes()) // the browser may be gone
}
