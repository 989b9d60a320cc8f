package app_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/idempotency"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// recorded are the tenant's events of one kind, oldest first.
func recorded(t *testing.T, s *stack.Stack, kind audit.Kind) (out []audit.Event) {
	t.Helper()
	for _, body := range queryRows[[]byte](t, s, `SELECT body FROM mappy.audit_event WHERE tenant_id = $1 AND event = $2 ORDER BY event_id`, stack.Tenant, kind) {
		var e audit.Event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// The path of a write leaves one event of every kind, with who, what, on whose word, and under which key's digest.
func TestAuditOfAWrite(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Policy: with(`"cancel_scope":"queued"`), Config: func(c *config.Config) { c.Worker.Bulk = 1 }})
	ids := s.IDs(6)
	const key = "audit-story-key"
	args := stack.Post(ids, "監査に残る投稿です。").With("idempotency_key", key)
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Location: place(s, 1), Answer: gbpsim.AnswerError, Status: 403})

	s.Call("post.create", args.With("dry_run", true))
	token := s.Call("post.create", args).Details.ConfirmToken
	if a := s.Call("post.create", stack.Post(ids, "別の文です。").With("confirm_token", token)); a.ErrorCode != errs.ConfirmTokenMismatch {
		t.Fatalf("got %s", a.Text)
	}
	accepted := s.Accept("post.create", args.With("confirm_token", token))
	s.Accept("post.create", args)
	v := s.Finish(string(accepted.BatchID))
	if a := s.Call("batch.cancel", stack.Args{"batch_id": accepted.BatchID}); a.ErrorCode != errs.BatchNotCancellable {
		t.Fatalf("got %s", a.Text)
	}
	kill := authn.KillSwitch{Kind: "tool", Target: "post.create", Reason: "drill"}
	for _, on := range []bool{true, false} {
		if err := s.App.DB.SetKill(t.Context(), stack.Tenant, kill, on, "operator-1"); err != nil {
			t.Fatal(err)
		}
	}
	err := s.App.DB.Save(t.Context(), postgres.Setup{
		ID: stack.Tenant, Name: "Komorebi", Locale: errs.English, Timezone: "Asia/Tokyo", Policy: json.RawMessage(with(`"token_per_minute":2`)),
		Users: []postgres.SetupUser{{ID: stack.User, Grants: authn.Grants{LocationIDs: ids[:1]}}},
	}, "operator-1")
	if err != nil {
		t.Fatal(err)
	}
	s.Finish(string(s.Accept("post.create", stack.Post(ids[:1], "一件目です。")).BatchID))
	if a := s.Call("post.create", stack.Post(ids[:1], "二件目です。")); a.ErrorCode != errs.RateLimited {
		t.Fatalf("got %s", a.Text)
	}
	if err := s.App.DB.RevokeToken(t.Context(), stack.Tenant, "token-hanako", "operator-1"); err != nil {
		t.Fatal(err)
	}

	for kind, n := range map[audit.Kind]int{
		audit.Preview: 1, audit.ConfirmTokenIssued: 2, audit.AdmissionRefused: 1, audit.ConfirmTokenRefused: 1, audit.ConfirmTokenAccepted: 1, audit.BatchDispatched: 2,
		audit.IdempotentReplay: 1, audit.ItemStarted: 7, audit.ItemSucceeded: 6, audit.ItemFailed: 1, audit.BatchFinished: 2, audit.CancelRequested: 1,
		audit.KillSwitchChanged: 2, audit.PolicyChanged: 2, audit.GrantChanged: 2, audit.RateLimited: 1, audit.TokenCreated: 1, audit.TokenRevoked: 1,
		audit.ConnectionAdded: 1, audit.ConnectionRefreshed: 1,
	} {
		if got := recorded(t, s, kind); len(got) != n {
			t.Errorf("%s is recorded %d times, want %d", kind, len(got), n)
		}
	}
	actor := audit.Actor{ClientID: stack.Client, UserID: stack.User, TokenID: "token-hanako"}
	keyHash := hex.EncodeToString(idempotency.Key{Value: key}.Hash())
	for _, kind := range []audit.Kind{
		audit.Preview, audit.ConfirmTokenIssued, audit.AdmissionRefused, audit.ConfirmTokenRefused, audit.ConfirmTokenAccepted, audit.BatchDispatched,
		audit.IdempotentReplay, audit.ItemStarted, audit.ItemSucceeded, audit.ItemFailed, audit.BatchFinished, audit.CancelRequested, audit.RateLimited,
	} {
		e := recorded(t, s, kind)[0]
		if e.Actor != actor || e.RequestID == "" || e.Tenant != stack.Tenant || e.Environment != "simulator" || e.Tool == "" || e.OccurredAt.IsZero() || e.Result == "" && kind != audit.ItemStarted {
			t.Errorf("%s: %+v", kind, e)
		}
	}
	d := recorded(t, s, audit.BatchDispatched)[0]
	if d.KeyHash != keyHash || d.KeySource != "client" || d.Assurance != "token" || d.InputHash == "" || d.PreviewDigest == "" || d.BatchID != string(accepted.BatchID) || d.Details.TargetCount != 6 || d.PolicyVersion == 0 {
		t.Errorf("batch_dispatched: %+v %+v", d, d.Details)
	}
	f := recorded(t, s, audit.ItemFailed)[0]
	if f.ErrorCode != errs.GBPPermissionDenied || f.LocationID != ids[1] || f.Details.GoogleStatus != 403 || f.BatchID != string(accepted.BatchID) || f.ItemID == "" {
		t.Errorf("item_failed: %+v", f)
	}
	ok := recorded(t, s, audit.ItemSucceeded)[0]
	if ok.Resource == "" || ok.NewVersion == "" || !strings.Contains(string(ok.After), `"summary"`) || ok.Details.GoogleName == "" {
		t.Errorf("item_succeeded: %+v", ok)
	}
	finished := recorded(t, s, audit.BatchFinished)[0]
	if finished.Result != string(v.Status) || finished.Details.Counts.Success != 5 || len(finished.Details.Failures) != 1 {
		t.Errorf("batch_finished: %+v", finished.Details)
	}
	if e := recorded(t, s, audit.CancelRequested)[0]; e.Details.Allowed == nil || *e.Details.Allowed || e.ErrorCode != errs.BatchNotCancellable {
		t.Errorf("cancel_requested: %+v", e)
	}
	for _, kind := range []audit.Kind{audit.KillSwitchChanged, audit.TokenRevoked, audit.GrantChanged, audit.PolicyChanged} {
		if events := recorded(t, s, kind); events[len(events)-1].Actor.OperatorID != "operator-1" {
			t.Errorf("%s: %+v", kind, events)
		}
	}
	all, err := s.App.DB.Events(t.Context(), stack.Tenant, audit.Filter{Limit: 1000}, audit.Actor{OperatorID: "operator-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range all {
		for _, secret := range []string{key, token, s.Token} {
			if bytes.Contains(body, []byte(secret)) {
				t.Errorf("a key or token stands in the audit: %s", body)
			}
		}
	}
	if n := len(recorded(t, s, audit.AuditRead)); n != 1 {
		t.Errorf("reading the audit is recorded %d times", n)
	}
	if one, err := s.App.DB.Events(t.Context(), stack.Tenant, audit.Filter{Batch: string(accepted.BatchID), Kind: audit.ItemFailed, Limit: 10}, audit.Actor{}); err != nil || len(one) != 1 {
		t.Errorf("search: %d events, %v", len(one), err)
	}
}

