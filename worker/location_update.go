package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/profile"
)

// Stores is what the executor of store data needs of the Google client.
type Stores interface {
	ReadLocation(ctx context.Context, ref gbpapi.Ref, account gbp.AccountName, name gbp.LocationName) (gbpapi.RemoteLocation, error)
	Translate(ref gbpapi.Ref, account gbp.AccountName, name gbp.LocationName, raw []byte) (gbpapi.RemoteLocation, error)
	PatchLocation(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName, body []byte, mask []string, validateOnly bool) (json.RawMessage, error)
	GetGoogleUpdated(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName) (gbpapi.GoogleVersion, error)
	GetAttributes(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName) (json.RawMessage, error)
	UpdateAttributes(ctx context.Context, ref gbpapi.Ref, name gbp.LocationName, body []byte, mask []string) (json.RawMessage, error)
}

// LocationUpdate changes fields of a store, or attributes of one, which are another resource of Google's and another item. What
// an item binds (Expected) are digests of its own fields, so that somebody's change of another field does not stop it.
type LocationUpdate struct{ Google Stores }

// Operation implements Executor.
func (LocationUpdate) Operation() string { return "location.update" }

// API implements Executor.
func (LocationUpdate) API() string { return gbp.APIBusinessInformation }

// Deletes implements Editor.
func (LocationUpdate) Deletes() bool { return false }

// Look implements Editor.
func (x LocationUpdate) Look(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error) {
	if profile.IsAttributes(i.Mask) {
		return x.lookAttributes(ctx, tenant, i)
	}
	r, err := x.Google.ReadLocation(ctx, ref(tenant, i), i.Account, gbp.LocationName(i.TargetName))
	if err != nil {
		return Sight{}, err
	}
	live, err := profile.FromGoogle(r.Raw)
	if err != nil {
		return Sight{}, fmt.Errorf("location of item %s: %w", i.ID, err)
	}
	s := Sight{Before: profile.Kept(r.Raw), Effect: storeEffect(r, i), AuditBefore: auditedStore(live, i.Mask)}
	fields := profile.Masked(i.Mask)
	now := profile.VersionsOf(live, fields...)
	differs := profile.Stored(i.Payload, i.Mask).Differs(live)
	s.Version, s.Done = now.String(), len(differs) == 0
	if !profile.UnderReview(r.Raw) {
		if s.Done && !i.Tried {
			s.Effect.Publication = batch.Live
		}
		return s, nil
	}
	g, err := x.Google.GetGoogleUpdated(ctx, ref(tenant, i), gbp.LocationName(i.TargetName))
	if err != nil {
		return Sight{}, err
	}
	return clouded(s, i, now, differs, g.Pending), nil
}

// clouded judges a store some of whose fields are under review at Google: reads may give the old value of those until the review
// ends, so such a value is no evidence, neither that somebody else changed the field nor that ours is there.
func clouded(s Sight, i batch.Item, now profile.Versions, differs, pending []string) Sight {
	under := slices.DeleteFunc(profile.Masked(i.Mask), func(f string) bool { return !profile.Covers(pending, f) })
	if len(under) == 0 {
		return s
	}
	s.Effect.Publication = batch.PendingReview
	clear := slices.DeleteFunc(differs, func(f string) bool { return slices.Contains(under, f) })
	if i.Tried && !profile.UnderReview(i.Before) { // nothing was under review before an attempt of ours that may have come through: it is ours
		s.Done = len(clear) == 0
		return s
	}
	s.Done = false // perhaps another edit's; the same write twice does no harm
	was := profile.ParseVersions(i.Expected)
	for _, f := range under {
		now[f] = was[f]
	}
	s.Version = now.String()
	return s
}

func (x LocationUpdate) lookAttributes(ctx context.Context, tenant authn.TenantID, i batch.Item) (Sight, error) {
	raw, err := x.Google.GetAttributes(ctx, ref(tenant, i), gbp.LocationName(i.TargetName))
	if err != nil {
		return Sight{}, err
	}
	live, err := profile.Snapshot{}.WithAttributes(raw)
	if err != nil {
		return Sight{}, fmt.Errorf("attributes of item %s: %w", i.ID, err)
	}
	s := Sight{Before: raw, Effect: attributesEffect(live, i), AuditBefore: auditedStore(live, i.Mask)}
	if i.Expected != "" { // else what was there was not known when it was accepted
		s.Version = profile.AttributeVersions(live, i.Mask).String()
	}
	s.Done = len(profile.Stored(i.Payload, i.Mask).Differs(live)) == 0
	if s.Done && !i.Tried {
		s.Effect.Publication = batch.Live
	}
	return s, nil
}

// Send implements Executor: the stored bytes go out as they are. What cannot be made of the answer does not make the write a
// failure; what is there then shows at the next reading.
func (x LocationUpdate) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	name := gbp.LocationName(i.TargetName)
	if profile.IsAttributes(i.Mask) {
		raw, err := x.Google.UpdateAttributes(ctx, ref(tenant, i), name, i.Payload, i.Mask)
		if err != nil {
			return Effect{}, err
		}
		e := Effect{Name: i.TargetName, Publication: batch.Accepted}
		if after, err := (profile.Snapshot{}).WithAttributes(raw); err == nil {
			e = attributesEffect(after, i)
		}
		return e, nil
	}
	raw, err := x.Google.PatchLocation(ctx, ref(tenant, i), name, i.Payload, i.Mask, false)
	if err != nil {
		return Effect{}, err
	}
	e := Effect{Name: i.TargetName, Publication: batch.Accepted, After: profile.Only(raw, i.Mask)}
	if whole, err := profile.Laid(i.Before, raw, i.Payload, i.Mask); err == nil {
		if r, err := x.Google.Translate(ref(tenant, i), i.Account, name, whole); err == nil {
			e = storeEffect(r, i)
		}
	}
	return e, nil
}

