package gbp

import "encoding/json"

// SentContacts are the links and phone numbers that a payload publishes which was accepted before: those of its texts and
// addresses. Where its files come from is not shown to the public.
func SentContacts(payload []byte) (links, phones []string) {
	var body any
	if json.Unmarshal(payload, &body) != nil {
		return nil, nil
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if u, _ := parsePublicURL(v); u != nil {
				links = append(links, v)
				return
			}
			links, phones = append(links, FindLinks(v)...), append(phones, FindPhones(v)...)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for name, x := range v {
				if name != "sourceUrl" && name != "couponCode" {
					walk(x)
				}
			}
		}
	}
	walk(body)
	return links, phones
}
