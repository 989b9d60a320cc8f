// Package telemetry holds the product's metrics and its logger.
package telemetry

import (
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
)

// Metrics are the product's counters and timings.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	items    *prometheus.CounterVec
	google   *prometheus.CounterVec
	googleS  *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
}

// NewMetrics makes an own registry, so that two apps in one process do not share numbers.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mappy_tool_calls_total", Help: "Tool calls by tool and error code (empty code: success)."}, []string{"tool", "error_code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mappy_tool_call_seconds", Help: "Time of tool calls, waits included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30},
		}, []string{"tool"}),
		items:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mappy_items_total", Help: "Decided items by operation, state and error code."}, []string{"operation", "state", "error_code"}),
		google: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mappy_google_calls_total", Help: "Exchanges with Google by method, HTTP status (0: no answer) and class (empty: success)."}, []string{"method", "status", "class"}),
		googleS: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mappy_google_call_seconds", Help: "Time of exchanges with Google.",
			Buckets: prometheus.DefBuckets,
		}, []string{"method"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mappy_token_refreshes_total", Help: "Refreshes of Google access tokens by outcome."}, []string{"outcome"}),
	}
	m.registry.MustRegister(m.calls, m.latency, m.items, m.google, m.googleS, m.tokens, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Call counts a tool call.
func (m *Metrics) Call(tool string, code errs.Code, took time.Duration) {
	m.calls.WithLabelValues(tool, string(code)).Inc()
	m.latency.WithLabelValues(tool).Observe(took.Seconds())
}

// Item counts a decided item.
func (m *Metrics) Item(operation string, state batch.ItemState, code string) {
	m.items.WithLabelValues(operation, string(state), code).Inc()
}

// Google counts an exchange with Google.
func (m *Metrics) Google(o gbpapi.Observation) {
	m.google.WithLabelValues(o.Call, strconv.Itoa(o.Status), string(o.Class)).Inc()
	m.googleS.WithLabelValues(o.Call).Observe(o.Took.Seconds())
}

// Token counts a refresh.
func (m *Metrics) Token(outcome string, _ time.Duration) { m.tokens.WithLabelValues(outcome).Inc() }

// Logger writes JSON lines to standard error, where they never mix with the protocol of stdio.
func Logger(level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: l}))
}
