package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// sent are the bodies of the creates that the simulator received, by store.
func (d *desk) sent() map[string][]string {
	out := map[string][]string{}
	for _, e := range d.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate, Effects: true}) {
		out[string(e.Location)] = append(out[string(e.Location)], e.Body)
	}
	return out
}

// What is previewed is what is stored and what Google receives: the same JSON, and the stored payload byte for byte. F001,
// F006, F014, F015 and every shape that a post can have.
func TestF001ToF015PreviewIsWhatIsSent(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 4})
	event := map[string]any{"title": "冬のフェア & <more>", "start_date": "2027-12-24", "start_time": "10:00", "end_date": "2027-12-25", "end_time": "20:30"}
	dates := map[string]any{"title": "all day", "start_date": "2027-12-25", "end_date": "2027-12-25"}
	for i, post := range []map[string]any{
		{"summary": "New winter menu"},
		{"summary": "A & B < C > \"D\" 'E' \\ / 改行\n\n三行目\tタブ 🎄👨‍👩‍👧‍👦 \u2028"[:len("A & B < C > \"D\" 'E' \\ / 改行\n\n三行目\tタブ 🎄👨‍👩‍👧‍👦")]},
		{"summary": "{{location.title}} {{location.store_code}} {{location.city}} {{location.website}}", "language_code": "ja"},
		{"summary": "call", "call_to_action": map[string]any{"action_type": "CALL"}},
		{"summary": "book", "call_to_action": map[string]any{"action_type": "BOOK", "url": "{{location.website}}?a=1&b=<2>"}},
		{"topic_type": "EVENT", "summary": "event", "event": event},
		{"topic_type": "EVENT", "summary": "dates only", "event": dates},
		{"topic_type": "OFFER", "summary": "offer", "event": event, "offer": map[string]any{"coupon_code": "WINTER10", "redeem_url": "https://komorebi-coffee.example/w?x=1&y=2", "terms": "一部店舗を除く & more"}},
		{"summary": "photo", "media": []map[string]any{{"source_url": "https://komorebi-coffee.example/{{location.store_code}}.jpg?w=1&h=2"}}},
		{"media": []map[string]any{{"source_url": "https://komorebi-coffee.example/only.jpg"}}},
		{"summary": "later", "scheduled_time": "2099-12-24T09:00:00+09:00"},
	} {
		args := stack.Args{"location_ids": d.IDs(3), "post": post, "idempotency_key": fmt.Sprintf("preview-%04d", i)}
		p := d.preview(args)
		if !p.ok || p.Preview.Confirmation.Required {
			t.Errorf("%v: %+v", post, p.Preview)
			continue
		}
		shown := map[int64]string{}
		for _, g := range p.Preview.Changes {
			for _, id := range g.LocationIDs {
				shown[id] = string(g.After)
			}
			if g.SummaryLength != utf8.RuneCountInString(g.After.Post().Summary) {
				t.Errorf("summary_length %d for %q", g.SummaryLength, g.After.Post().Summary)
			}
		}
		d.Sim.ClearJournal()
		v := d.Finish(string(d.Accept("post.create", args).BatchID))
		if v.Status != batch.Done {
			t.Errorf("%v: %+v", post, v)
			continue
		}
		sent := d.sent()
		for _, l := range d.Locations[:3] {
			got := sent[string(l.Name)]
			if len(got) != 1 {
				t.Fatalf("%v: %d posts on %s", post, len(got), l.Name)
			}
			var a, b any
			if json.Unmarshal([]byte(got[0]), &a) != nil || json.Unmarshal([]byte(shown[int64(l.ID)]), &b) != nil {
				t.Fatalf("not JSON: %s, %s", got[0], shown[int64(l.ID)])
			}
			if diff := cmp.Diff(b, a); diff != "" {
				t.Errorf("%v: what was sent is not what was shown (-shown +sent):\n%s", post, diff)
			}
			var stored []byte
			if err := d.DB.Owner().QueryRow(t.Context(), `SELECT payload FROM mappy.item WHERE batch_id = $1 AND location_id = $2`, v.BatchID, int64(l.ID)).Scan(&stored); err != nil {
				t.Fatal(err)
			}
			if string(stored) != got[0] || shown[int64(l.ID)] != got[0] {
				t.Errorf("%v: bytes differ\nshown  %s\nstored %s\nsent   %s", post, shown[int64(l.ID)], stored, got[0])
			}
			if strings.Contains(got[0], `\u0026`) || strings.Contains(got[0], `\u003c`) || strings.Contains(got[0], "{{") {
				t.Errorf("F015: %s", got[0])
			}
		}
	}
	// F001: the topic was filled in before anything was sent.
	for _, bodies := range d.sent() {
		if !strings.Contains(bodies[0], `"topicType":"STANDARD"`) {
			t.Errorf("F001: %s", bodies[0])
		}
	}
	if u := d.Sim.Unknown(); len(u) > 0 {
		t.Errorf("requests that Google does not know: %+v", u)
	}
}

