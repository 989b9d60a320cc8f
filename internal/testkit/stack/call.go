package stack

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Answer is a tool's answer, decoded.
type Answer struct {
	errs.Public
	Data    json.RawMessage `json:"data"`
	IsError bool            `json:"-"`
	Text    string          `json:"-"`
}

// Args are a call's arguments.
type Args map[string]any

// With is the arguments with one more.
func (a Args) With(name string, value any) Args {
	out := Args{name: value}
	for k, v := range a {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// Post are arguments of post.create for these stores.
func Post(ids []int64, summary string) Args {
	return Args{"location_ids": ids, "post": map[string]any{"summary": summary}}
}

// Call calls a tool as the stack's user, straight on the tools, without the protocol.
func (s *Stack) Call(tool string, args Args) Answer {
	s.t.Helper()
	return s.CallAs(s.Token, tool, args)
}

// CallAs calls a tool with a token.
func (s *Stack) CallAs(token, tool string, args Args) Answer {
	s.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.CallRaw(token, tool, raw)
}

// CallRaw calls a tool with these very bytes as arguments.
func (s *Stack) CallRaw(token, tool string, raw []byte) Answer {
	s.t.Helper()
	p, err := s.App.DB.Authenticate(s.t.Context(), token)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.CallPrincipal(p, tool, raw)
}

// CallPrincipal calls a tool for a principal; it is safe in goroutines.
func (s *Stack) CallPrincipal(p *authn.Principal, tool string, raw []byte) Answer {
	r := s.App.Tools.Call(s.t.Context(), tool, &tools.Call{Principal: p, RequestID: "test", Arguments: raw, Progress: func(int, int, string) {}})
	a := Answer{IsError: r.IsError, Text: r.Text}
	if err := json.Unmarshal(r.Structured, &a); err != nil {
		s.t.Errorf("structured content of %s: %v", tool, err)
	}
	return a
}

// Into decodes an answer's data.
func Into[T any](tb testing.TB, a Answer) T {
	tb.Helper()
	var v T
	if a.IsError {
		tb.Fatalf("refused: %s", a.Text)
	}
	d := json.NewDecoder(bytes.NewReader(a.Data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("data: %v\n%s", err, a.Data)
	}
	return v
}

// Accept makes a write that has to be accepted.
func (s *Stack) Accept(tool string, args Args) *admission.Accepted {
	s.t.Helper()
	a := s.Call(tool, args)
	for range 3 { // nothing is away: the machine is too busy for the deadline of a call, and the answer says to ask again
		if a.ErrorCode != errs.Unavailable {
			break
		}
		a = s.Call(tool, args)
	}
	w := Into[tools.Write](s.t, a)
	if w.Accepted == nil {
		s.t.Fatalf("not accepted: %+v", w)
	}
	return w.Accepted
}

// Confirmed makes a write with the confirmation that it needs.
func (s *Stack) Confirmed(tool string, args Args) *admission.Accepted {
	s.t.Helper()
	a := s.Call(tool, args)
	if a.ErrorCode != errs.ConfirmationRequired {
		s.t.Fatalf("got %s, want CONFIRMATION_REQUIRED: %s", a.ErrorCode, a.Text)
	}
	return s.Accept(tool, args.With("confirm_token", a.Details.ConfirmToken))
}

// Finish waits until a batch is final.
func (s *Stack) Finish(id string) *tools.BatchView {
	s.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		args := Args{"batch_id": id, "wait_seconds": 10, "items": "all", "page_size": 200}
		v := Into[tools.BatchView](s.t, s.Call("batch.status", args))
		if v.Status.Final() {
			for v.NextPageToken != "" { // long batches come in pages
				next := Into[tools.BatchView](s.t, s.Call("batch.status", args.With("page_token", v.NextPageToken)))
				v.Failures, v.Items, v.NextPageToken = append(v.Failures, next.Failures...), append(v.Items, next.Items...), next.NextPageToken
			}
			return &v
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("batch %s is still %s: %+v", id, v.Status, v)
		}
	}
}

// Created counts, per Google location, the posts that the simulator's journal saw being created.
func (s *Stack) Created() map[string]int {
	out := map[string]int{}
	for _, e := range s.Sim.Journal() {
		if e.Route == gbpsim.RouteLocalPostsCreate && e.Effect {
			out[string(e.Location)]++
		}
	}
	return out
}

// CreatedTotal is the number of all posts ever created.
func (s *Stack) CreatedTotal() (n int) {
	for _, c := range s.Created() {
		n += c
	}
	return n
}
