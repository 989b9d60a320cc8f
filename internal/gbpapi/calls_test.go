package gbpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

func gbpAccount(a string) gbp.AccountName { return gbp.AccountName(a) }

// F021: a name of the wrong family is refused before anything is sent.
func TestF021Names(t *testing.T) {
	t.Parallel()
	b := serve(t, created(), nil)
	for _, name := range []string{"", "123", location, account, "accounts/-/" + location, parent + "/", parent + "/localPosts", "accounts/1/locations/..", "accounts/1/locations/2?x=1", "accounts//locations/2", "accounts/1/locations/2\x00", "accounts/1\n/locations/2"} {
		_, create := b.CreateLocalPost(t.Context(), ref, name, []byte(`{}`))
		_, list := b.ListLocalPosts(t.Context(), ref, name, 0, "")
		for _, err := range []error{create, list} {
			if e := asError(t, err); e.Class != Refused || e.Code != errs.Internal || e.Sent {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for _, name := range []gbp.PostName{"", parent, parent + "/localPosts/", parent + "/localPosts/..", parent + "/localPosts/1/2", parent + "/localPosts/1?x", "accounts//" + location + "/localPosts/1", parent + "/localPosts/1\x00", parent + "/localPosts/\r\n1", "accounts/-/" + location + "/localPosts/1"} {
		_, get := b.GetLocalPost(t.Context(), ref, name)
		for _, err := range []error{get, b.DeleteLocalPost(t.Context(), ref, name)} {
			if e := asError(t, err); e.Class != Refused || e.Sent {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for _, name := range []gbp.AccountName{"", "accounts", "accounts/", "accounts/-", "1", "accounts/1/locations/2", "accounts/a b"} {
		if _, err := b.ListLocations(t.Context(), ref, name, nil); asError(t, err).Class != Refused {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []gbp.LocationName{"", "1", parent, "locations/", "locations/1:getGoogleUpdated?x"} {
		if _, err := b.ReadLocation(t.Context(), ref, account, name); asError(t, err).Class != Refused {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := b.CreateLocalPost(t.Context(), ref, parent, nil); asError(t, err).Class != Refused {
		t.Errorf("an empty body: %v", err)
	}
	if r := b.requests(); len(r) != 0 {
		t.Errorf("sent %+v", r)
	}
}

func TestSegmentsAreEscaped(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(404, envelope(404, "NOT_FOUND", "")), nil)
	_, _ = b.GetLocalPost(t.Context(), ref, "accounts/ア/locations/b;c/localPosts/d+e=")
	if got, want := b.requests()[0].path, "/mybusiness.googleapis.com/v4/accounts/%E3%82%A2/locations/b%3Bc/localPosts/d+e="; got != want {
		t.Errorf("got %s", got)
	}
}

// F070: three accounts over two pages; the first without locations, the second with 150 over pages of which one is empty.
func TestF070AllPages(t *testing.T) {
	t.Parallel()
	google := func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch path := r.URL.Path; {
		case path == "/mybusinessaccountmanagement.googleapis.com/v1/accounts":
			if q.Get("pageSize") != "20" {
				t.Errorf("query %v", q)
			}
			jsonAnswer(200, map[string]string{
				"":   `{"accounts":[{"name":"accounts/1","accountName":"me","type":"PERSONAL","role":"PRIMARY_OWNER"},{"name":"accounts/2"}],"nextPageToken":"p2"}`,
				"p2": `{"accounts":[{"name":"accounts/3"}]}`,
			}[q.Get("pageToken")])(w, r)
		case strings.HasPrefix(path, "/mybusinessbusinessinformation.googleapis.com/v1/accounts/"):
			if q.Get("pageSize") != "100" || q.Get("readMask") != readMask {
				t.Errorf("query %v", q)
			}
			list := func(from, to int, next string) string {
				var l []string
				for i := from; i < to; i++ {
					l = append(l, fmt.Sprintf(`{"name":"locations/%d","title":"s%d"}`, i, i))
				}
				return fmt.Sprintf(`{"locations":[%s],"nextPageToken":%q}`, strings.Join(l, ","), next)
			}
			switch strings.Split(path, "/")[4] + q.Get("pageToken") {
			case "1":
				jsonAnswer(200, `{}`)(w, r)
			case "2":
				jsonAnswer(200, list(0, 100, "a"))(w, r)
			case "2a":
				jsonAnswer(200, `{"nextPageToken":"b"}`)(w, r)
			case "2b":
				jsonAnswer(200, list(100, 150, ""))(w, r)
			case "3":
				jsonAnswer(200, list(150, 151, ""))(w, r)
			default:
				t.Errorf("asked for %s", r.URL)
			}
		default:
			t.Errorf("asked for %s", r.URL)
		}
	}
	for _, slash := range []string{"", "/"} {
		b := serve(t, google, nil)
		b.Client = newClient(t, b.url+slash, nil).Client
		accounts, err := b.ListAccounts(t.Context(), ref)
		if err != nil || accounts.Truncated || len(accounts.Accounts) != 3 || accounts.Accounts[0] != (Account{"accounts/1", "me", "PERSONAL", "PRIMARY_OWNER"}) {
			t.Fatalf("got %+v, %v", accounts, err)
		}
		var names []string
		for _, a := range accounts.Accounts {
			truncated, err := b.ListLocations(t.Context(), ref, a.Name, func(page []gbp.Location) error {
				for _, l := range page {
					if l.Account != a.Name || l.ConnectionID != "c1" {
						t.Errorf("%+v", l)
					}
					names = append(names, string(l.Name))
				}
				return nil
			})
			if err != nil || truncated {
				t.Fatalf("%v %v", truncated, err)
			}
		}
		if len(names) != 151 || names[150] != "locations/150" {
			t.Errorf("%d locations, the last %s", len(names), names[len(names)-1])
		}
	}
}

func TestListingsAreBounded(t *testing.T) {
	t.Parallel()
	endless := func(next func(url.Values) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			jsonAnswer(200, `{"accounts":[{"name":"accounts/1"}],"locations":[{"name":"locations/1"}],"localPosts":[{"name":"`+postName+r.URL.Query().Get("pageToken")+`"}],"nextPageToken":"`+next(r.URL.Query())+`"}`)(w, r)
		}
	}
	counting := func(q url.Values) string {
		n, _ := strconv.Atoi(q.Get("pageToken"))
		return strconv.Itoa(n + 1)
	}
	for name, c := range map[string]struct {
		next  func(url.Values) string
		pages int
	}{"ever new tokens": {counting, 5}, "the same token again": {func(url.Values) string { return "again" }, 2}} {
		b := serve(t, endless(c.next), func(o *Options) { o.MaxPages = 5 })
		accounts, err := b.ListAccounts(t.Context(), ref)
		if err != nil || !accounts.Truncated || len(accounts.Accounts) != c.pages {
			t.Errorf("%s: %+v, %v", name, accounts, err)
		}
		n := 0
		truncated, err := b.ListLocations(t.Context(), ref, "accounts/1", func(l []gbp.Location) error { n += len(l); return nil })
		if err != nil || !truncated || n != c.pages {
			t.Errorf("%s: %v %d %v", name, truncated, n, err)
		}
		posts, err := b.AllLocalPosts(t.Context(), ref, parent, 5)
		if err != nil || !posts.Truncated || len(posts.Posts) != c.pages {
			t.Errorf("%s: %+v, %v", name, posts, err)
		}
	}
}

func TestYieldEndsTheListing(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, `{"locations":[{"name":"locations/1"}],"nextPageToken":"x"}`), nil)
	stop := errors.New("stop")
	if _, err := b.ListLocations(t.Context(), ref, "accounts/1", func([]gbp.Location) error { return stop }); err != stop { //nolint:errorlint // it comes back as it is
		t.Errorf("got %v", err)
	}
	if n := len(b.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

const fullLocation = `{
 "name":"locations/12345678901234567890","languageCode":"ja","storeCode":"SHIBUYA001","title":"こもれび珈琲 渋谷店",
 "phoneNumbers":{"primaryPhone":"03-1234-5678","additionalPhones":["03-1234-5679"]},
 "categories":{"primaryCategory":{"name":"categories/gcid:cafe","displayName":"カフェ","serviceTypes":[{"serviceTypeId":"x"}],"moreHoursTypes":[{"hoursTypeId":"y"}]},"additionalCategories":[{"name":"categories/gcid:bakery"}]},
 "storefrontAddress":{"regionCode":"JP","postalCode":"150-0002","administrativeArea":"東京都","locality":"渋谷区","addressLines":["渋谷1-2-3","ビル4F"]},
 "websiteUri":"https://komorebi.example/shibuya","labels":["tokyo","flagship"],
 "regularHours":{"periods":[{"openDay":"MONDAY","openTime":{},"closeDay":"MONDAY","closeTime":{"hours":24}}]},
 "specialHours":{"specialHourPeriods":[{"startDate":{"year":2026,"month":12,"day":31},"closed":true}]},
 "moreHours":[{"hoursTypeId":"DELIVERY","periods":[]}],
 "openInfo":{"status":"OPEN","canReopen":true},"profile":{"description":"自家焙煎。"},
 "metadata":{"hasVoiceOfMerchant":true,"hasPendingEdits":true,"placeId":"ChIJx","mapsUri":"https://maps.google.com/?cid=1"},
 "aFieldOfTomorrow":{"x":1}}`

func TestReadLocationReadsEverything(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, fullLocation), nil)
	got, err := b.ReadLocation(t.Context(), ref, account, location)
	if err != nil {
		t.Fatal(err)
	}
	want := gbp.Location{
		ConnectionID: "c1", Account: account, Name: location, PendingGoogleEdit: true, Verified: true, OpenStatus: "OPEN",
		MapsURI: "https://maps.google.com/?cid=1", PlaceID: "ChIJx", SyncedAt: now,
		Profile: gbp.Profile{
			Title: "こもれび珈琲 渋谷店", StoreCode: "SHIBUYA001", LanguageCode: "ja", PrimaryPhone: "03-1234-5678", AdditionalPhones: []string{"03-1234-5679"},
			WebsiteURL: "https://komorebi.example/shibuya", Description: "自家焙煎。", Labels: []string{"tokyo", "flagship"}, City: "渋谷区",
			AddressSummary: "〒150-0002 東京都渋谷区渋谷1-2-3 ビル4F",
			RegularHours:   json.RawMessage(`{"periods":[{"closeDay":"MONDAY","closeTime":{"hours":24},"openDay":"MONDAY","openTime":{}}]}`),
			SpecialHours:   json.RawMessage(`{"specialHourPeriods":[{"closed":true,"startDate":{"day":31,"month":12,"year":2026}}]}`),
			MoreHours:      json.RawMessage(`[{"hoursTypeId":"DELIVERY"}]`),
			Categories:     json.RawMessage(`{"additionalCategories":[{"name":"categories/gcid:bakery"}],"primaryCategory":{"displayName":"カフェ","name":"categories/gcid:cafe"}}`),
			OpenInfo:       json.RawMessage(`{"canReopen":true,"status":"OPEN"}`),
		},
	}
	want.Version = want.Profile.Version()
	if d := cmp.Diff(want, got.Location); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	r := b.requests()[0]
	if q, _ := url.ParseQuery(r.query); r.path != "/mybusinessbusinessinformation.googleapis.com/v1/"+location || q.Get("readMask") != readMask || r.header.Get("User-Agent") == "" {
		t.Errorf("asked %+v", r)
	}
}

// A NUL in a text, which PostgreSQL cannot hold, is dropped wherever a location is read; a text that only looks like one is kept.
func TestLocationTextsCanBeStored(t *testing.T) {
	t.Parallel()
	const odd = `{"name":"` + location + `","title":"Caf\u0000e \\u0000","labels":["\u0000"],"openInfo":{"status":"OP\u0000EN"},"categories":{"primaryCategory":{"displayName":"a\u0000b"}}}`
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/locations") {
			jsonAnswer(200, `{"locations":[`+odd+`]}`)(w, r)
			return
		}
		jsonAnswer(200, odd)(w, r)
	}, nil)
	read, err := b.ReadLocation(t.Context(), ref, account, location)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.ListLocations(t.Context(), ref, account, func(page []gbp.Location) error {
		if d := cmp.Diff(read.Location, page[0]); d != "" {
			t.Errorf("(-read +listed)\n%s", d)
		}
		return nil
	})
	stored, marshal := json.Marshal(read.Location)
	if err != nil || marshal != nil || read.Location.Profile.Title != `Cafe \u0000` || strings.Contains(strings.ReplaceAll(string(stored), `\\u0000`, ""), `\u0000`) {
		t.Errorf("%v, %v: %s", err, marshal, stored)
	}
	if strings.Contains(strings.ReplaceAll(string(read.Raw), `\\u0000`, ""), `\u0000`) {
		t.Errorf("raw %s", read.Raw)
	}
}

func TestBareLocation(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, `{"name":"locations/12345678901234567890","metadata":{"hasGoogleUpdated":true}}`), nil)
	got, err := b.ReadLocation(t.Context(), ref, account, location)
	if err != nil || !got.Location.PendingGoogleEdit || got.Location.Verified || got.Location.Profile.RegularHours != nil || got.Location.Profile.MoreHours != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAddressElsewhere(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, `{"name":"locations/12345678901234567890","storefrontAddress":{"regionCode":"US","postalCode":"94043","administrativeArea":"CA","locality":"Mountain View","addressLines":["1600 Amphitheatre Pkwy"," "]}}`), nil)
	got, err := b.ReadLocation(t.Context(), ref, account, location)
	if err != nil || got.Location.Profile.AddressSummary != "1600 Amphitheatre Pkwy, Mountain View, CA, 94043, US" {
		t.Errorf("got %q, %v", got.Location.Profile.AddressSummary, err)
	}
}

