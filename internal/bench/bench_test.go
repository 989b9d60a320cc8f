// Package bench measures our share of a call, of an item and of Google's quota, always as a ratio to the same work without
// us within one run: machines are shared and noisy, ratios are not. Nothing here fails on a time.
//
// Calls: one process, two servers on loopback, blocks of calls alternating ABBA. The base is a tool of the bare SDK with the
// same input and output schema as the tool that is measured (and, where ours has to commit, one PostgreSQL commit). The CPU
// of the process per call comes first, the median wall time second, bytes allocated third.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

const (
	rounds    = 12
	blockSize = 40
)

// bed is the product and the base beside each other.
type bed struct {
	*stack.Stack
	client *http.Client
	owner  *pgxpool.Pool
}

func newBed(b *testing.B, o stack.Options) *bed {
	b.Helper()
	debug.SetGCPercent(400) // as the product's main does
	o.NoWorkers, o.Policy = true, strings.Replace(stack.Roomy, "{", `{"confirm_at":{"post.create":101},`, 1)
	if o.Sim == nil {
		o.Sim = func(o *gbpsim.Options) { o.Knobs.NoQuotas = true }
	}
	s := stack.New(b, o)
	owner := s.DB.Owner()
	if _, err := owner.Exec(b.Context(), `CREATE TABLE public.bench (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL)`); err != nil {
		b.Fatal(err)
	}
	return &bed{Stack: s, owner: owner, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
}

// base serves one tool of the bare SDK with the schemas of ours, which does work and answers with answer.
func (x *bed) base(b *testing.B, tool string, answer json.RawMessage, work func(ctx context.Context) error) string {
	b.Helper()
	var t tools.Tool
	for _, c := range x.App.Tools.List() {
		if c.Name == tool {
			t = c
		}
	}
	var out map[string]any
	if err := json.Unmarshal(answer, &out); err != nil {
		b.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "base", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Input.JSONSchema(), OutputSchema: t.Output},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, map[string]any, error) {
			return nil, out, work(ctx)
		})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	b.Cleanup(h.Close)
	return h.URL
}

// nothing and commit are what the base does besides answering.
func nothing(context.Context) error { return nil }

func (x *bed) commit(n int) func(ctx context.Context) error {
	body := bytes.Repeat([]byte("x"), 400)
	return func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, x.owner, func(tx pgx.Tx) error {
			q := &pgx.Batch{}
			for range n {
				q.Queue(`INSERT INTO public.bench (body) VALUES ($1)`, body)
			}
			return tx.SendBatch(ctx, q).Close()
		})
	}
}