// A wrong token leaves a trace in the system tenant; a client that only asks where to get one does not.
func TestAuditOfRefusedLogins(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{Stores: 1, NoWorkers: true})
	for _, token := range []string{"", "wrong", authn.NewToken("simulator"), authn.NewToken("production")} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: HTTP %d", token, res.StatusCode)
		}
		if token == "" {
			continue
		}
		if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE position($1 IN convert_from(body, 'UTF8')) > 0`, token); n != 0 {
			t.Errorf("the refused token stands in the audit")
		}
	}
	if got := queryRows[string](t, s, `SELECT tenant_id || ' ' || error_code FROM mappy.audit_event WHERE event = 'login_failed'`); len(got) != 3 || got[0] != "system UNAUTHENTICATED" {
		t.Errorf("login_failed: %v", got)
	}
}

// F168: before anything is sent, what is about to be sent is committed; the outcome is committed with the item.
func TestF168IntentBeforeEffect(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 1})
	held := fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Hold: gbpsim.HoldBefore, Count: 1})
	accepted := s.Accept("post.create", stack.Post(s.IDs(1), "意図が先に残る投稿です。"))
	if err := s.Sim.AwaitHeld(t.Context(), held, 1); err != nil {
		t.Fatal(err)
	}
	if e := recorded(t, s, audit.ItemStarted); len(e) != 1 || e[0].Details.Attempt != 1 || e[0].BatchID != string(accepted.BatchID) {
		t.Errorf("item_started: %+v", e)
	}
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.attempt a JOIN mappy.item i USING (tenant_id, item_id) WHERE a.state = 'open' AND i.state = 'processing' AND a.fingerprint = i.fingerprint`); n != 1 {
		t.Errorf("%d open attempts", n)
	}
	if n := len(recorded(t, s, audit.ItemSucceeded)); n != 0 {
		t.Error("success is recorded before Google answered")
	}
	if _, err := s.Sim.Release(held); err != nil {
		t.Fatal(err)
	}
	s.Finish(string(accepted.BatchID))
	if n := len(recorded(t, s, audit.ItemSucceeded)); n != 1 {
		t.Errorf("item_succeeded is recorded %d times", n)
	}
}

