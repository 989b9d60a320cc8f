package gbpsim

import (
	"encoding/json"
	"slices"
	"strings"
)

// attributeKind is an entry of Google's catalogue of attributes; a small part of it is here.
type attributeKind struct {
	name, ja, en, group string
	valueType           string
	choices             []string
}

func attributeCatalogue() []attributeKind {
	const kind, url = "BOOL", "URL"
	return []attributeKind{
		{"attributes/has_delivery", "宅配", "Delivery", "Service options", kind, nil},
		{"attributes/has_outdoor_seating", "テラス席", "Outdoor seating", "Amenities", kind, nil},
		{"attributes/has_takeout", "テイクアウト", "Takeout", "Service options", kind, nil},
		{"attributes/has_wheelchair_accessible_entrance", "車椅子対応の入り口", "Wheelchair accessible entrance", "Accessibility", kind, nil},
		{"attributes/pay_credit_card_types_accepted", "クレジット カード", "Credit cards", "Payments", "REPEATED_ENUM", []string{"american_express", "diners_club", "jcb", "mastercard", "visa"}},
		{"attributes/url_menu", "メニュー", "Menu link", "Links", url, nil},
		{"attributes/url_reservations", "予約", "Reservation links", "Links", url, nil},
		{"attributes/wi_fi", "Wi-Fi", "Wi-Fi", "Amenities", "ENUM", []string{"free_wi_fi", "paid_wi_fi"}},
	}
}

func attributeOf(name string) (attributeKind, bool) {
	i := slices.IndexFunc(attributeCatalogue(), func(k attributeKind) bool { return k.name == name })
	if i < 0 {
		return attributeKind{}, false
	}
	return attributeCatalogue()[i], true
}

type sentAttribute struct {
	Name              string            `json:"name"`
	Values            []json.RawMessage `json:"values"`
	RepeatedEnumValue *struct {
		SetValues   []string `json:"setValues"`
		UnsetValues []string `json:"unsetValues"`
	} `json:"repeatedEnumValue"`
	URIValues []struct {
		URI string `json:"uri"`
	} `json:"uriValues"`
}

// getAttributes is GET /v1/locations/{l}/attributes.
func (c *call) getAttributes() (reply, effect) {
	l, refusal := c.findStore()
	if refusal != nil {
		return *refusal, nil
	}
	return answer(l.attributes()), nil
}

type wireAttributes struct {
	Name       string            `json:"name"`
	Attributes []json.RawMessage `json:"attributes,omitempty"`
}

func (l *location) attributes() wireAttributes {
	w := wireAttributes{Name: string(l.Name) + "/attributes"}
	_ = json.Unmarshal(l.Attributes, &w.Attributes) // checked by the seed; absent is none
	return w
}

func attributeName(raw json.RawMessage) string {
	var a sentAttribute
	_ = json.Unmarshal(raw, &a) // "" for a strange one
	return a.Name
}

// updateAttributes is PATCH /v1/locations/{l}/attributes.
func (c *call) updateAttributes() (reply, effect) {
	raw, bad := decodeBody(c.body, attributesShape(), "attributes")
	if bad != nil {
		return badRequest(bad.rule, bad.field, bad.words), nil
	}
	var body wireAttributes
	_ = json.Unmarshal(proto3(raw), &body) // decodeBody made it
	mask := c.parameter("attributeMask")
	if strings.TrimSpace(mask) == "" {
		return invalidArgument(ruleAttributeMask, "attribute_mask", "attribute_mask is required"), nil
	}
	var names []string
	for n := range strings.SplitSeq(mask, ",") {
		n = strings.TrimSpace(n)
		if _, ok := attributeOf(n); !ok {
			return *attributeFault(ruleAttributeName, "INVALID_ATTRIBUTE_NAME", n), nil
		}
		names = append(names, n)
	}
	l, refusal := c.findStore()
	if refusal != nil {
		return *refusal, nil
	}
	sent := map[string]json.RawMessage{}
	for _, a := range body.Attributes {
		name := attributeName(a)
		kind, ok := attributeOf(name)
		if !ok {
			return *attributeFault(ruleAttributeName, "INVALID_ATTRIBUTE_NAME", name), nil
		}
		fixed, refusal := kind.judge(a)
		if refusal != nil {
			return *refusal, nil
		}
		sent[name] = fixed // of use only when it is masked
	}
	if refusal := c.chargeEdit(l); refusal != nil {
		return *refusal, nil
	}
	return reply{}, func(c *call) reply {
		after := l.attributes()
		after.Attributes = slices.DeleteFunc(after.Attributes, func(a json.RawMessage) bool { return slices.Contains(names, attributeName(a)) })
		for _, n := range names {
			if a, ok := sent[n]; ok {
				after.Attributes = append(after.Attributes, a)
			}
		}
		list := encode(after.Attributes)
		c.at(l, func() { l.Attributes = list })
		r := answer(after)
		r.effect = true
		return r
	}
}