// F002, F004, F007, F011: the rules of a post refuse the live call and are told by the dry run, with the same violations, before
// anything is sent, in both languages.
func TestF002ToF011RulesRefuse(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	ja := d.AddUser("tenant-ja", "taro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	d.exec(`UPDATE mappy.tenant SET locale = 'ja' WHERE tenant_id = 'tenant-ja'`)
	d.Sync("tenant-ja")
	var jaID int64
	if err := d.DB.Owner().QueryRow(t.Context(), `SELECT min(location_id) FROM mappy.location WHERE tenant_id = 'tenant-ja'`).Scan(&jaID); err != nil {
		t.Fatal(err)
	}
	event := map[string]any{"title": "t", "start_date": "2027-12-24", "end_date": "2027-12-25"}
	family := "👨‍👩‍👧‍👦"
	for name, c := range map[string]struct {
		post map[string]any
		want []string
	}{
		"F002 offer without event":   {map[string]any{"topic_type": "OFFER", "summary": "10% off", "offer": map[string]any{"coupon_code": "WINTER"}}, []string{"post.event.title required", "post.event.start_date required"}},
		"F002 event without event":   {map[string]any{"topic_type": "EVENT", "summary": "x"}, []string{"post.event.title required", "post.event.start_date required"}},
		"F002 event on standard":     {map[string]any{"summary": "x", "event": event}, []string{"post.event not_allowed"}},
		"F002 offer on event":        {map[string]any{"topic_type": "EVENT", "summary": "x", "event": event, "offer": map[string]any{"coupon_code": "A"}}, []string{"post.offer not_allowed"}},
		"F004 call with url":         {map[string]any{"summary": "x", "call_to_action": map[string]any{"action_type": "CALL", "url": "https://komorebi-coffee.example/call"}}, []string{"post.call_to_action.url not_allowed"}},
		"F004 button without url":    {map[string]any{"summary": "x", "call_to_action": map[string]any{"action_type": "LEARN_MORE"}}, []string{"post.call_to_action.url required"}},
		"F004 button on an offer":    {map[string]any{"topic_type": "OFFER", "summary": "x", "event": event, "call_to_action": map[string]any{"action_type": "BOOK", "url": "https://komorebi-coffee.example/"}}, []string{"post.call_to_action not_allowed"}},
		"F007 end before start":      {map[string]any{"topic_type": "EVENT", "summary": "x", "event": map[string]any{"title": "t", "start_date": "2026-12-25", "start_time": "10:00", "end_date": "2026-12-24", "end_time": "18:00"}}, []string{"post.event.end_date before_start"}},
		"F007 scheduled in the past": {map[string]any{"summary": "x", "scheduled_time": "2020-01-01T00:00:00Z"}, []string{"post.scheduled_time in_past"}},
		"nothing to show":            {map[string]any{"language_code": "ja"}, []string{"post.summary required"}},
		"two photos":                 {map[string]any{"summary": "x", "media": []map[string]any{{"source_url": "https://komorebi-coffee.example/a.jpg"}, {"source_url": "https://komorebi-coffee.example/b.jpg"}}}, []string{"post.media max_items"}},
		"unknown variable":           {map[string]any{"summary": "{{location.name}}"}, []string{"post.summary unknown_variable"}},
		"F011 too long when filled":  {map[string]any{"summary": strings.Repeat("あ", 1481) + "{{location.title}}{{location.title}}"}, []string{"post.summary max_length"}},
		"several at once":            {map[string]any{"topic_type": "OFFER", "summary": "{{x}}", "scheduled_time": "2020-01-01T00:00:00Z"}, []string{"post.summary unknown_variable", "post.event.title required", "post.event.start_date required", "post.scheduled_time in_past"}},
		// These are the decoder's: neither mode goes further.
		"F004 call with a number": {map[string]any{"summary": "x", "call_to_action": map[string]any{"action_type": "CALL", "url": "tel:+81312345678"}}, []string{"post.call_to_action.url format"}},
		"F011 1501 kana":          {map[string]any{"summary": strings.Repeat("あ", 1501)}, []string{"post.summary max_length"}},
		"F012 emoji families":     {map[string]any{"summary": strings.Repeat("a", 1490) + strings.Repeat(family, 10)}, []string{"post.summary max_length"}},
		"topic of another API":    {map[string]any{"topic_type": "ALERT", "summary": "x"}, []string{"post.topic_type enum"}},
		"no such day":             {map[string]any{"topic_type": "EVENT", "summary": "x", "event": map[string]any{"title": "t", "start_date": "2027-02-29", "end_date": "2027-03-01"}}, []string{"post.event.start_date format"}},
	} {
		args := stack.Args{"location_ids": d.IDs(1), "post": c.post}
		live := d.refused(errs.InvalidArgument, args)
		if got := rules(live); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		dry := d.call("post.create", args.With("dry_run", true))
		if dry.IsError {
			if diff := cmp.Diff(live.Details.Violations, dry.Details.Violations); diff != "" {
				t.Errorf("%s: the dry run says something else:\n%s", name, diff)
			}
		} else {
			p := d.preview(args).Preview
			if p.WouldExecute || p.WouldRefuse == nil || p.WouldRefuse.ErrorCode != errs.InvalidArgument || p.Confirmation.ConfirmToken != "" {
				t.Errorf("%s: %+v", name, p)
			}
			if diff := cmp.Diff(live.Details.Violations, p.ValidationErrors); diff != "" {
				t.Errorf("%s: the dry run says something else:\n%s", name, diff)
			}
		}
		japanese := d.callAs(ja, "post.create", stack.Args{"location_ids": []int64{jaID}, "post": c.post})
		if got := rules(japanese); !slices.Equal(got, c.want) || !hasJapanese(japanese.Message) {
			t.Errorf("%s in Japanese: %q, %s", name, got, japanese.Text)
		}
		for _, v := range japanese.Details.Violations {
			if !hasJapanese(v.Message) {
				t.Errorf("%s: %q is not Japanese", name, v.Message)
			}
		}
	}
	if d.batches() != 0 || len(d.Sim.Entries(gbpsim.EntryFilter{Route: gbpsim.RouteLocalPostsCreate})) != 0 {
		t.Error("something was accepted or sent")
	}
}

func hasJapanese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x3040 && r <= 0x30ff })
}

