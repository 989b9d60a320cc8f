package gbp_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// TestVersionIsOfWhatCanBeEdited: each field of the mirror changes the version exactly when it can be edited here. A field that
// comes later has to be decided about.
func TestVersionIsOfWhatCanBeEdited(t *testing.T) {
	t.Parallel()
	fixed := []string{"City", "AddressSummary", "LanguageCode"}
	base := shibuya().Profile
	fields := reflect.TypeFor[gbp.Profile]()
	for i := range fields.NumField() {
		p := base
		switch f := reflect.ValueOf(&p).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.String {
				f.Set(reflect.ValueOf([]string{"x"}))
			} else {
				f.SetBytes([]byte(`{"x":1}`))
			}
		default:
			t.Fatalf("%s: how is it changed?", fields.Field(i).Name)
		}
		name := fields.Field(i).Name
		if same := p.Version() == base.Version(); same != slices.Contains(fixed, name) {
			t.Errorf("%s: the same version: %v", name, same)
		}
	}
}