func TestListLocalPosts(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if len(q["pageSize"]) != 1 {
			t.Errorf("query %v", q)
		}
		switch q.Get("pageToken") {
		case "":
			jsonAnswer(200, `{"localPosts":[{"name":"`+postName+`","state":"LIVE"},{"state":"LIVE"}],"nextPageToken":"a/b+c="}`)(w, r)
		case "a/b+c=":
			jsonAnswer(200, `{"nextPageToken":"last"}`)(w, r)
		default:
			jsonAnswer(200, `{"localPosts":[{"name":"`+postName+`"},{"name":"`+postName+`2"}]}`)(w, r) // the list grew meanwhile
		}
	}, nil)
	page, err := b.ListLocalPosts(t.Context(), ref, parent, 1, "")
	if err != nil || len(page.Posts) != 1 || page.Unreadable != 1 || page.NextPageToken != "a/b+c=" {
		t.Errorf("got %+v, %v", page, err)
	}
	all, err := b.AllLocalPosts(t.Context(), ref, parent, 3)
	if err != nil || len(all.Posts) != 2 || all.Unreadable != 1 || all.Truncated {
		t.Errorf("got %+v, %v", all, err)
	}
	some, err := b.AllLocalPosts(t.Context(), ref, parent, 2)
	if err != nil || len(some.Posts) != 1 || !some.Truncated {
		t.Errorf("got %+v, %v", some, err)
	}
	var sizes []string
	for _, n := range []int{0, 1, 100, 101, -1} {
		if _, err := b.ListLocalPosts(t.Context(), ref, parent, n, "x"); err != nil {
			t.Fatal(err)
		}
		q, _ := url.ParseQuery(b.requests()[len(b.requests())-1].query)
		sizes = append(sizes, q.Get("pageSize"))
	}
	if got := strings.Join(sizes, " "); got != "100 1 100 100 100" {
		t.Errorf("page sizes %s", got)
	}
}