// F011, F012: characters are counted, not bytes or UTF-16 units; the number in the preview is the number that decides; nothing
// is ever cut.
func TestF011Length(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	family := "👨‍👩‍👧‍👦" // seven code points
	texts := []string{
		strings.Repeat("あ", 1500), strings.Repeat("a", 1499) + "🎄", strings.Repeat("a", 1500-70) + strings.Repeat(family, 10),
		strings.Repeat("か\u3099", 1500), // decomposed: 1500 characters once composed
		strings.Repeat("a", 1500) + "\n\n\n",
	}
	for i, s := range texts {
		args := stack.Post(d.IDs(1), s).With("idempotency_key", fmt.Sprintf("length-%04d", i))
		p := d.preview(args)
		if !p.ok || p.Preview.Changes[0].SummaryLength != 1500 {
			t.Fatalf("%d: %+v", i, p.Preview.WouldRefuse)
		}
		d.Sim.ClearJournal()
		d.Finish(string(d.Accept("post.create", args).BatchID))
		var body gbp.LocalPost
		if err := json.Unmarshal([]byte(d.sent()[string(d.Locations[0].Name)][0]), &body); err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(body.Summary); n != 1500 {
			t.Errorf("%d: %d characters were sent", i, n)
		}
	}
	// The other texts of a post are filled in and counted alike: the store's name fits where its variable would not.
	room := len([]rune(d.Locations[0].Profile.Title))
	offer := stack.Post(d.IDs(1), "x").With("post", map[string]any{
		"topic_type": "OFFER", "summary": "x",
		"event": map[string]any{"title": strings.Repeat("冬", 58-room) + "{{location.title}}", "start_date": "2099-12-24", "end_date": "2099-12-25"},
		"offer": map[string]any{"coupon_code": strings.Repeat("A", 58-room) + "{{location.title}}", "terms": strings.Repeat("注", 5000-room) + "{{location.title}}"},
	})
	if p := d.preview(offer); !p.ok {
		t.Errorf("%+v", p)
	}
	a := d.refused(errs.InvalidArgument, stack.Post(d.IDs(1), strings.Repeat("あ", 1501)))
	if v := a.Details.Violations[0]; !strings.Contains(v.Message, "1,501") && !strings.Contains(v.Message, "1501") || !strings.Contains(strings.ReplaceAll(v.Message, ",", ""), "1500") || len(v.Value) > 1000 {
		t.Errorf("length and limit are missing, or the whole text is repeated: %+v", v)
	}
}

