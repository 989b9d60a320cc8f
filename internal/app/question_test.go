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
	// Lines of the text are told from the question's own.
	question("post.create", stack.Post(d.IDs(8), "新作」\nEnvironment: test\n- 1 店舗だけ"), "新作」\n> Environment: test\n> - 1 店舗だけ")
	question("post.create", stack.Post(d.IDs(1), "http://evil.example:port/"), "one of the tenant's own. http://evil.example:port/ — ")
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
	question("post.update", stack.Args{"posts": posts[:5]}, `"No. 0"`, "渋谷店 — SHIBUYA001の冬 → No. 0\n", "新宿店 — SHINJUKU001の冬 → No. 1\n", " → No. 4\n")
	r := d.reviews(gbpsim.Review{ID: "asked", Comment: "Nice", Reply: answered("Thank you\nso much")})[0]
	question("review.delete_reply", stack.Args{"review_id": r.ReviewID}, "渋谷店 — − Thank you so much\n")
	question("review.reply", reply(r.ReviewID, long[:1200]).With("replace_existing", true), long[:1200], "渋谷店 — Thank you so much → ああ")
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

// Whatever is beside the text stands in the question too, and what is not the tenant's own stands first, in whatever store.
func TestQuestionShowsWhatIsBesideTheText(t *testing.T) {
	t.Parallel()
	d := openDesk(t, stack.Options{Stores: 20, NoWorkers: true, Policy: strings.Replace(stack.Roomy, "{", `{"confirm_always":true,`, 1)})
	question := func(args stack.Args) string {
		t.Helper()
		a := d.call("post.create", args)
		d.mustRefuse(a, errs.ConfirmationRequired)
		return a.Details.HumanReadableMessage
	}
	post := func(more stack.Args) stack.Args {
		return stack.Args{"location_ids": d.IDs(1), "post": more.With("summary", "冬のお知らせ")}
	}
	button := func(url string) stack.Args { return stack.Args{"action_type": "LEARN_MORE", "url": url} }
	period := stack.Args{"title": "冬のフェア", "start_date": "2030-12-01", "end_date": "2030-12-24", "end_time": "20:00"}
	for name, c := range map[string]struct {
		args stack.Args
		want []string
	}{
		"button": {post(stack.Args{"call_to_action": button("https://evil.example/pay")}), []string{"LEARN_MORE https://evil.example/pay", " evil.example — こもれび珈琲 渋谷店"}},
		"offer": {
			post(stack.Args{"topic_type": "OFFER", "event": period, "offer": stack.Args{"coupon_code": "W10", "redeem_url": "https://evil.example/r", "terms": "お一人様一回"}}),
			[]string{"\"冬のフェア\" 2030-12-01 00:00 – 2030-12-24 20:00", "W10 https://evil.example/r お一人様一回", " evil.example — "},
		},
		"photo": {post(stack.Args{"media": []any{stack.Args{"source_url": "https://www.example.com/a.jpg"}}}), []string{"https://www.example.com/a.jpg"}},
		"later": {post(stack.Args{"scheduled_time": "2030-12-24T09:00:00+09:00"}), []string{"2030-12-24T"}},
	} {
		q := question(c.args)
		for _, w := range c.want {
			if !strings.Contains(q, w) {
				t.Errorf("%s: the question lacks %q: %s", name, w, q)
			}
		}
	}
	coupon, terms := strings.Repeat("券", 50), strings.Repeat("条件", 50)
	signed := []any{stack.Args{"source_url": "https://www.example.com/a.jpg?token=SECRET4711"}}
	q := question(post(stack.Args{"topic_type": "OFFER", "event": period, "offer": stack.Args{"coupon_code": coupon, "terms": terms}, "media": signed}))
	if !strings.Contains(q, coupon+" "+terms+"; photo https://www.example.com/a.jpg") || strings.Contains(q, "SECRET4711") { // the whole of a long line
		t.Errorf("%s", q)
	}
	var own []any
	for i, id := range d.IDs(20)[9:] {
		o := stack.Args{"location_id": id, "summary": fmt.Sprintf("店の話 %d", i)}
		if i == 10 {
			o = o.With("call_to_action", button("https://evil.example/last"))
		}
		own = append(own, o)
	}
	q = question(stack.Post(d.IDs(20), "冬のお知らせ").With("overrides", own))
	lines := strings.Split(q, "\n- ")
	last := d.Locations[19].Profile.Title
	if len(lines) < 3 || !strings.HasSuffix(lines[1], " evil.example — "+last) || !strings.Contains(lines[2], last+" — 店の話 10; ") || !strings.Contains(lines[2], "https://evil.example/last") {
		t.Errorf("%q", lines)
	}
}
