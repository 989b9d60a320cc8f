// Package gbpsim is a Google Business Profile that runs in memory: one http.Handler that answers for all Google hosts which
// the product calls, with Google's shapes, limits and refusals, and with faults that a test can order.
//
// Google offers no sandbox, so this is where the safety of writes is proved. Three parts:
//
//   - Google itself under BASE/<google-host>/<path>, for example
//     BASE/mybusiness.googleapis.com/v4/accounts/1/locations/2/localPosts. Simulated: the OAuth token endpoint (refresh and
//     revoke), accounts list and get, locations list, get, patch and getGoogleUpdated, their attributes, the catalogues of
//     categories and attributes, the voice of merchant, daily metrics, local posts create, get, list, patch and delete,
//     reviews list, get and batchGetReviews, replies update and delete, the media of galleries with uploads.
//   - the admin API under BASE/admin/ (see admin.go), which drives the clock, orders faults, seeds the world and reads the
//     journal. It has no authentication: listen on loopback only.
//   - a page for people at BASE/ with all stores as they are now and what was called last, and sample photos under
//     BASE/pictures/.
//
// The package deliberately imports nothing else of this module: a wrong belief about Google that sat in the client and in
// the simulator alike could never be found by testing one against the other. For the same reason each rule says where it
// is known from (Rules): documented, captured, probed by others, or assumed. A rule's id stands in the journal, not on the
// wire.
//
// Everything that a request did is one Entry of the journal, so a test can say "exactly one". A request that is not
// simulated answers Google's HTML 404, is marked Unknown in the journal, and with Options.Strict fails the test that
// started the simulator through Start.
//
// Time is Options.Now plus what Advance added. Post states, token expiry and quota windows follow that clock without
// background work. Latency and holds are real waiting: they delay a client that has real timeouts. They go on when the
// client hangs up, because Google, too, finishes what it has received.
//
// Nothing is persisted; a new process starts from its seed.
package gbpsim