// F014, F137: line breaks survive, spellings of them are one text, and the key of a call does not depend on them.
func TestF014LineBreaks(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1})
	first := d.Accept("post.create", stack.Post(d.IDs(1), "Line1\nLine2").With("idempotency_key", "f014-key-1"))
	for _, s := range []string{"Line1\r\nLine2", "Line1\rLine2", "Line1\nLine2\n\n\n", "Line1\nLine2 \t\n　"} {
		again := d.Accept("post.create", stack.Post(d.IDs(1), s).With("idempotency_key", "f014-key-1"))
		if again.BatchID != first.BatchID {
			t.Errorf("%q is another call", s)
		}
	}
	for _, s := range []string{"Line1 Line2", "Line1Line2", `Line1\nLine2`, "Line1\n\nLine2", " Line1\nLine2"} {
		d.refused(errs.IdempotencyConflict, stack.Post(d.IDs(1), s).With("idempotency_key", "f014-key-1"))
	}
	d.Finish(string(first.BatchID))
	if body := d.sent()[string(d.Locations[0].Name)][0]; !strings.Contains(body, `"Line1\nLine2"`) {
		t.Errorf("sent %s", body)
	}
	typed := d.preview(stack.Post(d.IDs(1), `Line1\nLine2`)).Preview
	if w := typed.ValidationWarnings; typed.Changes[0].After.Post().Summary != `Line1\nLine2` || !hasWarning(w, "ESCAPED_LINE_BREAK") {
		t.Errorf("%+v", typed)
	}
}

// F009, F015, F054: what Google or a person will mind is in preview and answer, with the span, and refuses nothing by itself.
func TestF009Warnings(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	own := d.Locations[0].Profile.PrimaryPhone
	for text, want := range map[string]string{
		"ご予約は " + own + " まで":              "PHONE_NUMBER_IN_TEXT",
		"Ben &amp; Co&#8217;s <b>sale</b>": "MARKUP_IN_TEXT",
		"[店名] へどうぞ":                        "PLACEHOLDER_IN_TEXT",
		"Here is the post:\nLatte":         "MODEL_CHATTER_IN_TEXT",
	} {
		args := stack.Post(d.IDs(1), text)
		p := d.preview(args).Preview
		if !p.WouldExecute || len(p.ValidationWarnings) != 1 || p.ValidationWarnings[0].Code != want || p.ValidationWarnings[0].Span == "" || p.Changes[0].After.Post().Summary != text {
			t.Errorf("%q: %+v", text, p.ValidationWarnings)
		}
		if a := d.Accept("post.create", args); len(a.Warnings) != 1 || a.Warnings[0].Code != want {
			t.Errorf("%q accepted: %+v", text, a.Warnings)
		}
	}
	for _, text := range []string{"ご予約は 090-1234-5678 まで", "Call +1 (555) 010-9999 today", "โทร 02-123-4567"} {
		a := d.refused(errs.ConfirmationRequired, stack.Post(d.IDs(1), text))
		p := d.preview(stack.Post(d.IDs(1), text)).Preview
		if a.Details.Reason != "unknown_link" || !hasWarning(p.ValidationWarnings, "PHONE_NUMBER_IN_TEXT") || !hasWarning(p.ValidationWarnings, "UNKNOWN_PHONE") {
			t.Errorf("%q: %+v", text, p.ValidationWarnings)
		}
	}
	past := stack.Args{"location_ids": d.IDs(1), "post": map[string]any{"topic_type": "EVENT", "summary": "x", "event": map[string]any{"title": "t", "start_date": "2020-01-01", "end_date": "2020-01-02"}}}
	if p := d.preview(past).Preview; !hasWarning(p.ValidationWarnings, "EVENT_IN_PAST") {
		t.Errorf("F007: %+v", p.ValidationWarnings)
	}
	d.exec(`UPDATE mappy.location SET verified = false WHERE location_id = $1`, d.IDs(1)[0])
	if p := d.preview(stack.Post(d.IDs(1), "unverified")).Preview; !hasWarning(p.ValidationWarnings, "LOCATION_NOT_VERIFIED") {
		t.Errorf("F053: %+v", p.ValidationWarnings)
	}
}

// Overrides: each store gets its own, the others the common text; an override of a store that is no target is a mistake.
func TestOverridesReachTheirStore(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3})
	ids := d.IDs(3)
	args := stack.Post(ids, "common {{location.city}}").With("overrides", []map[string]any{
		{"location_id": ids[1], "summary": "own {{location.store_code}}"}, {"location_id": ids[2], "call_to_action": map[string]any{"action_type": "CALL"}},
	})
	d.Finish(string(d.Accept("post.create", args).BatchID))
	sent := d.sent()
	for i, want := range []string{"common " + d.Locations[0].Profile.City, "own " + d.Locations[1].Profile.StoreCode, `"actionType":"CALL"`} {
		if got := sent[string(d.Locations[i].Name)][0]; !strings.Contains(got, want) {
			t.Errorf("store %d got %s, want %q", i, got, want)
		}
	}
	a := d.refused(errs.InvalidArgument, stack.Post(ids[:1], "x").With("overrides", []map[string]any{{"location_id": ids[1], "summary": "y"}}))
	if got := rules(a); !slices.Equal(got, []string{"overrides[0].location_id not_a_target"}) {
		t.Errorf("%q", got)
	}
}
