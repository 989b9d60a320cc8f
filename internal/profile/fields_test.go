package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPatches are changes of each field and what is sent for them: F055, F056 and their siblings.
func TestPatches(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"description":"New"}`:                                                             `profile {"profile":{"description":"New"}}`,
		`{"phone_numbers":{"primary":"+81 3-0000-0001"}}`:                                   `phoneNumbers {"phoneNumbers":{"primaryPhone":"+81 3-0000-0001","additionalPhones":["03-1000-0001","03-1000-0002"]}}`,
		`{"phone_numbers":{"primary":"０３−１０００−００９９"}}`:                                      `phoneNumbers {"phoneNumbers":{"primaryPhone":"03-1000-0099","additionalPhones":["03-1000-0001","03-1000-0002"]}}`,
		`{"phone_numbers":{"additional":{"remove":["0310000001"]}}}`:                        `phoneNumbers {"phoneNumbers":{"primaryPhone":"03-1000-0000","additionalPhones":["03-1000-0002"]}}`,
		`{"phone_numbers":{"additional":{"remove":["+81 3-1000-0001"]}}}`:                   `phoneNumbers {"phoneNumbers":{"primaryPhone":"03-1000-0000","additionalPhones":["03-1000-0002"]}}`,
		`{"phone_numbers":{"primary":"+81 3 1000 0000"}}`:                                   `phoneNumbers {"phoneNumbers":{"primaryPhone":"+81 3 1000 0000","additionalPhones":["03-1000-0001","03-1000-0002"]}}`,
		`{"phone_numbers":{"additional":["03-1000-0007"]}}`:                                 `phoneNumbers {"phoneNumbers":{"primaryPhone":"03-1000-0000","additionalPhones":["03-1000-0007"]}}`,
		`{"phone_numbers":{"primary":"03-1000-0001","additional":["03-1000-0000"]}}`:        `phoneNumbers {"phoneNumbers":{"primaryPhone":"03-1000-0001","additionalPhones":["03-1000-0000"]}}`,
		`{"clear":["phone_numbers.additional"]}`:                                            `phoneNumbers {"phoneNumbers":{"primaryPhone":"03-1000-0000"}}`,
		`{"clear":["phone_numbers.additional"],"phone_numbers":{"primary":"03-1000-0009"}}`: `phoneNumbers {"phoneNumbers":{"primaryPhone":"03-1000-0009"}}`,
		`{"clear":["phone_numbers"]}`:                                                       `phoneNumbers {}`,
		`{"clear":["website_url"],"title":"新"}`:                                             `title,websiteUri {"title":"新"}`,
		`{"clear":["website_url","labels","store_code","description"]}`:                     `storeCode,websiteUri,labels,profile {}`,
		`{"clear":["opening_date"]}`:                                                        `openInfo {"openInfo":{"status":"OPEN"}}`,
		`{"clear":["opening_date"],"open_status":"CLOSED_TEMPORARILY"}`:                     `openInfo {"openInfo":{"status":"CLOSED_TEMPORARILY"}}`,
		`{"open_status":"CLOSED_TEMPORARILY"}`:                                              `openInfo {"openInfo":{"status":"CLOSED_TEMPORARILY","openingDate":{"year":2020,"month":4}}}`,
		`{"opening_date":"2027-11-30"}`:                                                     `openInfo {"openInfo":{"status":"OPEN","openingDate":{"year":2027,"month":11,"day":30}}}`,
		`{"opening_date":"2027-11"}`:                                                        `openInfo {"openInfo":{"status":"OPEN","openingDate":{"year":2027,"month":11}}}`,
		`{"opening_date":"2021-05"}`:                                                        `openInfo {"openInfo":{"status":"OPEN","openingDate":{"year":2021,"month":5}}}`,
		`{"categories":{"primary":"categories/gcid:coffee_shop"}}`:                          `categories {"categories":{"primaryCategory":{"name":"categories/gcid:coffee_shop"},"additionalCategories":[{"name":"categories/gcid:bakery"}]}}`,
		`{"categories":{"additional":{"add":["gcid:tea_house"]}}}`:                          `categories {"categories":{"primaryCategory":{"name":"categories/gcid:cafe"},"additionalCategories":[{"name":"categories/gcid:bakery"},{"name":"categories/gcid:tea_house"}]}}`,
		`{"clear":["categories.additional"]}`:                                               `categories {"categories":{"primaryCategory":{"name":"categories/gcid:cafe"}}}`,
		`{"labels":{"add":["駅前"],"remove":["直営"]}}`:                                         `labels {"labels":["テラス席","駅前"]}`,
		`{"labels":{"remove":["直営","テラス席"]}}`:                                               `labels {}`,
		`{"labels":["a"]}`: `labels {"labels":["a"]}`,
		`{"website_url":"https://own.example/shop?a=1&b=2"}`:                                                   `websiteUri {"websiteUri":"https://own.example/shop?a=1&b=2"}`,
		`{"description":"{{location.title}} ({{location.store_code}})","title":"新渋谷店","store_code":"NEW1"}`:    `storeCode,title,profile {"profile":{"description":"新渋谷店 (NEW1)"},"storeCode":"NEW1","title":"新渋谷店"}`,
		`{"website_url":"https://www.example.com/{{location.store_code}}","store_code":"NEW1"}`:                `storeCode,websiteUri {"storeCode":"NEW1","websiteUri":"https://www.example.com/NEW1"}`,
		`{"description":"{{location.city}}の{{location.title}}です。"}`:                                            `profile {"profile":{"description":"渋谷区の渋谷店です。"}}`,
		`{"more_hours":[{"hours_type":"DELIVERY","hours":[{"day":"monday","open":"12:00","close":"15:00"}]}]}`: `moreHours {"moreHours":[{"hoursTypeId":"DELIVERY","periods":[{"openDay":"MONDAY","openTime":{"hours":12},"closeDay":"MONDAY","closeTime":{"hours":15}},{"openDay":"TUESDAY","openTime":{"hours":11},"closeDay":"TUESDAY","closeTime":{"hours":20}}]}]}`,
		`{"more_hours":[{"hours_type":"TAKEOUT","hours":[{"day":"monday","open":"12:00","close":"15:00"}]}]}`:  `moreHours {"moreHours":[{"hoursTypeId":"DELIVERY","periods":[{"openDay":"MONDAY","openTime":{"hours":11},"closeDay":"MONDAY","closeTime":{"hours":20}},{"openDay":"TUESDAY","openTime":{"hours":11},"closeDay":"TUESDAY","closeTime":{"hours":20}}]},{"hoursTypeId":"TAKEOUT","periods":[{"openDay":"MONDAY","openTime":{"hours":12},"closeDay":"MONDAY","closeTime":{"hours":15}}]}]}`,
		`{"more_hours":{"remove":["DELIVERY"]}}`:                                                               `moreHours {}`,
		`{"more_hours":{"set":[{"hours_type":"KITCHEN","hours":{"set":[{"day":"sunday","open_24h":true}]}}]}}`: `moreHours {"moreHours":[{"hoursTypeId":"KITCHEN","periods":[{"openDay":"SUNDAY","openTime":{},"closeDay":"SUNDAY","closeTime":{"hours":24}}]}]}`,
	} {
		p, _ := apply(t, full(t), in)
		mask, body, _ := strings.Cut(want, " ")
		if got := strings.Join(p.Mask, ","); got != mask {
			t.Errorf("%s: mask %s, want %s", in, got, mask)
		}
		same(t, in, p.Body, body)
		if len(p.AttributeMask) > 0 || p.AttributeBody != nil {
			t.Errorf("%s: attributes", in)
		}
	}
}

func TestFieldsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("あ", 751)
	for in, want := range map[string][]string{
		`{}`:                                   {" required"},
		`{"clear":[]}`:                         {" required"},
		`{"regular_hours":{}}`:                 {".regular_hours required"},
		`{"labels":{"set":null}}`:              {".labels required"},
		`{"labels":{"set":["a"],"add":["b"]}}`: {".labels.set contradiction"},
		`{"labels":{"remove":["a","a"],"add":["b","a"]}}`:                                                          {".labels.add[1] contradiction"},
		`{"phone_numbers":{"additional":{"add":["03-1000-0011"],"remove":["0310000011"]}}}`:                        {".phone_numbers.additional.add[0] contradiction"},
		`{"regular_hours":{"set":[{"day":"monday","open_24h":true}],"change":[{"day":"monday","open_24h":true}]}}`: {".regular_hours.set contradiction"},
		`{"special_hours":{"set":[{"date":"2026-12-25","closed":true}],"remove":["2026-12-25"]}}`:                  {".special_hours.set contradiction"},
		// F066
		`{"description":"Visit https://example.com – everything 50% off"}`: {".description link"},
		`{"description":"own.example/menu をご覧ください"}`:                       {".description link"},
		`{"description":"予約は shop@own.example まで"}`:                        {".description link"},
		`{"description":"` + long + `"}`:                                   {".description max_length"},
		`{"description":" "}`:                                              {".description required"},
		`{"description":"{{location.color}}"}`:                             {".description unknown_variable"},
		`{"description":"{{location.store_code}}"}`:                        {".description empty_variable"},
		// title, store code, labels
		`{"title":"  "}`:                                   {".title required"},
		`{"title":"{{location.title}}"}`:                   {".title template_not_allowed"},
		`{"title":"a\nb"}`:                                 {".title single_line"},
		`{"store_code":"` + strings.Repeat("x", 65) + `"}`: {".store_code max_length"},
		`{"labels":["` + strings.Repeat("あ", 256) + `"]}`:  {".labels[0] max_length"},
		`{"labels":["a","a"]}`:                             {".labels[1] duplicate"},
		`{"labels":[""]}`:                                  {".labels[0] required"},
		`{"labels":[]}`:                                    {".labels empty_list"},
		// website
		`{"website_url":"javascript:alert(1)"}`:      {".website_url url"},
		`{"website_url":"https://127.0.0.1/"}`:       {".website_url url"},
		`{"website_url":"https://u:p@own.example/"}`: {".website_url url"},
		// phones
		`{"phone_numbers":{}}`:                                                                   {".phone_numbers required"},
		`{"phone_numbers":{"primary":"call us"}}`:                                                {".phone_numbers.primary phone"},
		`{"phone_numbers":{"primary":"+81 3-1234-5678 ext 5"}}`:                                  {".phone_numbers.primary phone"},
		`{"phone_numbers":{"primary":"1234"}}`:                                                   {".phone_numbers.primary phone"},
		`{"phone_numbers":{"primary":"+1234567890123456"}}`:                                      {".phone_numbers.primary phone"},
		`{"phone_numbers":{"primary":"03-1000-0001"}}`:                                           {".phone_numbers duplicate"},
		`{"phone_numbers":{"primary":"+81-3-1000-0001"}}`:                                        {".phone_numbers duplicate"},
		`{"phone_numbers":{"additional":["+81 3-1000-0000"]}}`:                                   {".phone_numbers duplicate"},
		`{"phone_numbers":{"additional":{"add":["+81 3-1000-0002"]}}}`:                           {" nothing_changes"},
		`{"phone_numbers":{"additional":["03-1000-0003","+81 3-1000-0003"]}}`:                    {".phone_numbers.additional[1] duplicate"},
		`{"phone_numbers":{"additional":{"add":["03-1000-0003"]}}}`:                              {".phone_numbers.additional max_items"},
		`{"phone_numbers":{"additional":["03-1000-0003","0310000003"]}}`:                         {".phone_numbers.additional[1] duplicate"},
		`{"phone_numbers":{"additional":[]}}`:                                                    {".phone_numbers.additional empty_list"},
		`{"phone_numbers":{"primary":"03-1000-0009"},"clear":["phone_numbers"]}`:                 {".clear[0] contradiction"},
		`{"phone_numbers":{"additional":["03-1000-0009"]},"clear":["phone_numbers.additional"]}`: {".clear[0] contradiction"},
		`{"clear":["phone_numbers","phone_numbers.additional"]}`:                                 {".clear[1] duplicate"},
		`{"clear":["phone_numbers","website_url"]}`:                                              {".clear phone_or_website"},
		// clear: F059's old and snake_case names, Google's names, what cannot be empty
		`{"clear":["title"]}`:        {".clear[0] enum"},
		`{"clear":["categories"]}`:   {".clear[0] enum"},
		`{"clear":["websiteUri"]}`:   {".clear[0] enum"},
		`{"clear":["metadata"]}`:     {".clear[0] enum"},
		`{"clear":["languageCode"]}`: {".clear[0] enum"},
		`{"website_url":"https://own.example/x","clear":["website_url"]}`: {".clear[0] contradiction"},
		// categories
		`{"categories":{"primary":"cafe"}}`:           {".categories.primary category"},
		`{"categories":{"primary":"gcid:bakery"}}`:    {".categories duplicate"},
		`{"categories":{"additional":["gcid:cafe"]}}`: {".categories duplicate"},
		`{"categories":{"additional":["gcid:a","gcid:b","gcid:c","gcid:d","gcid:e","gcid:f","gcid:g","gcid:h","gcid:i","gcid:j"]}}`: {".categories.additional max_items"},
		// status and date
		`{"open_status":"CLOSED"}`:                            {".open_status enum"},
		`{"opening_date":"2027-12-01"}`:                       {".opening_date too_far_ahead"},
		`{"opening_date":"2027-12"}`:                          {".opening_date too_far_ahead"},
		`{"opening_date":"2027"}`:                             {".opening_date date"},
		`{"opening_date":"2026-13"}`:                          {".opening_date date"},
		`{"opening_date":"2026-02-30"}`:                       {".opening_date date"},
		`{"opening_date":"2021-05","clear":["opening_date"]}`: {".clear[0] contradiction"},
		// more hours
		`{"more_hours":[{"hours_type":"delivery","hours":[{"day":"monday","open_24h":true}]}]}`:                                                                    {".more_hours[0].hours_type enum"},
		`{"more_hours":[{"hours_type":"KITCHEN"}]}`:                                                                                                                {".more_hours[0].hours required"},
		`{"more_hours":[{"hours_type":"KITCHEN","hours":[{"day":"monday","closed":true}]}]}`:                                                                       {".more_hours[0].hours would_empty"},
		`{"more_hours":[{"hours_type":"DELIVERY","hours":[{"day":"monday","open":"11:00","close":"26:00"}]}]}`:                                                     {".more_hours[0].hours[0].close time"},
		`{"more_hours":[{"hours_type":"KITCHEN","hours":[{"day":"monday","open_24h":true}]},{"hours_type":"KITCHEN","hours":[{"day":"monday","open_24h":true}]}]}`: {".more_hours[1].hours_type duplicate"},
		// nothing changes
		`{"title":"渋谷店"}`: {" nothing_changes"},
		`{"phone_numbers":{"additional":{"remove":["03-9999-9999"]}}}`:          {" nothing_changes"},
		`{"regular_hours":[{"day":"saturday","open":"10:00","close":"14:00"}]}`: {" nothing_changes"},
		`{"labels":{"add":["直営"]}}`:                                             {" nothing_changes"},
	} {
		if d := cmp.Diff(want, refused(t, full(t), in, context())); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`{"title":"渋谷本店"}`:                                                                            {"TITLE_CHANGE_MAY_REVERIFY"},
		`{"title":"渋谷店 03-1234-5678"}`:                                                                {"PHONE_NUMBER_IN_TITLE", "TITLE_CHANGE_MAY_REVERIFY"},
		`{"title":"渋谷店 shop.example.com"}`:                                                            {"LINK_IN_TITLE", "TITLE_CHANGE_MAY_REVERIFY"},
		`{"description":"全品半額セール開催中"}`:                                                                {"PROMOTION_IN_DESCRIPTION"},
		`{"description":"Everything 50% off"}`:                                                        {"PROMOTION_IN_DESCRIPTION"},
		`{"description":"コーヒー 500円から"}`:                                                               {"PROMOTION_IN_DESCRIPTION"},
		`{"description":"割烹の店です。1990年創業。"}`:                                                           nil,
		`{"description":"Open since 1990, ten minutes from the station."}`:                            nil,
		`{"website_url":"https://komorebi.example/{store_code}"}`:                                     {"PLACEHOLDER_IN_TEXT"},
		`{"description":"お電話は 03-1234-5678"}`:                                                         {"PHONE_NUMBER_IN_TEXT"},
		`{"description":"Sure! Here is the description:\nA cafe."}`:                                   {"MODEL_CHATTER_IN_TEXT"},
		`{"description":"[店名]へようこそ"}`:                                                                 {"PLACEHOLDER_IN_TEXT"},
		`{"open_status":"CLOSED_PERMANENTLY"}`:                                                        {"MAY_NOT_REOPEN", "OPEN_STATUS_CHANGE"},
		`{"clear":["special_hours","opening_date","phone_numbers.additional"]}`:                       nil,
		`{"labels":{"remove":["なし"],"add":["x"]}}`:                                                    {"NOT_PRESENT"},
		`{"more_hours":[{"hours_type":"WELLNESS_HOURS","hours":[{"day":"monday","open_24h":true}]}]}`: {"HOURS_TYPE_UNKNOWN"},
	} {
		_, w := apply(t, full(t), in)
		if d := cmp.Diff(want, codes(w)); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
	s := full(t)
	for _, name := range []string{"special_hours", "opening_date", "phone_numbers.additional", "categories.additional", "description"} {
		apply(t, s, `{"clear":["`+name+`"]}`)
		s.clear(fieldSpecialHours)
		s.clear(fieldProfile)
		s.drop(fieldOpenInfo, "openingDate")
		s.drop(fieldPhones, "additionalPhones")
		s.drop(fieldCategories, "additionalCategories")
		_, w := apply(t, s, `{"clear":["`+name+`"],"store_code":"S9"}`)
		if len(w) != 1 || w[0].Code != "NOT_PRESENT" || w[0].Span != name {
			t.Errorf("%s: %+v", name, w)
		}
		s = full(t)
	}
	s.Attributes = []byte(`[]`)
	_, w := apply(t, s, `{"attributes":{"remove":["has_wifi"]},"store_code":"S9"}`)
	if len(w) != 1 || w[0].Code != "NOT_PRESENT" || w[0].Span != "has_wifi" {
		t.Errorf("%+v", w)
	}
	if _, w := apply(t, full(t), `{"attributes":{"remove":["has_wifi"]}}`); len(w) > 0 { // what is there is not known
		t.Errorf("%+v", w)
	}
	in := context()
	in.Location.Verified, in.Location.PendingGoogleEdit = false, true
	_, _, w = Apply(full(t), changes(t, `{"store_code":"S9"}`), in)
	if d := cmp.Diff([]string{"LOCATION_NOT_VERIFIED", "PENDING_GOOGLE_EDIT"}, codes(w)); d != "" {
		t.Error(d)
	}
}

func TestHoursTypesOfTheCategory(t *testing.T) {
	t.Parallel()
	in := context()
	in.HoursTypes = []string{"KITCHEN"}
	const change = `{"more_hours":{"set":[{"hours_type":"DELIVERY","hours":[{"day":"monday","open_24h":true}]}]}}`
	if d := cmp.Diff([]string{".more_hours.set[0].hours_type not_for_category"}, refused(t, full(t), change, in)); d != "" {
		t.Error(d)
	}
	in.HoursTypes = []string{}
	if d := cmp.Diff([]string{".more_hours.set[0].hours_type not_for_category"}, refused(t, full(t), change, in)); d != "" {
		t.Error(d)
	}
}

// TestPendingGoogleEdit: F068.
func TestPendingGoogleEdit(t *testing.T) {
	t.Parallel()
	in := context()
	in.Location.PendingGoogleEdit = true
	live := full(t).clone()
	live.set(fieldPhones, []byte(`{"primaryPhone":"03-7777-7777"}`))
	in.GoogleUpdate = &GoogleUpdate{Diff: []string{"phone_numbers.primary_phone"}, Pending: []string{"title"}, Live: live}
	p, v, w := Apply(full(t), changes(t, `{"regular_hours":[{"day":"saturday","closed":true}]}`), in)
	if len(v) > 0 || len(p.Contested) > 0 || strings.Join(p.Mask, ",") != "regularHours" {
		t.Fatalf("%+v %+v", p, v)
	}
	if len(w) != 1 || w[0].Code != "PENDING_GOOGLE_EDIT" || w[0].Span != Phones || !strings.Contains(w[0].Message, "03-7777-7777") || !strings.Contains(w[0].Message, "does not touch") {
		t.Errorf("%+v", w)
	}
	p, _, w = Apply(full(t), changes(t, `{"phone_numbers":{"primary":"03-1000-0009"},"title":"新"}`), in)
	if d := cmp.Diff([]string{Phones}, p.Contested); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"PENDING_GOOGLE_EDIT", "TITLE_CHANGE_MAY_REVERIFY"}, codes(w)); d != "" {
		t.Error(d)
	}
}

// TestWhatThePublicSees: links and phones that a change newly shows.
func TestWhatThePublicSees(t *testing.T) {
	t.Parallel()
	p, _ := apply(t, full(t), `{"website_url":"https://evil.example/","phone_numbers":{"primary":"03-6666-6666","additional":["03-1000-0001"]},"description":"電話 03-5555-5555","attributes":[{"name":"url_menu","urls":["https://menu.example/"]}]}`)
	if d := cmp.Diff([]string{"https://evil.example/", "https://menu.example/"}, p.Links); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"03-6666-6666", "03-5555-5555"}, p.Phones); d != "" {
		t.Error(d)
	}
	p, _ = apply(t, full(t), `{"website_url":"https://own.example/","phone_numbers":{"additional":{"remove":["03-1000-0001"]}}}`)
	if len(p.Links) > 0 || len(p.Phones) > 0 {
		t.Errorf("%+v", p)
	}
}

// What Google holds can be taken away by its name, also where it would not be taken as new.
func TestOddEntriesCanBeRemoved(t *testing.T) {
	t.Parallel()
	s := full(t)
	s.set(fieldPhones, []byte(`{"primaryPhone":"03-1000-0000","additionalPhones":["ext. 12","03-1000-0001"]}`))
	p, w := apply(t, s, `{"phone_numbers":{"additional":{"remove":["ext. 12"]}}}`)
	same(t, "phone", p.Body, `{"phoneNumbers":{"primaryPhone":"03-1000-0000","additionalPhones":["03-1000-0001"]}}`)
	if len(w) > 0 {
		t.Errorf("%+v", w)
	}
	s.set(fieldLabels, []byte(`["{{old}}","直営"]`))
	p, _ = apply(t, s, `{"labels":{"remove":["{{old}}"]}}`)
	same(t, "label", p.Body, `{"labels":["直営"]}`)
	s.set(fieldLabels, []byte(`[" 直営 ","テラス席"]`))
	p, w = apply(t, s, `{"labels":{"remove":["直営"]}}`)
	same(t, "label with spaces", p.Body, `{"labels":["テラス席"]}`)
	if _, w2 := apply(t, s, `{"labels":{"add":["直営","冬"]}}`); len(w) > 0 || len(w2) != 1 || w2[0].Code != "ALREADY_PRESENT" {
		t.Errorf("%+v %+v", w, w2)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	c := changes(t, `{"labels":["a"],"open_status":"OPEN","categories":{"primary":"categories/gcid:cafe"},"title":"t","clear":["website_url","phone_numbers.additional","website_url"],"attributes":{"remove":["attributes/x"]}}`)
	if d := cmp.Diff([]string{"title", "phone_numbers", "website_url", "categories", "open_status", "labels", "attributes"}, c.Named()); d != "" {
		t.Error(d)
	}
	want := `{"title":"t","categories":{"primary":"gcid:cafe"},"open_status":"OPEN","labels":["a"],"attributes":{"remove":["x"]},"clear":["phone_numbers.additional","website_url"]}`
	if got := string(encode(c)); got != want {
		t.Errorf("canonical form:\n got %s\nwant %s", got, want)
	}
}

func TestMalformedChanges(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"regular_hours":{"replace":[]}}`, `{"regular_hours":"monday"}`,
		`{"labels":[1]}`, `{"regular_hours":[{"day":"monday","opens":"09:00"}]}`, `{"locationName":"x"}`, `{"primaryPhone":"x"}`,
		`{"phone_numbers":"03-1234-5678"}`, `{"more_hours":[{"type":"DELIVERY"}]}`,
	} {
		var c Changes
		if err := strict([]byte(raw), &c); err == nil {
			t.Errorf("%s was taken: %+v", raw, c)
		}
	}
}
