package admission

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// authorise checks every reference of the call. What does not exist and what is somebody else's give the same answer from
// the same queries.
func (a *Admission) authorise(ctx context.Context, c *Call) error {
	refs := c.change.References()
	if refs.Batch != "" {
		return a.authoriseBatch(ctx, c, refs)
	}
	if refs.Kind != "" {
		return a.authoriseResources(ctx, c, refs)
	}
	stores, err := a.stores(ctx, c, refs.Locations)
	if err != nil {
		return err
	}
	var missing []string
	for _, id := range refs.Locations {
		l, ok := stores[id]
		if !ok {
			missing = append(missing, strconv.FormatInt(int64(id), 10))
			continue
		}
		c.target(Target{Location: l})
	}
	if missing != nil {
		return LocationsNotFound(missing)
	}
	return nil
}

// stores gives the granted ones among the locations.
func (a *Admission) stores(ctx context.Context, c *Call, ids []gbp.LocationID) (map[gbp.LocationID]gbp.Location, error) {
	found, dead, err := a.Store.Targets(ctx, c.Principal.TenantID, ids)
	if err != nil {
		return nil, err
	}
	c.dead = dead
	out := make(map[gbp.LocationID]gbp.Location, len(found))
	for _, l := range found {
		if c.Principal.Grants.Cover(int64(l.ID), l.Profile.Labels) {
			out[l.ID] = l
		}
	}
	return out, nil
}

func (c *Call) target(t Target) {
	c.targets = append(c.targets, t)
	if !slices.ContainsFunc(c.locations, func(l gbp.Location) bool { return l.ID == t.Location.ID }) {
		c.locations = append(c.locations, t.Location)
	}
}

func (a *Admission) authoriseResources(ctx context.Context, c *Call, refs References) error {
	byID, stores, err := a.resources(ctx, c, refs.Resources, nil)
	if err != nil {
		return err
	}
	var missing []string
	for _, id := range refs.Resources {
		r, ok := byID[id]
		l, granted := stores[r.Location]
		if !ok || !granted || r.Kind != refs.Kind {
			missing = append(missing, id)
			continue
		}
		c.target(Target{Location: l, Resource: &r})
	}
	if missing != nil {
		return resourcesNotFound(refs.Kind, missing)
	}
	return nil
}

// resources reads our rows of the ids and their stores, and further stores.
func (a *Admission) resources(ctx context.Context, c *Call, ids []string, more []gbp.LocationID) (map[string]gbp.Resource, map[gbp.LocationID]gbp.Location, error) {
	found, err := a.Store.Resources(ctx, c.Principal.TenantID, ids)
	if err != nil {
		return nil, nil, err
	}
	byID := make(map[string]gbp.Resource, len(found))
	for _, r := range found {
		byID[r.ID] = r
		more = append(more, r.Location)
	}
	slices.Sort(more)
	stores, err := a.stores(ctx, c, slices.Compact(more))
	return byID, stores, err
}

// authoriseBatch takes the items of an earlier batch as targets. Continuing somebody else's batch needs a scope of its own.
func (a *Admission) authoriseBatch(ctx context.Context, c *Call, refs References) error {
	p := c.Principal
	b, items, ok, err := a.Store.Prior(ctx, p.TenantID, p.Grants, refs.Batch, c.Operation.Name)
	if err != nil {
		return err
	}
	if !ok {
		return BatchNotFound(refs.Batch)
	}
	if refs.Continues {
		if err := c.mayContinue(b, refs); err != nil {
			return err
		}
		c.origin = b
	}
	var ids []string
	var locations []gbp.LocationID
	items = slices.DeleteFunc(items, func(i Prior) bool { return len(refs.Locations) > 0 && !slices.Contains(refs.Locations, i.Location) })
	for _, i := range items {
		locations = append(locations, i.Location)
		if id := i.Thing(); id != "" {
			ids = append(ids, id)
		}
	}
	var missing []string
	for _, id := range refs.Locations {
		if !slices.Contains(locations, id) {
			missing = append(missing, strconv.FormatInt(int64(id), 10))
		}
	}
	if missing != nil {
		e := errs.New(errs.LocationNotFound, errs.Tf("店舗 %v はこのバッチの対象ではありません。何も実行されていません。", "Location(s) %v are not among the targets of this batch; nothing was executed.", missing)).With(errs.Details{NotFound: missing})
		e.How = errs.T("batch.status を items: all で呼び、このバッチの店舗を確認してください。", "See the stores of this batch with batch.status and items all.")
		return e
	}
	byID, stores, err := a.resources(ctx, c, ids, locations)
	if err != nil {
		return err
	}
	for _, i := range items {
		l, ok := stores[i.Location]
		if !ok { // the store left the tenant since: the others do not wait for it
			c.warnings = append(c.warnings, gbp.Warning{LocationID: i.Location, Code: LeftAlone, Message: errs.Tf("%s はもう管理対象にありません。", "%s is no longer one of your stores.", i.Title).In(p.Locale)})
			continue
		}
		t := Target{Location: l, Prior: &i}
		if r, ok := byID[i.Thing()]; ok {
			t.Resource = &r
		}
		c.target(t)
	}
	return nil
}

