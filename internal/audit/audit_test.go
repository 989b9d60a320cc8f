package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/terminal"
)

var at = time.Date(2026, 11, 30, 12, 34, 56, 123456789, time.FixedZone("JST", 9*3600))

// The canonical bytes are a promise to whoever verifies an export: fields in this order, UTC to the microsecond, no HTML escapes.
func TestBodyIsCanonical(t *testing.T) {
	t.Parallel()
	e := audit.Event{
		ID: "01HV", Tenant: "komorebi", OccurredAt: at, Environment: "simulator", Kind: audit.ItemSucceeded, RequestID: "r", Actor: audit.Actor{ClientID: "c", UserID: "u", TokenID: "t"},
		Tool: "post.create", After: json.RawMessage(`{"summary":"<b>&</b>"}`), Reason: "a\nb\u2028", Details: &audit.Details{Attempt: 2, Note: "<&>"},
	}
	const want = `{"event_id":"01HV","tenant_id":"komorebi","occurred_at":"2026-11-30T03:34:56.123456Z","environment":"simulator","event":"item_succeeded","request_id":"r",` +
		`"actor":{"client_id":"c","user_id":"u","token_id":"t"},"tool":"post.create","after":{"summary":"<b>&</b>"},"reason":"a\nb\u2028","details":{"attempt":2,"note":"<&>"}}`
	if got := string(e.Body()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var back audit.Event
	if err := json.Unmarshal(e.Body(), &back); err != nil || !bytes.Equal(back.Body(), e.Body()) {
		t.Errorf("what is read back has other bytes: %s, %v", back.Body(), err)
	}
	first := reflect.TypeFor[audit.Event]().Field(0).Name + reflect.TypeFor[audit.Event]().Field(1).Name
	if first != "IDTenant" {
		t.Errorf("the order of fields is part of the format: %s", first)
	}
}

// No value, whatever stands in it, begins a line of its own or breaks the JSON.
func TestValuesCannotForgeALine(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{"\n{\"event\":\"x\"}", "\r\n", "\"}\n{\"event_id\":\"1\"", "\x00", "\u2028\u2029", "\xff\xfe", "\u202e", strings.Repeat("長", 10_000)} {
		e := audit.Event{RequestID: evil, Tool: evil, Reason: evil, Resource: evil, Details: &audit.Details{Note: evil, PostSummary: evil}}
		e.Actor.OperatorID = evil
		b := e.Body()
		if bytes.ContainsAny(b, "\n\r\x00") || !json.Valid(b) || !utf8.Valid(b) {
			t.Errorf("%q makes %q", evil, b)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	short := strings.Repeat("長", 80)
	if got := audit.Head(short); got != short {
		t.Errorf("a short text became %q", got)
	}
	long := short + "い"
	sum := sha256.Sum256([]byte(long))
	got := audit.Head(long)
	if !strings.HasPrefix(got, short+"…") || !strings.Contains(got, "81 characters") || !strings.Contains(got, hex.EncodeToString(sum[:])) {
		t.Errorf("got %q", got)
	}
}

// stored is a chain in memory: seals and the events in their ranges.
type stored struct {
	seals  []audit.StoredSeal
	events [][]audit.StoredEvent
}

func chain(seals, each int) (c stored) {
	prev, from := []byte{}, "0"
	for s := range seals {
		x := audit.Seal{Tenant: "komorebi", No: int64(s + 1), From: from, Upto: fmt.Sprint(100 * (s + 1)), Prev: prev}
		var events []audit.StoredEvent
		for n := range each {
			e := audit.Event{ID: fmt.Sprintf("%03d-%03d", s, n), Kind: audit.Preview, OccurredAt: at, Tenant: "komorebi"}
			x.Add(e.ID, e.Body())
			events = append(events, audit.StoredEvent{ID: e.ID, Body: e.Body()})
		}
		c.seals = append(c.seals, audit.StoredSeal{Seal: x, N: int64(each), StoredHash: x.Hash(), StoredSum: x.Digest()})
		c.events = append(c.events, events)
		prev, from = x.Hash(), x.Upto
	}
	return c
}

func (c stored) verify() audit.Report { return c.against(audit.SealHash{}) }

func (c stored) against(kept audit.SealHash) audit.Report {
	v := audit.NewVerifier("komorebi", kept)
	for i, s := range c.seals {
		v.Check(s, c.events[i])
	}
	return v.End()
}

func TestVerifierTakesAWholeChain(t *testing.T) {
	t.Parallel()
	c := chain(5, 7)
	want := audit.Report{Tenant: "komorebi", Valid: true, Seals: 5, Sealed: 35, Newest: audit.SealHash{No: 5, Hash: hex.EncodeToString(c.seals[4].StoredHash)}}
	if d := cmp.Diff(want, c.verify()); d != "" {
		t.Error(d)
	}
	if got, want := terminal.Verdict(c.verify()), "valid: 35 events in 5 seals, newest seal 5, hash "+hex.EncodeToString(c.seals[4].StoredHash)+", 0 not sealed yet"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r := chain(0, 0).verify(); !r.Valid || terminal.Verdict(r) != "valid: 0 events in 0 seals, 0 not sealed yet" {
		t.Errorf("an empty chain: %+v", r)
	}
}

// A chain that was computed anew from changed events is whole in itself; a seal that was kept tells. So does one that the
// chain no longer reaches.
func TestVerifierComparesWithAKeptSeal(t *testing.T) {
	t.Parallel()
	before := chain(5, 7)
	kept := audit.SealHash{No: 3, Hash: strings.ToUpper(hex.EncodeToString(before.seals[2].StoredHash))}
	if r := before.against(kept); !r.Valid || r.Kept != 3 || !strings.HasSuffix(terminal.Verdict(r), "; seal 3 is the one that was kept") {
		t.Errorf("its own seal: %+v", r)
	}
	anew := chain(5, 6) // whole, of other events
	if r := anew.verify(); !r.Valid {
		t.Fatalf("%+v", r)
	}
	if r := anew.against(kept); r.Valid || r.FirstBroken != "seal 3" || r.Newest.No != 0 || r.Kept != 0 {
		t.Errorf("computed anew: %+v", r)
	}
	if r := chain(2, 7).against(kept); r.Valid || r.FirstBroken != "seal 3" || r.Newest.No != 0 {
		t.Errorf("cut off before it: %+v", r)
	}
}

// Random changes of a chain: each is found, and it is the first broken row or its seal that is named.
func TestVerifierFindsEveryChange(t *testing.T) {
	t.Parallel()
	for range 3000 {
		c := chain(5, 7)
		s, n := rand.IntN(5), rand.IntN(7)
		seal, events := &c.seals[s], c.events[s]
		name, row := fmt.Sprintf("seal %d", s+1), events[n].ID
		what := rand.IntN(12)
		switch what {
		case 0:
			b := bytes.Clone(events[n].Body)
			b[rand.IntN(len(b))] ^= 1 << rand.IntN(8)
			events[n].Body, name = b, row
		case 1:
			c.events[s], name = slices.Delete(slices.Clone(events), n, n+1), row
		case 2:
			c.events[s], name = slices.Insert(slices.Clone(events), n, audit.StoredEvent{ID: "new", Body: []byte("{}")}), "new"
		case 3:
			c.events[s], name = append(slices.Clone(events), audit.StoredEvent{ID: "new", Body: []byte("{}")}), "new"
		case 4:
			seal.Leaves[n].Hash = audit.Leaf([]byte("x"))
		case 5:
			seal.Leaves = slices.Delete(seal.Leaves, n, n+1)
		case 6:
			seal.StoredHash = audit.Leaf(nil)
		case 7:
			seal.N++
		case 8:
			seal.Upto += "0"
		case 9:
			seal.From += "1"
		case 10:
			seal.Prev = append(seal.Prev, 1)
		case 11: // a seal left out; nothing follows the last one
			if s == 4 {
				continue
			}
			c.seals, c.events = slices.Delete(c.seals, s, s+1), slices.Delete(c.events, s, s+1)
			name = fmt.Sprintf("seal %d", s+2)
		}
		if r := c.verify(); r.Valid || r.FirstBroken != name || r.Problem == "" {
			t.Fatalf("change %d at seal %d row %d: %+v, want %s", what, s+1, n, r, name)
		}
	}
}

// The same leaves cannot be told as another tenant's, another place's, or cut differently.
func TestHashBindsItsPlace(t *testing.T) {
	t.Parallel()
	base := chain(1, 3).seals[0].Seal
	for name, change := range map[string]func(*audit.Seal){
		"tenant": func(s *audit.Seal) { s.Tenant = "rival" },
		"number": func(s *audit.Seal) { s.No = 2 },
		"from":   func(s *audit.Seal) { s.From = "1" },
		"upto":   func(s *audit.Seal) { s.Upto = "101" },
		"before": func(s *audit.Seal) { s.Prev = []byte{1} },
		"order":  func(s *audit.Seal) { s.Leaves[0], s.Leaves[1] = s.Leaves[1], s.Leaves[0] },
		"fewer":  func(s *audit.Seal) { s.Leaves = s.Leaves[:2] },
		"id":     func(s *audit.Seal) { s.Leaves[0].EventID = "x" },
	} {
		s := base
		s.Leaves = slices.Clone(base.Leaves)
		change(&s)
		if bytes.Equal(s.Hash(), base.Hash()) {
			t.Errorf("%s is not bound", name)
		}
	}
}

func TestCheckRow(t *testing.T) {
	t.Parallel()
	v := audit.NewVerifier("komorebi", audit.SealHash{})
	v.CheckRow(audit.StoredEvent{ID: "a", Columns: "x|y"}, "x|y")
	if !v.Valid {
		t.Errorf("%+v", v.Report)
	}
	v.CheckRow(audit.StoredEvent{ID: "b", Columns: "x|z"}, "x|y")
	v.CheckRow(audit.StoredEvent{ID: "c", Columns: "x|z"}, "x|y")
	if v.Valid || v.FirstBroken != "b" {
		t.Errorf("%+v", v.Report)
	}
}
