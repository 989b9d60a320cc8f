package gbpapi

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Every exchange beyond the booked ones asks first, in Google's generated packages too, and is not made without a place.
func TestBookedExchanges(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		call   func(ctx context.Context, b *bench) error
		booked int
		room   int // further ones that are granted
		asked  int
		sent   int
		fails  bool
	}{
		"one is booked":           {created(), createOne, 1, 0, 0, 1, false},
		"none is":                 {created(), createOne, 0, 1, 1, 1, false},
		"a repeat":                {jsonAnswer(401, envelope(401, "UNAUTHENTICATED", "")), createOne, 1, 1, 1, 2, true},
		"a repeat without a room": {jsonAnswer(401, envelope(401, "UNAUTHENTICATED", "")), createOne, 1, 0, 1, 1, true},
		"pages":                   {jsonAnswer(200, `{"nextPageToken":"same"}`), allPosts, 1, 9, 1, 2, false},
		"pages without a room":    {jsonAnswer(200, `{"nextPageToken":"same"}`), allPosts, 1, 0, 1, 1, true},
		"google package":          {jsonAnswer(200, `{}`), accounts, 0, 0, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, asked := serve(t, c.answer, nil), 0
			ctx := Booked(t.Context(), c.booked, func(context.Context) error {
				if asked++; asked > c.room {
					return full
				}
				return nil
			})
			err := c.call(ctx, b)
			if n := len(b.requests()); asked != c.asked || n != c.sent || (err != nil) != c.fails {
				t.Errorf("asked %d times, sent %d, %v", asked, n, err)
			}
			if asked > c.room {
				if e := asError(t, err); e.Class != NotSent || e.Sent || !errors.Is(err, full) || errs.CodeOf(err) != errs.GBPUnavailable {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func createOne(ctx context.Context, b *bench) error {
	_, err := b.CreateLocalPost(ctx, ref, parent, []byte(`{}`))
	return err
}

func allPosts(ctx context.Context, b *bench) error {
	_, err := b.AllLocalPosts(ctx, ref, parent, 5)
	return err
}

func accounts(ctx context.Context, b *bench) error {
	_, err := b.ListAccounts(ctx, ref)
	return err
}
