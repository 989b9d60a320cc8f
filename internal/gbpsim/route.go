package gbpsim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Google's hosts that are simulated.
const (
	hostMyBusiness  = "mybusiness.googleapis.com"
	hostAccounts    = "mybusinessaccountmanagement.googleapis.com"
	hostInformation = "mybusinessbusinessinformation.googleapis.com"
	hostOAuth       = "oauth2.googleapis.com"
)

// Route names a simulated method.
type Route string

// The simulated methods.
const (
	RouteToken            Route = "oauth.token" //nolint:gosec // the name of a method
	RouteRevoke           Route = "oauth.revoke"
	RouteAccountsList     Route = "accounts.list"
	RouteAccountsGet      Route = "accounts.get"
	RouteLocationsList    Route = "locations.list"
	RouteLocationsGet     Route = "locations.get"
	RouteLocalPostsCreate Route = "localPosts.create"
	RouteLocalPostsGet    Route = "localPosts.get"
	RouteLocalPostsList   Route = "localPosts.list"
	RouteLocalPostsPatch  Route = "localPosts.patch"
	RouteLocalPostsDelete Route = "localPosts.delete"
	RouteReviewsList      Route = "reviews.list"
	RouteReviewsGet       Route = "reviews.get"
	RouteReviewsReply     Route = "reviews.updateReply"
	RouteReviewsUnreply   Route = "reviews.deleteReply"
	RouteReviewsBatch     Route = "locations.batchGetReviews"
)

// Routes gives all simulated methods.
func Routes() []Route {
	var out []Route
	for _, r := range routes() {
		out = append(out, r.name)
	}
	return out
}

// route is a method: where it is found, what it takes, and what it does.
type route struct {
	name   Route
	host   string
	method string
	// pattern is the path, with * for one segment and *:verb for one that ends in a custom method.
	pattern string
	// parameters are the query parameters beside the system ones.
	parameters []string
	// write marks methods that edit a location.
	write bool
	// open marks methods that need no access token and draw on no quota.
	open bool
	// raw marks methods whose body is bytes of any kind rather than JSON; the journal keeps their digest.
	raw bool
	// handle judges a request under the lock: a reply, or an effect to carry out.
	handle func(*call) (reply, effect)
}

func routes() []*route { return append(firstRoutes(), mediaRoutes()...) }

func firstRoutes() []*route {
	paging := []string{"pageSize", "pageToken"}
	const posts = "v4/accounts/*/locations/*/localPosts"
	const reviews = "v4/accounts/*/locations/*/reviews"
	all := []*route{
		{name: RouteToken, host: hostOAuth, method: http.MethodPost, pattern: "token", open: true, handle: (*call).exchangeToken},
		{name: RouteRevoke, host: hostOAuth, method: http.MethodPost, pattern: "revoke", open: true, handle: (*call).revokeToken},
		{name: RouteAccountsList, host: hostAccounts, method: http.MethodGet, pattern: "v1/accounts", parameters: append([]string{"parentAccount", "filter"}, paging...), handle: (*call).listAccounts},
		{name: RouteAccountsGet, host: hostAccounts, method: http.MethodGet, pattern: "v1/accounts/*", handle: (*call).getAccount},
		{name: RouteLocationsList, host: hostInformation, method: http.MethodGet, pattern: "v1/accounts/*/locations", parameters: append([]string{"readMask", "orderBy", "filter"}, paging...), handle: (*call).listLocations},
		{name: RouteLocationsGet, host: hostInformation, method: http.MethodGet, pattern: "v1/locations/*", parameters: []string{"readMask"}, handle: (*call).getLocation},
		{name: RouteLocalPostsCreate, host: hostMyBusiness, method: http.MethodPost, pattern: posts, write: true, handle: (*call).createPost},
		{name: RouteLocalPostsList, host: hostMyBusiness, method: http.MethodGet, pattern: posts, parameters: paging, handle: (*call).listPosts},
		{name: RouteLocalPostsGet, host: hostMyBusiness, method: http.MethodGet, pattern: posts + "/*", handle: (*call).getPost},
		{name: RouteLocalPostsPatch, host: hostMyBusiness, method: http.MethodPatch, pattern: posts + "/*", parameters: []string{"updateMask"}, write: true, handle: (*call).patchPost},
		{name: RouteLocalPostsDelete, host: hostMyBusiness, method: http.MethodDelete, pattern: posts + "/*", write: true, handle: (*call).deletePost},
		{name: RouteReviewsList, host: hostMyBusiness, method: http.MethodGet, pattern: reviews, parameters: append([]string{"orderBy"}, paging...), handle: (*call).listReviews},
		{name: RouteReviewsGet, host: hostMyBusiness, method: http.MethodGet, pattern: reviews + "/*", handle: (*call).getReview},
		{name: RouteReviewsReply, host: hostMyBusiness, method: http.MethodPut, pattern: reviews + "/*/reply", write: true, handle: (*call).updateReply},
		{name: RouteReviewsUnreply, host: hostMyBusiness, method: http.MethodDelete, pattern: reviews + "/*/reply", write: true, handle: (*call).deleteReply},
		{name: RouteReviewsBatch, host: hostMyBusiness, method: http.MethodPost, pattern: "v4/accounts/*/locations:batchGetReviews", handle: (*call).batchReviews},
	}
	all = append(all, storeRoutes()...)
	return all
}

