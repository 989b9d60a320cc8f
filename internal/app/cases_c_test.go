package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/ratelimit"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// roomyBut is stack.Roomy with some values changed.
func roomyBut(t testing.TB, changes map[string]any) string {
	t.Helper()
	p := map[string]any{}
	if err := json.Unmarshal([]byte(stack.Roomy), &p); err != nil {
		t.Fatal(err)
	}
	maps.Copy(p, changes)
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tenant makes a further tenant on the same stores, and gives a token and its location ids in the order of the stores.
func (d *desk) tenant(id authn.TenantID, policy string) (token string, ids []int64) {
	d.t.Helper()
	token = d.AddUser(id, authn.UserID("user-"+string(id)), authn.Grants{All: true}, stack.Scopes(), policy)
	d.Sync(id)
	for _, l := range d.Locations {
		ids = append(ids, int64(d.count(`SELECT location_id FROM mappy.location WHERE tenant_id = $1 AND google_location = $2`, id, string(l.Name))))
	}
	return token, ids
}

// F118, F119, F124: a token stands for exactly what was shown to exactly one caller. Every refusal has its own code, leaves the
// token unspent and sends nothing; the right call then works, once.
func TestF118F119TokenBinding(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	ids := d.IDs(7)
	args := stack.Post(ids[:6], "F118 A").With("idempotency_key", "f118-key-1")
	token := d.preview(args).token
	with := func(a stack.Args) stack.Args { return a.With("confirm_token", token) }
	colleague := d.AddUser(stack.Tenant, "colleague", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	stranger, theirs := d.tenant("stranger", stack.Roomy)
	post := func(change func(map[string]any)) stack.Args {
		p := map[string]any{"summary": "F118 A"}
		change(p)
		return args.With("post", p)
	}
	for _, a := range map[string]stack.Args{
		"F118 another text":       stack.Post(ids[:6], "F118 B"),
		"F118 one more store":     stack.Post(ids[:7], "F118 A"),
		"F118 one store less":     stack.Post(ids[:5], "F118 A"),
		"F118 another store":      stack.Post(ids[1:7], "F118 A"),
		"F118 a space":            stack.Post(ids[:6], "F118  A"),
		"F118 homoglyph":          stack.Post(ids[:6], "F118 \u0410"),
		"F118 zero width":         stack.Post(ids[:6], "F118 A\u200d"),
		"F118 another case":       stack.Post(ids[:6], "f118 A"),
		"F118 a button":           post(func(p map[string]any) { p["call_to_action"] = map[string]any{"action_type": "CALL"} }),
		"F118 a language":         post(func(p map[string]any) { p["language_code"] = "en" }),
		"F118 another time":       post(func(p map[string]any) { p["scheduled_time"] = "2099-01-01T00:00:00Z" }),
		"F118 an override":        args.With("overrides", []map[string]any{{"location_id": ids[3], "summary": "evil"}}),
		"F118 on_failure":         args.With("on_failure", "stop"),
		"F118 four stores needed": stack.Post(ids[:4], "F118 A"),
	} {
		delete(a, "idempotency_key")
		d.refused(errs.ConfirmTokenMismatch, with(a))
	}
	d.refused(errs.InvalidArgument, with(args).With("on_failur", "stop"))
	d.refused(errs.LocationNotFound, with(stack.Post(append(slices.Clone(ids[:5]), 999999), "F118 A")))
	// F119, F121: by another user and by another tenant it is unknown, as any made-up token is.
	for who, a := range map[string]stack.Answer{
		"colleague": d.callAs(colleague, "post.create", with(args)),
		"stranger":  d.callAs(stranger, "post.create", with(stack.Post(theirs[:6], "F118 A"))),
		"made up":   d.callAs(colleague, "post.create", args.With("confirm_token", strings.Repeat("A", 43))),
		"tampered":  d.call("post.create", args.With("confirm_token", token[:42]+"!")),
		"cut":       d.call("post.create", args.With("confirm_token", token[:20])),
	} {
		d.mustRefuse(a, errs.ConfirmTokenInvalid)
		if a.Details != nil {
			t.Errorf("%s learns %+v", who, a.Details)
		}
	}
	if n := len(d.events("stranger", audit.ConfirmTokenRefused)); n != 1 {
		t.Errorf("F121: %d audit rows of the stranger's attempt", n)
	}
	if d.batches() != 0 {
		t.Fatal("something was accepted")
	}
	// The right call works once; as a replay it needs no token, and with another key the token is used.
	a := d.Accept("post.create", with(args))
	if b := d.Accept("post.create", with(args)); b.BatchID != a.BatchID || b.Idempotency.Outcome != "replayed" {
		t.Errorf("the same call with its token again: %+v", b)
	}
	if b := d.Accept("post.create", args); b.BatchID != a.BatchID {
		t.Errorf("the same call without a token: %+v", b)
	}
	used := d.refused(errs.ConfirmTokenUsed, with(args).With("idempotency_key", "f118-key-2"))
	if used.Details.BatchID != string(a.BatchID) || !strings.Contains(used.Text, string(a.BatchID)) {
		t.Errorf("F124: %s", used.Text)
	}
	// Spent is spent, whatever else is wrong with the call, and nobody else learns of it.
	d.refused(errs.ConfirmTokenUsed, with(stack.Post(ids[:6], "F118 B")).With("idempotency_key", "f118-key-3"))
	if a := d.callAs(colleague, "post.create", with(args)); a.ErrorCode != errs.ConfirmTokenInvalid || a.Details != nil {
		t.Errorf("a colleague learns of the spent token: %s", a.Text)
	}
	if d.batches() != 1 {
		t.Errorf("%d batches", d.batches())
	}
	if n := len(d.events(stack.Tenant, audit.ConfirmTokenAccepted)); n != 1 {
		t.Errorf("%d accepted tokens recorded", n)
	}
}

// F124: a token lives as long as the policy says, by the server's clock; afterwards it is expired, not unknown, and still unspent.
func TestF124Expiry(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{NoWorkers: true, Policy: roomyBut(t, map[string]any{"confirm_token_seconds": 1})})
	args := stack.Post(d.IDs(5), "F124").With("idempotency_key", "f124-key-1")
	p := d.preview(args)
	if p.Preview.Confirmation.ExpiresIn != 1 {
		t.Errorf("expires_in %d", p.Preview.Confirmation.ExpiresIn)
	}
	expiry := time.NewTimer(1100 * time.Millisecond)
	fresh := d.refused(errs.ConfirmationRequired, args).Details.ConfirmToken
	if fresh == p.token {
		t.Error("a token was issued twice")
	}
	<-expiry.C
	a := d.refused(errs.ConfirmTokenExpired, args.With("confirm_token", p.token))
	if !strings.Contains(a.Text, "dry_run") {
		t.Errorf("no word of how to get a new one: %s", a.Text)
	}
	d.refused(errs.ConfirmTokenInvalid, args.With("confirm_token", strings.Repeat("B", 43)))
	if d.batches() != 0 {
		t.Fatal("something was accepted")
	}
	d.Confirmed("post.create", args)
	codes := map[errs.Code]bool{}
	for _, e := range d.events(stack.Tenant, audit.ConfirmTokenRefused) {
		codes[e.ErrorCode] = true
	}
	if !codes[errs.ConfirmTokenExpired] || !codes[errs.ConfirmTokenInvalid] {
		t.Errorf("recorded: %v", codes)
	}
}

// F122: many confirms of one token at once, each with a key of its own: one is accepted, every other is told that the token is
// used, and each store gets one post.
func TestF122ParallelConfirms(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 5, NoWorkers: true})
	args := stack.Post(d.IDs(5), "F122")
	args = args.With("confirm_token", d.preview(args).token)
	p := d.principal(d.Token)
	answers := parallel(200, func(i int) stack.Answer {
		return d.as(context.Background(), p, "post.create", marshal(t, args.With("idempotency_key", fmt.Sprintf("f122-key-%04d", i))))
	})
	counts := map[errs.Code]int{}
	for i, a := range answers {
		for a.ErrorCode == errs.Unavailable { // overload says "same key, later", and so it is
			a = d.call("post.create", args.With("idempotency_key", fmt.Sprintf("f122-key-%04d", i)))
		}
		counts[a.ErrorCode]++
	}
	if counts[""] != 1 || counts[errs.ConfirmTokenUsed] != 199 || d.batches() != 1 {
		t.Errorf("%v, %d batches", counts, d.batches())
	}
	defer d.Work()()
	for _, b := range stack.Into[tools.BatchPage](t, d.call("batch.list", stack.Args{})).Batches {
		d.Finish(string(b.BatchID))
	}
	d.once(5)
}

