package gbpsim

import (
	"encoding/json"
	"slices"
	"strings"
)

// category is an entry of Google's catalogue; a small part of it is here, with names in Japanese and English.
type category struct {
	name, ja, en string
	// hours are the types of more hours that it has.
	hours []string
}

func categoryCatalogue() []category {
	food := []string{"ACCESS", "BREAKFAST", "BRUNCH", "DELIVERY", "DINNER", "DRIVE_THROUGH", "HAPPY_HOUR", "KITCHEN", "LUNCH", "PICKUP", "SENIOR_HOURS", "TAKEOUT"}
	shop := []string{"ACCESS", "DELIVERY", "PICKUP", "SENIOR_HOURS"}
	return []category{
		{"categories/gcid:bakery", "パン屋", "Bakery", shop},
		{"categories/gcid:bar", "バー", "Bar", food},
		{"categories/gcid:book_store", "書店", "Book store", shop},
		{"categories/gcid:cafe", "カフェ・喫茶", "Cafe", food},
		{"categories/gcid:coffee_shop", "コーヒーショップ・喫茶店", "Coffee shop", food},
		{"categories/gcid:hair_salon", "美容院", "Hair salon", []string{"ACCESS", "ONLINE_SERVICE_HOURS", "SENIOR_HOURS"}},
		{"categories/gcid:ramen_restaurant", "ラーメン屋", "Ramen restaurant", food},
		{"categories/gcid:restaurant", "レストラン", "Restaurant", food},
		{"categories/gcid:tea_house", "ティーハウス", "Tea house", food},
	}
}

// hoursTypesOf are the types of more hours of some categories; nil when one of them is not in the catalogue.
func hoursTypesOf(names []string) []string {
	out := []string{}
	for _, n := range names {
		i := slices.IndexFunc(categoryCatalogue(), func(c category) bool { return c.name == n })
		if i < 0 {
			return nil
		}
		out = append(out, categoryCatalogue()[i].hours...)
	}
	return out
}

// named puts the display name of the catalogue into a category that was written, and nothing else of it.
func named(v json.RawMessage) json.RawMessage {
	var c struct {
		Name        string `json:"name"`
		DisplayName string `json:"displayName,omitempty"`
	}
	_ = json.Unmarshal(v, &c) // the shape was checked
	c.DisplayName = ""
	for _, x := range categoryCatalogue() {
		if x.name == c.Name {
			c.DisplayName = x.ja
		}
	}
	return encode(c)
}

type wireCategory struct {
	Name           string          `json:"name"`
	DisplayName    string          `json:"displayName"`
	MoreHoursTypes []wireHoursType `json:"moreHoursTypes,omitempty"`
}

type wireHoursType struct {
	HoursTypeID          string `json:"hoursTypeId"`
	DisplayName          string `json:"displayName"`
	LocalizedDisplayName string `json:"localizedDisplayName"`
}

// wire is the category in a language and view.
func (x category) wire(language, view string) wireCategory {
	w := wireCategory{Name: x.name, DisplayName: x.en}
	if strings.HasPrefix(language, "ja") {
		w.DisplayName = x.ja
	}
	if view == "FULL" {
		for _, h := range x.hours {
			words := strings.ToLower(strings.ReplaceAll(h, "_", " "))
			w.MoreHoursTypes = append(w.MoreHoursTypes, wireHoursType{h, words, words})
		}
	}
	return w
}

// required answers the refusal for the first missing parameter, or nil.
func (c *call) required(names ...string) *reply {
	for _, n := range names {
		if c.parameter(n) == "" {
			r := invalidArgument(ruleCatalogueParameter, snake(n), snake(n)+" is required")
			return &r
		}
	}
	if v := c.parameter("view"); slices.Contains(names, "view") && v != "BASIC" && v != "FULL" {
		r := badRequest(ruleCatalogueParameter, "view", `Invalid value at 'view', "`+v+`"`)
		return &r
	}
	return nil
}

// batchGetCategories is GET /v1/categories:batchGet.
func (c *call) batchGetCategories() (reply, effect) {
	if refusal := c.required("names", "languageCode", "view"); refusal != nil {
		return *refusal, nil
	}
	var out struct {
		Categories []wireCategory `json:"categories,omitempty"`
	}
	for _, n := range c.query["names"] {
		for _, x := range categoryCatalogue() {
			if x.name == n {
				out.Categories = append(out.Categories, x.wire(c.parameter("languageCode"), c.parameter("view")))
			}
		}
	}
	return answer(out), nil
}

// listCategories is GET /v1/categories. Of filter it knows displayName=, which is all that Google documents.
func (c *call) listCategories() (reply, effect) {
	if refusal := c.required("regionCode", "languageCode", "view"); refusal != nil {
		return *refusal, nil
	}
	p, refusal := c.page(100, 100)
	if refusal != nil {
		return *refusal, nil
	}
	want := ""
	if f := c.parameter("filter"); f != "" {
		v, ok := strings.CutPrefix(strings.TrimSpace(f), "displayName=")
		if !ok {
			return c.unsimulated("filter"), nil
		}
		want = strings.ToLower(strings.Trim(v, `"`))
	}
	var all []wireCategory
	for _, x := range categoryCatalogue() {
		if w := x.wire(c.parameter("languageCode"), c.parameter("view")); strings.Contains(strings.ToLower(w.DisplayName), want) {
			all = append(all, w)
		}
	}
	page, token := cut(c, p, all)
	var out struct {
		Categories    []wireCategory `json:"categories,omitempty"`
		NextPageToken string         `json:"nextPageToken,omitempty"`
	}
	out.Categories, out.NextPageToken = page, token
	return answer(out), nil
}
