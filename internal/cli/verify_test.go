package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// What an operator keeps of one verification is what a later one takes. A chain that was computed anew is valid, and found.
func TestAuditVerifyAgainstAKeptSeal(t *testing.T) {
	s := stack.New(t, stack.Options{Stores: 1, NoServer: true, NoWorkers: true})
	x := newTerminal(t, s)
	x.must("audit", "list", "--limit", "1") // reading is recorded
	sealed(t, s)
	r := verified(t, x)
	if r.Newest.No == 0 {
		t.Fatalf("%+v", r)
	}
	number := fmt.Sprint(r.Newest.No)
	if out := x.must("audit", "verify"); !strings.HasPrefix(out, "komorebi: valid: ") || !strings.Contains(out, "newest seal "+number+", hash "+r.Newest.Hash+", 0 not sealed yet\n") {
		t.Errorf("in words: %s", out)
	}
	if out := x.must("audit", "verify", "--seal", number, "--hash", r.Newest.Hash); !strings.Contains(out, "seal "+number+" is the one that was kept") {
		t.Errorf("its own seal: %s", out)
	}
	for _, args := range [][]string{{"--seal", number}, {"--hash", r.Newest.Hash}, {"--seal", number, "--hash", r.Newest.Hash[:8]}} {
		if code, _, errOut := x.run(append([]string{"audit", "verify"}, args...)...); code == 0 || !strings.Contains(errOut, "--seal and --hash go together") {
			t.Errorf("%v: exit %d, %q", args, code, errOut)
		}
	}

	tx, err := s.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`SET LOCAL session_replication_role = replica`, `DELETE FROM mappy.audit_leaf`, `DELETE FROM mappy.audit_seal`,
		`DELETE FROM mappy.audit_event WHERE event_id = (SELECT min(event_id) FROM mappy.audit_event WHERE tenant_id = 'komorebi')`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	sealed(t, s)
	if now := verified(t, x); !now.Valid || now.Sealed != r.Sealed-1 {
		t.Fatalf("the new chain is whole: %+v", now)
	}
	if code, out, errOut := x.run("audit", "verify", "--seal", number, "--hash", r.Newest.Hash); code == 0 || strings.Contains(out, "valid:") || !strings.Contains(errOut, "is broken at seal "+number) {
		t.Errorf("computed anew: exit %d, %q, %q", code, out, errOut)
	}
}

func verified(t *testing.T, x *terminal) (r audit.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(x.must("audit", "verify", "--output", "json")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// sealed seals until nothing is left: transactions of other tests in the cluster hold the horizon back for a moment.
func sealed(t *testing.T, s *stack.Stack) {
	t.Helper()
	for {
		if _, err := s.App.DB.Seal(t.Context(), stack.Tenant); err != nil {
			t.Fatal(err)
		}
		if r, err := s.App.DB.VerifyAudit(t.Context(), stack.Tenant); err != nil || r.Unsealed == 0 {
			return
		}
	}
}
