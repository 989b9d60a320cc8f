package tools

import (
	"encoding/base64"
	"strconv"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/ids"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// paging are the arguments of every list.
func paging() []schema.Field {
	return []schema.Field{
		schema.Integer("page_size", "Entries per page, 1 to 200.", 1, 200, schema.Default(50)),
		schema.ID("page_token", "next_page_token of the page before; leave it out for the first page."),
	}
}

type page struct {
	Size  int    `json:"page_size"`
	Token string `json:"page_token"`
}

// pageBytes bounds the entries of one page: clients refuse results beyond about 25,000 tokens. A page that would be larger
// ends early, with a token for the rest.
const pageBytes = 16_000

// fits is how many of the entries fit that many bytes, at least one when there is any.
func fits[E any](entries []E, bytes int) (int, error) {
	size := 0
	for i, e := range entries {
		b, err := encode(e)
		if err != nil {
			return 0, err
		}
		if size += len(b) + 1; size > bytes && i > 0 {
			return i, nil
		}
	}
	return len(entries), nil
}

// A page token is the last entry's key in base64: opaque for callers, readable for us, and worthless to forge, since every
// page is read with the caller's own rights.
func encodeToken(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func badToken(l errs.Locale) error {
	return admission.Invalid([]errs.Violation{{Path: "page_token", Rule: "unknown", Message: errs.T("この page_token は使えません。前のページの next_page_token を指定してください。", "This page_token is not one of ours; use next_page_token of the page before.").In(l)}})
}

func numberToken(token string, l errs.Locale) (int64, error) {
	if token == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, badToken(l)
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < 0 {
		return 0, badToken(l)
	}
	return n, nil
}

func idToken(token string, l errs.Locale) (string, error) {
	if token == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || !ids.Valid(string(b)) {
		return "", badToken(l)
	}
	return string(b), nil
}
