package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/pictures"
	"github.com/mappy-dev/mappy-mcp/internal/testkit/stack"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// matrix is a desk on which one tool goes through everything that every write tool promises.
type matrix struct {
	*desk
	tool        writeTool
	web         *pictures.Web
	ids         map[int]string
	reviewNames map[int]gbpsim.ReviewName
	mediaNames  map[string]int
	keys        int
}

func (m *matrix) storeIDs(stores []int) (out []int64) {
	for _, i := range stores {
		out = append(out, int64(m.Locations[i].ID))
	}
	return out
}

func (m *matrix) targetsOf(stores []int) (out []string) {
	for _, i := range stores {
		out = append(out, m.ids[i])
	}
	return out
}

// read lists a store's things on a server that has kept nothing.
func (m *matrix) read(list string, store int) {
	m.t.Helper()
	if a := m.on(m.t.Context(), m.replica(), m.principal(m.Token), list, marshal(m.t, stack.Args{"location_ids": m.storeIDs([]int{store})})); a.IsError {
		m.t.Fatal(a.Text)
	}
}

// firstOf is the id of the first thing that a token's owner sees in a list.
func (m *matrix) firstOf(token, list, id string) any {
	m.t.Helper()
	var page map[string]json.RawMessage
	if err := json.Unmarshal(m.callAs(token, list, stack.Args{}).Data, &page); err != nil {
		m.t.Fatal(err)
	}
	var entries []map[string]any
	for _, under := range []string{"posts", "reviews", "media"} {
		if page[under] != nil {
			if err := json.Unmarshal(page[under], &entries); err != nil || len(entries) == 0 {
				m.t.Fatalf("%v in %s", err, page[under])
			}
		}
	}
	return entries[0][id]
}

// split is one list of stores per call that the tool needs for them.
func (m *matrix) split(stores ...int) (out [][]int) {
	if !m.tool.alone {
		return [][]int{stores}
	}
	for _, i := range stores {
		out = append(out, []int{i})
	}
	return out
}

// accept writes word on stores under keys of their own.
func (m *matrix) accept(word string, stores ...int) (out []*admission.Accepted) {
	m.t.Helper()
	for _, part := range m.split(stores...) {
		m.keys++
		out = append(out, m.accepted(m.tool.name, m.tool.args(m, part, word).With("idempotency_key", fmt.Sprintf("matrix-key-%d", m.keys))))
	}
	return out
}

// ended are the outcomes of batches by store.
func (m *matrix) ended(bs []*admission.Accepted) (ids []batch.ID, items map[int]tools.ItemView) {
	m.t.Helper()
	items = map[int]tools.ItemView{}
	for _, b := range bs {
		v := m.Finish(string(b.BatchID))
		ids = append(ids, v.BatchID)
		for _, i := range v.Items {
			items[slices.IndexFunc(m.Locations, func(l locationOf) bool { return l.ID == i.LocationID })] = i
		}
	}
	return ids, items
}

// follow calls batch.retry or batch.undo for batches. One of several that has nothing to do is passed over.
func (m *matrix) follow(tool string, nothing errs.Code, ids []batch.ID) (done []batch.ID, items map[int]tools.ItemView) {
	m.t.Helper()
	var bs []*admission.Accepted
	for _, id := range ids {
		m.keys++
		args := stack.Args{"batch_id": id, "idempotency_key": fmt.Sprintf("matrix-key-%d", m.keys)}
		if a := m.call(tool, args.With("dry_run", true)); len(ids) > 1 && !a.IsError {
			if p := stack.Into[tools.Write](m.t, a).Preview; p.WouldRefuse != nil && p.WouldRefuse.ErrorCode == nothing {
				continue
			}
		}
		bs = append(bs, m.accepted(tool, args))
	}
	return m.ended(bs)
}

// sentSince are the effects of a route after an entry of the journal, "store body".
func (m *matrix) sentSince(seq int64, route gbpsim.Route) (out []string) {
	for _, e := range m.Sim.Entries(gbpsim.EntryFilter{Route: route, Effects: true, After: seq}) {
		out = append(out, fmt.Sprint(slices.IndexFunc(m.Locations, func(l locationOf) bool { return string(l.Name) == string(e.Location) }), " ", e.Body))
	}
	slices.Sort(out)
	return out
}

