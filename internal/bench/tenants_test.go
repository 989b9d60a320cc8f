package bench

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/slots"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// tenantItems is the backlog of all tenants together.
const tenantItems = 1000

var tenantScale = flag.Int("scale", 10, "how many times as fast Google's minute runs in BenchmarkTenants; 1 takes four minutes")

// BenchmarkTenants is a backlog of 1,000 items of three tenants, with Google's minute ten times as fast and answers that
// take time: the share of Google's quota that is used, avoidable 429s, calls per item of each operation, and how much longer
// a single post of a fourth tenant takes than without the backlog: single-s, the longest of five. What is booked ahead is
// bounded in seconds of the wall clock (slots.Horizon), so that figure does not grow with the scale; -scale 1 shows it.
func BenchmarkTenants(b *testing.B) {
	x := newBed(b, stack.Options{
		Stores: 100, NoServer: true,
		Sim:    func(o *gbpsim.Options) { o.Knobs.TimeScale = float64(*tenantScale) },
		Config: func(c *config.Config) { c.Google.RequestsPerMinute = 297 * *tenantScale },
	})
	limits := app.SlotLimits(x.Config)
	limits.Window /= time.Duration(*tenantScale)
	x.App.Slots = slots.New(x.App.Redis, x.Config.Google.Project, limits)
	if _, err := x.Sim.AddFault(gbpsim.Fault{Route: gbpsim.RouteLocalPostsCreate, LatencyBeforeMS: 30}); err != nil {
		b.Fatal(err)
	}
	var tokens []string
	for _, t := range []authn.TenantID{"one", "two", "three", "single"} {
		tokens = append(tokens, x.AddUser(t, "user", authn.Grants{All: true}, stack.Scopes(), `{"confirm_at":{"post.create":101},`+stack.Roomy[1:]))
		x.Sync(t)
	}
	ids := func(t authn.TenantID) (out []int64) {
		rows, err := x.owner.Query(b.Context(), `SELECT location_id FROM mappy.location WHERE tenant_id = $1 ORDER BY location_id`, t)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				b.Fatal(err)
			}
			out = append(out, id)
		}
		return out
	}
	single := ids("single")
	post := func(text string) time.Duration {
		start := time.Now()
		w := stack.Into[tools.Write](b, x.CallAs(tokens[3], "post.create", stack.Post(single[:1], text).With("wait_seconds", 25)))
		if w.Batch == nil || !w.Batch.Status.Final() {
			b.Errorf("the single post is not done after 25 s")
		}
		return time.Since(start)
	}
	stop := x.Work()
	post("準備の投稿です。")
	alone := post("空いているときの投稿です。")
	stop()

	x.Sim.ClearJournal()
	for n := range tenantItems / 100 {
		t := n % 3
		stack.Into[tools.Write](b, x.CallAs(tokens[t], "post.create", stack.Post(ids([]authn.TenantID{"one", "two", "three"}[t]), fmt.Sprintf("おすすめ %d", n))))
	}
	stop = x.Work()
	longest, scale := time.Duration(0), float64(*tenantScale)
	for n := range 5 {
		<-time.After(2 * time.Second)
		longest = max(longest, post(fmt.Sprintf("混んでいるときの投稿 %d です。", n))-alone)
	}
	x.drain(b, `SELECT count(*) FROM mappy.item WHERE state IN ('queued', 'processing')`)
	stop()

	sent := x.Sim.Journal()
	refused := 0
	for _, e := range sent {
		if e.Status == 429 {
			refused++
			b.Logf("429 after %s of %s: %s %s", e.Time.Sub(sent[0].Time), sent[len(sent)-1].Time.Sub(sent[0].Time), e.Location, e.Rule)
		}
	}
	took := sent[len(sent)-1].Time.Sub(sent[0].Time)
	b.ReportMetric(float64(len(sent)-1)/(took.Seconds()/60*300*scale), "quota-share")
	b.ReportMetric(float64(refused), "429s")
	b.ReportMetric(longest.Seconds(), "single-s")
	x.callsPerItem(b)
	b.ReportMetric(0, "ns/op")
}

// callsPerItem reports what each operation cost at Google: as booked on the items, and as the simulator counted in all.
func (x *bed) callsPerItem(b *testing.B) {
	b.Helper()
	rows, err := x.owner.Query(b.Context(), `SELECT operation, avg(google_calls)::float8, count(*) FROM mappy.item GROUP BY operation`)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var operation string
		var calls float64
		var n int
		if err := rows.Scan(&operation, &calls, &n); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(calls, operation+"-calls/item")
	}
}
