package gbpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// What Google adds tomorrow is in the raw location, and what we send is not touched on its way.
func TestStoreBytes(t *testing.T) {
	t.Parallel()
	const body = `{"name":"` + location + `","title":"店 <&>","future":{"big":12345678901234567890},"regularHours":{"periods":[],"extra":1}}`
	b := serve(t, jsonAnswer(200, body), nil)
	got, err := b.ReadLocation(t.Context(), ref, account, location)
	if err != nil || string(got.Raw) != body || got.Location.Profile.Title != "店 <&>" || got.Location.Account != account {
		t.Errorf("%+v %v", got, err)
	}
	const sent = `{"title":"店 <&>\u0026","a":1.0}`
	raw, err := b.PatchLocation(t.Context(), ref, location, []byte(sent), []string{"title", "profile.description"}, false)
	if err != nil || string(raw) != body {
		t.Errorf("%s %v", raw, err)
	}
	r := b.requests()
	if string(r[1].body) != sent || r[1].method != http.MethodPatch || r[1].path != "/mybusinessbusinessinformation.googleapis.com/v1/"+location || r[1].query != "updateMask=title%2Cprofile.description" {
		t.Errorf("%+v", r[1])
	}
}

func TestStoreAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `null`, `[]`, `{}`, `{"name":"locations/5"}`, `{"name":`} {
		b := serve(t, jsonAnswer(200, body), nil)
		if _, err := b.ReadLocation(t.Context(), ref, account, location); asError(t, err).Class != NotSent {
			t.Errorf("read %q: %v", body, err)
		}
		_, err := b.PatchLocation(t.Context(), ref, location, []byte(`{}`), []string{"title"}, false)
		if e := asError(t, err); e.Class != Ambiguous || e.Code != errs.GBPOutcomeUnknown || !e.Sent {
			t.Errorf("patch %q: %v", body, err)
		}
		_, err = b.UpdateAttributes(t.Context(), ref, location, []byte(`{}`), []string{"attributes/x"})
		if asError(t, err).Class != Ambiguous {
			t.Errorf("attributes %q: %v", body, err)
		}
	}
	// A check that failed in passing wrote nothing.
	b := serve(t, jsonAnswer(503, `{"error":{"code":503,"status":"UNAVAILABLE"}}`), nil)
	if _, err := b.PatchLocation(t.Context(), ref, location, []byte(`{}`), []string{"title"}, true); asError(t, err).Class != NotSent {
		t.Error(err)
	}
	// A mask with spaces is read; a strange one is not relied on.
	b = serve(t, jsonAnswer(200, `{"location":{"title":"x"},"diffMask":"title, phoneNumbers","pendingMask":5}`), nil)
	if g, err := b.GetGoogleUpdated(t.Context(), ref, location); err != nil || strings.Join(g.Diff, "|") != "title|phoneNumbers" || string(g.Raw) != `{"title":"x"}` {
		t.Errorf("%+v %v", g, err)
	}
	if r := b.requests()[0]; r.path != "/mybusinessbusinessinformation.googleapis.com/v1/"+location+":getGoogleUpdated" {
		t.Error(r.path)
	}
}

func TestStoreArguments(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"regularHours.periods[2].openTime": "changes.regular_hours", "location.open_info.opening_date": "changes.opening_date", "openInfo.status": "changes.open_status",
		"phone_numbers.additional_phones": "changes.phone_numbers.additional", "profile.description": "changes.description", "attributes.values": "changes.attributes",
		"special_hours.special_hour_periods[0].closed": "changes.special_hours", "metadata": "", "update_mask": "", "": "",
	} {
		if got := storeArgument(field); got != want {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
	if got := postArgument("location.title"); got != "" {
		t.Error(got)
	}
}

func FuzzGoogleAnswersOfStores(f *testing.F) {
	f.Add([]byte(`{"name":"` + location + `","regularHours":{"periods":[{}]},"moreHours":[null],"categories":{"primaryCategory":null},"metadata":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &Client{now: func() time.Time { return now }}
		r, err := c.remote(call{}, ref, account, gbp.LocationName(location), answer{status: 200, body: b}, now)
		if err == nil && !json.Valid(r.Raw) {
			t.Fatalf("%q", r.Raw)
		}
	})
}