func TestEmptyPostList(t *testing.T) {
	t.Parallel()
	b := serve(t, jsonAnswer(200, `{}`), nil)
	all, err := b.AllLocalPosts(t.Context(), ref, parent, 3)
	if err != nil || len(all.Posts) != 0 || all.Truncated {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestGetAndDelete(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			jsonAnswer(200, `{}`)(w, r)
			return
		}
		created()(w, r)
	}, nil)
	p, err := b.GetLocalPost(t.Context(), ref, postName)
	if err != nil || p.Name != postName {
		t.Errorf("got %+v, %v", p, err)
	}
	if err := b.DeleteLocalPost(t.Context(), ref, postName); err != nil {
		t.Error(err)
	}
	for i, method := range []string{"GET", "DELETE"} {
		if r := b.requests()[i]; r.method != method || r.path != "/mybusiness.googleapis.com/v4/"+postName || len(r.body) != 0 {
			t.Errorf("sent %+v", r)
		}
	}
	gone := serve(t, jsonAnswer(404, envelope(404, "NOT_FOUND", "")), nil)
	if e := asError(t, gone.DeleteLocalPost(t.Context(), ref, postName)); e.Class != Refused || e.Code != errs.GBPNotFound {
		t.Errorf("got %v", e)
	}
	away := serve(t, jsonAnswer(503, envelope(503, "UNAVAILABLE", "")), nil)
	if e := asError(t, away.DeleteLocalPost(t.Context(), ref, postName)); e.Class != Ambiguous {
		t.Errorf("got %v", e)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := Options{Tokens: &tokens{}, Now: newClient(t, "", nil).now}
	for name, change := range map[string]func(*Options){
		"no tokens": func(o *Options) { o.Tokens = nil }, "no clock": func(o *Options) { o.Now = nil }, "bad base": func(o *Options) { o.BaseURL = "x" },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
