package gbpsim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client speaks the admin API of a simulator in another process. Its methods mirror those of Sim; an error carries the
// simulator's words.
type Client struct {
	// BaseURL is the simulator's, with or without a trailing slash.
	BaseURL string
	// HTTP is the client to use; nil is http.DefaultClient.
	HTTP *http.Client
}

// Entries gives the journal's entries that match.
func (c Client) Entries(ctx context.Context, f EntryFilter) ([]Entry, error) {
	q := url.Values{}
	for k, v := range map[string]string{"route": string(f.Route), "location": string(f.Location)} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if f.Effects {
		q.Set("effects", "true")
	}
	if f.After > 0 {
		q.Set("after", strconv.FormatInt(f.After, 10))
	}
	var out []Entry
	return out, c.do(ctx, http.MethodGet, "journal?"+q.Encode(), nil, &out)
}

// Journal gives all entries.
func (c Client) Journal(ctx context.Context) ([]Entry, error) { return c.Entries(ctx, EntryFilter{}) }

// ClearJournal forgets all entries.
func (c Client) ClearJournal(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "journal", nil, nil)
}

// Posts gives the existing posts of a location, or of all for "".
func (c Client) Posts(ctx context.Context, location LocationName) ([]Post, error) {
	var out []Post
	return out, c.do(ctx, http.MethodGet, "posts?location="+url.QueryEscape(string(location)), nil, &out)
}

// ChangePost changes a post behind everybody's back.
func (c Client) ChangePost(ctx context.Context, change PostChange) error {
	return c.do(ctx, http.MethodPost, "posts", change, nil)
}

// RemovePost deletes a post behind everybody's back.
func (c Client) RemovePost(ctx context.Context, name PostName) error {
	return c.do(ctx, http.MethodDelete, "posts?name="+url.QueryEscape(string(name)), nil, nil)
}

// Reviews gives the reviews of a location, or of all for "".
func (c Client) Reviews(ctx context.Context, location LocationName) ([]Review, error) {
	var out []Review
	return out, c.do(ctx, http.MethodGet, "reviews?location="+url.QueryEscape(string(location)), nil, &out)
}

// PutReview adds a review, or changes the one by the given name: members that are zero in r stay as they are.
func (c Client) PutReview(ctx context.Context, r Review) (Review, error) {
	var out Review
	return out, c.do(ctx, http.MethodPost, "reviews", r, &out)
}

// RemoveReview deletes a review.
func (c Client) RemoveReview(ctx context.Context, name ReviewName) error {
	return c.do(ctx, http.MethodDelete, "reviews?name="+url.QueryEscape(string(name)), nil, nil)
}

// Stats gives the figures over the journal.
func (c Client) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	return out, c.do(ctx, http.MethodGet, "stats", nil, &out)
}

// AddFault orders a fault and gives its id.
func (c Client) AddFault(ctx context.Context, f Fault) (FaultID, error) {
	var out idAnswer
	err := c.do(ctx, http.MethodPost, "faults", f, &out)
	return out.ID, err
}

// Faults gives the ordered faults with their counters.
func (c Client) Faults(ctx context.Context) ([]FaultState, error) {
	var out []FaultState
	return out, c.do(ctx, http.MethodGet, "faults", nil, &out)
}

// RemoveFault deletes a fault, or all for "".
func (c Client) RemoveFault(ctx context.Context, id FaultID) error {
	path := "faults"
	if id != "" {
		path += "/" + url.PathEscape(string(id))
	}
	return c.do(ctx, http.MethodDelete, path, nil, nil)
}

// Release lets the requests go that a fault holds now and gives their number.
func (c Client) Release(ctx context.Context, id FaultID) (int, error) {
	var out releaseAnswer
	err := c.do(ctx, http.MethodPost, "hold/"+url.PathEscape(string(id))+"/release", nil, &out)
	return out.Released, err
}

// AwaitHeld waits until a fault holds at least n requests, at most until ctx ends and at most 10 minutes.
func (c Client) AwaitHeld(ctx context.Context, id FaultID, n int) error {
	return c.do(ctx, http.MethodGet, fmt.Sprintf("hold/%s/wait?held=%d&timeout_seconds=600", url.PathEscape(string(id)), n), nil, nil)
}

// Advance moves the simulator's clock forward and gives its new time.
func (c Client) Advance(ctx context.Context, d time.Duration) (time.Time, error) {
	var out clockAnswer
	err := c.do(ctx, http.MethodPost, "clock", clockRequest{AdvanceSeconds: d.Seconds()}, &out)
	return out.Now, err
}

// Knobs gives the settings in force.
func (c Client) Knobs(ctx context.Context) (Knobs, error) {
	var out Knobs
	return out, c.do(ctx, http.MethodGet, "knobs", nil, &out)
}

// SetKnobs replaces the settings; Reset returns to those of the start.
func (c Client) SetKnobs(ctx context.Context, k Knobs) error {
	return c.do(ctx, http.MethodPut, "knobs", k, nil)
}

// World gives accounts, locations and grants as they are now.
func (c Client) World(ctx context.Context) (World, error) {
	var out World
	return out, c.do(ctx, http.MethodGet, "world", nil, &out)
}

// Seed adds to the world or replaces by name.
func (c Client) Seed(ctx context.Context, w World) error {
	return c.do(ctx, http.MethodPost, "seed", w, nil)
}

// Revoke ends all grants of a person.
func (c Client) Revoke(ctx context.Context, email string) error {
	return c.do(ctx, http.MethodPost, "revoke", revokeRequest{Email: email}, nil)
}

// ExpireAccessTokens ends all access tokens.
func (c Client) ExpireAccessTokens(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "expire", nil, nil)
}

// Reset returns the simulator to its seed.
func (c Client) Reset(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "reset", nil, nil)
}

// do makes one admin call; in may be nil, out may be nil.
func (c Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		body = bytes.NewReader(encode(in))
	}
	what, _, _ := strings.Cut(path, "?")
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.BaseURL, "/")+"/admin/"+path, body)
	if err != nil {
		return fmt.Errorf("gbpsim %s: %w", what, err)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("gbpsim %s: %w", what, err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("gbpsim %s: %w", what, err)
	}
	if answer.StatusCode != http.StatusOK {
		var mistake adminError
		if json.Unmarshal(raw, &mistake) != nil || mistake.Error == "" {
			mistake.Error = answer.Status
		}
		return fmt.Errorf("gbpsim %s: %s", what, mistake.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("gbpsim %s: %w", what, err)
	}
	return nil
}
