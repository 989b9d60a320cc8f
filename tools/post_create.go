package tools

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func postDescription(environment string) string {
	return "Publishes a post on the public Google Business Profile of 1 to 100 stores (environment: " + environment + "), one new post per store. " +
		"Every call without dry_run writes; it is accepted as a batch and carried out in the background: follow it with batch.status. " +
		"Google reviews posts: they become visible within minutes to days, or are rejected. A post can be deleted again, but its id and publication time are lost and people may have seen it. " +
		"Confirm with the user which stores and what text; the server enforces it: from 5 stores on, and for links or phone numbers that are not the tenant's own, it refuses with CONFIRMATION_REQUIRED until confirm_token comes back with the same arguments. " +
		"Recommended: call with dry_run true, show the preview, then call again with confirm_token and an idempotency_key. " +
		"Texts may hold {{location.title}}, {{location.store_code}}, {{location.city}}, {{location.phone}}, {{location.website}}; each store gets its own values. Put no phone number in the text (Google rejects it); use the CALL button."
}

func postFields() []schema.Field {
	return []schema.Field{
		schema.Enum("topic_type", "STANDARD: news; EVENT: needs event; OFFER: needs event (its period) and may have offer.", []string{gbp.TopicStandard, gbp.TopicEvent, gbp.TopicOffer}, schema.Default(gbp.TopicStandard)),
		schema.Text("summary", "Text of the post, at most 1500 characters (not bytes) after templates are filled in. Real newlines.", schema.MaxLength(gbp.SummaryMax), schema.Templated(), schema.Example("新作の抹茶ラテが始まりました。{{location.title}}でお待ちしています。")),
		schema.String("language_code", "Language of the text (BCP 47); Google detects it when left out.", schema.MaxLength(20), schema.Pattern(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`), schema.Example("ja")),
	}
}

// postParts are what may be left out of a post. photos is 1 where an empty list of photos would be taken for none, and is
// not; start and end say what the times of an event are that are left out.
func postParts(photos int, start, end string) []schema.Field {
	return []schema.Field{
		schema.Nested("call_to_action", "Button under the post; not for OFFER.", schema.Object{Fields: []schema.Field{
			schema.Enum("action_type", "Kind of the button. CALL dials the profile's phone number and takes no url.", []string{"BOOK", "ORDER", "SHOP", "LEARN_MORE", "SIGN_UP", "CALL"}, schema.Required()),
			schema.URL("url", "Where the button leads; required for all but CALL.", schema.Templated(), schema.Example("https://www.example.com/menu")),
		}}),
		schema.Nested("event", "Title and period of an EVENT or OFFER, in the store's local wall clock, without time zone.", schema.Object{Fields: []schema.Field{
			schema.Text("title", "Title, at most 58 characters.", schema.Required(), schema.MaxLength(gbp.EventTitleMax), schema.SingleLine(), schema.Templated(), schema.Example("冬のフェア")),
			schema.Date("start_date", "First day, YYYY-MM-DD.", schema.Required(), schema.Example("2026-12-24")),
			schema.TimeOfDay("start_time", "Start on the first day, HH:MM; "+start+" when left out.", schema.Example("10:00")),
			schema.Date("end_date", "Last day, YYYY-MM-DD.", schema.Required(), schema.Example("2026-12-25")),
			schema.TimeOfDay("end_time", "End on the last day, HH:MM; "+end+" when left out.", schema.Example("20:00")),
		}}),
		schema.Nested("offer", "Details of an OFFER.", schema.Object{Fields: []schema.Field{
			schema.Text("coupon_code", "Code to show or enter.", schema.MaxLength(gbp.CouponCodeMax), schema.SingleLine(), schema.Templated(), schema.Example("WINTER10")),
			schema.URL("redeem_url", "Where the offer is redeemed.", schema.Templated(), schema.Example("https://www.example.com/winter")),
			schema.Text("terms", "Terms and conditions, at most 5000 characters.", schema.MaxLength(gbp.TermsMax), schema.Templated()),
		}}),
		schema.List("media", "At most one photo.", schema.Nested("", "One photo.", schema.Object{Fields: []schema.Field{
			schema.URL("source_url", "Public https address of a JPEG or PNG (250x250 px and 10 KB to 5 MB); Google fetches it. No share pages, no video.", schema.Required(), schema.Templated(), schema.Example("https://www.example.com/latte.jpg")),
		}}), schema.Items(photos, 10)),
		schema.DateTime("scheduled_time", "Publish at this time instead of now (RFC 3339 with offset); Google holds it.", schema.Example("2026-12-24T09:00:00+09:00")),
	}
}

// What the times of a new event are that are left out.
const firstMinute, lastMinute = "00:00", "23:59"

func postCreateInput() schema.Object {
	post := append(postFields(), postParts(0, firstMinute, lastMinute)...)
	override := append([]schema.Field{
		schema.LocationID("location_id", "Store of location_ids that gets something else.", schema.Required(), schema.Example("8802")),
		schema.Text("summary", "Text for this store only, at most 1500 characters.", schema.MaxLength(gbp.SummaryMax), schema.Templated()),
	}, postParts(1, firstMinute, lastMinute)...)
	fields := []schema.Field{
		schema.List("location_ids", "Stores that get the post, 1 to 100, from location.list.", schema.LocationID("", "Id of one store.", schema.Example("8802")), schema.Required(), schema.Items(1, 100)),
		schema.Nested("post", "What is published.", schema.Object{Fields: post}, schema.Required()),
		schema.List("overrides", "Differences for single stores; a part that is present replaces the post's whole part, and one that is left out stays the post's: for a store without photo, button, event or offer make a call of its own.", schema.Nested("", "One store's differences.", schema.Object{Fields: override}), schema.MaxItems(100)),
	}
	return schema.Object{Fields: append(fields, safety(true)...)}
}

// postChange is a post.create as admission sees it.
type postChange struct{ gbp.PostCreate }

// References implements admission.Change.
func (c postChange) References() admission.References {
	return admission.References{Locations: c.LocationIDs}
}

// Headline implements admission.Change.
func (c postChange) Headline() string {
	switch {
	case c.Post.Summary != "":
		return c.Post.Summary
	case c.Post.Event != nil:
		return c.Post.Event.Title
	}
	return c.Post.TopicType
}

// Sources implements admission.FileChange.
func (c postChange) Sources(t admission.Target) []gbp.Source {
	return gbp.PostSources(c.For(t.Location.ID), t.Location)
}

// Plan implements admission.Change.
func (c postChange) Plan(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	r, violations, warnings := gbp.RenderPost(t.Files, c.For(t.Location.ID), t.Location, now, l)
	d := admission.Draft{Violations: c.AsGiven(t.Location.ID, violations), Warnings: warnings}
	if violations == nil {
		d.Items = []admission.Planned{{
			Location: t.Location, Operation: "post.create", Kind: gbp.KindPost, At: "post", Payload: r.Payload, Fingerprint: r.Fingerprint, After: gbp.View(r.Payload),
			SummaryLength: utf8.RuneCountInString(r.Post.Summary), SendBefore: r.SendBefore, Links: r.Links, Phones: r.Phones, Sources: r.Sources,
		}}
		if slices.ContainsFunc(c.Overrides, func(o gbp.PostOverride) bool { return o.LocationID == t.Location.ID }) { // not what the question says
			d.Items[0].Line = t.Location.Profile.Title + " — " + admission.Short(r.Post.Summary)
		}
	}
	return d
}

func parsePostCreate(input schema.Object) func(json.RawMessage, errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
	return func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
		var args struct {
			gbp.PostCreate
			admission.Safety
		}
		if violations := decode(input, raw, &args, l); len(violations) > 0 {
			return nil, admission.Safety{}, violations
		}
		change := args.Normalise()
		violations := append(change.OverrideViolations(l), pageTokenViolations(args.Safety, l)...)
		return postChange{change}, args.Safety, violations
	}
}

func askPostCreate(n int, stores, headline string) errs.Text {
	return errs.Tf("%[1]d 店舗 (%[2]s) に次の内容を公開します。よろしいですか？\n「%[3]s」", "This will publish to %[1]d store(s) (%[2]s): \"%[3]s\". Go ahead?", n, stores, headline)
}

func postCreate(s *Set) (Tool, error) {
	input := postCreateInput()
	t := Tool{
		Name: "post.create", Title: "Publish a post on stores", Scope: "posts:write", OpenWorld: true,
		Description: postDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope, Parse: parsePostCreate(input), Ask: askPostCreate,
		Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"post id", "publication time"}},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}