func parallel[R any](n int, f func(i int) R) []R {
	out := make([]R, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			out[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return out
}

// A target that changed between preview and write is told apart from changed arguments, names what changed, and leaves the
// token alone; a change of anything that was not shown does not matter.
func TestVersionChangeAfterPreview(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	args := stack.Post(d.IDs(6), "{{location.city}} で").With("idempotency_key", "version-key-1")
	token := d.preview(args).token
	world := d.Sim.World()
	edit := func(i int, change func(*gbpsim.Location)) {
		at := slices.IndexFunc(world.Locations, func(l gbpsim.Location) bool { return string(l.Name) == string(d.Locations[i].Name) })
		change(&world.Locations[at])
		if err := d.Sim.Seed(gbpsim.World{Locations: world.Locations[at : at+1]}); err != nil {
			t.Fatal(err)
		}
		d.Sync(stack.Tenant)
	}
	edit(1, func(l *gbpsim.Location) { l.Description = "something else that nobody was shown" })
	edit(2, func(l *gbpsim.Location) { l.Title += " 本店" })
	edit(3, func(l *gbpsim.Location) { l.City = "別の市" })
	a := d.refused(errs.VersionConflict, args.With("confirm_token", token))
	want := []errs.ChangedTarget{{LocationID: d.IDs(6)[2], Fields: []string{"title"}}, {LocationID: d.IDs(6)[3], Fields: []string{"content"}}}
	if diff := cmp.Diff(want, a.Details.Changed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	edit(2, func(l *gbpsim.Location) { l.Title = strings.TrimSuffix(l.Title, " 本店") })
	edit(3, func(l *gbpsim.Location) { l.City = d.Locations[3].Profile.City })
	d.Accept("post.create", args.With("confirm_token", token))
}

// Thresholds: n-1 needs nobody, n does; by the tenant's number, by "always", and a repeated store counts once.
func TestConfirmationThresholds(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	for name, c := range map[string]struct {
		policy map[string]any
		at     int
		reason string
	}{
		"default": {nil, 5, "target_count"},
		"two":     {map[string]any{"confirm_at": map[string]int{"post.create": 2}}, 2, "target_count"},
		"eight":   {map[string]any{"confirm_at": map[string]int{"post.create": 8}}, 8, "target_count"},
		"always":  {map[string]any{"confirm_always": true}, 1, "tenant_policy"},
		"others":  {map[string]any{"confirm_at": map[string]int{"post.delete": 1}}, 5, "target_count"},
	} {
		token, ids := d.tenant(authn.TenantID("threshold-"+name), roomyBut(t, c.policy))
		if c.at > 1 {
			repeated := append(slices.Clone(ids[:c.at-1]), ids[0], ids[0], ids[0])
			if a := d.callAs(token, "post.create", stack.Post(repeated, "below "+name)); a.IsError {
				t.Errorf("%s: %d stores: %s", name, c.at-1, a.Text)
			}
		}
		a := d.callAs(token, "post.create", stack.Post(ids[:c.at], "at "+name))
		d.mustRefuse(a, errs.ConfirmationRequired)
		if a.Details.Reason != c.reason || a.Details.TargetSummary.TargetCount != c.at || len(a.Details.TargetSummary.Locations) != c.at ||
			!strings.Contains(a.Details.HumanReadableMessage, "at "+name) || a.Details.ExpiresIn != 300 || !a.Retry.SameKey {
			t.Errorf("%s: %+v", name, a.Details)
		}
		limits := stack.Into[tools.LimitsView](t, d.callAs(token, "limits.get", stack.Args{}))
		i := slices.IndexFunc(limits.Capabilities, func(c tools.Capability) bool { return c.Tool == "post.create" })
		if c.reason == "target_count" && limits.Capabilities[i].ConfirmAt != c.at {
			t.Errorf("%s: limits.get says %d", name, limits.Capabilities[i].ConfirmAt)
		}
	}
	// With the token of a call that needed none, nothing is wrong either.
	if a := d.call("post.create", stack.Post(d.IDs(1), "no need").With("confirm_token", strings.Repeat("C", 43))); a.ErrorCode != errs.ConfirmTokenInvalid {
		t.Errorf("a made-up token on a small call: %s", a.Text)
	}
}

// Decision on links and phones: what no profile of the tenant shows needs a person whatever the number of stores, wherever in
// the post it hides; the policy may refuse it instead, or allow it.
func TestInjectedLinksNeedAPerson(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	strict, strictIDs := d.tenant("strict", roomyBut(t, map[string]any{"unknown_links": "refuse"}))
	allowing, allowingIDs := d.tenant("allowing", roomyBut(t, map[string]any{"allowed_link_domains": []string{"evil.example", "bit.ly"}, "allowed_phones": []string{"+81 90 1234 5678"}}))
	event := func(title string) map[string]any {
		return map[string]any{"title": title, "start_date": "2027-12-24", "end_date": "2027-12-25"}
	}
	button := func(url string) map[string]any {
		return map[string]any{"summary": "x", "call_to_action": map[string]any{"action_type": "LEARN_MORE", "url": url}}
	}
	for name, c := range map[string]struct {
		post    map[string]any
		foreign bool
	}{
		"in the text":            {map[string]any{"summary": "see https://evil.example/win"}, true},
		"without scheme":         {map[string]any{"summary": "see evil.example now"}, true},
		"shortened":              {map[string]any{"summary": "bit.ly/3abc"}, true},
		"full width":             {map[string]any{"summary": "ｈｔｔｐｓ：／／ｅｖｉｌ．ｅｘａｍｐｌｅ"}, true},
		"own name as user":       {map[string]any{"summary": "https://komorebi-coffee.example@evil.example/"}, true},
		"own name in the path":   {button("https://evil.example/komorebi-coffee.example"), true},
		"own name as subdomain":  {button("https://komorebi-coffee.example.evil.example/"), true},
		"button":                 {button("https://evil.example/"), true},
		"button, other case":     {button("https://EVIL.example/"), true},
		"mail":                   {map[string]any{"summary": "write to win@evil.example"}, true},
		"title":                  {map[string]any{"topic_type": "EVENT", "summary": "x", "event": event("evil.example")}, true},
		"coupon":                 {map[string]any{"topic_type": "OFFER", "summary": "x", "event": event("t"), "offer": map[string]any{"coupon_code": "EVIL.EXAMPLE/A"}}, true},
		"terms":                  {map[string]any{"topic_type": "OFFER", "summary": "x", "event": event("t"), "offer": map[string]any{"terms": "https://evil.example/"}}, true},
		"redeem":                 {map[string]any{"topic_type": "OFFER", "summary": "x", "event": event("t"), "offer": map[string]any{"redeem_url": "https://evil.example/"}}, true},
		"a stranger's phone":     {map[string]any{"summary": "TEL 090-1234-5678"}, true},
		"the same, full width":   {map[string]any{"summary": "０９０ー１２３４ー５６７８"}, true},
		"fine: own site":         {map[string]any{"summary": "https://komorebi-coffee.example/menu をご覧ください"}, false},
		"fine: own subdomain":    {button("https://shop.komorebi-coffee.example/"), false},
		"fine: own by template":  {button("{{location.website}}"), false},
		"fine: own phone":        {map[string]any{"summary": "{{location.phone}}"}, false},
		"fine: no link":          {map[string]any{"summary": "営業時間 10:00-20:00、1,000円から"}, false},
		"fine: another's number": {map[string]any{"summary": d.Locations[3].Profile.PrimaryPhone}, false},
	} {
		if !c.foreign {
			for _, w := range []struct {
				token string
				ids   []int64
			}{{d.Token, d.IDs(1)}, {strict, strictIDs[:1]}, {allowing, allowingIDs[:1]}} {
				if a := d.callAs(w.token, "post.create", stack.Args{"location_ids": w.ids, "post": c.post}); a.IsError {
					t.Errorf("%s: %s", name, a.Text)
				}
			}
			continue
		}
		args := stack.Args{"location_ids": d.IDs(1), "post": c.post}
		a := d.refused(errs.ConfirmationRequired, args)
		p := d.preview(args).Preview
		if a.Details.Reason != "unknown_link" || p.Confirmation.Reason != "unknown_link" || !hasWarning(p.ValidationWarnings, "UNKNOWN_LINK") && !hasWarning(p.ValidationWarnings, "UNKNOWN_PHONE") {
			t.Errorf("%s: %+v", name, p)
		}
		args["location_ids"] = strictIDs[:1]
		refused := d.callAs(strict, "post.create", args)
		if got := rules(refused); refused.ErrorCode != errs.InvalidArgument || len(got) == 0 || got[0] != "post link_not_allowed" {
			t.Errorf("%s, refusing policy: %s", name, refused.Text)
		}
		dry := stack.Into[tools.Write](t, d.callAs(strict, "post.create", args.With("dry_run", true))).Preview
		if dry.WouldExecute || dry.Confirmation.ConfirmToken != "" {
			t.Errorf("%s, refusing policy: %+v", name, dry)
		}
		args["location_ids"] = allowingIDs[:1]
		if a := d.callAs(allowing, "post.create", args); a.IsError {
			t.Errorf("%s, allowing policy: %s", name, a.Text)
		}
	}
	// An override can carry it as well.
	d.refused(errs.ConfirmationRequired, stack.Post(d.IDs(2), "x").With("overrides", []map[string]any{{"location_id": d.IDs(2)[1], "summary": "https://evil.example/"}}))
	if n := d.count(`SELECT count(*) FROM mappy.batch WHERE tenant_id IN ($1, 'strict') AND canonical_input::text ILIKE '%evil%'`, stack.Tenant); n != 0 {
		t.Errorf("%d batches with a stranger's link", n)
	}
}

// TOO_MANY_TARGETS at one more than the limit, before anything is looked up; a store that is named twice counts once.
func TestTooManyTargets(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	few, ids := d.tenant("few", roomyBut(t, map[string]any{"max_targets": 3}))
	many := make([]int64, 101)
	for i := range many {
		many[i] = int64(i + 1)
	}
	for name, a := range map[string]stack.Answer{
		"101":             d.call("post.create", stack.Post(many, "x")),
		"101 as a string": d.call("post.create", stack.Args{"location_ids": string(marshalAny(t, many)), "post": map[string]any{"summary": "x"}}),
		"101 previewed":   d.call("post.create", stack.Post(many, "x").With("dry_run", true)),
		"4 of 3":          d.callAs(few, "post.create", stack.Post(ids[:4], "x")),
	} {
		d.mustRefuse(a, errs.TooManyTargets)
		if want := map[bool]int{true: 3, false: 100}[name == "4 of 3"]; a.Details.Limit != want {
			t.Errorf("%s: limit %d", name, a.Details.Limit)
		}
	}
	d.refused(errs.LocationNotFound, stack.Post(append(many[13:100:100], 1), "x"))
	if a := d.callAs(few, "post.create", stack.Post([]int64{ids[0], ids[1], ids[0], ids[2]}, "x")); a.IsError || stack.Into[tools.Write](t, a).Accepted.TargetCount != 3 {
		t.Errorf("%s", a.Text)
	}
}

func marshalAny(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Grants: what a caller may not touch answers exactly as what does not exist, for every kind of id and every tool, and one
// foreign target refuses the whole call.
func TestGrants(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 12})
	ids := d.IDs(12)
	all := d.Accept("post.create", stack.Post(ids[:3], "everybody's"))
	d.Finish(string(all.BatchID))
	var postID string
	if err := d.DB.Owner().QueryRow(t.Context(), `SELECT resource_id FROM mappy.resource WHERE location_id = $1`, ids[2]).Scan(&postID); err != nil {
		t.Fatal(err)
	}
	other, theirs := d.tenant("other", stack.Roomy)
	labelled := d.AddUser(stack.Tenant, "franchise", authn.Grants{Labels: []string{"フランチャイズ"}}, stack.Scopes(), stack.Roomy)
	listed := d.AddUser(stack.Tenant, "listed", authn.Grants{LocationIDs: ids[:2]}, stack.Scopes(), stack.Roomy)
	none := d.AddUser(stack.Tenant, "none", authn.Grants{}, stack.Scopes(), stack.Roomy)
	mixed := d.AddUser(stack.Tenant, "mixed", authn.Grants{Labels: []string{"テラス席", "no such label"}, LocationIDs: ids[1:2]}, stack.Scopes(), stack.Roomy)
	// The chain's labels: every third store is franchised, every fourth has a terrace.
	for who, c := range map[string]struct {
		token string
		sees  func(i int) bool
	}{
		"labelled": {labelled, func(i int) bool { return i%3 == 2 }},
		"listed":   {listed, func(i int) bool { return i < 2 }},
		"none":     {none, func(int) bool { return false }},
		"mixed":    {mixed, func(i int) bool { return i%4 == 0 || i == 1 }},
		"all":      {d.Token, func(int) bool { return true }},
	} {
		var seen []int64
		for _, l := range stack.Into[tools.LocationPage](t, d.callAs(c.token, "location.list", stack.Args{})).Locations {
			seen = append(seen, int64(l.LocationID))
		}
		for i, id := range ids {
			if slices.Contains(seen, id) != c.sees(i) {
				t.Errorf("%s: location.list shows store %d: %v", who, i, !c.sees(i))
			}
			dry := d.callAs(c.token, "post.create", stack.Post([]int64{id}, "x").With("dry_run", true))
			if dry.IsError == c.sees(i) {
				t.Errorf("%s: preview on store %d: %s", who, i, dry.Text)
			}
		}
	}
	// Foreign and absent: the same answer but for the id.
	same := func(token, tool string, arg func(id any) stack.Args, foreign, absent any) {
		t.Helper()
		a, b := d.callAs(token, tool, arg(foreign)), d.callAs(token, tool, arg(absent))
		if x, y := strings.ReplaceAll(a.Text, fmt.Sprint(foreign), "ID"), strings.ReplaceAll(b.Text, fmt.Sprint(absent), "ID"); !a.IsError || x != y {
			t.Errorf("%s tells foreign from absent:\n%s\n%s", tool, x, y)
		}
	}
	for _, foreign := range []any{theirs[0], theirs[11]} {
		same(d.Token, "post.create", func(id any) stack.Args { return stack.Post([]int64{id.(int64)}, "x") }, foreign, int64(999999))
		same(d.Token, "post.create", func(id any) stack.Args { return stack.Post([]int64{id.(int64)}, "x").With("dry_run", true) }, foreign, int64(999999))
		same(d.Token, "location.get", func(id any) stack.Args { return stack.Args{"location_id": id} }, foreign, int64(999999))
	}
	same(listed, "post.create", func(id any) stack.Args { return stack.Post([]int64{ids[0], id.(int64)}, "x") }, ids[5], int64(999999))
	const nobody = "01HV5K3Q8Z7M2N4P6R8T0V2X4Z"
	for _, token := range []string{other, listed, none} {
		same(token, "batch.status", func(id any) stack.Args { return stack.Args{"batch_id": id} }, string(all.BatchID), nobody)
		same(token, "batch.cancel", func(id any) stack.Args { return stack.Args{"batch_id": id} }, string(all.BatchID), nobody)
		same(token, "post.get", func(id any) stack.Args { return stack.Args{"post_id": id} }, postID, nobody)
		if list := stack.Into[tools.BatchPage](t, d.callAs(token, "batch.list", stack.Args{})); len(list.Batches) != 0 {
			t.Errorf("batch.list shows %+v", list.Batches)
		}
	}
	if got := stack.Into[tools.PostPage](t, d.callAs(none, "post.list", stack.Args{})); len(got.Posts) != 0 {
		t.Errorf("post.list shows %+v", got.Posts)
	}
	if d.batches() != 1 {
		t.Errorf("%d batches", d.batches())
	}
	for _, e := range d.events("other", audit.AdmissionRefused) {
		if strings.Contains(string(e.Body()), "komorebi") {
			t.Errorf("another tenant's audit names ours: %s", e.Body())
		}
	}
}

// left is what limits.get says is left of each limit of write calls.
func (d *desk) left() map[ratelimit.Scope]int {
	d.t.Helper()
	out := map[ratelimit.Scope]int{}
	for _, l := range stack.Into[tools.LimitsView](d.t, d.call("limits.get", stack.Args{})).Limits {
		if l.Scope != ratelimit.ReadPerMinute {
			out[l.Scope] = l.Remaining
		}
	}
	return out
}

// Scopes, read-only mode and the kill switches, also one that is thrown between preview and write: refused, with who can lift
// it, token unspent; lifted, the same call goes through. Cancelling stays possible.
func TestWritesDisabled(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	reader := d.AddUser(stack.Tenant, "reader", authn.Grants{All: true}, []string{"locations:read", "batches:read"}, stack.Roomy)
	a := d.callAs(reader, "post.create", stack.Post(d.IDs(1), "x"))
	d.mustRefuse(a, errs.InsufficientScope)
	if a.Details.RequiredScope != "posts:write" {
		t.Errorf("%+v", a.Details)
	}
	d.mustRefuse(d.callAs(reader, "post.create", stack.Post(d.IDs(1), "x").With("dry_run", true)), errs.InsufficientScope)
	queued := d.Accept("post.create", stack.Post(d.IDs(1), "queued before"))

	args := stack.Post(d.IDs(5), "killed").With("idempotency_key", "kill-key-1")
	token := d.preview(args).token
	for _, k := range []struct {
		tenant authn.TenantID
		kill   authn.KillSwitch
		stops  bool
	}{
		{stack.Tenant, authn.KillSwitch{Kind: "tenant", Reason: "incident 7"}, true},
		{stack.Tenant, authn.KillSwitch{Kind: "tool", Target: "post.create", Reason: "bad text"}, true},
		{stack.Tenant, authn.KillSwitch{Kind: "client", Target: string(stack.Client)}, true},
		{authn.SystemTenant, authn.KillSwitch{Kind: "all", Reason: "Google is down"}, true},
		{stack.Tenant, authn.KillSwitch{Kind: "tool", Target: "review.reply"}, false},
		{stack.Tenant, authn.KillSwitch{Kind: "client", Target: "another"}, false},
	} {
		// The principal was read before the switch was thrown: the enqueue transaction looks again, and what the call had
		// spent by then is given back.
		early, before := d.principal(d.Token), d.left()
		if err := d.App.DB.SetKill(t.Context(), k.tenant, k.kill, true, "op"); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*authn.Principal{early, d.principal(d.Token)} {
			a := d.as(t.Context(), p, "post.create", marshal(t, args.With("confirm_token", token)))
			if !k.stops {
				if a.IsError {
					t.Errorf("%+v stops everything: %s", k.kill, a.Text)
				}
				continue
			}
			d.mustRefuse(a, errs.WritesDisabled)
			if a.Details.LiftedBy == "" || a.Details.Scope != k.kill.Kind || a.Details.Reason != k.kill.Reason {
				t.Errorf("%+v", a.Details)
			}
		}
		if k.stops {
			after := d.left()
			delete(before, ratelimit.RefusalsPerMinute) // a refusal spends that one
			delete(after, ratelimit.RefusalsPerMinute)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("limits are not given back:\n%s", diff)
			}
			d.mustRefuse(d.call("post.create", args.With("dry_run", true)), errs.WritesDisabled)
			if d.batches() != 1 {
				t.Fatalf("accepted under %+v", k.kill)
			}
			if a := d.call("location.list", stack.Args{}); a.IsError {
				t.Errorf("reads go on: %s", a.Text)
			}
		}
		if err := d.App.DB.SetKill(t.Context(), k.tenant, k.kill, false, "op"); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.App.DB.SetKill(t.Context(), stack.Tenant, authn.KillSwitch{Kind: "tenant"}, true, "op"); err != nil {
		t.Fatal(err)
	}
	if c := stack.Into[tools.CancelResult](t, d.call("batch.cancel", stack.Args{"batch_id": string(queued.BatchID)})); c.Batch.Status != batch.Cancelled {
		t.Errorf("stopping has to stay possible: %+v", c)
	}

	ro := openDesk(t, stack.Options{NoWorkers: true, Config: func(c *config.Config) { c.ReadOnly = true }})
	for tool, args := range map[string]stack.Args{"post.create": stack.Post(ro.IDs(1), "x"), "batch.cancel": {"batch_id": "01HV5K3Q8Z7M2N4P6R8T0V2X4Z"}} {
		a := ro.call(tool, args)
		ro.mustRefuse(a, errs.WritesDisabled)
		if a.Details.Scope != "read_only" || a.Details.LiftedBy == "" {
			t.Errorf("%s: %+v", tool, a.Details)
		}
	}
	ro.mustRefuse(ro.call("post.create", stack.Post(ro.IDs(1), "x").With("dry_run", true)), errs.WritesDisabled)
	if l := stack.Into[tools.LocationPage](t, ro.call("location.list", stack.Args{})).Locations[0]; l.Writable || l.NotWritableBy != "read_only_server" {
		t.Errorf("%+v", l)
	}
}

// A preview leaves no trace but its audit row and, in Redis, its own budget and token: no row, no key, no limit, no call.
func TestPreviewLeavesNoTrace(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	tables := func() map[string]int {
		rows, err := d.DB.Owner().Query(t.Context(), `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('mappy', 'river') AND tablename NOT LIKE 'audit%'`)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for rows.Next() {
			var n string
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			names = append(names, n)
		}
		out := map[string]int{}
		for _, n := range names {
			out[n] = d.count("SELECT coalesce(sum(hashtext(t::text)::bigint) % 1000000007, 0)::int FROM " + n + " AS t")
		}
		return out
	}
	before, journal := tables(), len(d.Sim.Journal())
	if len(before) < 10 {
		t.Fatalf("only %d tables", len(before))
	}
	limitsBefore := stack.Into[tools.LimitsView](t, d.call("limits.get", stack.Args{})).Limits
	for i, args := range []stack.Args{
		stack.Post(d.IDs(1), "one"), stack.Post(d.IDs(12), "twelve"), stack.Post(d.IDs(1), "https://evil.example/"), stack.Post(d.IDs(1), "{{location.x}}"),
	} {
		for range 2 {
			d.preview(args.With("idempotency_key", fmt.Sprintf("trace-key-%d", i)).With("wait_seconds", 25))
		}
	}
	if diff := cmp.Diff(before, tables()); diff != "" {
		t.Errorf("rows changed:\n%s", diff)
	}
	if n := len(d.Sim.Journal()); n != journal {
		t.Errorf("%d calls to Google", n-journal)
	}
	keys, err := d.App.Redis.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if !strings.HasPrefix(k, "confirm:") && !strings.HasSuffix(k, ":preview") && !strings.HasSuffix(k, ":read") {
			t.Errorf("Redis holds %s", k)
		}
	}
	limitsAfter := stack.Into[tools.LimitsView](t, d.call("limits.get", stack.Args{})).Limits
	for i, l := range limitsAfter {
		want := limitsBefore[i].Remaining
		switch l.Scope {
		case "preview_per_minute":
			want -= 8
		case "read_per_minute":
			want--
		}
		if l.Remaining != want {
			t.Errorf("%s: %d left, want %d", l.Scope, l.Remaining, want)
		}
	}
	if n := len(d.events(stack.Tenant, audit.Preview)); n != 8 {
		t.Errorf("%d previews recorded", n)
	}
	if e := d.events(stack.Tenant, audit.Preview)[0]; e.KeyHash != "" || e.Actor.UserID != stack.User || e.InputHash == "" {
		t.Errorf("%+v", e)
	}
}

// Every limit of write calls lets n through and refuses n+1 by its name; replays, refusals and previews spend none of it, and a
// replay goes on when it is used up.
func TestLimits(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	for _, scope := range []string{"token_per_minute", "user_per_minute", "user_per_day", "client_per_hour"} {
		token, ids := d.tenant(authn.TenantID("limit-"+strings.ReplaceAll(scope, "_", "-")), roomyBut(t, map[string]any{scope: 2}))
		call := func(i int) stack.Answer {
			return d.callAs(token, "post.create", stack.Post(ids[:1], fmt.Sprint("call ", i)).With("idempotency_key", fmt.Sprintf("limit-key-%d", i)))
		}
		for i := range 2 {
			a := call(i)
			w := stack.Into[tools.Write](t, a)
			if at := slices.IndexFunc(w.Accepted.Limits, func(l ratelimit.State) bool { return string(l.Scope) == scope }); at < 0 || w.Accepted.Limits[at].Remaining != 1-i || w.Accepted.Limits[at].Limit != 2 {
				t.Errorf("%s: %+v after call %d", scope, w.Accepted.Limits, i)
			}
			// None of these spends.
			for range 3 {
				if r := stack.Into[tools.Write](t, call(i)); r.Accepted.Idempotency.Outcome != "replayed" {
					t.Errorf("%s: %+v", scope, r.Accepted)
				}
				for code, args := range map[errs.Code]stack.Args{
					errs.InvalidArgument:      stack.Post(ids[:1], "x").With("x", 1),
					errs.LocationNotFound:     stack.Post([]int64{999999}, "x"),
					errs.ConfirmationRequired: stack.Post(ids[:5], "x"),
					errs.ConfirmTokenInvalid:  stack.Post(ids[:1], "x").With("confirm_token", strings.Repeat("D", 43)),
					errs.IdempotencyConflict:  stack.Post(ids[:1], "x").With("idempotency_key", "limit-key-0"),
					"":                        stack.Post(ids[:1], "x").With("dry_run", true),
				} {
					if a := d.callAs(token, "post.create", args); a.ErrorCode != code {
						t.Fatalf("%s: got %s, want %s: %s", scope, a.ErrorCode, code, a.Text)
					}
				}
			}
		}
		a := call(2)
		d.mustRefuse(a, errs.RateLimited)
		if a.Details.Scope != scope || a.Details.Limit != 2 || a.Details.RetryAfterSeconds < 1 || a.Retry.AfterSeconds != a.Details.RetryAfterSeconds || !a.Retry.SameKey {
			t.Errorf("%s: %+v", scope, a.Public)
		}
		bound := map[string]int{"token_per_minute": 60, "user_per_minute": 60, "client_per_hour": 3600, "user_per_day": 86400}[scope]
		if a.Details.RetryAfterSeconds > bound {
			t.Errorf("%s: wait %d s", scope, a.Details.RetryAfterSeconds)
		}
		p := stack.Into[tools.Write](t, d.callAs(token, "post.create", stack.Post(ids[:1], "x").With("dry_run", true))).Preview
		if p.WouldExecute || p.WouldRefuse.ErrorCode != errs.RateLimited {
			t.Errorf("%s: a preview says %+v", scope, p.WouldRefuse)
		}
		if r := stack.Into[tools.Write](t, call(0)); r.Accepted.Idempotency.Outcome != "replayed" {
			t.Errorf("%s: %+v", scope, r.Accepted)
		}
		if n := d.count(`SELECT count(*) FROM mappy.batch WHERE tenant_id = $1`, "limit-"+strings.ReplaceAll(scope, "_", "-")); n != 2 {
			t.Errorf("%s: %d batches", scope, n)
		}
	}
	for scope, c := range map[string]struct {
		tool string
		args func(ids []int64, i int) stack.Args
	}{
		"read_per_minute": {"location.list", func([]int64, int) stack.Args { return stack.Args{} }},
		"preview_per_minute": {"post.create", func(ids []int64, i int) stack.Args { // a demand for confirmation shows a preview as well
			if i == 1 {
				return stack.Post(ids[:5], "x")
			}
			return stack.Post(ids[:1], "x").With("dry_run", true)
		}},
	} {
		token, ids := d.tenant(authn.TenantID("limit-"+strings.ReplaceAll(scope, "_", "-")), roomyBut(t, map[string]any{scope: 2}))
		for i := range 2 {
			if a := d.callAs(token, c.tool, c.args(ids, i)); a.ErrorCode == errs.RateLimited {
				t.Errorf("%s: refused at %d", scope, i)
			}
		}
		for i := range 2 {
			a := d.callAs(token, c.tool, c.args(ids, i))
			d.mustRefuse(a, errs.RateLimited)
			if a.Details.Scope != scope || a.Details.Limit != 2 {
				t.Errorf("%s: %+v", scope, a.Details)
			}
		}
		if a := d.callAs(token, "post.create", stack.Post(ids[:1], "a write of its own")); a.IsError {
			t.Errorf("%s: a write pays with its own budget: %s", scope, a.Text)
		}
	}
}

// The limit on calls in admission at the same time: n wait in the database, the next is refused, and after them there is room.
func TestLimitUserConcurrency(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{NoWorkers: true, Policy: roomyBut(t, map[string]any{"user_concurrency": 2})})
	p := d.principal(d.Token)
	tx, err := d.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `LOCK TABLE mappy.batch IN SHARE MODE`); err != nil { // reads go on, the enqueue waits
		t.Fatal(err)
	}
	answers := make(chan stack.Answer, 2)
	for i := range 2 {
		go func() {
			answers <- d.as(context.Background(), p, "post.create", marshal(t, stack.Post(d.IDs(1), fmt.Sprint("held ", i))))
		}()
	}
	until(t, "two calls are in admission", func() bool {
		limits := stack.Into[tools.LimitsView](t, d.call("limits.get", stack.Args{})).Limits
		return slices.ContainsFunc(limits, func(l ratelimit.State) bool { return l.Scope == "user_concurrency" && l.Remaining == 0 })
	})
	a := d.refused(errs.RateLimited, stack.Post(d.IDs(1), "one too many"))
	if a.Details.Scope != "user_concurrency" || a.Details.Limit != 2 {
		t.Errorf("%+v", a.Details)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := <-answers; a.IsError {
			t.Errorf("%s", a.Text)
		}
	}
	d.Accept("post.create", stack.Post(d.IDs(1), "one too many"))
}

