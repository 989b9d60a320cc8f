package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
)

// Reader marks an Executor that writes nothing: it takes no edit of its location.
type Reader interface{ Reads() }

// Metrics is what the report executor needs of the Google client.
type Metrics interface {
	FetchDailyMetrics(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName, metrics []string, from, to gbpapi.Day) ([]gbpapi.MetricSeries, error)
}

// ReportCreate reads a store's figures. It has no effect at Google, so nothing is looked for after an unclear answer.
type ReportCreate struct{ Google Metrics }

// Operation implements Executor.
func (ReportCreate) Operation() string { return "report.create" }

// API implements Executor.
func (ReportCreate) API() string { return gbp.APIPerformance }

// Reads implements Reader.
func (ReportCreate) Reads() {}

// Send implements Executor.
func (x ReportCreate) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	var q gbp.ReportQuery
	if err := json.Unmarshal(i.Payload, &q); err != nil {
		return Effect{}, fmt.Errorf("payload of item %s: %w", i.ID, err)
	}
	from, to := dayOf(q.From), dayOf(q.To)
	series, err := x.Google.FetchDailyMetrics(ctx, ref(tenant, i), i.LocationName, q.Metrics, from, to)
	if err != nil {
		return Effect{}, err
	}
	out := gbp.ReportFigures{Series: []gbp.MetricSeries{}}
	for _, s := range series {
		m := gbp.MetricSeries{Metric: s.Metric, Days: []gbp.DayCount{}}
		for _, f := range s.Figures {
			m.Days = append(m.Days, gbp.DayCount{Date: fmt.Sprintf("%04d-%02d-%02d", f.Day.Year, f.Day.Month, f.Day.Day), Count: f.Count})
		}
		out.Series = append(out.Series, m)
	}
	after, err := json.Marshal(out)
	if err != nil {
		return Effect{}, err
	}
	return Effect{After: after}, nil
}

// Find implements Creator: a reading leaves nothing behind, so it is simply made again.
func (ReportCreate) Find(context.Context, authn.TenantID, batch.Item, time.Time) ([]Effect, error) {
	return nil, nil
}

func dayOf(s string) gbpapi.Day {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil { // the decoder takes real days only
		return gbpapi.Day{}
	}
	return gbpapi.Day{Year: t.Year(), Month: int(t.Month()), Day: t.Day()}
}