func (m *matrix) seq() int64 {
	j := m.Sim.Journal()
	return j[len(j)-1].Seq
}

// standing is what stands at stores.
func (m *matrix) standing(stores ...int) (out []string) {
	for _, i := range stores {
		out = append(out, m.tool.now(m, i))
	}
	return out
}

func (m *matrix) same(what string, want, got any) {
	m.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		m.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// Every write tool keeps what all of them promise. One line per tool is in writeTools.
func TestMatrix(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, tool := range writeTools() {
		listed[tool.name] = true
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			web := pictures.Start(t)
			stores := 101
			if tool.alone {
				stores = 16
			}
			m := &matrix{
				desk: openDesk(t, stack.Options{Stores: stores, NoWorkers: true, Media: web.Options()}), tool: tool, web: web,
				ids: map[int]string{}, reviewNames: map[int]gbpsim.ReviewName{}, mediaNames: map[string]int{},
			}
			if tool.ready != nil {
				stop := m.Work()
				tool.ready(m, stores)
				stop()
			}
			m.confirmation()
			m.foreigners()
			m.conflictBeforeAdmission()
			m.keysAndCancel()
			m.hundred()
			m.conflictAfterAdmission() // the workers work from here on
			m.previewIsSent()
			m.partialAndRetry()
			m.undoing()
			m.countersMatch()
		})
	}
	for _, x := range openDesk(t, stack.Options{Stores: 1, NoWorkers: true}).App.Tools.List() {
		if special := []string{"batch.cancel", "batch.retry", "batch.undo", "report.create"}; !x.ReadOnly && !listed[x.Name] && !slices.Contains(special, x.Name) {
			t.Errorf("%s is a write tool and not in the matrix", x.Name)
		}
	}
}

// confirmation: nobody is asked below the number, and from it on nothing happens without a token.
func (m *matrix) confirmation() {
	m.t.Helper()
	n := m.tool.asks
	if n == 0 {
		if p := m.previewOf(m.tool.name, m.tool.args(m, []int{0}, "asked")); p.Confirmation.Required {
			m.t.Errorf("asks: %+v", p.Confirmation)
		}
		return
	}
	if n > 1 {
		if p := m.previewOf(m.tool.name, m.tool.args(m, upTo(n-1), "asked")); !p.WouldExecute || p.Confirmation.Required || p.TargetCount != n-1 {
			m.t.Errorf("asks for %d: %+v", n-1, p)
		}
	}
	args := m.tool.args(m, upTo(n), "asked")
	p := m.previewOf(m.tool.name, args)
	if !p.WouldExecute || p.Confirmation.Reason != "target_count" || p.Confirmation.ConfirmToken == "" || p.TargetCount != n {
		m.t.Errorf("does not ask for %d: %+v", n, p)
	}
	a := m.call(m.tool.name, args)
	m.mustRefuse(a, errs.ConfirmationRequired)
	if a.Details.ConfirmToken == "" || !strings.Contains(a.Details.HumanReadableMessage, m.Locations[0].Profile.Title) || a.Details.TargetSummary.TargetCount != n {
		m.t.Errorf("%+v", a.Details)
	}
	m.mustRefuse(m.call(m.tool.name, args.With("confirm_token", a.Details.ConfirmToken+"x")), errs.ConfirmTokenInvalid)
}

// swap replaces a value wherever it stands in arguments.
func swap(v, from, to any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = swap(x[i], from, to)
		}
	case map[string]any:
		for k := range x {
			x[k] = swap(x[k], from, to)
		}
	default:
		if v == from {
			return to
		}
	}
	return v
}

