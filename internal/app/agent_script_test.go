package app_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// agent is a scripted client of the whole product over HTTP. It knows the tools as they are listed and the server's
// instructions; every id, version, token and next step it has from results and errors. Of the product's Go types it knows
// nothing: an answer is JSON and text.
type agent struct {
	t       *testing.T
	session *mcp.ClientSession
	tools   map[string]listed
	// person answers questions; nil agrees to everything. asked is what it was shown.
	person func(question string) bool
	asked  []string
	// pause lets that many seconds pass, as an answer asked for; nil forbids it.
	pause func(seconds float64)
	// mend changes arguments as a violation says, false where the task knows no way.
	mend func(v violation, args stack.Args) bool
	// lookUp is asked for the arguments again after a NOT_FOUND, with the tool that lists that kind.
	lookUp func(list string, args stack.Args) stack.Args
	// log is every call that was made.
	log []string
}

// listed is a tool as tools/list shows it.
type listed struct {
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
}

// told is an answer.
type told struct {
	refused bool
	facts   any
	text    string
	links   []*mcp.ResourceLink
}

type violation struct{ path, rule, message, location string }

// hire opens a session for the desk's user.
func (d *desk) hire(t *testing.T) *agent {
	t.Helper()
	a := &agent{t: t, tools: map[string]listed{}}
	a.session = connect(t, d.Stack, nil)
	list, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list.Tools {
		var l listed
		again(t, x, &l)
		a.tools[x.Name] = l
	}
	return a
}

// again is v in another type, by its JSON.
func again(t testing.TB, v, into any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// at is what stands under a path of names; nil for nothing.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func textAt(v any, path string) string {
	switch x := at(v, path).(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return fmt.Sprintf("%.0f", x)
	default:
		return fmt.Sprint(x)
	}
}

func numberAt(v any, path string) float64 { n, _ := at(v, path).(float64); return n }
func listAt(v any, path string) []any     { l, _ := at(v, path).([]any); return l }
func trueAt(v any, path string) bool      { b, _ := at(v, path).(bool); return b }

// takes tells whether a tool's listed schema has an argument.
func (a *agent) takes(tool, argument string) bool {
	return at(a.tools[tool].InputSchema, "properties."+argument) != nil
}

// once makes one call, and holds the text to the contract: what a client needs that shows nothing else.
func (a *agent) once(tool string, args stack.Args) told {
	a.t.Helper()
	if _, ok := a.tools[tool]; !ok {
		a.t.Fatalf("there is no tool %s in the list", tool)
	}
	res, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	r := told{refused: res.IsError, facts: res.StructuredContent}
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			r.text += c.Text
		case *mcp.ResourceLink:
			r.links = append(r.links, c)
		}
	}
	a.log = append(a.log, tool+" "+textAt(r.facts, "error_code"))
	for _, path := range []string{
		"error_code", "retry.how", "details.confirm_token", "details.human_readable_message", "details.batch_id", "data.batch_id", "data.next",
		"data.confirmation.confirm_token", "data.would_refuse.error_code", "data.next_page_token",
	} {
		if s := textAt(r.facts, path); s != "" && !strings.Contains(r.text, s) && !strings.Contains(r.text, strings.Trim(quoted(s), `"`)) {
			a.t.Errorf("%s: the text lacks %s, %q:\n%.600s", tool, path, s, r.text)
		}
	}
	return r
}

// quoted is v as JSON.
func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// attempts bounds how often the agent answers refusals of one call.
const attempts = 8

// call makes a call and does what refusals say, until it succeeds or nothing is left to do.
func (a *agent) call(tool string, args stack.Args) told {
	a.t.Helper()
	args = maps.Clone(args)
	for range attempts {
		r := a.once(tool, args)
		if !r.refused {
			return r
		}
		if textAt(r.facts, "executed") != "no" || !trueAt(r.facts, "retry.possible") {
			return r
		}
		if a.takes(tool, "idempotency_key") && args["idempotency_key"] != nil && !trueAt(r.facts, "retry.same_key") {
			return r
		}
		if !a.react(tool, args, r.facts) {
			return r
		}
	}
	a.t.Fatalf("%s is refused again and again: %v", tool, a.log)
	return told{}
}