// judge checks a value of the kind and gives it as Google stores it, with its type.
func (k attributeKind) judge(raw json.RawMessage) (json.RawMessage, *reply) {
	var a sentAttribute
	_ = json.Unmarshal(raw, &a) // the shape was checked
	wrong := func() (json.RawMessage, *reply) {
		r := invalidArgument(ruleAttributeType, "attributes.values", "Value of "+k.name+" must be of type "+k.valueType)
		return nil, &r
	}
	choices := []string{}
	switch k.valueType {
	case "BOOL", "ENUM":
		if a.RepeatedEnumValue != nil || a.URIValues != nil || len(a.Values) == 0 {
			return wrong()
		}
		if len(a.Values) > 1 {
			return nil, attributeFault(ruleAttributeRepeat, "ATTRIBUTE_CANNOT_BE_REPEATED", k.name)
		}
		isFlag := slices.Contains([]string{"true", "false"}, string(a.Values[0]))
		if isFlag != (k.valueType == "BOOL") {
			return wrong()
		}
		if !isFlag {
			choices = append(choices, wordOf(a.Values[0]))
		}
	case "URL":
		if a.RepeatedEnumValue != nil || a.Values != nil || len(a.URIValues) == 0 {
			return wrong()
		}
		for _, u := range a.URIValues {
			if _, ok := webURL(u.URI); !ok {
				r := invalidArgument(ruleAttributeURL, "attributes.uri_values.uri", "Invalid URL.")
				return nil, &r
			}
		}
	default:
		if a.RepeatedEnumValue == nil || a.Values != nil || a.URIValues != nil {
			return wrong()
		}
		choices = slices.Concat(a.RepeatedEnumValue.SetValues, a.RepeatedEnumValue.UnsetValues)
	}
	for _, v := range choices {
		if !slices.Contains(k.choices, v) {
			return nil, attributeFault(ruleAttributeEnum, "ATTRIBUTE_INVALID_ENUM_VALUE", k.name)
		}
	}
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &m) // an object, as the shape says
	m["valueType"] = encode(k.valueType)
	return encode(m), nil
}

func attributeFault(rule RuleID, reason, name string) *reply {
	r := refuse(rule, 400, "INVALID_ARGUMENT", "Invalid attribute: "+name,
		detail("google.rpc.ErrorInfo", "reason", reason, "domain", hostInformation, "metadata", map[string]string{"attribute_names": name}))
	return &r
}

type wireAttributeKind struct {
	Parent           string            `json:"parent"`
	ValueType        string            `json:"valueType"`
	DisplayName      string            `json:"displayName"`
	GroupDisplayName string            `json:"groupDisplayName"`
	Repeatable       bool              `json:"repeatable,omitempty"`
	ValueMetadata    []wireChoiceValue `json:"valueMetadata,omitempty"`
}

type wireChoiceValue struct {
	Value       string `json:"value"`
	DisplayName string `json:"displayName"`
}

// listAttributes is GET /v1/attributes; all stores and categories have the same catalogue here.
func (c *call) listAttributes() (reply, effect) {
	if parent := c.parameter("parent"); parent != "" {
		c.location = LocationName(parent)
		if _, refusal := c.findStore(); refusal != nil {
			return *refusal, nil
		}
	} else if refusal := c.required("regionCode", "languageCode"); refusal != nil {
		return *refusal, nil
	} else if c.parameter("categoryName") == "" && c.parameter("showAll") != "true" {
		return invalidArgument(ruleCatalogueParameter, "category_name", "category_name is required"), nil
	}
	p, refusal := c.page(200, 200)
	if refusal != nil {
		return *refusal, nil
	}
	page, token := cut(c, p, attributeCatalogue())
	var out struct {
		AttributeMetadata []wireAttributeKind `json:"attributeMetadata,omitempty"`
		NextPageToken     string              `json:"nextPageToken,omitempty"`
	}
	for _, k := range page {
		w := wireAttributeKind{Parent: k.name, ValueType: k.valueType, DisplayName: k.ja, GroupDisplayName: k.group, Repeatable: k.valueType == "REPEATED_ENUM"}
		if strings.HasPrefix(c.parameter("languageCode"), "en") {
			w.DisplayName = k.en
		}
		for _, v := range k.choices {
			w.ValueMetadata = append(w.ValueMetadata, wireChoiceValue{v, strings.ReplaceAll(v, "_", " ")})
		}
		out.AttributeMetadata = append(out.AttributeMetadata, w)
	}
	out.NextPageToken = token
	return answer(out), nil
}