// F085, F171: secrets in what Google and its token endpoint answer, and in the caller's own links, end nowhere.
func TestF171SecretsEndNowhere(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	s := engine(t, stack.Options{Stores: 8, Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	const (
		signature = "SECRETSIGNATURE4711"
		access    = "ya29.SECRETACCESS4711"
		refresh   = "1//SECRETREFRESH4711"
	)
	signed := "https://komorebi-coffee.example/a.jpg?X-Amz-Signature=" + signature + "&token=" + signature
	quoting := func(text string) string {
		return `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":` + string(must(json.Marshal(text))) + `,"details":[{"@type":"type.googleapis.com/google.mybusiness.v4.ValidationError","errorDetails":[
			{"code":1000,"field":"media.source_url","message":` + string(must(json.Marshal(text))) + `,"value":` + string(must(json.Marshal(text))) + `}]}]}}`
	}
	for i, f := range []gbpsim.Fault{
		{Answer: gbpsim.AnswerError, Status: 400, Body: quoting("cannot fetch " + signed)},
		{Answer: gbpsim.AnswerError, Status: 401, Body: quoting("bad header Authorization: Bearer " + access)},
		{Answer: gbpsim.AnswerError, Status: 403, Body: quoting("refresh_token=" + refresh + " access_token=" + access)},
		{Answer: gbpsim.AnswerHTML, Status: 404, Body: "<html>" + signed + " " + access},
		{Answer: gbpsim.AnswerError, Status: 503, Body: quoting(signed)},
		{Answer: gbpsim.AnswerError, Status: 429, Count: 1, Body: quoting("Cookie: SID=" + access)},
	} {
		f.Route, f.Location = gbpsim.RouteLocalPostsCreate, place(s, i)
		fault(t, s, f)
	}
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteLocalPostsList, Location: place(s, 4), Answer: gbpsim.AnswerError, Status: 500, Body: quoting(signed), Count: 2})
	post := stack.Args{"location_ids": s.IDs(8), "post": map[string]any{"summary": "署名つきの写真です。", "media": []any{map[string]any{"source_url": signed}}}}
	var shown strings.Builder
	asOwner(t, s, `UPDATE mappy.connection SET access_expires_at = now() - interval '1 hour'`)
	fault(t, s, gbpsim.Fault{Route: gbpsim.RouteToken, Answer: gbpsim.AnswerError, Status: 500, Body: `{"refresh_token":"` + refresh + `","note":"` + access + `"}`, Count: 1})
	other := process(t, s)
	if _, err := other.Tokens.Token(t.Context(), stack.Tenant, "google"); err == nil {
		t.Error("the broken token endpoint gave a token")
	} else {
		shown.WriteString(err.Error() + errs.From(err).Error())
	}
	refused := s.Call("post.create", post)
	shown.WriteString(refused.Text)
	accepted := s.Accept("post.create", post.With("confirm_token", refused.Details.ConfirmToken))
	v := s.Finish(string(accepted.BatchID))
	if v.FailureCount != 5 {
		t.Errorf("%d failures", v.FailureCount)
	}
	for _, i := range v.Items {
		if i.State == batch.ItemFailed && i.Message == "" {
			t.Errorf("item: %+v", i)
		}
	}
	for _, a := range []stack.Answer{
		s.Call("batch.status", stack.Args{"batch_id": accepted.BatchID, "items": "all"}),
		s.Call("batch.list", stack.Args{}),
		s.Call("post.create", post.With("idempotency_key", "x")),
	} {
		shown.WriteString(a.Text + string(a.Data))
	}
	places := map[string]string{"answers": shown.String(), "logs": log.String()}
	for _, table := range queryRows[string](t, s, `SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_schema IN ('mappy', 'river') AND table_type = 'BASE TABLE'`) {
		// What the caller sent is kept where it has to be: the payload for Google, and the input that the key stands for.
		places[table] = strings.Join(queryRows[string](t, s, `SELECT (to_jsonb(x) - 'payload' - 'canonical_input')::text FROM `+table+` x`), "\n")
	}
	for where, text := range places {
		for _, secret := range []string{signature, "SECRETACCESS4711", "SECRETREFRESH4711"} {
			for _, form := range []string{secret, hex.EncodeToString([]byte(secret))} {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s: …%s…", where, text[max(0, at-200):min(len(text), at+40)])
				}
			}
		}
	}
	if places["mappy.item"] == "" || !strings.Contains(places["mappy.item"], "[redacted]") || !strings.Contains(places["answers"], "[redacted]") {
		t.Error("nothing was redacted: the secrets never came near")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// lockedBuffer collects a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A refusal that cannot be recorded is no refusal that the caller sees: the call fails closed, for writes, previews and reads.
func TestUnrecordableCallsFailClosed(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{})
	c := callerOf(t, s)
	// The application loses the right to append, as in a half-done migration.
	asOwner(t, s, `CREATE FUNCTION mappy.no_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END $$`)
	asOwner(t, s, `CREATE TRIGGER no_audit BEFORE INSERT ON mappy.audit_event FOR EACH ROW EXECUTE FUNCTION mappy.no_audit()`)
	args := stack.Post(s.IDs(1), "記録できない投稿です。").With("idempotency_key", "no-audit-key")
	c.refused("post.create", args, errs.Unavailable)
	c.refused("post.create", args.With("dry_run", true), errs.Unavailable)
	c.refused("post.create", stack.Post([]int64{987_654}, "x"), errs.Unavailable)
	c.refused("post.create", stack.Args{"nonsense": 1}, errs.Unavailable)
	c.refused("location.get", stack.Args{"location_id": 987_654}, errs.Unavailable)
	if n := queryRow[int](t, s, `SELECT count(*) FROM mappy.batch`); n != 0 {
		t.Errorf("%d batches were accepted unrecorded", n)
	}
	asOwner(t, s, `DROP TRIGGER no_audit ON mappy.audit_event`)
	if v := s.Finish(string(c.eventuallyAccepted(args).BatchID)); v.Status != batch.Done {
		t.Errorf("batch: %+v", v)
	}
}