// react changes arguments, asks or waits as a refusal says, and tells whether there is something to send again.
func (a *agent) react(tool string, args stack.Args, refusal any) bool {
	a.t.Helper()
	switch code := textAt(refusal, "error_code"); {
	case code == "CONFIRMATION_REQUIRED":
		if !a.ask(textAt(refusal, "details.human_readable_message")) {
			return false
		}
		args["confirm_token"] = textAt(refusal, "details.confirm_token")
		return true
	case strings.HasPrefix(code, "CONFIRM_TOKEN_"):
		delete(args, "confirm_token") // a new one comes with the question
		return code != "CONFIRM_TOKEN_USED"
	case code == "VERSION_CONFLICT":
		delete(args, "confirm_token")
		return a.readAgain(tool, args, listAt(refusal, "details.changed"))
	case strings.HasSuffix(code, "_NOT_FOUND"):
		list := strings.ToLower(strings.TrimSuffix(code, "_NOT_FOUND")) + ".list"
		if a.lookUp == nil || a.tools[list].Description == "" {
			return false
		}
		maps.Copy(args, a.lookUp(list, args))
		return true
	case code == "INVALID_ARGUMENT":
		mended := false
		for _, x := range listAt(refusal, "details.violations") {
			v := violation{textAt(x, "path"), textAt(x, "rule"), textAt(x, "message"), textAt(x, "location_id")}
			mended = a.mend != nil && a.mend(v, args) || mended
		}
		return mended
	case numberAt(refusal, "retry.after_seconds") > 0:
		if a.pause == nil {
			a.t.Fatalf("nobody expected a wait: %v", refusal)
		}
		a.pause(numberAt(refusal, "retry.after_seconds"))
		return true
	}
	return false
}

// ask shows something to the person.
func (a *agent) ask(question string) bool {
	a.t.Helper()
	if question == "" {
		a.t.Fatal("there is nothing to ask the person")
	}
	a.asked = append(a.asked, question)
	return a.person == nil || a.person(question)
}

// versionFrom finds, in the description of expected_version, the tool that reads one thing.
var versionFrom = regexp.MustCompile(`([a-z]+\.get) gave`)

// readAgain reads what changed and puts the new versions into the arguments. The person is shown what is there now.
func (a *agent) readAgain(tool string, args stack.Args, changed []any) bool {
	a.t.Helper()
	m := versionFrom.FindStringSubmatch(quoted(a.tools[tool].InputSchema))
	if m == nil || len(changed) == 0 {
		return false
	}
	for _, c := range changed {
		id, names := at(c, "location_id"), "location_id"
		if t := textAt(c, "target_id"); t != "" {
			id, names = t, strings.TrimSuffix(m[1], ".get")+"_id"
		}
		now := a.call(m[1], stack.Args{names: id})
		if now.refused || !a.ask(now.text) || !renew(any(map[string]any(args)), names, id, textAt(now.facts, "data.version")) {
			return false
		}
	}
	return true
}

// renew sets expected_version beside an id, wherever that stands in the arguments.
func renew(v any, name string, id any, version string) (done bool) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			done = renew(e, name, id, version) || done
		}
	case map[string]any:
		if x[name] != nil && textAt(x, name) == textAt(map[string]any{"id": id}, "id") {
			x["expected_version"] = version
			return true
		}
		for _, e := range x {
			done = renew(e, name, id, version) || done
		}
	}
	return done
}

// all is a list over all of its pages.
func (a *agent) all(tool, under string, args stack.Args) []any {
	a.t.Helper()
	var out []any
	for {
		r := a.call(tool, args)
		if r.refused {
			a.t.Fatalf("%s: %s", tool, r.text)
		}
		out = append(out, listAt(r.facts, "data."+under)...)
		next := textAt(r.facts, "data.next_page_token")
		if next == "" {
			return out
		}
		args = args.With("page_token", next)
	}
}

// reported is what the agent can say about a write at its end.
type reported struct {
	batch, status string
	// failed are error codes by the store's title, left the stores that a preview said are left alone, by id.
	failed map[string]string
	left   []string
	facts  any
	links  []*mcp.ResourceLink
}

