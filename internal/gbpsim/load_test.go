package gbpsim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// TestManyAtOnce creates, lists, deletes and drives the admin side from many goroutines; the numbers must add up.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{Knobs: gbpsim.Knobs{NoQuotas: true}})
	const workers, each = 16, 25
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				a, err := b.try("POST", b.posts(w%4), plain)
				if err != nil || a.status != 200 {
					t.Errorf("create: %d %v", a.status, err)
					return
				}
				switch i % 5 {
				case 0:
					if d, err := b.try("DELETE", v4Host+"/v4/"+a.text("name"), ""); err != nil || d.status != 200 {
						t.Errorf("delete: %d %v", d.status, err)
					}
				case 1:
					if l, err := b.try("GET", b.posts(w%4)+"?pageSize=100", ""); err != nil || l.status != 200 {
						t.Errorf("list: %d %v", l.status, err)
					}
				case 2:
					b.sim.Stats()
					b.sim.Advance(1)
				case 3:
					if id, err := b.sim.AddFault(gbpsim.Fault{Email: "nobody"}); err != nil || b.sim.RemoveFault(id) != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	creates := b.sim.Entries(gbpsim.EntryFilter{Route: createRoute, Effects: true})
	names := map[gbpsim.PostName]bool{}
	for _, e := range creates {
		names[e.Post] = true
	}
	if len(creates) != workers*each || len(names) != workers*each || len(b.sim.Posts("")) != workers*each*4/5 {
		t.Errorf("%d creates, %d names, %d posts", len(creates), len(names), len(b.sim.Posts("")))
	}
	s := b.sim.Stats()
	for _, l := range b.store {
		if s.MaxInFlight[l] < 1 || s.MaxWritesInFlight[l] > s.MaxInFlight[l] || s.MaxInFlight[l] > workers {
			t.Errorf("in flight at %s: %d, writes %d", l, s.MaxInFlight[l], s.MaxWritesInFlight[l])
		}
	}
}

// TestInFlightPeak holds three requests at one location and counts them.
func TestInFlightPeak(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	id := b.fault(gbpsim.Fault{Hold: gbpsim.HoldBefore})
	var wg sync.WaitGroup
	for _, method := range []string{"POST", "POST", "GET"} {
		wg.Go(func() {
			if a, err := b.try(method, b.posts(0), plain); err != nil || a.status != 200 {
				t.Errorf("%s: %d %v", method, a.status, err)
			}
		})
	}
	if err := b.sim.AwaitHeld(t.Context(), id, 3); err != nil {
		t.Fatal(err)
	}
	if err := b.sim.RemoveFault(id); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if s := b.sim.Stats(); s.MaxInFlight[b.store[0]] != 3 || s.MaxWritesInFlight[b.store[0]] != 2 {
		t.Errorf("in flight %d, writes %d", s.MaxInFlight[b.store[0]], s.MaxWritesInFlight[b.store[0]])
	}
}

// BenchmarkCreate measures the handler without a network.
func BenchmarkCreate(b *testing.B) {
	sim := must(gbpsim.New(gbpsim.Options{Seed: gbpsim.JapaneseChain(120), Knobs: gbpsim.Knobs{NoQuotas: true}}))
	token := must(sim.AccessToken(gbpsim.DemoEmail))
	h := sim.Handler()
	var paths []string
	for _, l := range sim.World().Locations {
		paths = append(paths, fmt.Sprintf("/%s/v4/%s/%s/localPosts", v4Host, gbpsim.DemoGroup, l.Name))
	}
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			r := httptest.NewRequest(http.MethodPost, paths[i%len(paths)], strings.NewReader(plain))
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != 200 {
				b.Fatal(w.Code, w.Body)
			}
		}
	})
}