// foreigners: what is another tenant's, or outside one's grants, is not there; nothing of the call is accepted.
func (m *matrix) foreigners() {
	m.t.Helper()
	before := m.batches()
	stranger, _ := m.tenant("stranger", stack.Roomy)
	own := any(float64(m.Locations[0].ID))
	if m.ids[0] != "" {
		own = m.ids[0]
	}
	theirs := m.tool.foreign(m, stranger)
	stores := []int{0, 1}
	if m.tool.alone {
		stores = stores[:1]
	}
	var args map[string]any
	again(m.t, m.tool.args(m, stores, "foreign"), &args)
	narrow := m.AddUser(stack.Tenant, "narrow", authn.Grants{LocationIDs: m.IDs(2)[1:]}, stack.Scopes(), stack.Roomy)
	outside := m.callAs(narrow, m.tool.name, args)
	foreign := m.call(m.tool.name, stack.Args(swap(args, own, theirs).(map[string]any)))
	for id, a := range map[any]stack.Answer{own: outside, theirs: foreign} {
		m.mustRefuse(a, m.tool.notFound)
		m.same("not_found", []string{fmt.Sprint(id)}, a.Details.NotFound)
	}
	m.same("batches", before, m.batches())
}

// conflictBeforeAdmission: a target that is known to have changed is not written to; for a create it is what the person was shown.
func (m *matrix) conflictBeforeAdmission() {
	m.t.Helper()
	if m.tool.fixed && !m.tool.creates {
		return
	}
	const store = 3
	seq := m.seq()
	args := m.tool.args(m, []int{store}, "before")
	if m.tool.alone || !strings.Contains(string(marshal(m.t, args)), "expected_version") {
		stores := []int{store}
		for i := store + 1; len(stores) < m.tool.asks; i++ {
			stores = append(stores, i)
		}
		args = m.tool.args(m, stores, "before")
		if m.tool.asks > 0 {
			args = args.With("confirm_token", m.previewOf(m.tool.name, args).Confirmation.ConfirmToken)
		}
	}
	if m.tool.creates {
		m.behind(store, "title", `"又の名"`)
		m.Sync(stack.Tenant)
	} else {
		m.tool.other(m, store)
		m.tool.know(m, store)
	}
	m.mustRefuse(m.call(m.tool.name, args), errs.VersionConflict)
	m.same("sent", []string(nil), m.sentSince(seq, m.tool.route))
}

// keysAndCancel: one key, one effect; another content under it is a conflict; a cancelled batch sends nothing.
func (m *matrix) keysAndCancel() {
	m.t.Helper()
	stores := []int{8}
	other := []int{9}
	args := m.tool.args(m, stores, "keyed").With("idempotency_key", "matrix-one-key")
	first := m.accepted(m.tool.name, args)
	replay := m.Accept(m.tool.name, args)
	if replay.BatchID != first.BatchID || replay.Idempotency.Outcome != admission.Replayed || first.Idempotency.Outcome != admission.Executed || replay.Current == nil {
		m.t.Errorf("%+v, then %+v", first, replay)
	}
	a := m.call(m.tool.name, m.tool.args(m, other, "else").With("idempotency_key", "matrix-one-key"))
	m.mustRefuse(a, errs.IdempotencyConflict)
	if a.Details.BatchID != string(first.BatchID) || len(a.Details.Differs) == 0 {
		m.t.Errorf("%+v", a.Details)
	}
	m.cancel(first.BatchID)
}

func (m *matrix) cancel(id batch.ID) {
	m.t.Helper()
	for _, already := range []bool{false, true} {
		if c := stack.Into[tools.CancelResult](m.t, m.call("batch.cancel", stack.Args{"batch_id": id})); c.Batch.Status != batch.Cancelled || c.Already != already || c.Batch.CancelledCount != c.Batch.TargetCount {
			m.t.Errorf("%+v", c)
		}
	}
}

// hundred: a hundred targets are one batch, one more is refused as a whole.
func (m *matrix) hundred() {
	m.t.Helper()
	if m.tool.alone {
		return
	}
	before := m.batches()
	a := m.call(m.tool.name, m.tool.args(m, upTo(101), "hundred"))
	if m.mustRefuse(a, errs.TooManyTargets); m.batches() != before {
		m.t.Error("something was accepted")
	}
	b := m.accepted(m.tool.name, m.tool.args(m, upTo(100), "hundred"))
	if b.TargetCount != 100 {
		m.t.Errorf("%+v", b)
	}
	m.cancel(b.BatchID)
}

