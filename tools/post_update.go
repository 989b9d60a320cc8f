package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func postUpdateDescription(environment string) string {
	return "Changes the text, button, event or offer of 1 to 100 posts that are on stores' public Google Business Profiles (environment: " + environment + "). " +
		"Fields that are left out stay as they are; a field is emptied by naming it in clear. Topic type, photo and time of publication cannot be changed: delete the post and create a new one. " +
		"Every call without dry_run writes; it is accepted as a batch and carried out in the background: follow it with batch.status. Google reviews the post again: the change becomes visible within minutes to days, or the post is rejected. " +
		"batch.undo brings the previous text back. Each post needs the version that post.list or post.get gave as expected_version; a post that changed since is left alone with VERSION_CONFLICT. " +
		"The same idempotency_key and arguments twice have one effect. Confirm the new text with the user; the server enforces it: from 5 posts on, and for links or phone numbers that are not the tenant's own, it refuses with CONFIRMATION_REQUIRED until confirm_token comes back with the same arguments. " +
		"Texts may hold the same {{location.…}} variables as post.create."
}

func postUpdateInput() schema.Object {
	parts := postParts(0, "as it is", "as it is")
	changed := []schema.Field{
		schema.ID("post_id", "Our id of the post, from post.list or batch.status.", schema.Required(), schema.Example("01HV5K3Q8Z7M2N4P6R8T0V2X4Z")),
		expectedVersion("post.list or post.get", schema.Required()),
		schema.Text("summary", "New text, at most 1500 characters after templates are filled in.", schema.MaxLength(gbp.SummaryMax), schema.Templated(), schema.Example("営業時間を 21 時まで延長しました。")),
		parts[0], parts[1], parts[2],
		schema.List("clear", "Fields to empty; nothing else empties one.", schema.Enum("", "A field.", gbp.PostClearable()), schema.MaxItems(len(gbp.PostClearable())), schema.Unique()),
	}
	fields := []schema.Field{
		schema.List("posts", "Posts to change, 1 to 100, each once.", schema.Nested("", "One post's changes.", schema.Object{Fields: changed, Advice: postFixed()}), schema.Required(), schema.Items(1, 100)),
	}
	return schema.Object{Fields: append(fields, safety(true)...)}
}

// postFixed is what cannot be changed about a post at Google.
func postFixed() map[string]errs.Text {
	again := errs.T("変更できません。投稿を削除して、新しい投稿を作成してください。", "It cannot be changed; delete the post and create a new one.")
	return map[string]errs.Text{"topic_type": again, "media": again, "scheduled_time": again, "language_code": again}
}

// expectedVersion is the argument that keeps a write from overwriting what the caller has not seen.
func expectedVersion(from string, opts ...schema.Option) schema.Field {
	return schema.ID("expected_version", "The version that "+from+" gave; the write is refused when the target is no longer that.", append(opts, schema.MaxLength(64), schema.Example("9f2c4b1e0d7a48c3"))...)
}

type postUpdateChange struct{ gbp.PostUpdate }

// References implements admission.Change.
func (c postUpdateChange) References() admission.References {
	r := admission.References{Kind: gbp.KindPost}
	for _, p := range c.Posts {
		r.Resources = append(r.Resources, p.PostID)
	}
	return r
}

// Headline implements admission.Change.
func (c postUpdateChange) Headline() string {
	for _, p := range c.Posts {
		if p.Summary != "" {
			return p.Summary
		}
	}
	return ""
}

// Plan implements admission.Change.
func (c postUpdateChange) Plan(t admission.Target, now time.Time, l errs.Locale) admission.Draft {
	at := slices.IndexFunc(c.Posts, func(p gbp.PostChange) bool { return p.PostID == t.Resource.ID })
	change := c.Posts[at]
	old, d := readPost(t, change.ExpectedVersion, l)
	if d != nil {
		return *d
	}
	r, violations, warnings := gbp.RenderPostUpdate(change, old, t.Location, fmt.Sprintf("posts[%d]", at), now, l)
	out := admission.Draft{Violations: violations, Warnings: warnings}
	if violations == nil {
		p := plannedPost(t, old, "post.update")
		p.Payload, p.Mask, p.Before, p.After, p.Links, p.Phones = r.Payload, r.Mask, r.Before, r.After, r.Links, r.Phones
		p.At, p.SummaryLength = fmt.Sprintf("posts[%d]", at), utf8.RuneCountInString(r.Post.Summary)
		out.Items = []admission.Planned{p}
	}
	return out
}

