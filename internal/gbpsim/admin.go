package gbpsim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// adminHandler serves the admin API and the page for people. Bodies and answers are JSON with snake_case names; a mistake
// answers 400 and {"error": "..."}, what is not there 404; unknown members are mistakes.
//
//	GET    /admin/journal?route=&location=&effects=true&after=SEQ   entries, oldest first
//	DELETE /admin/journal                                           forget them, and the peaks of the statistics
//	GET    /admin/posts?location=                                   existing posts, newest first
//	POST   /admin/posts (a PostChange); DELETE /admin/posts?name=   somebody else changes or deletes a post
//	GET    /admin/reviews?location=                                 existing reviews with their replies, newest first
//	POST   /admin/reviews (a Review) -> the review                  adds one; with the name of one, changes the members given
//	DELETE /admin/reviews?name=                                     its author or Google deletes it
//	GET    /admin/media?location=                                   existing items of galleries, newest first
//	POST   /admin/media {"location", "media": (a MediaSeed)}        adds one behind every client's back -> {"name"}
//	DELETE /admin/media?name=                                       takes one away behind every client's back
//	GET    /admin/stats
//	GET    /admin/rules                                             what the simulator believes, with evidence
//	GET    /admin/faults, POST (a Fault) -> {"id"}, DELETE
//	DELETE /admin/faults/{id}
//	POST   /admin/hold/{id}/release -> {"released"}
//	GET    /admin/hold/{id}/wait?held=1&timeout_seconds=30          returns once so many requests are held; 408 otherwise
//	GET    /admin/clock, POST {"advance_seconds"} -> {"now"}
//	GET    /admin/knobs, PUT (Knobs), POST                          POST changes the members given and leaves the others
//	GET    /admin/world; POST /admin/seed (a World)                 adds or replaces by name
//	GET    /admin/locations/{id}                                    a store as Google holds it
//	POST   /admin/locations/{id}/change (a StoreChange)             somebody else edits it
//	POST   /admin/locations/{id}/google (a StoreChange)             Google's own version of some fields; null takes it back
//	POST   /admin/revoke {"email"}                                  ends a person's grants
//	POST   /admin/expire                                            ends all access tokens
//	POST   /admin/reset                                             back to the seed of the start
func (s *Sim) adminHandler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /admin/journal", s.adminJournal)
	m.HandleFunc("DELETE /admin/journal", func(w http.ResponseWriter, _ *http.Request) { s.ClearJournal(); writeJSON(w, struct{}{}) })
	m.HandleFunc("GET /admin/posts", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, s.Posts(LocationName(r.URL.Query().Get("location"))))
	})
	m.HandleFunc("POST /admin/posts", s.adminChangePost)
	m.HandleFunc("DELETE /admin/posts", func(w http.ResponseWriter, r *http.Request) {
		writeDone(w, s.RemovePost(PostName(r.URL.Query().Get("name"))))
	})
	m.HandleFunc("GET /admin/reviews", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, s.Reviews(LocationName(r.URL.Query().Get("location"))))
	})
	m.HandleFunc("POST /admin/reviews", s.adminPutReview)
	m.HandleFunc("DELETE /admin/reviews", func(w http.ResponseWriter, r *http.Request) {
		writeDone(w, s.RemoveReview(ReviewName(r.URL.Query().Get("name"))))
	})
	s.adminMedia(m)
	m.HandleFunc("GET /admin/stats", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Stats()) })
	m.HandleFunc("GET /admin/rules", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, Rules()) })
	m.HandleFunc("GET /admin/faults", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Faults()) })
	m.HandleFunc("POST /admin/faults", s.adminAddFault)
	m.HandleFunc("DELETE /admin/faults", func(w http.ResponseWriter, _ *http.Request) { writeDone(w, s.RemoveFault("")) })
	m.HandleFunc("DELETE /admin/faults/{id}", func(w http.ResponseWriter, r *http.Request) { writeDone(w, s.RemoveFault(FaultID(r.PathValue("id")))) })
	m.HandleFunc("POST /admin/hold/{id}/release", s.adminRelease)
	m.HandleFunc("GET /admin/hold/{id}/wait", s.adminWait)
	m.HandleFunc("GET /admin/clock", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, clockAnswer{s.Now()}) })
	m.HandleFunc("POST /admin/clock", s.adminClock)
	m.HandleFunc("GET /admin/knobs", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Knobs()) })
	m.HandleFunc("POST /admin/knobs", func(w http.ResponseWriter, r *http.Request) { s.adminKnobs(w, r, s.Knobs()) })
	m.HandleFunc("PUT /admin/knobs", func(w http.ResponseWriter, r *http.Request) { s.adminKnobs(w, r, Knobs{}) })
	m.HandleFunc("GET /admin/world", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.World()) })
	m.HandleFunc("POST /admin/seed", s.adminSeed)
	m.HandleFunc("POST /admin/revoke", s.adminRevoke)
	m.HandleFunc("POST /admin/expire", func(w http.ResponseWriter, _ *http.Request) { s.ExpireAccessTokens(); writeJSON(w, struct{}{}) })
	m.HandleFunc("POST /admin/reset", func(w http.ResponseWriter, _ *http.Request) { s.Reset(); writeJSON(w, struct{}{}) })
	s.adminStores(m)
	m.HandleFunc("/admin/", func(w http.ResponseWriter, r *http.Request) {
		writeStatus(w, http.StatusNotFound, adminError{fmt.Sprintf("there is no %s %s here", r.Method, r.URL.Path)})
	})
	m.HandleFunc("GET /{$}", s.page)
	m.HandleFunc("GET /page.css", pageFile("page.css", "text/css; charset=utf-8"))
	m.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m.HandleFunc("GET /page.js", pageFile("page.js", "text/javascript; charset=utf-8"))
	m.HandleFunc("GET /pictures/{name}", samplePicture)
	m.HandleFunc("/", s.strange)
	return m
}

