package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
)

// A person who sees nothing but the question sees what is published or taken away: the whole text, a store's own text, the text
// as it is filled in, and what a deletion deletes.
func TestQuestionSaysWhatIsWritten(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 8})
	question := func(tool string, args stack.Args, want ...string) string {
		t.Helper()
		a := d.call(tool, args)
		d.mustRefuse(a, errs.ConfirmationRequired)
		for _, w := range want {
			if !strings.Contains(a.Details.HumanReadableMessage, w) || !strings.Contains(a.Text, w) {
				t.Errorf("%s: the question lacks %q: %s", tool, w, a.Details.HumanReadableMessage)
			}
		}
		if p := d.previewOf(tool, args); p.Confirmation.Question != a.Details.HumanReadableMessage {
			t.Errorf("%s: the preview asks %q, the refusal %q", tool, p.Confirmation.Question, a.Details.HumanReadableMessage)
		}
		return a.Details.HumanReadableMessage
	}
	long := strings.Repeat("あ", 1400) + "終わり"
	args := stack.Post(d.IDs(8), long)
	if q := question("post.create", args, long); strings.Contains(q, "\n- ") || strings.Contains(q, "sha256") {
		t.Errorf("more than the text: %s", q)
	}
	// The last store's own text stands first, whatever the others fill in.
	args = stack.Post(d.IDs(8), "{{location.store_code}}の新作").With("overrides", []any{map[string]any{"location_id": d.IDs(8)[7], "summary": "ここだけの話"}})
	question("post.create", args, "{{location.store_code}}の新作", d.Locations[7].Profile.Title+" — ここだけの話\n", "渋谷店 — SHIBUYA001の新作\n", "- … (+3)\n")

	made := d.made(8, "{{location.store_code}}の冬")
	ids := targetIDs(made.Items)
	question("post.delete", stack.Args{"post_ids": ids[:3]}, "渋谷店 — − SHIBUYA001の冬\n", "池袋店 — − IKEBUKURO001の冬\n")
	question("batch.undo", stack.Args{"batch_id": made.BatchID}, "渋谷店 — − SHIBUYA001の冬\n", "- … (+3)\n")
	var posts []any
	for i, x := range made.Items {
		posts = append(posts, map[string]any{"post_id": x.Target.ID, "expected_version": x.Version, "summary": fmt.Sprintf("No. %d", i)})
	}
	question("post.update", stack.Args{"posts": posts[:5]}, `"No. 0"`, "新宿店 — No. 1\n", "— No. 4\n")
	r := d.reviews(gbpsim.Review{ID: "asked", Comment: "Nice", Reply: answered("Thank you\nso much")})[0]
	question("review.delete_reply", stack.Args{"review_id": r.ReviewID}, "渋谷店 — − Thank you so much\n")
	question("review.reply", reply(r.ReviewID, long[:1200]).With("replace_existing", true), long[:1200])
	question("media.upload", upload(d.IDs(5), item(photo(web, "/a.jpg"), "EXTERIOR")), "渋谷店 — EXTERIOR "+web.URL("/a.jpg"))
	var media []string
	for _, m := range d.gallery(stack.Args{"location_ids": d.IDs(3)}) {
		media = append(media, m.MediaID)
	}
	question("media.delete", stack.Args{"media_ids": media[:5]}, "渋谷店 — − EXTERIOR https://komorebi-coffee.example/photos/shibuya001-front.jpg", "INTERIOR カウンター席")
	hour := map[string]any{"date": "2030-12-31", "closed": true}
	question("location.update", d.changeAll(3, stack.Args{"special_hours": []any{hour}, "regular_hours": []any{hours("monday", "10:00", "16:00")}}),
		"special_hours: + 2030-12-31 closed: true", "regular_hours: − monday 07:00 20:00, + monday 10:00 16:00")
}

// A store's name at Google is anybody's text: a question holds no character that hides or reorders what the person reads.
func TestQuestionOfAStrangeName(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 1, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_always":true,`, 1)})
	d.exec(`UPDATE mappy.location SET title = $1, profile = jsonb_set(profile, '{title}', to_jsonb($1::text))`, "渋谷\u202eレビュー\n店\u200b")
	a := d.call("post.create", stack.Post(d.IDs(1), "お知らせです。"))
	if a.ErrorCode != errs.ConfirmationRequired {
		t.Fatal(a.Text)
	}
	q := a.Details.HumanReadableMessage
	if strings.ContainsAny(q, "\u202e\u200b") || !strings.Contains(q, "渋谷レビュー 店") {
		t.Errorf("%q", q)
	}
}