// takes tells whether a query parameter belongs to the method; Google takes both spellings of a name.
func (r *route) takes(name string) bool {
	return slices.Contains(r.parameters, name) || slices.ContainsFunc(r.parameters, func(p string) bool { return snake(p) == name })
}

// match finds the route of an escaped path and the segments that its stars stand for.
func match(all []*route, host, method, path string) (*route, []string) {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || s == "" || strings.Contains(plain, "/") {
			return nil, nil
		}
		segments[i] = plain
	}
	for _, r := range all {
		if r.host != host || r.method != method {
			continue
		}
		if args, ok := fits(r.pattern, segments); ok {
			return r, args
		}
	}
	return nil, nil
}

func fits(pattern string, segments []string) (args []string, ok bool) {
	want := strings.Split(pattern, "/")
	if len(want) != len(segments) {
		return nil, false
	}
	for i, w := range want {
		verb, custom := strings.CutPrefix(w, "*:")
		name, fitsVerb := strings.CutSuffix(segments[i], ":"+verb)
		switch {
		case custom && fitsVerb && name != "" && !strings.Contains(name, ":"):
			args = append(args, name)
		case custom:
			return nil, false
		case w == "*" && strings.Contains(segments[i], ":"): // a custom method such as localPosts:reportInsights is another route
			return nil, false
		case w == "*":
			args = append(args, segments[i])
		case w != segments[i]:
			return nil, false
		}
	}
	return args, true
}

// resources reads the stars of the pattern as resource names.
func (r *route) resources(args []string) (account AccountName, location LocationName, post PostName, review ReviewName) {
	next := 0
	parts := strings.Split(r.pattern, "/")
	for i, p := range parts {
		if !strings.HasPrefix(p, "*") {
			continue
		}
		switch parts[i-1] {
		case "accounts":
			account = AccountName("accounts/" + args[next])
		case "locations":
			location = LocationName("locations/" + args[next])
		case "localPosts":
			post = PostName(string(account) + "/" + string(location) + "/localPosts/" + args[next])
		case "reviews":
			review = ReviewName(string(account) + "/" + string(location) + "/reviews/" + args[next])
		}
		next++
	}
	return account, location, post, review
}

// parameter is the value of a query parameter in either spelling.
func (c *call) parameter(name string) string {
	if v := c.query.Get(name); v != "" {
		return v
	}
	return c.query.Get(snake(name))
}

// snake turns lowerCamel into snake_case.
func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