// write is the flow of the instructions: preview, ask, write with token and key, follow, send again what may be sent again. A
// person who says no ends it with a zero report.
func (a *agent) write(tool string, args stack.Args) reported {
	a.t.Helper()
	args = args.With("idempotency_key", rand.Text())
	var left []string
	if a.takes(tool, "dry_run") {
		for range attempts {
			p := a.call(tool, args.With("dry_run", true))
			if p.refused {
				return reported{status: textAt(p.facts, "error_code"), facts: p.facts}
			}
			preview := at(p.facts, "data")
			if refusal, ok := at(preview, "would_refuse").(map[string]any); ok {
				refusal["details"] = map[string]any{"violations": listAt(preview, "validation_errors"), "changed": listAt(refusal, "changed")}
				refusal["retry"] = map[string]any{"after_seconds": refusal["after_seconds"]}
				if !a.react(tool, args, refusal) {
					return reported{status: textAt(refusal, "error_code"), facts: p.facts}
				}
				continue
			}
			for _, w := range listAt(preview, "validation_warnings") {
				if textAt(w, "code") == "LEFT_ALONE" {
					left = append(left, textAt(w, "location_id"))
				}
			}
			question := p.text
			if token := textAt(preview, "confirmation.confirm_token"); token != "" {
				question = textAt(preview, "confirmation.question")
				args["confirm_token"] = token
			}
			if !a.ask(question) {
				return reported{}
			}
			break
		}
	}
	r := a.call(tool, args)
	if r.refused {
		return reported{status: textAt(r.facts, "error_code"), facts: r.facts}
	}
	out := a.follow(textAt(r.facts, "data.batch_id"))
	out.left, out.links = left, append(out.links, r.links...)
	return out
}

// accept makes a write and does not wait for it.
func (a *agent) accept(tool string, args stack.Args) (id string) {
	a.t.Helper()
	r := a.call(tool, args.With("idempotency_key", rand.Text()))
	if id = textAt(r.facts, "data.batch_id"); id == "" {
		a.t.Fatalf("not accepted: %s", r.text)
	}
	return id
}

// follow polls a batch until it says that there is nothing to poll for, and retries what it says can be retried.
func (a *agent) follow(id string) reported {
	a.t.Helper()
	args := stack.Args{"batch_id": id, "items": "all"}
	if a.takes("batch.status", "wait_seconds") {
		args["wait_seconds"] = at(a.tools["batch.status"].InputSchema, "properties.wait_seconds.maximum")
	}
	var r told
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if r = a.call("batch.status", args); r.refused {
			a.t.Fatalf("batch.status: %s", r.text)
		}
		if at(r.facts, "data.poll_after_seconds") == nil {
			break
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("never final: %s", r.text)
		}
	}
	out := reported{batch: id, status: textAt(r.facts, "data.status"), failed: map[string]string{}, facts: r.facts, links: r.links}
	again := false
	for next := r; ; {
		for _, f := range listAt(next.facts, "data.failures") {
			out.failed[textAt(f, "target.title")] = textAt(f, "error_code")
			again = again || trueAt(f, "retry_possible")
		}
		token := textAt(next.facts, "data.next_page_token")
		if token == "" {
			break
		}
		next = a.call("batch.status", args.With("page_token", token))
	}
	if !again {
		return out
	}
	retried := a.write("batch.retry", stack.Args{"batch_id": id})
	for _, i := range listAt(retried.facts, "data.items") {
		if title := textAt(i, "target.title"); textAt(i, "state") == "succeeded" {
			delete(out.failed, title)
		}
	}
	return out
}

// ended holds what the agent needed against a bound.
func (a *agent) ended(most int) {
	a.t.Helper()
	if len(a.log) > most {
		a.t.Errorf("%d calls, more than %d: %s", len(a.log), most, strings.Join(a.log, "; "))
	}
}

// was tells whether the person was shown something with all of these words.
func (a *agent) was(words ...string) bool {
	return slices.ContainsFunc(a.asked, func(q string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(q, w) })
	})
}
