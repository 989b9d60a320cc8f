package tools

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// Bounds of a report: Google keeps about eighteen months, and a resource of more figures is too large to read.
const (
	reportDays    = 550
	reportFigures = 100_000
	unitDays      = 31
)

func reportDescription(environment string) string {
	return "Reads performance figures of 1 to 100 stores' Google Business Profiles by day (environment: " + environment + "): impressions, calls, directions, website clicks. It changes nothing on any profile, and it is billed: one unit is one store for up to 31 days; units are billed for stores that succeed, and cannot be given back. " +
		"It is accepted as a batch: follow it with batch.status; the figures are then visible as the resources mappy://reports/{batch_id} (JSON) and mappy://reports/{batch_id}/csv. There is no dry_run: a preview would cost the same. " +
		"Confirm the stores and the period with the user; the server enforces it from 100 units on with CONFIRMATION_REQUIRED, and a monthly limit of units per tenant. The same idempotency_key and arguments twice are billed once."
}

func reportInput() schema.Object {
	fields := []schema.Field{
		schema.List("location_ids", "Stores, 1 to 100, from location.list.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.Required(), schema.Items(1, 100)),
		schema.Date("from", "First day, YYYY-MM-DD; at most 550 days before to.", schema.Required(), schema.Example("2026-11-01")),
		schema.Date("to", "Last day, YYYY-MM-DD, included; Google's figures lag some days behind.", schema.Required(), schema.Example("2026-11-28")),
		schema.List("metrics", "Which figures; all when left out.", schema.Enum("", "A metric of Google's.", gbp.DailyMetrics()), schema.Items(1, len(gbp.DailyMetrics())), schema.Unique()),
	}
	for _, f := range safety(true) {
		if f.Name != "dry_run" && f.Name != "page_token" {
			fields = append(fields, f)
		}
	}
	return schema.Object{Fields: fields, Advice: map[string]errs.Text{
		"dry_run": errs.T("report.create に dry_run はありません。プレビューにも同じ費用がかかるためです。", "report.create has no dry_run, because a preview would cost the same."),
	}}
}

type reportChange struct {
	LocationIDs []gbp.LocationID `json:"location_ids"`
	gbp.ReportQuery
}

// Canonical implements admission.Change.
func (c reportChange) Canonical() []byte { return canonical(c) }

// References implements admission.Change.
func (c reportChange) References() admission.References {
	return admission.References{Locations: c.LocationIDs}
}

// Headline implements admission.Change.
func (c reportChange) Headline() string { return c.From + " – " + c.To }

// Plan implements admission.Change.
func (c reportChange) Plan(t admission.Target, _ time.Time, _ errs.Locale) admission.Draft {
	payload := canonical(c.ReportQuery)
	h := sha256.Sum256(append([]byte("report\x00"+t.Location.Name+"\x00"), payload...))
	return admission.Draft{Items: []admission.Planned{{
		Location: t.Location, Operation: "report.create", Kind: gbp.KindReport, Payload: payload, Fingerprint: h[:], Units: (c.days() + unitDays - 1) / unitDays,
	}}}
}

// days is the length of the period; the decoder takes real days only.
func (c reportChange) days() int {
	from, errFrom := time.Parse(time.DateOnly, c.From)
	to, errTo := time.Parse(time.DateOnly, c.To)
	if errFrom != nil || errTo != nil {
		return 0
	}
	return int(to.Sub(from).Hours()/24) + 1
}

func (c reportChange) violations(today string, l errs.Locale) []errs.Violation {
	n := c.days()
	switch figures := n * len(c.Metrics) * len(c.LocationIDs); {
	case n < 1:
		return []errs.Violation{{Path: "to", Rule: "before_start", Value: c.To, Message: errs.T("to が from より前です。", "to is before from.").In(l)}}
	case c.To > today:
		return []errs.Violation{{Path: "to", Rule: "in_future", Value: c.To, Message: errs.T("to が未来の日付です。", "to is in the future.").In(l)}}
	case n > reportDays:
		return []errs.Violation{{Path: "from", Rule: "max_days", Value: strconv.Itoa(n), Message: errs.Tf("期間は最長 %[1]d 日です (%[2]d 日指定)。", "The period is at most %[1]d days; %[2]d were asked for.", reportDays, n).In(l)}}
	case figures > reportFigures:
		return []errs.Violation{{Path: "$", Rule: "too_large", Value: strconv.Itoa(figures), Message: errs.Tf("数値が %[1]d 個になります (上限 %[2]d)。期間、店舗、指標を減らしてください。",
			"That would be %[1]d figures, %[2]d at most; take fewer days, stores or metrics.", figures, reportFigures).In(l)}}
	}
	return nil
}

func reportCreate(s *Set) (Tool, error) {
	input := reportInput()
	t := Tool{
		Name: "report.create", Title: "Create a performance report", Scope: "reports:create", OpenWorld: true,
		Description: reportDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope, Reads: true,
		Parse: func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
			var args struct {
				reportChange
				admission.Safety
			}
			if violations := decode(input, raw, &args, l); len(violations) > 0 {
				return nil, admission.Safety{}, violations
			}
			c := args.reportChange
			c.LocationIDs = distinct(c.LocationIDs)
			if len(c.Metrics) == 0 {
				c.Metrics = gbp.DailyMetrics()
			}
			slices.Sort(c.Metrics)
			return c, args.Safety, c.violations(s.Now().UTC().Add(14*time.Hour).Format(time.DateOnly), l)
		},
		Ask: func(n int, stores, period string) errs.Text {
			return errs.Tf("%[1]d 店舗 (%[2]s) の %[3]s のレポートを作成します (有料)。よろしいですか？", "This creates a billed report of %[1]d store(s) (%[2]s) for %[3]s. Go ahead?", n, stores, period)
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}

// linksOf are the resources of a batch; a report has its figures.
func linksOf(id batch.ID, report bool) []Link {
	links := []Link{batchLink(string(id))}
	if report {
		links = append(links,
			Link{URI: "mappy://reports/" + string(id), Name: "report " + string(id), Description: "the figures as JSON, once the batch is done"},
			Link{URI: "mappy://reports/" + string(id) + "/csv", Name: "report " + string(id) + " as CSV", Description: "the figures as CSV, once the batch is done", MIMEType: "text/csv"})
	}
	return links
}
