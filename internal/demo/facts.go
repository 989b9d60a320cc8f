package demo

import (
	"errors"
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// targets is how many stores get the post; one of them lacks permission.
const targets = 12

// facts are what happened, as the agent was told and as the simulator's journal shows it.
type facts struct {
	// Protocol is the version that agent and server agreed on.
	Protocol string
	// Previewed is how many stores the preview named.
	Previewed int
	// Refusal answered the call without a confirmation; BeforeConsent counts the posts at Google by then.
	Refusal       errs.Code
	Executed      errs.Executed
	BeforeConsent int

	Batch             batch.ID
	Status            batch.Status
	Succeeded, Failed int
	FailedStore       int64
	FailedWith        errs.Code

	// The replay: the batch it named, what became of its key, and how many calls that create a post it caused at Google.
	ReplayBatch   batch.ID
	ReplayOutcome string
	ReplayCreates int

	// Denied and Dropped are the stores for which faults were ordered; Stores is what the journal says of each target.
	Denied, Dropped int64
	Stores          []storeFacts
	// Strange counts requests at Google that the simulator does not know.
	Strange int

	// Undone is the batch that took the first one back; Left counts the posts at Google then.
	Undone tools.BatchView
	Left   int

	Events int
	Audit  audit.Report
}

// storeFacts is one store at Google.
type storeFacts struct {
	Location int64
	Title    string
	// Creates counts the calls that asked for a post, Unanswered those of them whose connection was dropped, Reads the
	// calls that listed the store's posts.
	Creates, Unanswered, Reads int
	// Refused is the HTTP status of a refused create, 0 when none was.
	Refused int
	// Posts counts the posts ever made.
	Posts int
}

// posts counts all posts ever made.
func (f facts) posts() (n int) {
	for _, s := range f.Stores {
		n += s.Posts
	}
	return n
}

// check reports everything that is not as the story tells it.
func (f facts) check() error {
	var wrong []error
	expect := func(ok bool, what string, got any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf("the story went wrong: %s: %v", what, got))
		}
	}
	expect(f.Previewed == targets, "stores in the preview", f.Previewed)
	expect(f.Refusal == errs.ConfirmationRequired && f.Executed == errs.ExecutedNo, "the call without a confirmation", f.Refusal)
	expect(f.BeforeConsent == 0, "posts before anybody agreed", f.BeforeConsent)
	expect(f.Status == batch.Partial && f.Succeeded == targets-1 && f.Failed == 1, "the batch", fmt.Sprint(f.Status, f.Succeeded, f.Failed))
	expect(f.FailedStore == f.Denied && f.FailedWith == errs.GBPPermissionDenied, "the failed store", fmt.Sprint(f.FailedStore, f.FailedWith))
	expect(f.ReplayBatch == f.Batch && f.ReplayOutcome == "replayed" && f.ReplayCreates == 0, "the replay", fmt.Sprint(f.ReplayBatch, f.ReplayOutcome, f.ReplayCreates))
	expect(len(f.Stores) == targets && f.posts() == targets-1, "posts at Google", f.posts())
	for _, s := range f.Stores {
		want := storeFacts{Location: s.Location, Title: s.Title, Creates: 1, Posts: 1}
		switch s.Location {
		case f.Denied:
			want.Posts, want.Refused = 0, 403
		case f.Dropped:
			want.Unanswered, want.Reads = 1, max(1, s.Reads)
		}
		expect(s == want, "at Google", fmt.Sprintf("%+v", s))
	}
	expect(f.Undone.Status == batch.Done && f.Undone.TargetCount == targets-1 && f.Left == 0, "the undo", fmt.Sprint(f.Undone.Status, f.Undone.TargetCount, f.Left))
	expect(f.Strange == 0, "requests that Google does not know", f.Strange)
	expect(f.Audit.Valid && f.Audit.Sealed > 0, "the audit", fmt.Sprintf("%+v", f.Audit))
	return errors.Join(wrong...)
}
