package bench

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

var soakItems = flag.Int("soak", 5_000, "items of BenchmarkSoak; make soak runs 100,000")

// BenchmarkSoak looks for what grows: heap after a collection and goroutines while items go through one process that is
// server, worker and simulator at once, with answers at once and no quotas. The simulator begins anew before
// each look. Slopes are of a straight line through the looks, the first of which, with warm caches, is left out.
func BenchmarkSoak(b *testing.B) {
	x := newBed(b, stack.Options{Stores: 100, NoServer: true, Config: func(c *config.Config) {
		c.Google.RequestsPerMinute, c.Google.EditsPerMinute, c.Google.UserItems = 60_000_000, 1_000_000, 10_000
	}})
	stop := x.Work()
	const looks = 10
	batches := max(looks, *soakItems/100)
	var at, heap, goroutines []float64
	for n := range batches {
		for a := x.Call("post.create", stack.Post(x.IDs(100), fmt.Sprintf("おすすめ %d", n))); a.IsError; { // a machine that is busy with others
			if a.ErrorCode != errs.Unavailable {
				b.Fatal(a.Text)
			}
			<-time.After(time.Second)
			a = x.Call("post.create", stack.Post(x.IDs(100), fmt.Sprintf("おすすめ %d", n)))
		}
		if (n+1)%5 == 0 || n+1 == batches {
			x.drain(b, `SELECT count(*) FROM mappy.batch WHERE finished_at IS NULL`)
		}
		if (n+1)%(batches/looks) != 0 {
			continue
		}
		x.drain(b, `SELECT count(*) FROM mappy.batch WHERE finished_at IS NULL`)
		x.Sim.Reset()
		var m runtime.MemStats
		runtime.GC()
		<-time.After(100 * time.Millisecond)
		runtime.GC()
		runtime.ReadMemStats(&m)
		at, heap, goroutines = append(at, float64(100*(n+1))), append(heap, float64(m.HeapAlloc)), append(goroutines, float64(runtime.NumGoroutine()))
		b.Logf("%7d items: heap %6.1f MB, %d goroutines", 100*(n+1), float64(m.HeapAlloc)/1e6, runtime.NumGoroutine())
	}
	stop()
	b.ReportMetric(slope(at[1:], heap[1:]), "heap-B/item")
	b.ReportMetric(1000*slope(at[1:], goroutines[1:]), "goroutines/1000-items")
	b.ReportMetric(heap[len(heap)-1]/1e6, "heap-MB")
	b.ReportMetric(0, "ns/op")
}

// slope is that of the line with the least squares.
func slope(x, y []float64) float64 {
	var mx, my, xy, xx float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(x))
	}
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}