// Sealing goes on while everything is written; verification at any moment finds a whole chain and counts what is unsealed.
func TestChainWhileWorking(t *testing.T) {
	t.Parallel()
	s := engine(t, stack.Options{Stores: 40, Config: func(c *config.Config) { c.Worker.SealEvery = 100 * time.Millisecond }})
	accepted := s.Confirmed("post.create", stack.Post(s.IDs(40), "封印されながらの投稿です。"))
	var sealed []int
	s.Finish(string(accepted.BatchID))
	eventually(t, "everything is sealed", func() bool {
		r, err := s.App.DB.VerifyAudit(t.Context(), stack.Tenant)
		if err != nil || !r.Valid {
			t.Fatalf("%+v, %v", r, err)
		}
		sealed = append(sealed, r.Sealed)
		rows := queryRow[int](t, s, `SELECT count(*) FROM mappy.audit_event WHERE tenant_id = $1`, stack.Tenant)
		return r.Unsealed == 0 && r.Sealed == rows && r.Seals > 0
	})
	if !slices.IsSorted(sealed) {
		t.Errorf("sealed events vanished: %v", sealed)
	}
	if _, err := s.DB.Owner().Exec(t.Context(), `DELETE FROM mappy.audit_event`); err == nil || !strings.Contains(err.Error(), "append-only") {
		t.Errorf("the owner's accident: %v", err)
	}
}
