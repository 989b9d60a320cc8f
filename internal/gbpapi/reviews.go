package gbpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// Limits of Google's v4 reference (read 2026-11): entries of a page (older documentation said 200), and locations of one
// batchGetReviews.
const (
	maxReviewPage  = 50
	maxBatchPlaces = 50
)

// ReviewOrder is an order of reviews. Ascending time does not exist.
type ReviewOrder string

// The orders that Google knows; "" is newest first, too.
const (
	NewestFirst  ReviewOrder = "updateTime desc"
	WorstFirst   ReviewOrder = "rating"
	HighestFirst ReviewOrder = "rating desc"
)

// ReviewPage is one page of a location's reviews.
type ReviewPage struct {
	Reviews []gbp.RemoteReview
	// Unreadable counts entries that could not be read; with any, the absence of a review proves nothing.
	Unreadable int
	// AverageRating and Total are Google's, over all reviews of the location; 0 without reviews.
	AverageRating float64
	Total         int
	// NextPageToken is "" on the last page. An empty page is not the last one while it has a token.
	NextPageToken string
}

// ListReviews reads one page of the reviews of a location given by its v4 name. pageSize is cut to Google's 1 to 50; 0 is 50.
// Only a verified location has readable reviews: GBP_LOCATION_NOT_VERIFIED otherwise, where Google says so.
func (c *Client) ListReviews(ctx context.Context, ref Ref, parent string, pageSize int, pageToken string, order ReviewOrder) (ReviewPage, error) {
	k := call{name: "reviews.list", ref: ref, method: http.MethodGet}
	if _, failed := k.parent(parent); failed != nil {
		return ReviewPage{}, failed
	}
	q := url.Values{"pageSize": {strconv.Itoa(reviewPageSize(pageSize))}}
	if pageToken != "" {
		q.Set("pageToken", pageToken)
	}
	if order != "" {
		q.Set("orderBy", string(order))
	}
	k.url = c.v4(parent, "reviews") + "?" + q.Encode()
	a, failed := c.do(ctx, k)
	if failed != nil {
		return ReviewPage{}, failed
	}
	var page struct {
		Reviews       []json.RawMessage `json:"reviews"`
		AverageRating float64           `json:"averageRating"`
		Total         int               `json:"totalReviewCount"`
		NextPageToken string            `json:"nextPageToken"`
	}
	if json.Unmarshal(a.body, &page) != nil {
		return ReviewPage{}, k.unreadable(a)
	}
	out := ReviewPage{AverageRating: page.AverageRating, Total: page.Total, NextPageToken: page.NextPageToken}
	out.Reviews, out.Unreadable = readable(page.Reviews, gbp.ParseRemoteReview)
	return out, nil
}

func reviewPageSize(n int) int {
	if n <= 0 || n > maxReviewPage {
		return maxReviewPage
	}
	return n
}

// ReviewList are reviews over several pages, each review once: one that is edited meanwhile moves to the front and pushes
// others onto the next page.
type ReviewList struct {
	Reviews    []gbp.RemoteReview
	Unreadable int
	// Truncated is true when more pages exist than were read; then the absence of a review proves nothing.
	Truncated bool
}

func (l *ReviewList) add(page []gbp.RemoteReview, seen map[gbp.ReviewName]bool) {
	l.Reviews = fresh(l.Reviews, page, seen, func(r gbp.RemoteReview) gbp.ReviewName { return r.Name })
}

// AllReviews reads up to maxPages pages of 50, newest first.
func (c *Client) AllReviews(ctx context.Context, ref Ref, parent string, maxPages int) (ReviewList, error) {
	var out ReviewList
	var err error
	seen := map[gbp.ReviewName]bool{}
	out.Truncated, err = pages(maxPages, func(token string) (string, error) {
		p, err := c.ListReviews(ctx, ref, parent, maxReviewPage, token, "")
		if err != nil {
			return "", err
		}
		out.add(p.Reviews, seen)
		out.Unreadable += p.Unreadable
		return p.NextPageToken, nil
	})
	if err != nil {
		return ReviewList{}, err
	}
	return out, nil
}

