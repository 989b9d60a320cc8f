package profile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// AdditionalCategoriesMax is the bound of Google's user interface; the API reference has none.
const AdditionalCategoriesMax = 9

// Categories are the categories of a profile by Google's ids, "gcid:cafe".
type Categories struct {
	Primary    string   `json:"primary,omitempty" jsonschema:"main category, such as gcid:cafe"`
	Additional []string `json:"additional,omitempty" jsonschema:"further categories, at most nine"`
	// DisplayNames are Google's names for people, the primary's first; empty where Google gave none.
	DisplayNames []string `json:"display_names,omitempty" jsonschema:"names of the categories for people, the primary one's first"`
}

// CategoriesChange changes categories. Each part that is absent stays as it is. Ids may have Google's prefix "categories/".
type CategoriesChange struct {
	Primary    string       `json:"primary,omitempty"`
	Additional *TextsChange `json:"additional,omitempty"`
}

type googleCategories struct {
	PrimaryCategory      googleCategory   `json:"primaryCategory"`
	AdditionalCategories []googleCategory `json:"additionalCategories,omitempty"`
}

// googleCategory has the name only when it is written; the display name is output only.
type googleCategory struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
}

const categoryPrefix = "categories/"

var categoryForm = regexp.MustCompile(`^gcid:[a-z0-9_]{1,100}$`)

func readCategories(raw json.RawMessage) (googleCategories, bool) {
	var g googleCategories
	return g, len(raw) == 0 || json.Unmarshal(raw, &g) == nil
}

func (g googleCategories) words() *Categories {
	if g.PrimaryCategory.Name == "" && len(g.AdditionalCategories) == 0 {
		return nil
	}
	out := &Categories{Primary: strings.TrimPrefix(g.PrimaryCategory.Name, categoryPrefix), Additional: g.additional()}
	names := []string{g.PrimaryCategory.DisplayName}
	for _, c := range g.AdditionalCategories {
		names = append(names, c.DisplayName)
	}
	if strings.Join(names, "") != "" {
		out.DisplayNames = names
	}
	return out
}

func (g googleCategories) additional() []string {
	var out []string
	for _, c := range g.AdditionalCategories {
		out = append(out, strings.TrimPrefix(c.Name, categoryPrefix))
	}
	return out
}

// category checks one id and takes Google's prefix off.
func (j *judge) category(path, s string) (string, bool) {
	id := strings.TrimPrefix(s, categoryPrefix)
	if !categoryForm.MatchString(id) {
		j.refuse(path, "category", s, errs.T("カテゴリは gcid:cafe の形の Google の ID で指定してください。", "Categories are Google's ids, such as gcid:cafe."))
		return "", false
	}
	return id, true
}

// categories applies a change of categories. The answer holds display names of kept categories for the preview; bodies do not.
func (j *judge) categories(after *Snapshot, c *CategoriesChange) {
	const at = "categories"
	if c == nil {
		return
	}
	raw := after.Fields[fieldCategories]
	g, ok := readCategories(raw)
	if !ok {
		j.refuse(at, "current_unreadable", "", textUnreadable)
		return
	}
	before := len(j.violations)
	primary, additional := strings.TrimPrefix(g.PrimaryCategory.Name, categoryPrefix), g.additional()
	if c.Primary == "" && c.Additional == nil {
		j.refuse(at, "required", "", errs.T("primary か additional が必要です。", "Give primary or additional."))
	}
	if c.Primary != "" {
		if v, ok := j.category(at+".primary", c.Primary); ok {
			primary = v
		}
	}
	if c.Additional != nil {
		if list, ok := j.changeTexts(at+".additional", additional, *c.Additional, func(a, b string) bool { return a == b }, j.category); ok {
			additional = list
		}
	}
	if len(j.violations) > before {
		return
	}
	switch {
	case primary == "":
		j.refuse(at+".primary", "required", "", errs.T("メインカテゴリが必要です。", "A primary category is needed."))
	case slices.Contains(additional, primary):
		j.refuse(at, "duplicate", primary, errs.T("メインカテゴリが追加カテゴリにもあります。入れ替えるときは additional も指定してください。", "The primary category is also an additional one; give additional as well to swap them."))
	case len(additional) > AdditionalCategoriesMax:
		j.refuse(at+".additional", "max_items", "", errs.Tf("追加カテゴリは %[2]d 件までです (変更後 %[1]d 件)。", "%[1]d additional categories after the change; at most %[2]d are possible.", len(additional), AdditionalCategoriesMax))
	}
	if len(j.violations) > before {
		return
	}
	display := map[string]string{}
	for _, x := range append([]googleCategory{g.PrimaryCategory}, g.AdditionalCategories...) {
		display[x.Name] = x.DisplayName
	}
	full := func(id string) googleCategory {
		return googleCategory{Name: categoryPrefix + id, DisplayName: display[categoryPrefix+id]}
	}
	out := googleCategories{PrimaryCategory: full(primary)}
	for _, id := range additional {
		out.AdditionalCategories = append(out.AdditionalCategories, full(id))
	}
	after.set(fieldCategories, encode(out))
}
