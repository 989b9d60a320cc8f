// Package proof kills the product's processes, as kill -9 does, at every step boundary of admission and of the worker, and
// counts effects in the simulator's journal: no duplicate, nothing lost, nothing stuck, counters right, audit chain intact.
package proof

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

var full = flag.Bool("prove", false, "kill each point at several hits and write docs/proof.md")

// The named points of the path, in its order. A test below checks that the code has exactly these.
var (
	admissionPoints = []string{"admission.claimed", "admission.limited", "admission.before_enqueue", "admission.enqueued"}
	workerPoints    = []string{"worker.begun", "worker.before_send", "worker.sent", "worker.before_finish", "worker.finished"}
	lookPoints      = []string{"worker.before_look"}
)

// stores is how many locations each proof writes to; a proof that kills at the n-th hit of a point needs n of them.
const stores = 3

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mappy-proof")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "mappy-mcp")
	out, err := exec.Command("go", "build", "-tags", "crashpoints", "-o", path, "github.com/mappy-dev/mappy-mcp/cmd/mappy-mcp").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// Every point of the code is proved, and every proof has its point.
func TestProveCoversEveryPoint(t *testing.T) {
	var found []string
	for _, dir := range []string{"../admission", "../../worker"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				if _, rest, ok := strings.Cut(line, `.Fault("`); ok {
					point, _, _ := strings.Cut(rest, `"`)
					found = append(found, point)
				}
			}
		}
	}
	want := slices.Concat(admissionPoints, workerPoints, lookPoints)
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Fatalf("points in the code: %v\nproved: %v", found, want)
	}
}

func TestProve(t *testing.T) {
	hits := []int{1}
	if *full {
		hits = []int{1, 2, stores}
	}
	var mu sync.Mutex
	var rows []string
	t.Run("kill", func(t *testing.T) {
		for _, point := range slices.Concat(admissionPoints, workerPoints, lookPoints) {
			for _, nth := range hits {
				if nth > 1 && !strings.HasPrefix(point, "worker.") || nth > 1 && point == "worker.before_look" {
					continue
				}
				t.Run(fmt.Sprintf("%s_%d", point, nth), func(t *testing.T) {
					t.Parallel()
					p := newProof(t)
					row := p.run(point, nth)
					mu.Lock()
					defer mu.Unlock()
					rows = append(rows, row)
				})
			}
		}
	})
	if *full && !t.Failed() {
		report(t, rows)
	}
}

var pageHead = fmt.Sprintf(`# Proof of the crash claims

Made by "make prove", which runs the programs as they are (built with named points at which a process can be killed), with PostgreSQL, Redis and
the Google simulator, a deployment of its own for each row. A client publishes one post on %d stores with one idempotency key. The process is
killed as by "kill -9" when it reaches the point for the n-th time; it is started again. A client that got no answer sends the same call with
the same key until it is accepted, and all wait until the batch is final. Then effects are counted in the simulator's journal, and the
database is looked at.

| column | says |
|---|---|
| killed at | the point: "admission" is accepting the call, "worker" carrying it out. "begun" is after the attempt was committed, "before_send" and "sent" around the call to Google, "before_finish" and "finished" around the transaction that records the outcome, "before_look" before an unclear answer is read back |
| hit | how often the point was reached: with 2 the first store is done, or under way |
| process | which program was killed |
| posts per store | creations at Google for each of the %[1]d stores: 1 is neither lost nor doubled |
| stuck items | items and attempts that are neither done nor failed in the end |
| counters | whether the batch's counts are those of its items |
| audit chain | the result of "audit verify", and how many events there are: more where the client had to ask more often |
| River attempts | the most often that the job of one item was started: 2 where a job was cut off and taken over, 1 where none was |

A run in which one of these is wrong fails and writes no page.

| killed at | hit | process | posts per store | stuck items | counters | audit chain | River attempts |
|---|---|---|---|---|---|---|---|
`, stores)

// The page says of its columns what this version would say.
func TestProofPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/proof.md")
	if err != nil || !strings.HasPrefix(string(page), pageHead) {
		t.Errorf("docs/proof.md was made by another version (%v): make prove", err)
	}
}

