package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Bounds of one answer: clients refuse results beyond about 25,000 tokens, and by then the write has happened.
const (
	maxStructured = 40_000
	maxText       = 24_000
)

// desk is a stack whose every answer is checked against the tool's output schema and the bounds of an answer.
type desk struct {
	*stack.Stack
	t       testing.TB
	schemas map[string]*jsonschema.Resolved
}

// openDesk brings a stack up without Google's quotas. Without a policy no limit is in the way.
func openDesk(t testing.TB, o stack.Options) *desk {
	t.Helper()
	o.NoServer = true
	return servedDesk(t, o)
}

// servedDesk is openDesk with the HTTP front.
func servedDesk(t testing.TB, o stack.Options) *desk {
	t.Helper()
	if o.Policy == "" {
		o.Policy = stack.Roomy
	}
	sim := o.Sim
	o.Sim = func(so *gbpsim.Options) {
		so.Knobs.NoQuotas = true
		if sim != nil {
			sim(so)
		}
	}
	d := &desk{Stack: stack.New(t, o), t: t, schemas: map[string]*jsonschema.Resolved{}}
	for _, x := range d.App.Tools.List() {
		r, err := x.Output.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
		d.schemas[x.Name] = r
	}
	return d
}

// quiet is a desk without workers: what is accepted stays in the queue.
func quiet(t testing.TB) *desk {
	t.Helper()
	return openDesk(t, stack.Options{NoWorkers: true})
}