// conflictAfterAdmission: a target that changes between acceptance and its turn is not overwritten, and the others go on.
func (m *matrix) conflictAfterAdmission() {
	m.t.Helper()
	if m.tool.creates {
		m.Work()
		return
	}
	const touched, quiet = 10, 11
	bs := m.accept("after", touched, quiet)
	m.tool.other(m, touched)
	theirs := m.standing(touched)
	m.Work()
	_, items := m.ended(bs)
	want := errs.VersionConflict
	if m.tool.fixed {
		want = errs.GBPNotFound
	}
	if i := items[touched]; i.State != batch.ItemFailed || i.ErrorCode != want || i.Executed != errs.ExecutedNo || i.RetryPossible {
		m.t.Errorf("%+v", i)
	}
	m.same("what somebody else left", theirs, m.standing(touched))
	if i := items[quiet]; i.State != batch.ItemSucceeded {
		m.t.Errorf("%+v", i)
	}
	if m.tool.fixed { // it is gone
		return
	}
	// Reading it again shows what is there now, and a write of that goes through.
	if _, items := m.ended(m.accept("again", touched)); items[touched].State != batch.ItemSucceeded {
		m.t.Errorf("after reading again: %+v", items[touched])
	}
}

// previewIsSent: what the preview shows is what Google gets, byte for byte, once per target.
func (m *matrix) previewIsSent() {
	m.t.Helper()
	stores := []int{0, 1, 2}
	seq := m.seq()
	var shown []string
	for _, part := range m.split(stores...) {
		p := m.previewOf(m.tool.name, m.tool.args(m, part, "sent"))
		for _, g := range p.Changes {
			body := string(g.After)
			if len(g.Sent) > 0 {
				body = string(g.Sent)
			}
			for _, id := range g.LocationIDs {
				shown = append(shown, fmt.Sprint(slices.Index(m.IDs(len(m.Locations)), id), " ", body))
			}
		}
		if !p.WouldExecute || !p.Reversible.Possible || p.TargetCount != len(part) {
			m.t.Errorf("%+v", p)
		}
	}
	slices.Sort(shown)
	before := m.standing(stores...)
	ids, items := m.ended(m.accept("sent", stores...))
	for _, i := range stores {
		if x := items[i]; x.State != batch.ItemSucceeded || x.Executed != errs.ExecutedYes {
			m.t.Errorf("%+v", x)
		}
	}
	m.same("shown and sent", shown, m.sentSince(seq, m.tool.route))
	after := m.standing(stores...)
	if slices.Equal(before, after) {
		m.t.Errorf("nothing changed: %q", after)
	}
	m.undo(ids, before, after)
}

// undo takes back what previewIsSent did on stores 0 to 2, and takes that back.
func (m *matrix) undo(ids []batch.ID, before, after []string) {
	m.t.Helper()
	seq := m.seq()
	undone, items := m.follow("batch.undo", errs.NothingToUndo, ids)
	if len(items) != 3 {
		m.t.Errorf("%+v", items)
	}
	m.same("undone", before, m.standing(0, 1, 2))
	m.same("calls of the undo", 3, len(m.sentSince(seq, m.tool.undo)))
	for _, id := range ids {
		m.mustRefuse(m.call("batch.undo", stack.Args{"batch_id": id, "idempotency_key": "once-more-" + string(id)}), errs.NothingToUndo)
	}
	if _, items = m.follow("batch.undo", errs.NothingToUndo, undone); len(items) != 3 {
		m.t.Errorf("%+v", items)
	}
	m.same("undo undone", after, m.standing(0, 1, 2))
	m.same("calls of all", 6, len(m.sentSince(seq, m.tool.undo))+len(m.sentSince(seq, m.tool.route))-m.both(seq))
}

// both is how many calls are counted twice, where an undo is the same call as the write.
func (m *matrix) both(seq int64) int {
	if m.tool.undo != m.tool.route {
		return 0
	}
	return len(m.sentSince(seq, m.tool.route))
}