// attributesPatience is how long attributes may read back as they were before: Google's edits take minutes to days to show, and of
// attributes it does not say which are under review.
const attributesPatience = 72 * time.Hour

// Patience implements Patient. For other fields Google says what is under review.
func (LocationUpdate) Patience(i batch.Item) time.Duration {
	if profile.IsAttributes(i.Mask) {
		return attributesPatience
	}
	return 0
}

// Follow implements Follower: an edit is live when Google no longer reviews its fields and shows them, and rejected when Google
// shows its own version of one, or what was there before.
func (x LocationUpdate) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	if profile.IsAttributes(i.Mask) {
		return x.followAttributes(ctx, tenant, i)
	}
	g, err := x.Google.GetGoogleUpdated(ctx, ref(tenant, i), gbp.LocationName(i.TargetName))
	if err != nil {
		return Effect{}, err
	}
	live, err := profile.FromGoogle(g.Raw)
	if err != nil {
		return Effect{}, fmt.Errorf("google's version of item %s: %w", i.ID, err)
	}
	e := Effect{Name: i.TargetName, Publication: batch.Live}
	covered := func(paths []string) bool {
		return slices.ContainsFunc(profile.Masked(i.Mask), func(f string) bool { return profile.Covers(paths, f) })
	}
	switch {
	case covered(g.Pending):
		e.Publication = batch.PendingReview
		return e, nil
	case covered(g.Diff):
		e.Rejection = "GOOGLE_SHOWS_ITS_OWN_VERSION"
	case reverted(i, live):
		e.Rejection, e.Doubtful = "REVERTED", true
	default:
		return e, nil
	}
	e.Publication = batch.Rejected
	if r, err := x.Google.ReadLocation(ctx, ref(tenant, i), i.Account, gbp.LocationName(i.TargetName)); err == nil {
		e.Mirror = &r.Location
	}
	return e, nil
}

// reverted tells whether a field of the item is neither as it was sent nor as somebody else may have made it, but as it was before.
func reverted(i batch.Item, live profile.Snapshot) bool {
	was, err := profile.FromGoogle(i.Before)
	if err != nil {
		return false
	}
	before := profile.VersionsOf(was, profile.Masked(i.Mask)...)
	now := profile.VersionsOf(live, profile.Masked(i.Mask)...)
	return slices.ContainsFunc(profile.Stored(i.Payload, i.Mask).Differs(live), func(f string) bool { return now[f] == before[f] })
}

func (x LocationUpdate) followAttributes(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	raw, err := x.Google.GetAttributes(ctx, ref(tenant, i), gbp.LocationName(i.TargetName))
	if err != nil {
		return Effect{}, err
	}
	live, err := profile.Snapshot{}.WithAttributes(raw)
	if err != nil {
		return Effect{}, fmt.Errorf("attributes of item %s: %w", i.ID, err)
	}
	e := Effect{Name: i.TargetName, Publication: batch.Live, Attributes: live.Attributes}
	was, err := profile.Snapshot{}.WithAttributes(i.Before)
	if err == nil && len(profile.Stored(i.Payload, i.Mask).Differs(live)) > 0 &&
		profile.AttributeVersions(live, i.Mask).String() == profile.AttributeVersions(was, i.Mask).String() {
		e.Publication, e.Rejection, e.Doubtful = batch.Rejected, "REVERTED", true
	}
	return e, nil
}

// storeEffect is a store after an edit of some of its fields.
func storeEffect(r gbpapi.RemoteLocation, i batch.Item) Effect {
	e := Effect{Name: i.TargetName, Version: r.Location.Version, Publication: batch.Accepted, After: profile.Only(r.Raw, i.Mask), Mirror: &r.Location}
	if profile.UnderReview(r.Raw) {
		e.Publication = batch.PendingReview
	}
	if s, err := profile.FromGoogle(r.Raw); err == nil {
		e.AuditAfter = auditedStore(s, i.Mask)
	}
	return e
}

func attributesEffect(s profile.Snapshot, i batch.Item) Effect {
	only := profile.OnlyAttributes(s, i.Mask)
	after, err := json.Marshal(struct {
		Name       string          `json:"name"`
		Attributes json.RawMessage `json:"attributes"`
	}{i.TargetName + "/attributes", only.Attributes})
	if err != nil {
		after = nil // unreachable: Google's own JSON was decoded before
	}
	return Effect{Name: i.TargetName, Publication: batch.Accepted, After: after, AuditAfter: auditedStore(s, i.Mask), Attributes: s.Attributes}
}

// auditedStore are the masked fields in the contract's words, long texts cut down.
func auditedStore(s profile.Snapshot, mask []string) json.RawMessage {
	fields := profile.Masked(mask)
	if profile.IsAttributes(mask) {
		fields, s = []string{profile.Attributes}, profile.OnlyAttributes(s, mask)
	}
	return profile.Shown(s, fields, audit.Head)
}