type clockAnswer struct {
	Now time.Time `json:"now"`
}

type clockRequest struct {
	AdvanceSeconds float64 `json:"advance_seconds"`
}

type revokeRequest struct {
	Email string `json:"email"`
}

type idAnswer struct {
	ID FaultID `json:"id"`
}

type releaseAnswer struct {
	Released int `json:"released"`
}

type adminError struct {
	Error string `json:"error"`
}

// strange is anything that is neither Google, nor admin, nor the page: most likely a base URL without a host segment.
func (s *Sim) strange(w http.ResponseWriter, r *http.Request) {
	e := s.journal.begin(Entry{Time: s.Now(), Method: r.Method, Host: "", Path: r.URL.Path})
	s.journal.update(e, func(e *Entry) { e.Rule, e.Unknown = ruleUnknownRoute, true })
	s.journal.end(e, Answered, http.StatusNotFound)
	if s.options.Log != nil {
		s.options.Log.WarnContext(r.Context(), "request is not simulated", "method", r.Method, "path", r.URL.Path)
	}
	htmlNotFound(r.URL.Path).write(w, true)
}

func (s *Sim) adminJournal(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := EntryFilter{Route: Route(q.Get("route")), Location: LocationName(q.Get("location")), Effects: q.Get("effects") == "true"}
	if v := q.Get("after"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			writeMistake(w, errors.New("after: want a number"))
			return
		}
		f.After = n
	}
	writeJSON(w, s.Entries(f))
}

func (s *Sim) adminAddFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if !readJSON(w, r, &f) {
		return
	}
	id, err := s.AddFault(f)
	if err != nil {
		writeMistake(w, err)
		return
	}
	writeJSON(w, idAnswer{id})
}

func (s *Sim) adminRelease(w http.ResponseWriter, r *http.Request) {
	n, err := s.Release(FaultID(r.PathValue("id")))
	if err != nil {
		writeMistake(w, err)
		return
	}
	writeJSON(w, releaseAnswer{n})
}

func (s *Sim) adminWait(w http.ResponseWriter, r *http.Request) {
	number := func(name string, d int) int {
		n, err := strconv.Atoi(r.URL.Query().Get(name))
		if err != nil {
			return d
		}
		return n
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(number("timeout_seconds", 30))*time.Second)
	defer cancel()
	err := s.AwaitHeld(ctx, FaultID(r.PathValue("id")), number("held", 1))
	if errors.Is(err, context.DeadlineExceeded) {
		writeStatus(w, http.StatusRequestTimeout, adminError{"no request was held in time"})
		return
	}
	writeDone(w, err)
}

func (s *Sim) adminClock(w http.ResponseWriter, r *http.Request) {
	var in clockRequest
	if !readJSON(w, r, &in) {
		return
	}
	if in.AdvanceSeconds < 0 {
		writeMistake(w, errors.New("advance_seconds: time does not run back"))
		return
	}
	writeJSON(w, clockAnswer{s.Advance(seconds(in.AdvanceSeconds))})
}

// adminKnobs lays the body over k.
func (s *Sim) adminKnobs(w http.ResponseWriter, r *http.Request, k Knobs) {
	if !readJSON(w, r, &k) {
		return
	}
	if err := s.SetKnobs(k); err != nil {
		writeMistake(w, err)
		return
	}
	writeJSON(w, k)
}

func (s *Sim) adminSeed(w http.ResponseWriter, r *http.Request) {
	var world World
	if readJSON(w, r, &world) {
		writeDone(w, s.Seed(world))
	}
}

func (s *Sim) adminRevoke(w http.ResponseWriter, r *http.Request) {
	var in revokeRequest
	if readJSON(w, r, &in) {
		writeDone(w, s.Revoke(in.Email))
	}
}

// readJSON reads the whole body as one value; it answers the mistake itself.
func readJSON(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err == nil {
		err = strictJSON(body, into)
	}
	if err != nil {
		writeMistake(w, err)
		return false
	}
	return true
}

func strictJSON(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	if d.More() {
		return errors.New("read JSON: more than one value")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) { writeStatus(w, http.StatusOK, v) }

func writeDone(w http.ResponseWriter, err error) {
	if err != nil {
		writeMistake(w, err)
		return
	}
	writeJSON(w, struct{}{})
}

func writeMistake(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if slices.ContainsFunc([]error{errNoFault, errNoGrant, errNoPost, errNoReview, errNoStore, errNoMedia, errNoLocation}, func(e error) bool { return errors.Is(err, e) }) {
		status = http.StatusNotFound
	}
	writeStatus(w, status, adminError{err.Error()})
}

func writeStatus(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(v), '\n')) // the client may be gone
}
