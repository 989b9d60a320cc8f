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
)

// MediaUpload adds one photo or video to a store's gallery: one call, whose answer holds Google's name of it. Google fetches
// the file from its address.
type MediaUpload struct {
	Google Media
	// Reach is how long after the beginning of an attempt Google may date what it made, clocks that disagree included.
	Reach time.Duration
}

// mediaPatience is how long Google may take to show a new item: the help centre's 24 to 48 hours.
const mediaPatience = 48 * time.Hour

// Operation implements Executor.
func (MediaUpload) Operation() string { return "media.upload" }

// API implements Executor.
func (MediaUpload) API() string { return gbp.APIMyBusiness }

// Patience implements Patient.
func (MediaUpload) Patience(batch.Item) time.Duration { return mediaPatience }

// Send implements Executor: the stored bytes go out as they are.
func (x MediaUpload) Send(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	m, err := x.Google.CreateMedia(ctx, ref(tenant, i), i.LocationName.V4(i.Account), i.Payload)
	if err != nil {
		return Effect{}, err
	}
	return mediaEffect(m, batch.Accepted), nil
}

// Find implements Creator: items of the gallery that were made from the item's address. Google promises to give the address
// back, which nobody has seen; where it does not, format, category and a narrow time are a perhaps.
func (x MediaUpload) Find(ctx context.Context, tenant authn.TenantID, i batch.Item, since time.Time) ([]Effect, error) {
	var sent gbp.MediaItem
	if err := json.Unmarshal(i.Payload, &sent); err != nil {
		return nil, fmt.Errorf("payload of item %s: %w", i.ID, err)
	}
	all, err := x.Google.AllMedia(ctx, ref(tenant, i), i.LocationName.V4(i.Account), lookPages)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all.Items, func(a, b gbp.RemoteMedia) int { return a.CreateTime.Compare(b.CreateTime) })
	var sure, perhaps []Effect
	for _, m := range all.Items {
		if m.CreateTime.Before(since) {
			continue
		}
		e := mediaEffect(m, batch.Accepted)
		switch m.Match(sent) {
		case gbp.MediaIs:
			sure = append(sure, e)
		case gbp.MediaMayBe:
			if e.Perhaps = true; !m.CreateTime.After(since.Add(x.Reach)) {
				perhaps = append(perhaps, e)
			}
		case gbp.MediaDiffers:
		}
	}
	out := sure
	if len(out) == 0 {
		out = perhaps
	}
	if len(out) == 0 && (all.Truncated || all.Unreadable > 0) {
		return nil, errIncomplete
	}
	return out, nil
}

// Follow implements Follower. Google has no state for media: what a look shows is there.
func (x MediaUpload) Follow(ctx context.Context, tenant authn.TenantID, i batch.Item) (Effect, error) {
	return followMedia(ctx, x.Google, tenant, i, i.ResourceName)
}

func followMedia(ctx context.Context, g Media, tenant authn.TenantID, i batch.Item, name string) (Effect, error) {
	m, err := g.GetMedia(ctx, ref(tenant, i), gbp.MediaName(name))
	if err != nil {
		return Effect{}, err
	}
	return mediaEffect(m, batch.Live), nil
}

// mediaEffect leaves the address out of the audit: it may be signed.
func mediaEffect(m gbp.RemoteMedia, p batch.Publication) Effect {
	short, err := json.Marshal(struct {
		Format      gbp.MediaFormat   `json:"format"`
		Category    gbp.MediaCategory `json:"category,omitempty"`
		Description string            `json:"description,omitempty"`
	}{m.Format, m.Category, audit.Head(m.Description)})
	if err != nil {
		panic("worker: a struct of strings always marshals: " + err.Error())
	}
	return Effect{Name: string(m.Name), Version: m.Version(), Publication: p, After: m.Raw, AuditAfter: short}
}
