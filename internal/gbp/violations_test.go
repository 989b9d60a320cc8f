package gbp_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// TestViolationsOfAnOverride: what is wrong with one store's own part is reported where it stands.
func TestViolationsOfAnOverride(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("あ", gbp.SummaryMax+1)
	c := gbp.PostCreate{
		LocationIDs: []gbp.LocationID{1, 2, 3},
		Post:        gbp.PostDraft{TopicType: gbp.TopicStandard, Summary: long, ScheduledTime: "soon"},
		Overrides: []gbp.PostOverride{
			{LocationID: 3, Event: event("2026-12-24", "10:00", "2026-12-25", "20:00")},
			{LocationID: 2, Summary: long, CallToAction: &gbp.ActionDraft{ActionType: "BOOK", URL: "ftp://own.example/"}, Media: []gbp.MediaSource{{SourceURL: "http://own.example/a.jpg"}}},
		},
	}
	for id, want := range map[gbp.LocationID][]string{
		1: {"post.summary max_length", "post.scheduled_time date_time"},
		2: {"overrides[1].summary max_length", "overrides[1].call_to_action.url url", "overrides[1].media[0].source_url https", "post.scheduled_time date_time"},
		3: {"post.summary max_length", "overrides[0].event not_allowed", "post.scheduled_time date_time"},
	} {
		loc := shibuya()
		loc.ID = id
		_, v, _ := gbp.RenderPost(nil, c.For(id), loc, now, errs.English)
		if got := broken(c.AsGiven(id, v)); !slices.Equal(got, want) {
			t.Errorf("store %d: %q, want %q", id, got, want)
		}
	}
}

// TestViolationsQuote: what broke a rule is quoted, cut to a safe length; a password is not.
func TestViolationsQuote(t *testing.T) {
	t.Parallel()
	d := standard(strings.Repeat("あ", gbp.SummaryMax+1))
	d.CallToAction = &gbp.ActionDraft{ActionType: "BOOK", URL: "ftp://own.example/"}
	d.Media = []gbp.MediaSource{{SourceURL: "http://own.example/a.jpg"}}
	d.ScheduledTime = "soon"
	_, v, _ := gbp.RenderPost(nil, d, shibuya(), now, errs.Japanese)
	want := map[string]string{
		"post.summary": strings.Repeat("あ", 100) + "…", "post.call_to_action.url": "ftp://own.example/", "post.media[0].source_url": "http://own.example/a.jpg", "post.scheduled_time": "soon",
	}
	for _, x := range v {
		if x.Value != want[x.Path] || !utf8.ValidString(x.Value) {
			t.Errorf("%s %s: value %q, want %q", x.Path, x.Rule, x.Value, want[x.Path])
		}
	}
	if len(v) != len(want) {
		t.Errorf("%q", broken(v))
	}
	d = standard("{{location.color}}")
	d.CallToAction = &gbp.ActionDraft{ActionType: "BOOK", URL: "https://me:secret@own.example/"}
	_, v, _ = gbp.RenderPost(nil, d, shibuya(), now, errs.Japanese)
	if len(v) != 2 || v[0].Value != "{{location.color}}" || v[1].Value != "" {
		t.Errorf("%+v", v)
	}
	_, v, _ = gbp.RenderReply(strings.Repeat("a", gbp.ReplyBytes+1), shibuya(), errs.Japanese)
	if len(v) != 1 || v[0].Value != strings.Repeat("a", 100)+"…" {
		t.Errorf("%+v", v)
	}
}

// TestURLCausesSpeakTheCallersLanguage: no English half in a Japanese sentence, nor the other way round.
func TestURLCausesSpeakTheCallersLanguage(t *testing.T) {
	t.Parallel()
	japanese := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r >= 'ぁ' && r <= 'ヿ' })
	}
	for _, u := range []string{"https://own.example/a b", "https://%zz", "ftp://own.example/", "https://me:x@own.example/", "https://localhost/"} {
		ja := gbp.FillStoreURL("website_url", u, shibuya(), errs.Japanese).Violations
		en := gbp.FillStoreURL("website_url", u, shibuya(), errs.English).Violations
		if len(ja) != 1 || len(en) != 1 || ja[0].Rule != "url" {
			t.Fatalf("%s: %+v %+v", u, ja, en)
		}
		_, cause, _ := strings.Cut(ja[0].Message, ": ")
		if !japanese(cause) || japanese(en[0].Message) || !strings.HasSuffix(en[0].Message, ".") {
			t.Errorf("%s: %s / %s", u, ja[0].Message, en[0].Message)
		}
		d := standard("x")
		d.Media = []gbp.MediaSource{{SourceURL: u}}
		_, v, _ := gbp.RenderPost(nil, d, shibuya(), now, errs.Japanese)
		if len(v) != 1 || !strings.HasSuffix(v[0].Message, cause) {
			t.Errorf("%s as a photo: %+v", u, v)
		}
	}
}
