package gbp

import "encoding/json"

// View is what people and agents are shown of something before or after a write: an object in the words of its kind (a local
// post in Google's fields, a reply as {"comment": …}, store data in the words of the contract). Empty is nothing, as before a
// create or after a delete.
type View json.RawMessage

// ViewOf shows a value that marshals to an object, with <, > and & as they are.
func ViewOf(v any) View { return View(encode(v)) }

// Post reads the view of a local post; what is none gives the zero post.
func (v View) Post() (p LocalPost) {
	if json.Unmarshal(v, &p) != nil {
		return LocalPost{}
	}
	return p
}

// MarshalJSON implements json.Marshaler.
func (v View) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return []byte("{}"), nil
	}
	return v, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *View) UnmarshalJSON(b []byte) error {
	*v = append((*v)[:0], b...)
	return nil
}
