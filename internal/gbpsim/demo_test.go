package gbpsim_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

func TestJapaneseChain(t *testing.T) {
	t.Parallel()
	w := gbpsim.JapaneseChain(1000)
	if len(w.Locations) != 1000 || len(w.Accounts) != 2 || len(w.Grants) != 1 {
		t.Fatalf("%d locations, %d accounts, %d grants", len(w.Locations), len(w.Accounts), len(w.Grants))
	}
	seen := map[string]string{}
	once := func(kind, v string) {
		if old, ok := seen[kind+v]; ok {
			t.Errorf("%s %q is there twice (%s)", kind, v, old)
		}
		seen[kind+v] = kind
	}
	phone := regexp.MustCompile(`^0\d{1,4}-1\d*-\d{4}$`)
	name := regexp.MustCompile(`^locations/\d{19}$`)
	for _, l := range w.Locations {
		once("name", string(l.Name))
		once("title", l.Title)
		once("store code", l.StoreCode)
		once("phone", l.Phone)
		once("website", l.Website)
		if digits := strings.ReplaceAll(l.Phone, "-", ""); len(digits) != 10 || !phone.MatchString(l.Phone) {
			t.Errorf("phone %q", l.Phone)
		}
		if !strings.HasPrefix(l.Title, "こもれび珈琲 ") || !strings.HasPrefix(l.Website, "https://komorebi-coffee.example/stores/") || l.City == "" || l.PostalCode == "" ||
			len(l.AddressLines) == 0 || !json.Valid(l.RegularHours) || !name.MatchString(string(l.Name)) {
			t.Errorf("store %+v", l)
		}
	}
	if d := cmp.Diff(w.Locations[:120], gbpsim.JapaneseChain(120).Locations); d != "" {
		t.Errorf("a smaller chain is another one:\n%s", d)
	}
	if _, err := gbpsim.New(gbpsim.Options{Seed: w}); err != nil {
		t.Error(err)
	}
}