// readPost is a post as we last read it. The draft is set when that refuses the write: it is gone, or not what was expected
// ("" expects nothing).
func readPost(t admission.Target, expected string, l errs.Locale) (gbp.RemotePost, *admission.Draft) {
	if t.Resource.DeletedAt != nil {
		return gbp.RemotePost{}, &admission.Draft{Violations: []errs.Violation{{
			Path: "$", Rule: "deleted", Value: t.Resource.ID, LocationID: int64(t.Location.ID), Message: errs.T("この投稿はすでに削除されています。", "This post has been deleted.").In(l),
		}}}
	}
	old, err := gbp.ParseRemotePost(t.Resource.Snapshot)
	if err != nil {
		return gbp.RemotePost{}, &admission.Draft{Violations: []errs.Violation{{
			Path: "$", Rule: "unreadable", Value: t.Resource.ID, LocationID: int64(t.Location.ID), Message: errs.T("この投稿の内容を読めていません。post.get で読み直してください。", "This post has not been read properly; read it again with post.get.").In(l),
		}}}
	}
	if v := old.Version(); expected != "" && v != expected {
		return old, &admission.Draft{Stale: &errs.ChangedTarget{LocationID: int64(t.Location.ID), TargetID: t.Resource.ID, Fields: []string{"version"}, CurrentVersion: v}}
	}
	return old, nil
}

func plannedPost(t admission.Target, old gbp.RemotePost, operation string) admission.Planned {
	return admission.Planned{
		Location: t.Location, Operation: operation, Kind: gbp.KindPost, TargetName: t.Resource.GoogleName, TargetID: t.Resource.ID, Expected: old.Version(),
		Fingerprint: gbp.TargetFingerprint(t.Resource.GoogleName),
	}
}

func postUpdate(s *Set) (Tool, error) {
	input := postUpdateInput()
	t := Tool{
		Name: "post.update", Title: "Change posts", Scope: "posts:write", Destructive: true, Idempotent: true, OpenWorld: true,
		Description: postUpdateDescription(s.Environment), Input: input,
	}
	op := admission.Operation{
		Name: t.Name, Scope: t.Scope,
		Parse: func(raw json.RawMessage, l errs.Locale) (admission.Change, admission.Safety, []errs.Violation) {
			var args struct {
				gbp.PostUpdate
				admission.Safety
			}
			if violations := decode(input, raw, &args, l); len(violations) > 0 {
				return nil, admission.Safety{}, violations
			}
			violations := pageTokenViolations(args.Safety, l)
			seen := map[string]bool{}
			for i, p := range args.Posts {
				if seen[p.PostID] {
					violations = append(violations, twice(fmt.Sprintf("posts[%d].post_id", i), p.PostID, l))
				}
				seen[p.PostID] = true
			}
			return postUpdateChange{args.PostUpdate}, args.Safety, violations
		},
		Reversible: admission.Reversible{Possible: true, By: "batch.undo", Loses: []string{"what people saw meanwhile"}},
		Ask: func(n int, stores, headline string) errs.Text {
			if headline == "" {
				return errs.Tf("%[1]d 件の投稿 (%[2]s) を変更します。よろしいですか？", "This will change %[1]d post(s) on %[2]s. Go ahead?", n, stores)
			}
			return errs.Tf("%[1]d 件の投稿 (%[2]s) を次の内容に変更します。よろしいですか？\n「%[3]s」", "This will change %[1]d post(s) on %[2]s to: \"%[3]s\". Go ahead?", n, stores, headline)
		},
	}
	var err error
	t.Output, err = writeOutput()
	t.run = s.write(op)
	return t, err
}

// twice is the violation of naming one target two times: the last would win, and nobody meant that.
func twice(path, id string, l errs.Locale) errs.Violation {
	return errs.Violation{Path: path, Rule: "twice", Value: id, Message: errs.T("同じ対象が 2 回指定されています。1 回にまとめてください。", "The same target is named twice; name it once.").In(l)}
}
