package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
)

// Names, types and labels of metrics are a contract with dashboards and alerts.
func TestMetricsContract(t *testing.T) {
	m := NewMetrics()
	m.Call("post.create", errs.RateLimited, time.Second)
	m.Item("post.create", batch.ItemFailed, string(errs.GBPPermissionDenied))
	m.Google(gbpapi.Observation{Call: "localPosts.create", Status: 403, Class: gbpapi.Refused, Took: time.Second})
	m.Token("ok", time.Second)
	r := httptest.NewRecorder()
	m.Handler().ServeHTTP(r, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	labels := regexp.MustCompile(`^(mappy_[a-z_]+?)(?:_bucket|_sum|_count)?\{([^}]*)\}`)
	seen := map[string]bool{}
	for line := range strings.Lines(r.Body.String()) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "TYPE" && strings.HasPrefix(f[2], "mappy_") {
			seen[fmt.Sprintf("%s %s", f[2], f[3])] = true
		}
		if f := labels.FindStringSubmatch(line); f != nil && !strings.Contains(f[2], `le="`) {
			seen["  "+f[1]+"{"+regexp.MustCompile(`="[^"]*"`).ReplaceAllString(f[2], "")+"}"] = true
		}
	}
	lines := make([]string, 0, len(seen))
	for l := range seen {
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(strings.TrimSpace(a), strings.TrimSpace(b)) })
	golden.Compare(t, "testdata/metrics.golden", strings.Join(lines, "\n")+"\n")
}