// call makes one tools/call of 2026-07-28 and gives the structured content.
func (x *bed) call(b *testing.B, url, tool string, args json.RawMessage) json.RawMessage {
	b.Helper()
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}},"name":%q,"arguments":%s}}`, tool, args)
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + x.Token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(k, v)
	}
	res, err := x.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	_, data, ok := bytes.Cut(raw, []byte("data: "))
	if !ok {
		b.Fatalf("%s: %s", res.Status, raw)
	}
	var m struct {
		Result struct {
			IsError    bool            `json:"isError"`
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Error != nil || m.Result.IsError {
		b.Fatalf("%v: %s", err, data)
	}
	return m.Result.Structured
}

// cost is what a block of calls took per call.
type cost struct {
	cpu, wall time.Duration
	bytes     float64
}

func (x *bed) block(b *testing.B, one func(i int)) cost {
	b.Helper()
	walls := make([]time.Duration, blockSize)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime(b)
	for i := range blockSize {
		start := time.Now()
		one(i)
		walls[i] = time.Since(start)
	}
	cpu = cpuTime(b) - cpu
	runtime.ReadMemStats(&after)
	slices.Sort(walls)
	return cost{cpu: cpu / blockSize, wall: walls[blockSize/2], bytes: float64(after.TotalAlloc-before.TotalAlloc) / blockSize}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// compare runs blocks ABBA and reports the medians of the rounds' ratios. More than maxAlloc times the base's bytes fails.
func (x *bed) compare(b *testing.B, maxAlloc float64, base, subject func(i int)) {
	b.Helper()
	x.block(b, base) // warm up
	x.block(b, subject)
	var cpu, wall, alloc []float64
	var ours cost
	for r := range rounds {
		var a, s cost
		if r%2 == 0 {
			a, s = x.block(b, base), x.block(b, subject)
		} else {
			s, a = x.block(b, subject), x.block(b, base)
		}
		cpu = append(cpu, float64(s.cpu)/float64(a.cpu))
		wall = append(wall, float64(s.wall)/float64(a.wall))
		alloc = append(alloc, s.bytes/a.bytes)
		ours = s
	}
	b.ReportMetric(median(cpu), "cpu-ratio")
	b.ReportMetric(median(wall), "p50-ratio")
	b.ReportMetric(median(alloc), "alloc-ratio")
	if a := median(alloc); a > maxAlloc { // allocations do not move with the machine's load, so they can be held to a number
		b.Errorf("allocations are %.2f times the base's, at most %.2f is accepted", a, maxAlloc)
	}
	b.ReportMetric(float64(ours.wall.Microseconds()), "p50-µs")
	b.ReportMetric(0, "ns/op")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// postArgs are arguments of a post to n stores with a text and a key that no other call has.
func (x *bed) postArgs(n int, text string, extra stack.Args) json.RawMessage {
	a := stack.Post(x.IDs(n), text)
	maps.Copy(a, extra)
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return raw
}

var serial int

func unique(text string) string {
	serial++
	return fmt.Sprintf("%s %d", text, serial)
}

// BenchmarkPostCreate1 is an accepted write to one store over a bare call with one commit.
func BenchmarkPostCreate1(b *testing.B) { benchmarkCreate(b, 1, 1, 1) }

// BenchmarkPostCreate100 is an accepted write to a hundred stores over a bare call that commits as many rows: batch, key
// and event, and per store an item and a job.
func BenchmarkPostCreate100(b *testing.B) { benchmarkCreate(b, 100, 203, 2) }

func benchmarkCreate(b *testing.B, stores, rows int, maxAlloc float64) {
	b.Helper()
	x := newBed(b, stack.Options{Stores: max(stores, 2)})
	args := func() json.RawMessage { return x.postArgs(stores, unique("本日のおすすめ"), nil) }
	base := x.base(b, "post.create", x.call(b, x.URL+"/mcp", "post.create", args()), x.commit(rows))
	x.compare(b, maxAlloc, func(int) { x.call(b, base, "post.create", args()) }, func(int) { x.call(b, x.URL+"/mcp", "post.create", args()) })
}

// BenchmarkPreview is a dry run for one store over a bare call with one commit (a preview is audited).
func BenchmarkPreview(b *testing.B) {
	x := newBed(b, stack.Options{Stores: 2})
	args := x.postArgs(1, "本日のおすすめ", stack.Args{"dry_run": true})
	base := x.base(b, "post.create", x.call(b, x.URL+"/mcp", "post.create", args), x.commit(1))
	x.compare(b, 1, func(int) { x.call(b, base, "post.create", args) }, func(int) { x.call(b, x.URL+"/mcp", "post.create", args) })
}

// BenchmarkReplay is a repeated key over a bare call with one commit (a replay is audited).
func BenchmarkReplay(b *testing.B) {
	x := newBed(b, stack.Options{Stores: 2})
	args := x.postArgs(1, "本日のおすすめ", stack.Args{"idempotency_key": "bench-replay-key"})
	x.call(b, x.URL+"/mcp", "post.create", args)
	base := x.base(b, "post.create", x.call(b, x.URL+"/mcp", "post.create", args), x.commit(1))
	x.compare(b, 1, func(int) { x.call(b, base, "post.create", args) }, func(int) { x.call(b, x.URL+"/mcp", "post.create", args) })
}

// BenchmarkBatchStatus is a status read over a bare call.
func BenchmarkBatchStatus(b *testing.B) {
	x := newBed(b, stack.Options{Stores: 2})
	a := x.Accept("post.create", stack.Post(x.IDs(1), "本日のおすすめ"))
	args := fmt.Appendf(nil, `{"batch_id":%q}`, a.BatchID)
	base := x.base(b, "batch.status", x.call(b, x.URL+"/mcp", "batch.status", args), nothing)
	x.compare(b, 1, func(int) { x.call(b, base, "batch.status", args) }, func(int) { x.call(b, x.URL+"/mcp", "batch.status", args) })
}