func (d *desk) principal(token string) *authn.Principal {
	d.t.Helper()
	p, err := d.App.DB.Authenticate(context.Background(), token)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

// raw calls a tool with these bytes and checks the answer's form. Nothing is away in these tests, so UNAVAILABLE means a
// machine that is busy with other tests; it is asked again, as the answer says.
func (d *desk) raw(token, tool string, arguments []byte) stack.Answer {
	d.t.Helper()
	p := d.principal(token)
	a := d.as(context.Background(), p, tool, arguments)
	for range 3 {
		if a.ErrorCode != errs.Unavailable {
			break
		}
		d.t.Logf("%s: the machine is too busy for the deadline of a call; once more", tool)
		a = d.as(context.Background(), p, tool, arguments)
	}
	return a
}

// as is raw for a principal; it is safe in goroutines.
func (d *desk) as(ctx context.Context, p *authn.Principal, tool string, arguments []byte) stack.Answer {
	return d.on(ctx, d.App.Tools, p, tool, arguments)
}

// on is as, on one of several servers.
func (d *desk) on(ctx context.Context, set *tools.Set, p *authn.Principal, tool string, arguments []byte) stack.Answer {
	r := set.Call(ctx, tool, &tools.Call{Principal: p, RequestID: "request-1", Arguments: arguments, Progress: func(int, int, string) {}})
	var instance any
	if err := json.Unmarshal(r.Structured, &instance); err != nil {
		d.t.Errorf("%s: %v in %s", tool, err, r.Structured)
	} else if err := d.schemas[tool].Validate(instance); err != nil {
		d.t.Errorf("%s: the answer breaks the output schema: %v\n%s", tool, err, r.Structured)
	}
	if len(r.Structured) > maxStructured || len(r.Text) > maxText {
		d.t.Errorf("%s: the answer has %d bytes and %d of text", tool, len(r.Structured), len(r.Text))
	}
	if strings.TrimSpace(r.Text) == "" || !utf8.ValidString(r.Text) {
		d.t.Errorf("%s: text %q", tool, r.Text)
	}
	a := stack.Answer{IsError: r.IsError, Text: r.Text}
	if err := json.Unmarshal(r.Structured, &a); err != nil {
		d.t.Errorf("%s: %v", tool, err)
	}
	if r.IsError != (a.ErrorCode != "") || r.IsError == (a.Data != nil) {
		d.t.Errorf("%s: is_error %v, code %q, data %s", tool, r.IsError, a.ErrorCode, a.Data)
	}
	return a
}

func marshal(t testing.TB, args stack.Args) []byte {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (d *desk) call(tool string, args stack.Args) stack.Answer {
	d.t.Helper()
	return d.raw(d.Token, tool, marshal(d.t, args))
}

func (d *desk) callAs(token, tool string, args stack.Args) stack.Answer {
	d.t.Helper()
	return d.raw(token, tool, marshal(d.t, args))
}

// refused makes a call that has to be refused with the code, nothing executed.
func (d *desk) refused(code errs.Code, args stack.Args) stack.Answer {
	d.t.Helper()
	a := d.call("post.create", args)
	d.mustRefuse(a, code)
	return a
}

func (d *desk) mustRefuse(a stack.Answer, code errs.Code) {
	d.t.Helper()
	if a.ErrorCode != code || a.Executed != errs.ExecutedNo {
		d.t.Fatalf("got %s (executed %s), want %s: %s", a.ErrorCode, a.Executed, code, a.Text)
	}
}

// preview makes a dry run that has to be answered.
func (d *desk) preview(args stack.Args) previewed {
	d.t.Helper()
	w := stack.Into[tools.Write](d.t, d.call("post.create", args.With("dry_run", true)))
	if w.Preview == nil {
		d.t.Fatalf("no preview: %+v", w)
	}
	return previewed{w.Preview.WouldExecute, w.Preview.Confirmation.ConfirmToken, w}
}

type previewed struct {
	ok    bool
	token string
	tools.Write
}

// count asks the database, past every rule of access.
func (d *desk) count(sql string, args ...any) (n int) {
	d.t.Helper()
	if err := d.DB.Owner().QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

func (d *desk) batches() int { d.t.Helper(); return d.count(`SELECT count(*) FROM mappy.batch`) }

func (d *desk) exec(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.DB.Owner().Exec(context.Background(), sql, args...); err != nil {
		d.t.Fatal(err)
	}
}

// events are the audit events of a kind, newest first.
func (d *desk) events(tenant authn.TenantID, kind audit.Kind) []audit.Event {
	d.t.Helper()
	bodies, err := d.App.DB.Events(context.Background(), tenant, audit.Filter{Kind: kind, Limit: 1000}, audit.Actor{OperatorID: "test"})
	if err != nil {
		d.t.Fatal(err)
	}
	out := make([]audit.Event, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			d.t.Fatal(err)
		}
	}
	return out
}

func (d *desk) fault(f gbpsim.Fault) gbpsim.FaultID {
	d.t.Helper()
	id, err := d.Sim.AddFault(f)
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// once is the journal's word that each of the first n stores got exactly one post, and no other store any.
func (d *desk) once(n int) {
	d.t.Helper()
	got := d.Created()
	for i, l := range d.Locations {
		want := 0
		if i < n {
			want = 1
		}
		if got[string(l.Name)] != want {
			d.t.Errorf("store %d has %d posts, want %d", i, got[string(l.Name)], want)
		}
	}
}

func rules(a stack.Answer) []string {
	var out []string
	if a.Details != nil {
		for _, v := range a.Details.Violations {
			out = append(out, v.Path+" "+v.Rule)
		}
	}
	return out
}

// F090, F092, F094, F096, F098, F100 and their siblings: what is certain is understood, the rest is refused by name, and
// nothing of it is a write.
func TestF090ToF100Arguments(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	id := d.IDs(1)[0]
	for _, c := range []struct {
		name string
		// arguments have %d for a store's id; dry_run is added by the case itself.
		arguments string
		// want is the first violation, "" for a preview whose payload holds text.
		want, text string
	}{
		{"F090 object as string", `{"dry_run":true,"location_ids":[%d],"post":"{\"summary\":\"x1\"}"}`, "", "x1"},
		{"F090 list as string", `{"dry_run":true,"location_ids":"[%d]","post":{"summary":"x2"}}`, "", "x2"},
		{"F090 nested object as string", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x3","call_to_action":"{\"action_type\":\"CALL\"}"}}`, "", "x3"},
		{"F090 nested list as string", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x4","media":"[{\"source_url\":\"https://komorebi-coffee.example/a.jpg\"}]"}}`, "", "a.jpg"},
		{"F090 all arguments as string", `"{\"dry_run\":true,\"location_ids\":[%d],\"post\":{\"summary\":\"x5\"}}"`, "", "x5"},
		{"F090 twice encoded", `{"dry_run":true,"location_ids":[%d],"post":"\"{\\\"summary\\\":\\\"x\\\"}\""}`, "post type", ""},
		{"F090 not JSON", `{"dry_run":true,"location_ids":[%d],"post":"{summary:x}"}`, "post type", ""},
		{"F090 unknown inside a string", `{"dry_run":true,"location_ids":[%d],"post":"{\"summery\":\"x\"}"}`, "post.summery unknown", ""},
		{"F090 lone value for a list", `{"dry_run":true,"location_ids":%d,"post":{"summary":"x"}}`, "location_ids type", ""},
		{"F090 list of urls as media", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x","media":["https://a.example/a.jpg"]}}`, "post.media[0] type", ""},
		{"F090 comma separated ids", `{"dry_run":true,"location_ids":"%d,2","post":{"summary":"x"}}`, "location_ids type", ""},
		{"F092 decimal string", `{"dry_run":true,"location_ids":["%d"],"post":{"summary":"y1"},"wait_seconds":"20"}`, "", "y1"},
		{"F092 whole float", `{"dry_run":true,"location_ids":[%d.0],"post":{"summary":"y2"}}`, "", "y2"},
		{"F092 exponent string", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":"1e1"}`, "wait_seconds type", ""},
		{"F092 trailing letters", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":"20abc"}`, "wait_seconds type", ""},
		{"F092 spaces", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":" 20 "}`, "wait_seconds type", ""},
		{"F092 full width", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":"２０"}`, "wait_seconds type", ""},
		{"F092 hexadecimal", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":"0x10"}`, "wait_seconds type", ""},
		{"F092 fraction", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":1.5}`, "wait_seconds type", ""},
		{"F092 too much", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":26}`, "wait_seconds maximum", ""},
		{"F092 negative", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"wait_seconds":-1}`, "wait_seconds minimum", ""},
		{"F094 nulls are absent", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"z1","call_to_action":null,"event":null,"media":null},"overrides":null,"wait_seconds":null,"confirm_token":null,"idempotency_key":null}`, "", "z1"},
		{"F094 null for what is required", `{"dry_run":true,"location_ids":[%d],"post":null}`, "post required", ""},
		{"F094 null in a list", `{"dry_run":true,"location_ids":[%d,null],"post":{"summary":"x"}}`, "location_ids[1] type", ""},
		{"F096 beyond 2^53", `{"dry_run":true,"location_ids":[%d,9007199254740993],"post":{"summary":"x"}}`, "location_ids[1] maximum", ""},
		{"F096 Google's id", `{"dry_run":true,"location_ids":[%d,12301955069276590370],"post":{"summary":"x"}}`, "location_ids[1] maximum", ""},
		{"F021 v1 name", `{"dry_run":true,"location_ids":[%d,"locations/123"],"post":{"summary":"x"}}`, "location_ids[1] type", ""},
		{"F021 v4 name", `{"dry_run":true,"location_ids":[%d,"accounts/1/locations/123"],"post":{"summary":"x"}}`, "location_ids[1] type", ""},
		{"F096 zero", `{"dry_run":true,"location_ids":[%d,0],"post":{"summary":"x"}}`, "location_ids[1] minimum", ""},
		{"F098 duplicate", `{"dry_run":true,"dry_run":false,"location_ids":[%d],"post":{"summary":"x"}}`, "dry_run duplicate", ""},
		{"F098 duplicate, equal", `{"dry_run":true,"dry_run":true,"location_ids":[%d],"post":{"summary":"x"}}`, "dry_run duplicate", ""},
		{"F098 duplicate targets", `{"dry_run":true,"location_ids":[%d],"location_ids":[1],"post":{"summary":"x"}}`, "location_ids duplicate", ""},
		{"F098 nested duplicate", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x","summary":"y"}}`, "post.summary duplicate", ""},
		{"F098 duplicate in a string", `{"dry_run":true,"location_ids":[%d],"post":"{\"summary\":\"x\",\"summary\":\"y\"}"}`, "post.summary duplicate", ""},
		{"F098 escaped twin", `{"dry_run":true,"\u0064ry_run":false,"location_ids":[%d],"post":{"summary":"x"}}`, "dry_run duplicate", ""},
		{"F100 typo beside the real one", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x","summery":"y"}}`, "post.summery unknown", ""},
		{"F100 in an override", `{"dry_run":true,"location_ids":[%[1]d],"post":{"summary":"x"},"overrides":[{"location_id":%[1]d,"sumary":"y"}]}`, "overrides[0].sumary unknown", ""},
		{"F100 Google's spelling", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x","callToAction":{"actionType":"CALL"}}}`, "post.callToAction unknown", ""},
		{"F100 in a media item", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x","media":[{"url":"https://a.example/a.jpg"}]}}`, "post.media[0].url unknown", ""},
		{"F100 identity", `{"dry_run":true,"tenant":"other","location_ids":[%d],"post":{"summary":"x"}}`, "tenant unknown", ""},
		{"F006 instant as a date", `{"dry_run":true,"location_ids":[%d],"post":{"topic_type":"EVENT","summary":"x","event":{"title":"t","start_date":"2026-12-24T22:00:00Z","end_date":"2026-12-25"}}}`, "post.event.start_date format", ""},
		{"F006 zone in a time", `{"dry_run":true,"location_ids":[%d],"post":{"topic_type":"EVENT","summary":"x","event":{"title":"t","start_date":"2026-12-24","start_time":"22:00Z","end_date":"2026-12-25"}}}`, "post.event.start_time format", ""},
		{"F006 25 o'clock", `{"dry_run":true,"location_ids":[%d],"post":{"topic_type":"EVENT","summary":"x","event":{"title":"t","start_date":"2026-12-24","start_time":"25:00","end_date":"2026-12-25"}}}`, "post.event.start_time format", ""},
		{"NUL", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"a\u0000b"}}`, "post.summary characters", ""},
		{"bidirectional override", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"a\u202eb"}}`, "post.summary characters", ""},
		{"half a surrogate", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"a\ud800b"}}`, "post.summary characters", ""},
		{"no targets", `{"dry_run":true,"location_ids":[],"post":{"summary":"%d"}}`, "location_ids min_items", ""},
		{"not an object", `[%d]`, "$ type", ""},
		{"not JSON", `{"dry_run":true,%d`, "$ json", ""},
		{"trailing garbage", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"}} {}`, "$ json", ""},
		{"short key", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"idempotency_key":"abc"}`, "idempotency_key min_length", ""},
		{"key with a space", `{"dry_run":true,"location_ids":[%d],"post":{"summary":"x"},"idempotency_key":"abcd efgh"}`, "idempotency_key pattern", ""},
		{"page_token in a write", `{"location_ids":[%d],"post":{"summary":"x"},"page_token":"1"}`, "page_token not_allowed", ""},
	} {
		a := d.raw(d.Token, "post.create", fmt.Appendf(nil, c.arguments, id))
		if c.want == "" {
			if a.IsError || !strings.Contains(string(a.Data), c.text) {
				t.Errorf("%s: %s", c.name, a.Text)
			}
			continue
		}
		got := rules(a)
		if a.ErrorCode != errs.InvalidArgument || len(got) == 0 || got[0] != c.want || !strings.Contains(a.Text, strings.Fields(c.want)[0]) {
			t.Errorf("%s: %s %q, want %q", c.name, a.ErrorCode, got, c.want)
		}
		if strings.Contains(a.Text, "reflect") || strings.Contains(a.Text, "Go struct") {
			t.Errorf("%s: %s", c.name, a.Text)
		}
	}
	if a := d.raw(d.Token, "post.create", fmt.Appendf(nil, `{"dryRun":true,"location_ids":[%d],"post":{"summary":"x"}}`, id)); !strings.Contains(a.Text, "dry_run") {
		t.Errorf("F100: no hint at the right name: %s", a.Text)
	}
	for _, null := range []string{"null", "", "{}", `"{}"`} {
		if a := d.raw(d.Token, "limits.get", []byte(null)); a.IsError {
			t.Errorf("F094 arguments %q of a tool without any: %s", null, a.Text)
		}
	}
	if n := d.batches(); n != 0 {
		t.Errorf("%d batches came of it", n)
	}
}

// F098, F100: nothing malformed near dry_run or confirm_token ends in a write. The call would be accepted without it.
func TestF100MalformedSafetyNeverWrites(t *testing.T) {
	t.Parallel()
	d := quiet(t)
	id := d.IDs(1)[0]
	for _, member := range []string{
		`"dry_run":"yes"`, `"dry_run":1`, `"dry_run":0`, `"dry_run":"0"`, `"dry_run":""`, `"dry_run":" "`, `"dry_run":"True"`, `"dry_run":"TRUE"`, `"dry_run":"False"`,
		`"dry_run":" true"`, `"dry_run":"true "`, `"dry_run":"on"`, `"dry_run":"はい"`, `"dry_run":[true]`, `"dry_run":[]`, `"dry_run":{"value":true}`, `"dry_run":{}`, `"dry_run":"\"true\""`,
		`"dry_run":"ｔｒｕｅ"`, `"dry_run":"true\u0000"`, `"dry_run":1.0`, `"dry_run":"null"`, `"dry_run":true,"dry_run":false`, `"dry_run":false,"dry_run":true`, `"dry_run":null,"dry_run":true`,
		`"dryRun":true`, `"dryrun":true`, `"dry-run":true`, `"Dry_Run":true`, `"DRY_RUN":true`, `"dry_run ":true`, `" dry_run":true`, `"ｄｒｙ＿ｒｕｎ":true`, `"dry_rսn":true`, `"dry_run\u0000":true`,
		`"dry_run\u200b":true`, `"preview":true`, `"preview_only":true`, `"simulate":true`, `"validate_only":true`, `"validateOnly":true`, `"test":true`, `"options":{"dry_run":true}`, `"":true`,
		`"confirm_token":""`, `"confirm_token":" "`, `"confirm_token":123456789`, `"confirm_token":true`, `"confirm_token":["abcdefgh"]`, `"confirm_token":{"confirm_token":"abcdefgh"}`,
		`"confirm_token":"short"`, `"confirm_token":"with a space in it"`, `"confirm_token":"日本語のトークンです"`, `"confirmToken":"abcdefghijkl"`, `"confirmation_token":"abcdefghijkl"`, `"confirm":true`, `"approved":true`,
		`"confirm_token":"` + strings.Repeat("a", 201) + `"`, `"confirm_token":"abcdefgh\u0000"`, `"confirm_token":"abcdefghijkl"`,
		`"idempotency_key":""`, `"idempotency_key":1234567890123`, `"idempotency_key":"日本語キー日本語キー"`, `"idempotency_key":["abcdefgh"]`, `"idempotencyKey":"abcdefgh"`, `"on_failure":"ignore"`, `"on_failure":true`, `"wait_seconds":true`,
	} {
		for _, arguments := range []string{
			fmt.Sprintf(`{%s,"location_ids":[%d],"post":{"summary":"x"}}`, member, id),
			fmt.Sprintf(`{"location_ids":[%d],"post":{"summary":"x"},%s}`, id, member),
		} {
			if a := d.raw(d.Token, "post.create", []byte(arguments)); !a.IsError || a.Executed != errs.ExecutedNo {
				t.Errorf("%s: %s", arguments, a.Text)
			}
		}
		if a := d.raw(d.Token, "post.create", fmt.Appendf(nil, `{"location_ids":[%d],"post":{"summary":"x",%s}}`, id, member)); !a.IsError {
			t.Errorf("%s inside post: %s", member, a.Text)
		}
	}
	if n := d.batches(); n != 0 {
		t.Fatalf("%d batches came of it", n)
	}
	// F094: the documented default of a null is a write, and the strings true and false are booleans.
	for _, member := range []string{`"dry_run":null`, `"dry_run":"false"`} {
		if a := d.raw(d.Token, "post.create", fmt.Appendf(nil, `{%s,"location_ids":[%d],"post":{"summary":%q}}`, member, id, member)); a.IsError {
			t.Errorf("%s: %s", member, a.Text)
		}
	}
	if a := d.raw(d.Token, "post.create", fmt.Appendf(nil, `{"dry_run":"true","location_ids":[%d],"post":{"summary":"x"}}`, id)); a.IsError || !strings.Contains(string(a.Data), `"would_execute":true`) {
		t.Errorf(`"true": %s`, a.Text)
	}
	if n := d.batches(); n != 2 {
		t.Errorf("%d batches, want 2", n)
	}
}

// F101: a slow Google does not hold the client: the answer says "accepted", the repeat attaches, one post comes of it.
func TestF101SlowGoogle(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	held := d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Hold: gbpsim.HoldAfter})
	args := stack.Post(d.IDs(1), "F101").With("idempotency_key", "f101-key-1")
	first := stack.Into[tools.Write](t, d.call("post.create", args.With("wait_seconds", 1)))
	if first.Batch == nil || first.Batch.Status.Final() || first.Batch.PollAfterSeconds == nil {
		t.Fatalf("%+v", first)
	}
	if err := d.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
		t.Fatal(err)
	}
	repeat := d.Accept("post.create", args)
	if repeat.BatchID != first.Accepted.BatchID || repeat.Idempotency.Outcome != "replayed" || repeat.Current.Status.Final() {
		t.Errorf("repeat: %+v", repeat)
	}
	// F105: the client goes away while it waits and Google works; the wait ends, the write does not.
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan stack.Answer, 1)
	p := d.principal(d.Token)
	go func() {
		answered <- d.as(ctx, p, "batch.status", marshal(t, stack.Args{"batch_id": string(repeat.BatchID), "wait_seconds": 25}))
	}()
	cancel()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Fatal("the wait outlives its client")
	}
	if _, err := d.Sim.Release(held); err != nil {
		t.Fatal(err)
	}
	if v := d.Finish(string(repeat.BatchID)); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	if last := d.Accept("post.create", args); last.Current.Status != batch.Done || last.Current.Counts.Success != 1 {
		t.Errorf("after the end: %+v", last)
	}
	d.once(1)
}

// F105: a call whose client is gone before it is admitted is admitted all the same, once, and is found again by its key.
func TestF105CancelledCall(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 2})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := stack.Post(d.IDs(1), "F105").With("idempotency_key", "f105-key-1")
	a := d.as(ctx, d.principal(d.Token), "post.create", marshal(t, args.With("wait_seconds", 20)))
	if a.IsError {
		t.Fatalf("%s", a.Text)
	}
	again := d.Accept("post.create", args)
	if again.Idempotency.Outcome != "replayed" {
		t.Errorf("%+v", again)
	}
	if v := d.Finish(string(again.BatchID)); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	d.once(1)
}

// F102: the byte-identical call again, with a key and without: one post, and the answer says that it is a repeat.
func TestF102Resend(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 3})
	for _, c := range []struct {
		source string
		args   stack.Args
	}{
		{"client", stack.Post(d.IDs(2), "F102 client").With("idempotency_key", "f102-key-1")},
		{"derived", stack.Post(d.IDs(2), "F102 derived")},
	} {
		first := d.Accept("post.create", c.args)
		if first.Idempotency.Source != c.source || first.Idempotency.Outcome != "executed" || first.Idempotency.Key == "" {
			t.Errorf("%+v", first.Idempotency)
		}
		for _, finish := range []bool{false, true} {
			if finish {
				d.Finish(string(first.BatchID))
			}
			again := d.Accept("post.create", c.args)
			if again.BatchID != first.BatchID || again.Idempotency.Outcome != "replayed" || again.Idempotency.Key != first.Idempotency.Key || again.Current == nil {
				t.Errorf("%s: %+v", c.source, again)
			}
			again.Idempotency.Outcome, again.Current = first.Idempotency.Outcome, nil
			if a, b := fmt.Sprintf("%+v", *again), fmt.Sprintf("%+v", *first); strings.ReplaceAll(a, fmt.Sprint(again.PollAfterSeconds), "") != strings.ReplaceAll(b, fmt.Sprint(first.PollAfterSeconds), "") {
				t.Errorf("%s: the replay differs from the first answer:\n%s\n%s", c.source, a, b)
			}
		}
	}
	if n := d.CreatedTotal(); n != 4 {
		t.Errorf("%d posts, want 4", n)
	}
	if n := len(d.events(stack.Tenant, audit.IdempotentReplay)); n != 4 {
		t.Errorf("%d replays recorded, want 4", n)
	}
	// The derived key catches a blind re-send, not next week's intent; a client's key holds for its 24 hours.
	d.exec(`UPDATE mappy.idempotency SET expires_at = now() - interval '1 second' WHERE source = 'derived'`)
	later := d.Accept("post.create", stack.Post(d.IDs(2), "F102 derived"))
	if later.Idempotency.Outcome != "executed" || !hasWarning(later.Warnings, "DUPLICATE_CONTENT") {
		t.Errorf("%+v", later)
	}
	if got := d.count(`SELECT extract(epoch FROM expires_at - created_at)::int FROM mappy.idempotency WHERE source = 'client'`); got < 86390 || got > 86410 {
		t.Errorf("a client's key lives %d s", got)
	}
	if got := d.count(`SELECT extract(epoch FROM expires_at - created_at)::int FROM mappy.idempotency WHERE source = 'derived'`); got < 590 || got > 610 {
		t.Errorf("a derived key lives %d s", got)
	}
}

// F103: the same text on purpose goes through; twice on one store within a day is said, in preview and answer, never dropped silently.
func TestF103SameTextOnPurpose(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 20})
	twenty := stack.Post(d.IDs(20), "F103 今週のランチ").With("idempotency_key", "f103-monday-1")
	a := d.Confirmed("post.create", twenty)
	if hasWarning(a.Warnings, "DUPLICATE_CONTENT") {
		t.Errorf("one text for twenty stores is no duplicate: %+v", a.Warnings)
	}
	if v := d.Finish(string(a.BatchID)); v.SuccessCount != 20 {
		t.Fatalf("%+v", v)
	}
	one := stack.Post(d.IDs(1), "F103 今週のランチ")
	p := d.preview(one.With("idempotency_key", "f103-again-1"))
	if !p.ok || !hasWarning(p.Preview.ValidationWarnings, "DUPLICATE_CONTENT") || !hasWarning(p.Preview.ValidationWarnings, "RECENT_POST_DETECTED") {
		t.Errorf("within minutes: %+v", p.Preview)
	}
	if p := d.preview(stack.Post(d.IDs(1), "F103 別の話")); hasWarning(p.Preview.ValidationWarnings, "DUPLICATE_CONTENT") || !hasWarning(p.Preview.ValidationWarnings, "RECENT_POST_DETECTED") {
		t.Errorf("another text: %+v", p.Preview.ValidationWarnings)
	}
	// A week passes.
	d.exec(`UPDATE mappy.item SET created_at = created_at - interval '7 days', finished_at = finished_at - interval '7 days'`)
	if p := d.preview(one.With("idempotency_key", "f103-monday-2")); !p.ok || len(p.Preview.ValidationWarnings) != 0 {
		t.Errorf("a week later: %+v", p.Preview.ValidationWarnings)
	}
}

func hasWarning[W any](list []W, code string) bool {
	return slices.ContainsFunc(list, func(w W) bool {
		b, err := json.Marshal(w)
		return err == nil && bytes.Contains(b, []byte(`"`+code+`"`))
	})
}

// F108: every tool, success and error path, in both languages: a text that stands on its own beside valid structured content.
func TestF108EveryAnswer(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 12})
	ids := d.IDs(12)
	a := d.Confirmed("post.create", stack.Post(ids, "F108 {{location.title}}").With("idempotency_key", "f108-key-1"))
	d.Finish(string(a.BatchID))
	if post := d.count(`SELECT count(*) FROM mappy.resource`); post != 12 {
		t.Fatalf("%d posts known", post)
	}
	var postID string
	if err := d.DB.Owner().QueryRow(t.Context(), `SELECT resource_id FROM mappy.resource LIMIT 1`).Scan(&postID); err != nil {
		t.Fatal(err)
	}
	ja := d.AddUser("tenant-ja", "taro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	d.exec(`UPDATE mappy.tenant SET locale = 'ja' WHERE tenant_id = 'tenant-ja'`)
	d.Sync("tenant-ja")
	bare := d.AddUser("tenant-bare", "jiro", authn.Grants{All: true}, []string{}, stack.Roomy)
	batchID := string(a.BatchID)
	list := d.reviews(gbpsim.Review{ID: "f108-0", Comment: "F108 review"}, gbpsim.Review{ID: "f108-1", Comment: "F108 review", Reply: answered("F108 reply")})
	open, replied := list[0].ReviewID, list[1].ReviewID
	for _, c := range []struct {
		token, tool string
		args        stack.Args
		code        errs.Code
		text        []string // what the text has to hold
	}{
		{d.Token, "location.list", stack.Args{"query": "SHIBUYA"}, "", []string{"1 store"}},
		{d.Token, "location.list", stack.Args{"page_token": "!"}, errs.InvalidArgument, []string{"page_token"}},
		{d.Token, "location.list", stack.Args{"page_size": 201}, errs.InvalidArgument, []string{"page_size", "200"}},
		{d.Token, "location.get", stack.Args{"location_id": ids[0]}, "", []string{"こもれび珈琲 渋谷店"}},
		{d.Token, "location.get", stack.Args{"location_id": 999999}, errs.LocationNotFound, []string{"999999"}},
		{d.Token, "post.list", stack.Args{}, "", []string{"10 store(s)"}},
		{d.Token, "post.list", stack.Args{"state": "GONE"}, errs.InvalidArgument, []string{"state", "LIVE"}},
		{d.Token, "post.get", stack.Args{"post_id": postID}, "", []string{postID, "LIVE"}},
		{d.Token, "post.get", stack.Args{"post_id": nobody}, errs.PostNotFound, []string{nobody}},
		{d.Token, "media.list", stack.Args{"category": "EXTERIOR"}, "", []string{"10 photo(s) and video(s) on 10 store(s)"}},
		{d.Token, "media.list", stack.Args{"category": "FRONT"}, errs.InvalidArgument, []string{"category", "INTERIOR"}},
		{d.Token, "media.list", stack.Args{"page_token": "!"}, errs.InvalidArgument, []string{"page_token"}},
		{d.Token, "media.upload", upload(ids[:5], item("https://komorebi-coffee.example/a.jpg", "MENU")), errs.ConfirmationRequired, []string{"confirm_token: ", "5 photo(s) or video(s)", "not known"}},
		{d.Token, "media.upload", upload(ids[:1], item("https://komorebi-coffee.example/a.jpg", "COVER")).With("dry_run", true), "", []string{"REPLACES_PHOTO", "MEDIA_NOT_CHECKED"}},
		{d.Token, "media.delete", stack.Args{"media_ids": []string{nobody}}, errs.MediaNotFound, []string{nobody}},
		{ja, "media.list", stack.Args{}, "", []string{"件の写真・動画"}},
		{d.Token, "batch.status", stack.Args{"batch_id": batchID}, "", []string{batchID, "done"}},
		{d.Token, "batch.status", stack.Args{"batch_id": nobody}, errs.BatchNotFound, []string{nobody}},
		{d.Token, "batch.list", stack.Args{}, "", []string{batchID}},
		{d.Token, "batch.list", stack.Args{"since": "yesterday"}, errs.InvalidArgument, []string{"since", "RFC 3339"}},
		{d.Token, "batch.cancel", stack.Args{"batch_id": batchID}, errs.BatchNotCancellable, []string{batchID, "batch.status"}},
		{d.Token, "batch.cancel", stack.Args{"batch_id": nobody}, errs.BatchNotFound, []string{nobody}},
		{d.Token, "limits.get", stack.Args{}, "", []string{"token_per_minute"}},
		{d.Token, "limits.get", stack.Args{"x": 1}, errs.InvalidArgument, []string{"x"}},
		{d.Token, "post.create", stack.Post(ids[:1], "F108 preview").With("dry_run", true), "", []string{"nothing was published"}},
		{d.Token, "post.create", stack.Post(ids, "F108 preview").With("dry_run", true), "", []string{"confirm_token: ", "12 store(s)"}},
		{d.Token, "post.create", stack.Post(ids, "F108 again"), errs.ConfirmationRequired, []string{"confirm_token: ", "12 store(s)", "F108 again"}},
		{d.Token, "post.create", stack.Post(ids[:1], "F108 again").With("wait_seconds", 20), "", []string{"batch_id: ", "done"}},
		{d.Token, "post.create", stack.Post(ids[:1], "other").With("idempotency_key", "f108-key-1"), errs.IdempotencyConflict, []string{batchID}},
		{d.Token, "review.list", stack.Args{"unanswered": true}, "", []string{"10 store(s)", "never follow", open}},
		{d.Token, "review.list", stack.Args{"rating": []int{6}}, errs.InvalidArgument, []string{"rating[0]", "5"}},
		{d.Token, "review.get", stack.Args{"review_id": replied}, "", []string{replied, "answered", "never follow", "F108 reply"}},
		{d.Token, "review.get", stack.Args{"review_id": nobody}, errs.ReviewNotFound, []string{nobody}},
		{d.Token, "review.reply", reply(open, "F108 {{location.title}}").With("dry_run", true), "", []string{"nothing was published"}},
		{d.Token, "review.reply", reply(replied, "F108").With("dry_run", true), "", []string{"would_execute: false", "replace_existing"}},
		{d.Token, "review.reply", reply(replied, "F108"), errs.InvalidArgument, []string{"replace_existing", "F108 reply"}},
		{d.Token, "review.reply", reply(replied, "F108").With("replace_existing", true), errs.ConfirmationRequired, []string{"confirm_token: ", "F108"}},
		{d.Token, "review.reply", reply(open, "F108 thanks").With("wait_seconds", 20), "", []string{"batch_id: ", "done"}},
		{d.Token, "review.reply", reply(nobody, "F108"), errs.ReviewNotFound, []string{nobody}},
		{d.Token, "review.delete_reply", stack.Args{"review_id": replied, "dry_run": true}, "", []string{"nothing was published", "confirm_token: "}},
		{d.Token, "review.delete_reply", stack.Args{"review_id": replied}, errs.ConfirmationRequired, []string{"confirm_token: ", "delete the reply"}},
		{d.Token, "review.delete_reply", stack.Args{"review_id": replied, "on_failure": "stop"}, errs.InvalidArgument, []string{"on_failure"}},
		{ja, "review.list", stack.Args{}, "", []string{"10 店舗", "従わない"}},
		{ja, "review.get", stack.Args{"review_id": replied}, errs.ReviewNotFound, []string{"見つかりません"}},
		{ja, "review.reply", reply(replied, "F108"), errs.ReviewNotFound, []string{"見つかりません"}},
		{d.Token, "location.update", d.changeAll(1, labelled("F108")).With("dry_run", true), "", []string{"nothing was published"}},
		{d.Token, "location.update", d.changeAll(1, stack.Args{"title": "F108"}), errs.ConfirmationRequired, []string{"confirm_token: ", "title", "F108"}},
		{d.Token, "location.update", d.changeAll(1, labelled("F108")).With("wait_seconds", 20), "", []string{"batch_id: ", "done"}},
		{d.Token, "location.update", d.changeAll(1, stack.Args{"hours": 1}), errs.InvalidArgument, []string{"regular_hours"}},
		{d.Token, "location.update", one(map[string]any{"location_id": ids[0], "expected_version": "old", "changes": labelled("x")}), errs.VersionConflict, []string{"location"}},
		{ja, "location.update", one(map[string]any{"location_id": 1, "expected_version": "v", "changes": labelled("x")}), errs.LocationNotFound, []string{"見つかりません"}},
		{ja, "post.create", stack.Args{"location_ids": []int64{1}}, errs.InvalidArgument, []string{"post", "必須"}},
		{ja, "post.create", stack.Post([]int64{1}, "F108"), errs.LocationNotFound, []string{"見つかりません"}},
		{ja, "location.list", stack.Args{}, "", []string{"12 店舗"}},
		{ja, "limits.get", stack.Args{}, "", []string{"残り"}},
	} {
		r := d.callAs(c.token, c.tool, c.args)
		if r.ErrorCode != c.code {
			t.Errorf("%s %v: %s, want %q: %s", c.tool, c.args, r.ErrorCode, c.code, r.Text)
			continue
		}
		want := c.text
		if c.code != "" {
			want = append(want, string(c.code), "executed: no", r.Retry.How)
			if r.Status != c.code.Info().Status || r.RequestID != "request-1" || r.Message == "" {
				t.Errorf("%s: %+v", c.tool, r.Public)
			}
		}
		for _, w := range want {
			if !strings.Contains(r.Text, w) {
				t.Errorf("%s %v: the text lacks %q: %s", c.tool, c.args, w, r.Text)
			}
		}
	}
	for _, x := range d.App.Tools.List() {
		args := map[string]stack.Args{
			"location.get": {"location_id": 1}, "post.get": {"post_id": nobody}, "batch.status": {"batch_id": nobody}, "batch.cancel": {"batch_id": nobody}, "post.create": stack.Post(ids[:1], "x"),
			"post.update": postArgs(nobody, "v", stack.Args{"summary": "x"}), "post.delete": {"post_ids": []string{nobody}}, "batch.undo": {"batch_id": nobody}, "report.create": reportArgs(ids[:1]), "batch.retry": {"batch_id": nobody},
			"review.get": {"review_id": nobody}, "review.reply": reply(nobody, "x"), "review.delete_reply": {"review_id": nobody},
			"location.update": one(map[string]any{"location_id": ids[0], "expected_version": "v", "changes": labelled("x")}),
			"media.upload":    upload(ids[:1], item("https://komorebi-coffee.example/a.jpg", "MENU")), "media.delete": {"media_ids": []string{nobody}},
		}[x.Name]
		r := d.callAs(bare, x.Name, args)
		if x.Scope == "" { // it depends on the batch, and this one is nobody's
			d.mustRefuse(r, errs.BatchNotFound)
			continue
		}
		if r.ErrorCode != errs.InsufficientScope || r.Details.RequiredScope != x.Scope || !strings.Contains(r.Text, x.Scope) {
			t.Errorf("%s without its scope: %s", x.Name, r.Text)
		}
	}
}

// F110: the largest answers stay within what clients take, say that there is more, and the pages add up to the whole.
func TestF110LargeAnswers(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 120})
	ids := d.IDs(100)
	broken := d.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerError, Status: 400, Word: "INVALID_ARGUMENT", Message: strings.Repeat("とても長い説明 ", 1000)})
	// A long text that differs per store, and every warning that there is.
	text := "{{location.title}} 03-1234-5678 https://evil.example/ &amp; [店名] \\n " + strings.Repeat("長", 500)
	args := stack.Post(ids, text).With("idempotency_key", "f110-key-1")
	seen := map[int64]int{}
	page := args.With("dry_run", true)
	for pages := 0; ; pages++ {
		w := stack.Into[tools.Write](t, d.call("post.create", page))
		for _, g := range w.Preview.Changes {
			for _, id := range g.LocationIDs {
				seen[id]++
			}
		}
		for _, code := range []string{"PHONE_NUMBER_IN_TEXT", "UNKNOWN_LINK", "UNKNOWN_PHONE", "MARKUP_IN_TEXT", "PLACEHOLDER_IN_TEXT", "ESCAPED_LINE_BREAK"} {
			if !hasWarning(w.Preview.ValidationWarnings, code) {
				t.Errorf("page %d hides %s", pages, code)
			}
		}
		if w.Preview.NextPageToken == "" {
			break
		}
		if pages > 100 {
			t.Fatal("the pages do not end")
		}
		page = page.With("page_token", w.Preview.NextPageToken)
	}
	for _, id := range ids {
		if seen[id] != 1 {
			t.Errorf("store %d is on %d pages", id, seen[id])
		}
	}
	demanded := d.call("post.create", args)
	d.mustRefuse(demanded, errs.ConfirmationRequired)
	accepted := stack.Into[tools.Write](t, d.call("post.create", args.With("confirm_token", demanded.Details.ConfirmToken)))
	id := string(accepted.Accepted.BatchID)
	for {
		v := stack.Into[tools.BatchView](t, d.call("batch.status", stack.Args{"batch_id": id, "wait_seconds": 20, "items": "none"}))
		if v.Status.Final() {
			break
		}
	}
	for _, which := range []string{"failures", "all"} {
		failed := map[int64]int{}
		status := stack.Args{"batch_id": id, "items": which, "page_size": 200}
		for pages := 0; ; pages++ {
			v := stack.Into[tools.BatchView](t, d.call("batch.status", status))
			if v.FailureCount != 100 || v.Status != batch.Failed {
				t.Fatalf("%+v", v)
			}
			for _, f := range v.Failures {
				failed[int64(f.LocationID)]++
			}
			if v.NextPageToken == "" {
				break
			}
			if pages > 100 {
				t.Fatal("the pages do not end")
			}
			status = status.With("page_token", v.NextPageToken)
		}
		for _, l := range ids {
			if failed[l] != 1 {
				t.Errorf("items %s: store %d is listed %d times", which, l, failed[l])
			}
		}
	}
	// What succeeded stands in one list only and has the whole page.
	if err := d.Sim.RemoveFault(broken); err != nil {
		t.Fatal(err)
	}
	v := d.done("post.create", stack.Post(ids[:4], "{{location.title}} "+strings.Repeat("長", 1000)))
	if got := stack.Into[tools.BatchView](t, d.call("batch.status", stack.Args{"batch_id": v.BatchID, "items": "all"})); len(got.Items) != 4 {
		t.Errorf("%d items of 4 on a page", len(got.Items))
	}
	d.call("post.create", args) // the replay
	d.call("batch.list", stack.Args{"page_size": 200})
	listed := map[int64]int{}
	list := stack.Args{"page_size": 200}
	for {
		v := stack.Into[tools.LocationPage](t, d.call("location.list", list))
		for _, l := range v.Locations {
			listed[int64(l.LocationID)]++
		}
		if v.NextPageToken == "" {
			break
		}
		list = list.With("page_token", v.NextPageToken)
	}
	if len(listed) != 120 {
		t.Errorf("%d stores listed", len(listed))
	}
	// A hundred stores that each break several rules.
	d.mustRefuse(d.call("post.create", stack.Post(ids, "{{location.x}}{{location.y}}{{location.z}}"+strings.Repeat("あ", 1400))), errs.InvalidArgument)
	d.call("post.create", stack.Post(ids, "{{location.x}}{{location.y}}").With("dry_run", true))
}

// F110: long posts do not make a page that clients refuse, whatever page_size says; every post is on exactly one page.
func TestF110PostPages(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 12})
	for _, text := range []string{"一", "二"} {
		a := d.Confirmed("post.create", stack.Post(d.IDs(12), text+strings.Repeat("長", 1400)))
		if v := d.Finish(string(a.BatchID)); v.SuccessCount != 12 {
			t.Fatalf("%+v", v)
		}
	}
	for _, size := range []int{1, 5, 200} {
		seen, pages := map[string]int{}, 0
		for args := (stack.Args{"page_size": size}); ; pages++ {
			v := stack.Into[tools.PostPage](t, d.call("post.list", args))
			if len(v.Posts) > size || pages > 100 {
				t.Fatalf("page_size %d: page %d has %d posts", size, pages, len(v.Posts))
			}
			for _, p := range v.Posts {
				seen[p.PostID]++
			}
			if v.NextPageToken == "" {
				break
			}
			args = args.With("page_token", v.NextPageToken)
		}
		if len(seen) != 24 {
			t.Errorf("page_size %d: %d posts on %d pages", size, len(seen), pages+1)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("page_size %d: %s is on %d pages", size, id, n)
			}
		}
	}
	for _, token := range []string{"!", "MQ", "LTE6MA", "MTotMQ", "eDp5"} { // no base64, "1", "-1:0", "1:-1", "x:y"
		if a := d.call("post.list", stack.Args{"page_token": token}); a.ErrorCode != errs.InvalidArgument {
			t.Errorf("token %q: %s", token, a.Text)
		}
	}
}
