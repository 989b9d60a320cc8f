package policy_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// One tenant's lists are no other tenant's, and not the deployment's.
func TestOverrideLeavesTheBaseAlone(t *testing.T) {
	t.Parallel()
	base := policy.Default()
	base.AllowedLinkDomains, base.AllowedPhones = []string{"deployment.example", "second.example"}, []string{"0310000000"}
	first, err := base.Override([]byte(`{"allowed_link_domains":["first.example"],"allowed_phones":["0311111111"],"confirm_at":{"post.create":1}}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := base.Override([]byte(`{"allowed_link_domains":["second-tenant.example"],"allowed_phones":["0322222222"]}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want []string }{
		{base.AllowedLinkDomains, []string{"deployment.example", "second.example"}},
		{base.AllowedPhones, []string{"0310000000"}},
		{first.AllowedLinkDomains, []string{"first.example"}},
		{first.AllowedPhones, []string{"0311111111"}},
		{second.AllowedLinkDomains, []string{"second-tenant.example"}},
		{second.AllowedPhones, []string{"0322222222"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if base.ConfirmAt["post.create"] != 5 || second.ConfirmAt["post.create"] != 5 || first.ConfirmAt["post.create"] != 1 {
		t.Errorf("thresholds: %v, %v, %v", base.ConfirmAt, first.ConfirmAt, second.ConfirmAt)
	}
}

// What is saved has no mistakes; what a newer program has stored can be read all the same.
func TestDeclareIsStricterThanOverride(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	for _, c := range []struct {
		own, says string
		reads     bool // Override takes it
	}{
		{own: ``, reads: true},
		{own: `{}`, reads: true},
		{own: `{"confirm_at":{"review.reply":2,"report.create":1},"max_targets":50}`, reads: true},
		{`{"confirm_allways":true}`, "confirm_allways", true},
		{`{"confirm_at":{"post_create":1}}`, `"post_create"`, true},
		{`{"confirm_at":{"batch.undo":1}}`, `"batch.undo"`, true},
		{`{"confirm_at":{"post.create":0}}`, "post.create is 0", true},
		{`{"confirm_token_seconds":10000000000000}`, "confirm_token_seconds is 10000000000000, at most 31622400", false},
		{`{"undo_days":367}`, "undo_days is 367, at most 366", false},
		{`{"undo_days":366,"idempotency_seconds":31622400}`, "", true},
		{`{"confirm_at":{"nothing":1,"post.create":-3}}`, "post.create is -3", true},
		{own: `{"allowed_link_domains":["own.example","WWW.Own.example","order.own.co.jp","例え.jp","facebook.com/own"],"allowed_phones":["03-1000-0000","+81 (0)3 1000 0000","1234-5678"]}`, reads: true},
		{`{"allowed_link_domains":["https://own.example/"]}`, `"https://own.example/" is neither`, true},
		{`{"allowed_link_domains":["own.example","*.own.example"]}`, `"*.own.example" is neither`, true},
		{`{"allowed_link_domains":["own.example:443"]}`, "neither", true},
		{`{"allowed_link_domains":["own.example/"]}`, "neither", true},
		{`{"allowed_link_domains":["own"]}`, "neither", true},
		{`{"allowed_link_domains":[""]}`, "neither", true},
		{`{"allowed_link_domains":["co.jp"]}`, `below "co.jp" everybody`, true},
		{`{"allowed_link_domains":["github.io"]}`, `below "github.io" everybody`, true},
		{`{"allowed_phones":["Tokyo store"]}`, `"Tokyo store" is no phone`, true},
		{`{"allowed_phones":["0000"]}`, `"0000" is no phone`, true},
		{`{"max_targets":101}`, "max_targets", false},
		{`{"max_targets":"many"}`, "max_targets", false},
		{`[]`, "policy", false},
	} {
		err := p.Declare([]byte(c.own))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("declare %s: %v, want %q", c.own, err, c.says)
		}
		if _, err := p.Override([]byte(c.own), 1); (err == nil) != c.reads {
			t.Errorf("read %s: %v", c.own, err)
		}
	}
}

// A threshold can be declared for exactly the changes that tools make.
func TestWritesAreTheToolsOwn(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(tools.Deps{Environment: "simulator", Now: time.Now, NewID: func() string { return "" }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, tool := range set.List() {
		if admission.EffectOf(tool.Name) != (admission.Effect{}) {
			want = append(want, tool.Name)
		}
	}
	got := policy.Writes()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, the tools make %v", got, want)
	}
}