// partialAndRetry: each target has an outcome of its own, and only what may be sent again is, once.
func (m *matrix) partialAndRetry() {
	m.t.Helper()
	const good, refused, passing = 12, 13, 14
	fault := gbpsim.Fault{Route: m.tool.route, Answer: gbpsim.AnswerError, Count: 1}
	fault.Location, fault.Status = m.name(refused), 403
	m.fault(fault)
	fault.Location, fault.Status, fault.Word = m.name(passing), 400, "FAILED_PRECONDITION"
	m.fault(fault)
	seq, before := m.seq(), m.standing(good, refused, passing)
	ids, items := m.ended(m.accept("partial", good, refused, passing))
	for i, want := range map[int]errs.Code{good: "", refused: errs.GBPPermissionDenied, passing: errs.GBPLocationNotVerified} {
		if x := items[i]; x.ErrorCode != want || x.RetryPossible != (i == passing) || (x.Executed == errs.ExecutedYes) != (i == good) {
			m.t.Errorf("store %d: %+v", i, x)
		}
	}
	m.same("failed ones", before[1:], m.standing(refused, passing))
	if !m.tool.alone {
		if v := m.Finish(string(ids[0])); v.Status != batch.Partial || v.SuccessCount != 1 || v.FailureCount != 2 || v.UnknownCount+v.CancelledCount != 0 {
			m.t.Errorf("%+v", v)
		}
	}
	retried, items := m.follow("batch.retry", errs.InvalidArgument, ids)
	if len(retried) != 1 || len(items) != 1 || items[passing].State != batch.ItemSucceeded {
		m.t.Errorf("%+v", items)
	}
	m.same("sent", 2, len(m.sentSince(seq, m.tool.route)))
	if m.standing(refused)[0] != before[1] || m.standing(passing)[0] == before[2] {
		m.t.Errorf("%q, before %q", m.standing(good, refused, passing), before)
	}
	for _, id := range ids {
		m.mustRefuse(m.call("batch.retry", stack.Args{"batch_id": id, "idempotency_key": "once-more-" + string(id)}), errs.InvalidArgument)
	}
	if _, items := m.follow("batch.undo", errs.NothingToUndo, slices.Concat(ids, retried)); len(items) != 2 || items[good].State != batch.ItemSucceeded || items[passing].State != batch.ItemSucceeded {
		m.t.Errorf("%+v", items)
	}
	m.same("undone", before, m.standing(good, refused, passing))
}

// undoing: what somebody changed since is left alone, whether we knew of it when the undo was accepted or not.
func (m *matrix) undoing() {
	m.t.Helper()
	const untouched, known, unknown = 5, 6, 7
	before := m.standing(untouched)
	ids, items := m.ended(m.accept("undone", untouched, known, unknown))
	if len(items) != 3 {
		m.t.Fatalf("%+v", items)
	}
	if left := m.standing(untouched, known, unknown); left[0] == "" || strings.Trim(left[0], "[]") == "" { // a deletion: nobody can change what is gone
		if m.tool.alone { // but somebody may have answered again
			m.tool.other(m, known)
			m.tool.know(m, known)
			if _, items := m.follow("batch.undo", errs.NothingToUndo, ids); items[untouched].State != batch.ItemSucceeded || items[known].ItemID != "" {
				m.t.Errorf("%+v", items)
			}
			m.same("what somebody else left", []string{"theirs"}, m.standing(known))
		}
		return
	}
	m.tool.other(m, known)
	m.tool.know(m, known)
	m.tool.other(m, unknown)
	theirs := m.standing(known, unknown)
	_, items = m.follow("batch.undo", errs.NothingToUndo, ids)
	if i, ok := items[known]; ok && !m.tool.fixed {
		m.t.Errorf("written to, though it is known to have changed: %+v", i)
	}
	want := errs.VersionConflict
	if m.tool.fixed {
		want = errs.GBPNotFound
	}
	if i := items[unknown]; i.State != batch.ItemFailed || i.ErrorCode != want || i.Executed != errs.ExecutedNo {
		m.t.Errorf("%+v", i)
	}
	if i := items[untouched]; i.State != batch.ItemSucceeded {
		m.t.Errorf("%+v", i)
	}
	m.same("undone", before, m.standing(untouched))
	m.same("what somebody else left", theirs, m.standing(known, unknown))
}