func report(t *testing.T, rows []string) {
	t.Helper()
	slices.Sort(rows)
	text := pageHead + strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile("../../docs/proof.md", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

type proof struct {
	*stack.Stack
	t   *testing.T
	url string
}

func newProof(t *testing.T) *proof {
	t.Helper()
	s := stack.New(t, stack.Options{
		Stores: stores, NoServer: true, NoWorkers: true, Policy: `{"confirm_at":{"post.create":50}}`,
		Sim: func(o *gbpsim.Options) { o.Knobs.NoQuotas = true },
		Config: func(c *config.Config) {
			c.Worker.CallTimeout, c.Worker.RescueAfter, c.Worker.SendWindow, c.Worker.Settle = 2*time.Second, 4*time.Second, time.Second, 500*time.Millisecond
		},
	})
	return &proof{Stack: s, t: t}
}

// run kills the process that reaches the point, lets the product recover, and counts.
func (p *proof) run(point string, nth int) string {
	who := "serve"
	crash := []string{"MAPPY_CRASH_AT=" + point, fmt.Sprintf("MAPPY_CRASH_NTH=%d", nth)}
	var serve, work *process
	if strings.HasPrefix(point, "admission.") {
		serve = p.start(crash, "serve")
	} else {
		who = "worker"
		serve = p.start(nil, "serve")
		if point == "worker.before_look" { // only an unclear answer is looked after
			p.fault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, Answer: gbpsim.AnswerReset, Effect: gbpsim.EffectCommit, Count: 1})
		}
		work = p.start(crash, "worker")
	}
	args := stack.Post(p.IDs(stores), "今日から冬のメニューです。").With("idempotency_key", "proof-key-0001")
	answered := p.send(args)
	if who == "serve" {
		serve.awaitKilled()
		if answered {
			p.t.Fatalf("the server answered although it was killed at %s", point)
		}
		p.start(nil, "serve")
		p.start(nil, "worker")
		p.await("the same key is accepted", func() bool { return p.send(args) })
	} else {
		work.awaitKilled()
		p.start(nil, "worker")
	}
	id := p.batchID()
	v := p.final(id)
	return p.judge(point, nth, who, v)
}

func (p *proof) judge(point string, nth int, who string, v *tools.BatchView) string {
	t := p.t
	if v.Status != batch.Done {
		t.Errorf("batch is %s: %+v", v.Status, v.Failures)
	}
	for _, l := range p.Locations {
		if n := p.Created()[string(l.Name)]; n != 1 {
			t.Errorf("%s has %d posts", l.Name, n)
		}
	}
	var stuck, drift, batches, attempts int
	err := p.DB.Owner().QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM mappy.item WHERE state IN ('queued', 'processing', 'unknown')) + (SELECT count(*) FROM mappy.attempt WHERE state IN ('open', 'unknown')),
		       (SELECT count(*) FROM mappy.batch b WHERE ARRAY[b.success_count, b.failure_count, b.cancelled_count, b.unknown_count]::bigint[] IS DISTINCT FROM
		          (SELECT ARRAY[count(*) FILTER (WHERE state = 'succeeded'), count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'cancelled'), count(*) FILTER (WHERE state = 'unknown')]
		           FROM mappy.item i WHERE i.batch_id = b.batch_id)),
		       (SELECT count(*) FROM mappy.batch),
		       (SELECT coalesce(max(attempt), 0) FROM river.river_job WHERE kind = 'item')`).Scan(&stuck, &drift, &batches, &attempts)
	if err != nil {
		t.Fatal(err)
	}
	if stuck != 0 || drift != 0 || batches != 1 {
		t.Errorf("%d stuck, %d batches with wrong counters, %d batches", stuck, drift, batches)
	}
	audit, err := p.App.DB.VerifyAudit(t.Context(), stack.Tenant)
	if err != nil || !audit.Valid {
		t.Errorf("audit: %+v, %v", audit, err)
	}
	return fmt.Sprintf("| `%s` | %d | %s | 1 | %d | right | valid, %d events | %d |", point, nth, who, stuck, audit.Sealed+audit.Unsealed, attempts)
}

func (p *proof) fault(f gbpsim.Fault) {
	p.t.Helper()
	if _, err := p.Sim.AddFault(f); err != nil {
		p.t.Fatal(err)
	}
}

// final waits for the batch as a client does: a takeover after a kill lasts longer than one that asks five times a second may
// go on asking.
func (p *proof) final(id string) *tools.BatchView {
	var v tools.BatchView
	p.await("the batch is final", func() bool {
		v = stack.Into[tools.BatchView](p.t, p.Call("batch.status", stack.Args{"batch_id": id, "wait_seconds": 10}))
		return v.Status.Final()
	})
	return &v
}

func (p *proof) batchID() (id string) {
	if err := p.DB.Owner().QueryRow(p.t.Context(), `SELECT batch_id FROM mappy.batch`).Scan(&id); err != nil {
		p.t.Fatal(err)
	}
	return id
}

// await polls a condition of other processes, at most two minutes: the time in which another worker has to take over.
func (p *proof) await(what string, done func() bool) {
	p.t.Helper()
	for start := time.Now(); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			p.t.Fatalf("after two minutes still not: %s", what)
		}
	}
}

// send calls post.create over HTTP and tells whether it was accepted.
func (p *proof) send(args stack.Args) bool {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "post.create", "arguments": args}})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false // it was killed under the call
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var m struct {
			Result struct {
				IsError    bool            `json:"isError"`
				Structured json.RawMessage `json:"structuredContent"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			p.t.Fatalf("%v: %s", err, data)
		}
		if !m.Result.IsError {
			return true
		}
		var e errs.Public
		if err := json.Unmarshal(m.Result.Structured, &e); err != nil || e.ErrorCode != errs.IdempotencyInProgress {
			p.t.Fatalf("refused: %s", data)
		}
	}
	return false
}