// A caller that only collects refusals is slowed down: beyond the budget everything refused is RATE_LIMITED, and one audit row
// stands for the rest. What is right still goes through.
func TestRefusalBudget(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{NoWorkers: true, Policy: roomyBut(t, map[string]any{"refusals_per_minute": 3})})
	kinds := []func() stack.Answer{
		func() stack.Answer { return d.call("post.create", stack.Args{"x": 1}) },
		func() stack.Answer { return d.call("location.get", stack.Args{"location_id": 999999}) },
		func() stack.Answer {
			return d.call("batch.status", stack.Args{"batch_id": "01HV5K3Q8Z7M2N4P6R8T0V2X4Z"})
		},
	}
	for i, f := range kinds {
		if a := f(); a.ErrorCode == errs.RateLimited {
			t.Errorf("refusal %d is already too many", i)
		}
	}
	for range 4 {
		for _, f := range kinds {
			a := f()
			d.mustRefuse(a, errs.RateLimited)
			if a.Details.Scope != "refusals_per_minute" || a.Details.Limit != 3 || a.Details.RetryAfterSeconds < 1 {
				t.Errorf("%+v", a.Details)
			}
		}
	}
	if n := len(d.events(stack.Tenant, audit.AdmissionRefused)); n != 3 {
		t.Errorf("%d refusals recorded, want 3", n)
	}
	summary := d.events(stack.Tenant, audit.RateLimited)
	if len(summary) != 1 || summary[0].Details.Scope != "refusals_per_minute" || summary[0].Details.Note == "" {
		t.Errorf("summary: %+v", summary)
	}
	d.Accept("post.create", stack.Post(d.IDs(1), "right"))
}
