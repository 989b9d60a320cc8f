package gbpsim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

const (
	tokenHost = "oauth2.googleapis.com"
	v4Host    = "mybusiness.googleapis.com"
	v1Host    = "mybusinessbusinessinformation.googleapis.com"
	acctHost  = "mybusinessaccountmanagement.googleapis.com"
)

// start is where the clock of every bench begins.
var start = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// bench is a simulator with a four-store chain, a stranger with an account of his own, and a clock that stands still.
type bench struct {
	t     *testing.T
	sim   *gbpsim.Sim
	base  string
	token string
	store []gbpsim.LocationName
}

const (
	strangerEmail   = "stranger@elsewhere.example"
	strangerAccount = gbpsim.AccountName("accounts/900000000000000000001")
	strangerStore   = gbpsim.LocationName("locations/9000000000000000001")
)

func setup(t *testing.T, o gbpsim.Options) *bench {
	t.Helper()
	w := gbpsim.JapaneseChain(4)
	w.Accounts = append(w.Accounts, gbpsim.Account{Name: strangerAccount, AccountName: "Elsewhere", Emails: []string{strangerEmail}})
	w.Locations = append(w.Locations, gbpsim.Location{Name: strangerStore, Account: strangerAccount, Title: "Elsewhere Shop"})
	w.Grants = append(w.Grants, gbpsim.Grant{Email: strangerEmail, RefreshToken: "1//0stranger"})
	w.OAuthClients = []gbpsim.OAuthClient{{ID: "client", Secret: "hush"}}
	o.Seed = w
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	sim, base := gbpsim.Start(t, o)
	b := &bench{t: t, sim: sim, base: base, token: must(sim.AccessToken(gbpsim.DemoEmail))}
	for _, l := range w.Locations[:4] {
		b.store = append(b.store, l.Name)
	}
	return b
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// answer is what came back, decoded when it is JSON.
type answer struct {
	status int
	header http.Header
	raw    string
	json   map[string]any
}

// reason is details[].reason of the first ErrorInfo.
func (a answer) reason() string {
	for _, d := range a.details() {
		if r, ok := d["reason"].(string); ok {
			return r
		}
	}
	return ""
}

func (a answer) details() []map[string]any {
	var out []map[string]any
	e, _ := a.json["error"].(map[string]any)
	list, _ := e["details"].([]any)
	for _, d := range list {
		out = append(out, d.(map[string]any))
	}
	return out
}

// violation is the field of the first ValidationError or BadRequest, and the number of the former.
func (a answer) violation() (field string, code int) {
	for _, d := range a.details() {
		for _, key := range []string{"errorDetails", "fieldViolations"} {
			list, _ := d[key].([]any)
			for _, v := range list {
				m := v.(map[string]any)
				field, _ = m["field"].(string)
				n, _ := m["code"].(float64)
				return field, int(n)
			}
		}
	}
	return "", 0
}

func (a answer) text(field string) string {
	s, _ := a.json[field].(string)
	return s
}

// try sends a request and gives its answer, or the transport's error.
func (b *bench) try(method, hostPath, body string, change ...func(*http.Request)) (answer, error) {
	return b.tryIn(context.Background(), method, hostPath, body, change...)
}

func (b *bench) tryIn(ctx context.Context, method, hostPath, body string, change ...func(*http.Request)) (answer, error) {
	r := must(http.NewRequestWithContext(ctx, method, b.base+"/"+hostPath, strings.NewReader(body)))
	r.Header.Set("Authorization", "Bearer "+b.token)
	for _, c := range change {
		c(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: res.StatusCode, header: res.Header, raw: string(raw)}
	_ = json.Unmarshal(raw, &a.json) // not all answers are JSON
	return a, nil
}

func (b *bench) do(method, hostPath, body string, change ...func(*http.Request)) answer {
	b.t.Helper()
	a, err := b.try(method, hostPath, body, change...)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, hostPath, err)
	}
	return a
}

func (b *bench) posts(store int) string {
	return v4Host + "/v4/" + string(gbpsim.DemoGroup) + "/" + string(b.store[store]) + "/localPosts"
}

func (b *bench) create(store int, body string) answer {
	b.t.Helper()
	return b.do("POST", b.posts(store), body)
}

const plain = `{"topicType":"STANDARD","summary":"本日のおすすめ"}`

// created creates a plain post and gives its name.
func (b *bench) created(store int) string {
	b.t.Helper()
	a := b.create(store, plain)
	if a.status != 200 || a.text("name") == "" {
		b.t.Fatalf("create: %d %s", a.status, a.raw)
	}
	return a.text("name")
}

func (b *bench) listed(store int, query string) (names []string, next string) {
	b.t.Helper()
	a := b.do("GET", b.posts(store)+query, "")
	if a.status != 200 {
		b.t.Fatalf("list: %d %s", a.status, a.raw)
	}
	list, _ := a.json["localPosts"].([]any)
	for _, p := range list {
		names = append(names, p.(map[string]any)["name"].(string))
	}
	return names, a.text("nextPageToken")
}

func (b *bench) refresh(form url.Values) answer {
	b.t.Helper()
	return b.do("POST", tokenHost+"/token", form.Encode(), func(r *http.Request) {
		r.Header.Del("Authorization")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})
}

func refreshForm(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {"client"}, "client_secret": {"hush"}, "refresh_token": {token}}
}

// last is the newest journal entry.
func (b *bench) last() gbpsim.Entry {
	b.t.Helper()
	j := b.sim.Journal()
	if len(j) == 0 {
		b.t.Fatal("the journal is empty")
	}
	return j[len(j)-1]
}

func (b *bench) fault(f gbpsim.Fault) gbpsim.FaultID {
	b.t.Helper()
	id, err := b.sim.AddFault(f)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// recorder is a TB that notes instead of failing.
type recorder struct {
	errors  atomic.Int32
	cleanup []func()
}

func (*recorder) Helper()                 {}
func (r *recorder) Cleanup(f func())      { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Errorf(string, ...any) { r.errors.Add(1) }
func (r *recorder) Fatalf(string, ...any) { r.errors.Add(1) }

// fetch sends a request without credentials and gives status and body.
func fetch(t *testing.T, method, address, body string) (int, string) {
	t.Helper()
	r, err := http.DefaultClient.Do(must(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode, string(must(io.ReadAll(r.Body)))
}