type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	log  bytes.Buffer
}

// start runs one of the product's processes; it is stopped with the test.
func (p *proof) start(env []string, args ...string) *process {
	p.t.Helper()
	path, err := binary()
	if err != nil {
		p.t.Fatal(err)
	}
	c := p.Config
	w := c.Worker
	x := &process{t: p.t, cmd: exec.Command(path, args...), done: make(chan struct{})}
	address := freeAddress(p.t)
	x.cmd.Env = append(os.Environ(), append(env,
		"MAPPY_DATABASE_URL="+c.DatabaseURL, "MAPPY_REDIS_URL="+c.RedisURL, "MAPPY_ENVIRONMENT="+c.Environment, "MAPPY_GOOGLE_BASE_URL="+c.GoogleBaseURL,
		"MAPPY_GOOGLE_CLIENT_ID="+c.GoogleClientID, "MAPPY_GOOGLE_CLIENT_SECRET="+c.GoogleClientSecret, "MAPPY_KEYRING_B64="+c.KeyringB64,
		"MAPPY_LISTEN="+address, "MAPPY_ADMIN_LISTEN=127.0.0.1:0", "MAPPY_LOG_LEVEL=warn", "MAPPY_DATABASE_CONNECTIONS=8",
		"MAPPY_WORKER_CALL_TIMEOUT="+w.CallTimeout.String(), "MAPPY_WORKER_RESCUE_AFTER="+w.RescueAfter.String(), "MAPPY_WORKER_SEND_WINDOW="+w.SendWindow.String(),
		"MAPPY_WORKER_SETTLE="+w.Settle.String(), "MAPPY_WORKER_SEAL_EVERY="+w.SealEvery.String(), "MAPPY_WORKER_SWEEP_EVERY="+w.SweepEvery.String(),
		"MAPPY_WORKER_BACKOFF="+w.Backoff.String(), "MAPPY_GOOGLE_REQUESTS_PER_MINUTE=60000", "MAPPY_GOOGLE_EDITS_PER_MINUTE=1000",
	)...)
	x.cmd.Stderr = &x.log
	if err := x.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { _ = x.cmd.Wait(); close(x.done) }()
	p.t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		<-x.done
		if p.t.Failed() {
			p.t.Logf("%v:\n%s", args, x.log.String())
		}
	})
	if args[0] == "serve" {
		p.url = "http://" + address
		p.await("the server is ready", func() bool { return ready(p.t, p.url) })
	}
	return x
}

// awaitKilled waits until the process has died of its own SIGKILL.
func (x *process) awaitKilled() {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(time.Minute):
		x.t.Fatal("the point was not reached within a minute")
	}
	if s := x.cmd.ProcessState.String(); s != "signal: killed" {
		x.t.Fatalf("the process ended with %q: %s", s, x.log.String())
	}
}

func ready(t *testing.T, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
