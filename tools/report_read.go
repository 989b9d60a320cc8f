package tools

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Report is a report's figures by store.
type Report struct {
	BatchID     batch.ID      `json:"batch_id"`
	Status      batch.Status  `json:"status"`
	From        string        `json:"from"`
	To          string        `json:"to"`
	BilledUnits int           `json:"billed_units"`
	Stores      []StoreReport `json:"stores"`
	AsOf        string        `json:"as_of"`
}

// StoreReport are one store's figures, or why there are none.
type StoreReport struct {
	LocationID gbp.LocationID     `json:"location_id"`
	Title      string             `json:"title"`
	State      batch.ItemState    `json:"state"`
	ErrorCode  errs.Code          `json:"error_code,omitempty"`
	Series     []gbp.MetricSeries `json:"series"`
}

// ReadReport gives a report's figures as JSON, or as CSV with one line per store, metric and day. It is a read like any
// other: scope, limit, record of a refusal, and BATCH_NOT_FOUND for what is not the caller's or no report.
func (s *Set) ReadReport(ctx context.Context, call *Call, id batch.ID, asCSV bool) (text string, err error) {
	err = s.recorded(ctx, call, "report.create", func() error {
		if err := s.mayRead(ctx, call, "batches:read"); err != nil {
			return err
		}
		r, err := s.report(ctx, call.Principal, id)
		if err != nil {
			return err
		}
		text, err = r.text(asCSV)
		return err
	})
	return text, err
}

func (s *Set) report(ctx context.Context, p *authn.Principal, id batch.ID) (Report, error) {
	b, items, err := s.batchItems(ctx, p, id, batch.ItemFilter{})
	if err == nil && b.Kind != gbp.KindReport {
		err = admission.BatchNotFound(id)
	}
	if err != nil {
		return Report{}, err
	}
	r, err := reportOf(b, items)
	r.AsOf = stamp(s.Now())
	return r, err
}

func (r Report) text(asCSV bool) (string, error) {
	if asCSV {
		return r.csv()
	}
	body, err := json.Marshal(r)
	return string(body), err
}

func reportOf(b batch.Batch, items []batch.Item) (Report, error) {
	r := Report{BatchID: b.ID, Status: b.Status, Stores: []StoreReport{}}
	for _, i := range items {
		var q gbp.ReportQuery
		if err := json.Unmarshal(i.Payload, &q); err != nil {
			return r, fmt.Errorf("report %s: %w", b.ID, err)
		}
		r.From, r.To = q.From, q.To
		store := StoreReport{LocationID: i.Location, Title: i.Title, State: i.State, ErrorCode: i.ErrorCode, Series: []gbp.MetricSeries{}}
		if i.State == batch.ItemSucceeded {
			var f gbp.ReportFigures
			if err := json.Unmarshal(i.After, &f); err != nil {
				return r, fmt.Errorf("report %s: %w", b.ID, err)
			}
			store.Series = f.Series
			r.BilledUnits += i.Units
		}
		r.Stores = append(r.Stores, store)
	}
	return r, nil
}

func (r Report) csv() (string, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write([]string{"location_id", "title", "metric", "date", "count"}); err != nil {
		return "", err
	}
	for _, s := range r.Stores {
		for _, m := range s.Series {
			for _, d := range m.Days {
				if err := w.Write([]string{strconv.FormatInt(int64(s.LocationID), 10), plainCell(s.Title), m.Metric, d.Date, strconv.FormatInt(d.Count, 10)}); err != nil {
					return "", err
				}
			}
		}
	}
	w.Flush()
	return b.String(), w.Error()
}

// plainCell keeps a spreadsheet from taking a text for a formula.
func plainCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