// ContinuedMeanwhile is the refusal of an undo or a retry of which another call took a part, at these stores, at the same time.
func ContinuedMeanwhile(stores []int64) *errs.Error {
	d := errs.Details{}
	for _, id := range stores {
		d.Changed = append(d.Changed, errs.ChangedTarget{LocationID: id, Fields: []string{"continued"}})
	}
	return errs.New(errs.VersionConflict, errs.Tf("同じバッチの %d 店舗を、別の呼び出しが先に元に戻すか再実行しました。", "Another call has just undone or retried %d store(s) of the same batch.", len(stores))).With(d)
}

func (c *Call) mayContinue(b batch.Batch, refs References) error {
	p := c.Principal
	switch {
	case b.User != p.UserID && !p.HasScope(manage):
		return MissingScope(manage)
	case !b.Status.Final():
		return Invalid([]errs.Violation{{Path: "batch_id", Rule: "not_finished", Value: string(b.ID), Message: errs.Tf("このバッチはまだ終わっていません (%s)。batch.status で待つか、batch.cancel で取り消してください。",
			"The batch is not finished (%s); wait with batch.status, or cancel it with batch.cancel.", b.Status).In(p.Locale)}})
	case refs.Undoes && c.now.Sub(b.CreatedAt) > time.Duration(p.Policy.UndoDays)*24*time.Hour:
		return errs.New(errs.UndoExpired, errs.Tf("元に戻せる期間 (%d 日) を過ぎています。", "The undo window of %d days is over.", p.Policy.UndoDays)).With(errs.Details{BatchID: string(b.ID)})
	}
	return nil
}

// manage is the scope for continuing and cancelling other people's batches.
const manage = "batches:manage"

// Thing is our id of what the item made, changed or deleted; "" when it is a store's own data or made nothing.
func (p Prior) Thing() string {
	if p.ResourceID != "" {
		return p.ResourceID
	}
	return p.TargetID
}

// LocationsNotFound is the answer for absent stores and for those that are not the caller's.
func LocationsNotFound(missing []string) error {
	return errs.New(errs.LocationNotFound, errs.Tf("店舗 %v が見つかりません。何も実行されていません。", "Location(s) %v not found; nothing was executed.", missing)).
		With(errs.Details{NotFound: missing})
}

func resourcesNotFound(k gbp.Kind, missing []string) error {
	code, text := errs.PostNotFound, errs.Tf("投稿 %v が見つかりません。何も実行されていません。", "Post(s) %v not found; nothing was executed.", missing)
	switch k {
	case gbp.KindReview:
		code, text = errs.ReviewNotFound, errs.Tf("クチコミ %v が見つかりません。何も実行されていません。", "Review(s) %v not found; nothing was executed.", missing)
	case gbp.KindMedia:
		code, text = errs.MediaNotFound, errs.Tf("写真・動画 %v が見つかりません。何も実行されていません。", "Media %v not found; nothing was executed.", missing)
	default:
	}
	return errs.New(code, text).With(errs.Details{NotFound: missing})
}

// BatchNotFound is the answer for an absent batch and for one that is not the caller's.
func BatchNotFound(id batch.ID) error {
	return errs.New(errs.BatchNotFound, errs.T("このバッチは見つかりません。", "There is no such batch.")).With(errs.Details{NotFound: []string{string(id)}})
}