// BatchGetReviews reads the reviews of 1 to 50 locations of one account, up to maxPages pages of 50. A location that the
// connection may not read fails the whole call; which one it was, Google does not say.
func (c *Client) BatchGetReviews(ctx context.Context, ref Ref, account gbp.AccountName, locations []gbp.LocationName, maxPages int) (ReviewList, error) {
	k := call{name: "locations.batchGetReviews", ref: ref, method: http.MethodPost, argument: reviewArgument}
	if len(locations) == 0 || len(locations) > maxBatchPlaces {
		return ReviewList{}, k.fail(Refused, errs.Internal, "1 to 50 locations are needed", nil)
	}
	body := struct {
		LocationNames []string `json:"locationNames"`
		PageSize      int      `json:"pageSize"`
		PageToken     string   `json:"pageToken,omitempty"`
	}{PageSize: maxReviewPage}
	for _, l := range locations {
		name := l.V4(account)
		if _, failed := k.parent(name); failed != nil {
			return ReviewList{}, failed
		}
		body.LocationNames = append(body.LocationNames, name)
	}
	k.url = c.v4(string(account), "locations") + ":batchGetReviews"
	var out ReviewList
	var err error
	seen := map[gbp.ReviewName]bool{}
	out.Truncated, err = pages(maxPages, func(token string) (string, error) {
		body.PageToken = token
		raw, err := json.Marshal(body)
		if err != nil {
			return "", k.fail(Refused, errs.Internal, "the body cannot be written", nil)
		}
		k.body = raw
		a, failed := c.do(ctx, k)
		if failed != nil {
			return "", failed
		}
		var page struct {
			LocationReviews []struct {
				Review json.RawMessage `json:"review"`
			} `json:"locationReviews"`
			NextPageToken string `json:"nextPageToken"`
		}
		if json.Unmarshal(a.body, &page) != nil {
			return "", k.unreadable(a)
		}
		for _, entry := range page.LocationReviews {
			if r, err := gbp.ParseRemoteReview(entry.Review); err == nil {
				out.add([]gbp.RemoteReview{r}, seen)
			} else {
				out.Unreadable++
			}
		}
		return page.NextPageToken, nil
	})
	if err != nil {
		return ReviewList{}, err
	}
	return out, nil
}

// GetReview reads one review. GBP_NOT_FOUND is Google's answer to a deleted one, to an account that may not see it, and now
// and then to one that exists: a single 404 proves nothing.
func (c *Client) GetReview(ctx context.Context, ref Ref, name gbp.ReviewName) (gbp.RemoteReview, error) {
	k := call{name: "reviews.get", ref: ref, method: http.MethodGet}
	if failed := k.review(name); failed != nil {
		return gbp.RemoteReview{}, failed
	}
	k.url = c.v4(string(name))
	return get(ctx, c, k, gbp.ParseRemoteReview)
}

// UpdateReply writes the reply of a review, in the place of one that stands there, whoever wrote that. The body (gbp.ReplyBody)
// goes out byte for byte. The answer is what Google accepted, and its State whether the public sees it: a success can be
// PENDING or REJECTED.
//
// Repeating it has the same end state. After an Ambiguous error read the review: when it says the text, it is done. A success
// for an account that does not own the location has been suspected of having no effect; reading back tells.
func (c *Client) UpdateReply(ctx context.Context, ref Ref, name gbp.ReviewName, body []byte) (gbp.RemoteReply, error) {
	k := call{name: "reviews.updateReply", ref: ref, write: true, method: http.MethodPut, body: body, argument: reviewArgument}
	if failed := k.review(name); failed != nil {
		return gbp.RemoteReply{}, failed
	}
	if len(body) == 0 {
		return gbp.RemoteReply{}, k.fail(Refused, errs.Internal, "an empty body is never sent", nil)
	}
	k.url = c.v4(string(name), "reply")
	a, failed := c.do(ctx, k)
	if failed != nil {
		return gbp.RemoteReply{}, failed
	}
	r, err := gbp.ParseRemoteReply(a.body)
	if err != nil {
		return gbp.RemoteReply{}, k.odd(a, "a success without a reply")
	}
	return r, nil
}

// DeleteReply removes the reply of a review. Any complete 2xx is a success. What Google answers where there is no reply is
// not known; GBP_NOT_FOUND can mean that or a review that is gone, and GetReview tells which.
func (c *Client) DeleteReply(ctx context.Context, ref Ref, name gbp.ReviewName) error {
	k := call{name: "reviews.deleteReply", ref: ref, write: true, method: http.MethodDelete}
	if failed := k.review(name); failed != nil {
		return failed
	}
	k.url = c.v4(string(name), "reply")
	return c.remove(ctx, k)
}

// review refuses what is no review's name, before anything is sent.
func (k call) review(n gbp.ReviewName) *Error {
	if !n.Valid() || n.Account() == "accounts/-" {
		return k.fail(Refused, errs.Internal, "not the name of a review", nil)
	}
	return nil
}

// reviewArgument is our name for a field of Google's ReviewReply: its text is "comment"; everything else has "".
func reviewArgument(field string) string {
	f := strings.ToLower(camel.ReplaceAllString(field, "${1}_${2}"))
	if f == "comment" || strings.HasSuffix(f, "reply.comment") {
		return "comment"
	}
	return ""
}
