package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

type locationOf = gbp.Location

func targetIDs(items []tools.ItemView) (out []string) {
	for _, i := range items {
		out = append(out, i.Target.ID)
	}
	return out
}

// Upload, undo, undo of the undo; deletion and its undo; what somebody deleted meanwhile is reported and not hidden.
func TestMediaDeleteAndUndo(t *testing.T) {
	t.Parallel()
	d, web := openGallery(t, stack.Options{Stores: 4})
	at := func(i int) gbpsim.LocationName { return gbpsim.LocationName(d.Locations[i].Name) }
	ours := func() (n int) {
		for _, m := range d.Sim.Media("") {
			if strings.HasPrefix(m.SourceURL, web.URL("/")) {
				n++
			}
		}
		return n
	}
	media := item(photo(web, "/a.jpg"), "EXTERIOR")
	media["description"] = "正面"
	made := d.done("media.upload", upload(d.IDs(4), media))
	if ours() != 4 {
		t.Fatalf("%d", ours())
	}
	// Undo of two stores, and of that.
	undone := d.done("batch.undo", stack.Args{"batch_id": made.BatchID, "location_ids": d.IDs(2)})
	if undone.Status != batch.Done || undone.TargetCount != 2 || undone.Items[0].Operation != "media.delete" || undone.Items[0].Publication != batch.Deleted || ours() != 2 {
		t.Fatalf("%d left, %+v", ours(), undone)
	}
	d.mustRefuse(d.call("batch.undo", stack.Args{"batch_id": made.BatchID, "location_ids": d.IDs(2), "idempotency_key": "undo-again"}), errs.NothingToUndo)
	p := d.previewOf("batch.undo", stack.Args{"batch_id": undone.BatchID})
	if !p.WouldExecute || !hasWarning(p.ValidationWarnings, "NEW_ID") || p.Changes[0].Operation != "media.upload" || !strings.Contains(string(p.Changes[0].After), `"description":"正面"`) {
		t.Fatalf("%+v", p)
	}
	redone := d.done("batch.undo", stack.Args{"batch_id": undone.BatchID})
	if redone.Status != batch.Done || ours() != 4 || redone.Items[0].Target.ID == made.Items[0].Target.ID {
		t.Fatalf("%d there, %+v", ours(), redone)
	}
	// Deleting by id; again; by what never was.
	ids := targetIDs(made.Items[2:3])
	gone := d.done("media.delete", stack.Args{"media_ids": append(ids, ids[0])})
	if gone.Status != batch.Done || gone.TargetCount != 1 || ours() != 3 {
		t.Fatalf("%d there, %+v", ours(), gone)
	}
	again := d.accepted("media.delete", stack.Args{"media_ids": ids, "idempotency_key": "again-again"})
	if !again.Already || len(d.sentBodies(gbpsim.RouteMediaDelete)) != 3 {
		t.Errorf("%+v", again)
	}
	// The file is gone meanwhile: left alone, with the reason.
	web.Handle("/a.jpg", http.NotFoundHandler())
	second := stack.Args{"batch_id": gone.BatchID}
	left := d.on(t.Context(), d.replicaIn(web), d.principal(d.Token), "batch.undo", marshal(t, second.With("dry_run", true)))
	if w := stack.Into[tools.Write](t, left); w.Preview.WouldExecute || w.Preview.WouldRefuse.ErrorCode != errs.NothingToUndo || !strings.Contains(left.Text, "cannot be used") {
		t.Errorf("%s", left.Text)
	}
	// Somebody deleted one behind our back: the undo of the rest goes on, and the batch says which was not there.
	photo(web, "/b.jpg")
	more := d.done("media.upload", upload(d.IDs(2), item(web.URL("/b.jpg"), "TEAMS")))
	for _, m := range d.Sim.Media(at(0)) {
		if m.Category == "TEAMS" {
			if err := d.Sim.RemoveMedia(m.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	v := d.done("batch.undo", stack.Args{"batch_id": more.BatchID})
	if v.Status != batch.Partial || v.Failures[0].ErrorCode != errs.GBPNotFound || v.Failures[0].Executed != errs.ExecutedNo || v.SuccessCount != 1 {
		t.Errorf("%+v", v)
	}
	for _, m := range d.Sim.Media("") {
		if m.Category == "TEAMS" {
			t.Errorf("still there: %+v", m)
		}
	}
	d.countersMatch()
}

// Confirmation by number, and whatever the number for what cannot be brought back; customers' photos; foreign ids; lost answers.
func TestMediaDeleteRules(t *testing.T) {
	t.Parallel()
	d, _ := openGallery(t, stack.Options{Stores: 3})
	at := gbpsim.LocationName(d.Locations[0].Name)
	for _, m := range []gbpsim.MediaSeed{{Key: "hand", Category: "TEAMS"}, {Key: "customer", Customer: "Taro"}} {
		if _, err := d.Sim.AddMedia(at, m); err != nil {
			t.Fatal(err)
		}
	}
	list := d.gallery(stack.Args{})
	byKey := map[string]string{}
	var seeded []string
	for _, m := range list {
		key := m.GoogleName[strings.LastIndex(m.GoogleName, "/")+1:]
		byKey[key] = m.MediaID
		if key != "hand" {
			seeded = append(seeded, m.MediaID)
		}
	}
	if len(list) != 7 || byKey["customer"] != "" || len(seeded) != 6 {
		t.Fatalf("%+v", list)
	}
	for n, reason := range map[int]string{4: "", 5: "target_count"} {
		p := d.previewOf("media.delete", stack.Args{"media_ids": seeded[:n]})
		if p.Confirmation.Reason != reason || !p.Reversible.Possible || p.TargetCount != n || p.EstimatedGBPAPICalls != 2*n || !strings.Contains(string(p.Changes[0].Before), "sourceUrl") {
			t.Errorf("%d: %+v", n, p)
		}
	}
	// What nobody can bring back needs a person, alone and among others.
	hand := d.previewOf("media.delete", stack.Args{"media_ids": []string{byKey["hand"]}})
	if hand.Confirmation.Reason != "irreversible" || hand.Reversible.Possible || !hasWarning(hand.ValidationWarnings, "CANNOT_BE_UNDONE") {
		t.Errorf("%+v", hand)
	}
	mixed := d.previewOf("media.delete", stack.Args{"media_ids": []string{byKey["hand"], seeded[0]}})
	if mixed.Confirmation.Reason != "irreversible" || !mixed.Reversible.Possible || !strings.Contains(fmt.Sprint(mixed.Reversible.Loses), "1 of the 2") {
		t.Errorf("%+v", mixed)
	}
	d.mustRefuse(d.call("media.delete", stack.Args{"media_ids": []string{byKey["hand"]}}), errs.ConfirmationRequired)
	v := d.done("media.delete", stack.Args{"media_ids": []string{byKey["hand"]}})
	if v.Status != batch.Done {
		t.Fatalf("%+v", v)
	}
	undo := d.call("batch.undo", stack.Args{"batch_id": v.BatchID, "dry_run": true})
	if !strings.Contains(undo.Text, "address that it came from is not known") || !strings.Contains(undo.Text, "would_execute: false") {
		t.Errorf("%s", undo.Text)
	}
	// Refused: a customer's, nobody's, another tenant's, another kind's, too many.
	d.exec(`UPDATE mappy.resource SET snapshot = snapshot || '{"attribution":{"profileName":"Taro"}}' WHERE resource_id = $1`, seeded[5])
	d.mustRefuse(d.call("media.delete", stack.Args{"media_ids": []string{seeded[5]}}), errs.InvalidArgument)
	if a := d.call("media.delete", stack.Args{"media_ids": []string{seeded[5], seeded[0]}}); rules(a)[0] != "$ not_own" {
		t.Errorf("%s", a.Text)
	}
	const nobody = "01HV5K3Q8Z7M2N4P6R8T0V2X4Z"
	d.mustRefuse(d.call("media.delete", stack.Args{"media_ids": []string{seeded[0], nobody}}), errs.MediaNotFound)
	other := d.AddUser("other", "jiro", authn.Grants{All: true}, stack.Scopes(), stack.Roomy)
	d.mustRefuse(d.callAs(other, "media.delete", stack.Args{"media_ids": []string{seeded[0]}}), errs.MediaNotFound)
	post := d.made(1, "A post is no photo").Items[0].Target.ID
	d.mustRefuse(d.call("media.delete", stack.Args{"media_ids": []string{post}}), errs.MediaNotFound)
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("01HV5K3Q8Z7M2N4P6R8T0V%04d", i))
	}
	d.mustRefuse(d.call("media.delete", stack.Args{"media_ids": many}), errs.TooManyTargets)
	d.mustRefuse(d.call("media.delete", stack.Args{}), errs.InvalidArgument)
	// The answer to a deletion is lost: reading back shows that it happened; one that did not happen is sent again.
	d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaDelete, Effect: gbpsim.EffectCommit, Answer: gbpsim.AnswerReset, Count: 1})
	if v := d.done("media.delete", stack.Args{"media_ids": seeded[:1]}); v.Status != batch.Done || v.Items[0].Publication != batch.Deleted {
		t.Errorf("%+v", v)
	}
	d.fault(gbpsim.Fault{Route: gbpsim.RouteMediaDelete, Effect: gbpsim.EffectNone, Answer: gbpsim.AnswerReset, Count: 1})
	if v := d.done("media.delete", stack.Args{"media_ids": seeded[1:2]}); v.Status != batch.Done {
		t.Errorf("%+v", v)
	}
	if n := len(d.sentBodies(gbpsim.RouteMediaDelete)); n != 3 {
		t.Errorf("%d deletions", n)
	}
	d.await(func() bool { return d.count(`SELECT count(*) FROM mappy.item WHERE follow_at IS NOT NULL`) == 0 }, "the deletions are confirmed")
	if left := d.gallery(stack.Args{"location_ids": d.IDs(3)}); len(left) != 4 {
		t.Errorf("%+v", left)
	}
	d.countersMatch()
}
