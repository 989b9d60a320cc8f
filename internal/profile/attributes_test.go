package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func withAttributes(t *testing.T) Snapshot {
	t.Helper()
	s, err := full(t).WithAttributes([]byte(`{"name":"locations/1/attributes","attributes":[
		{"name":"attributes/has_wifi","valueType":"BOOL","values":[false]},
		{"name":"attributes/pay_cards","valueType":"REPEATED_ENUM","repeatedEnumValue":{"setValues":["visa","amex"],"unsetValues":["jcb"]},"future":1},
		{"name":"attributes/wi_fi","valueType":"ENUM","values":["free"]},
		{"name":"attributes/url_menu","valueType":"URL","uriValues":[{"uri":"https://own.example/menu"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	const name = `"name":"locations/12345678901234567890/attributes"`
	for in, want := range map[string]string{
		`[{"name":"has_wifi","bool":true}]`:                                 `attributes/has_wifi {"attributes":[{"name":"attributes/has_wifi","values":[true]}],` + name + `}`,
		`[{"name":"attributes/wi_fi","value":"paid"}]`:                      `attributes/wi_fi {"attributes":[{"name":"attributes/wi_fi","values":["paid"]}],` + name + `}`,
		`[{"name":"new_one","bool":false}]`:                                 `attributes/new_one {"attributes":[{"name":"attributes/new_one","values":[false]}],` + name + `}`,
		`[{"name":"pay_cards","values":["visa","jcb"]}]`:                    `attributes/pay_cards {"attributes":[{"name":"attributes/pay_cards","repeatedEnumValue":{"setValues":["visa","jcb"]}}],` + name + `}`,
		`[{"name":"pay_cards","unset_values":["amex"]}]`:                    `attributes/pay_cards {"attributes":[{"name":"attributes/pay_cards","repeatedEnumValue":{"setValues":["visa"],"unsetValues":["amex"]}}],` + name + `}`,
		`[{"name":"url_menu","urls":["https://own.example/m"]}]`:            `attributes/url_menu {"attributes":[{"name":"attributes/url_menu","uriValues":[{"uri":"https://own.example/m"}]}],` + name + `}`,
		`{"remove":["has_wifi"]}`:                                           `attributes/has_wifi {"attributes":[],` + name + `}`,
		`{"set":[{"name":"has_wifi","bool":true}]}`:                         `attributes/has_wifi,attributes/pay_cards,attributes/url_menu,attributes/wi_fi {"attributes":[{"name":"attributes/has_wifi","values":[true]}],` + name + `}`,
		`[{"name":"has_wifi","bool":true},{"name":"wi_fi","value":"free"}]`: `attributes/has_wifi {"attributes":[{"name":"attributes/has_wifi","values":[true]}],` + name + `}`,
	} {
		p, _ := apply(t, withAttributes(t), `{"attributes":`+in+`}`)
		mask, body, _ := strings.Cut(want, " ")
		if got := strings.Join(p.AttributeMask, ","); got != mask {
			t.Errorf("%s: mask %s, want %s", in, got, mask)
		}
		same(t, in, p.AttributeBody, body)
		if len(p.Mask) > 0 || p.Body != nil || len(p.Changed) != 1 || p.Changed[0].Field != Attributes {
			t.Errorf("%s: %+v", in, p)
		}
	}
	// Without knowing the present ones: set by name is possible, and what it replaces is not shown.
	p, _ := apply(t, full(t), `{"attributes":[{"name":"has_wifi","bool":true}]}`)
	if string(p.Changed[0].Before) != "null" || len(p.AttributeMask) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestAttributesRefused(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`[{"name":"has_wifi"}]`:                                                              {".attributes[0] one_value"},
		`[{"name":"has_wifi","bool":true,"value":"x"}]`:                                      {".attributes[0] one_value"},
		`[{"name":"Has Wifi","bool":true}]`:                                                  {".attributes[0].name attribute"},
		`[{"name":"a","bool":true},{"name":"attributes/a","bool":false}]`:                    {".attributes[1].name duplicate"},
		`{"change":[{"name":"a","bool":true}],"add":[{"name":"attributes/a","bool":false}]}`: {".attributes.add[0].name duplicate"},
		`{"remove":["attributes/has_wifi"],"add":[{"name":"has_wifi","bool":true}]}`:         {".attributes.add[0].name contradiction"},
		`[{"name":"pay","values":[]}]`:                                                       {".attributes[0] empty_list"},
		`[{"name":"pay","values":["visa"],"unset_values":["visa"]}]`:                         {".attributes[0] duplicate"},
		`[{"name":"url","urls":["ftp://x.example"]}]`:                                        {".attributes[0].urls[0] url"},
		`{"remove":[""]}`:                    {".attributes.remove[0] attribute"},
		`[{"name":"has_wifi","bool":false}]`: {" nothing_changes"},
		`[]`:                                 {".attributes empty_list"},
	} {
		if d := cmp.Diff(want, refused(t, withAttributes(t), `{"attributes":`+in+`}`, context())); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
	if d := cmp.Diff([]string{".attributes.set current_unknown"}, refused(t, full(t), `{"attributes":{"set":[{"name":"a","bool":true}]}}`, context())); d != "" {
		t.Error(d)
	}
}

// One side of an attribute with several choices is completed from what the store has. Where that was never read, Google would
// drop the other side, and nothing would notice.
func TestOneSideOfUnknownChoicesIsRefused(t *testing.T) {
	t.Parallel()
	unreadable := full(t)
	unreadable.Attributes = []byte(`[{"name":"pay_cards"}]`)
	for name, s := range map[string]Snapshot{"never read": full(t), "unreadable": unreadable} {
		for _, op := range []string{`[%s]`, `{"change":[%s]}`, `{"add":[%s]}`} {
			for _, side := range []string{`"unset_values":["jcb"]`, `"values":["visa"]`} {
				in := strings.ReplaceAll(op, "%s", `{"name":"pay_cards",`+side+`}`)
				got := refused(t, s, `{"attributes":`+in+`}`, context())
				if len(got) != 1 || !strings.HasSuffix(got[0], "[0] current_unknown") {
					t.Errorf("%s %s: %q", name, in, got)
				}
			}
		}
		p, _ := apply(t, s, `{"attributes":[{"name":"pay_cards","values":["visa"],"unset_values":["jcb"]}]}`)
		same(t, name, p.AttributeBody, `{"attributes":[{"name":"attributes/pay_cards","repeatedEnumValue":{"setValues":["visa"],"unsetValues":["jcb"]}}],"name":"locations/12345678901234567890/attributes"}`)
	}
	// Known to have none is not unknown.
	none := full(t)
	none.Attributes = []byte(`[]`)
	p, _ := apply(t, none, `{"attributes":[{"name":"pay_cards","unset_values":["jcb"]}]}`)
	same(t, "none", p.AttributeBody, `{"attributes":[{"name":"attributes/pay_cards","repeatedEnumValue":{"unsetValues":["jcb"]}}],"name":"locations/12345678901234567890/attributes"}`)
}
