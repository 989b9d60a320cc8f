package gbpsim

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// pageRequest is pageSize and pageToken after their checks.
type pageRequest struct {
	size int
	// after is where the page starts: the cursor that the previous page ended with, "" at the start.
	after string
	// empty asks for the empty page that the EmptyPages knob puts before each real one.
	empty bool
}

// page reads pageSize and pageToken. standard is the size without pageSize, most the maximum.
func (c *call) page(standard, most int) (pageRequest, *reply) {
	return c.pageOf(c.parameter("pageSize"), c.parameter("pageToken"), standard, most)
}

// pageOf reads a page size and a page token, wherever they stood; "" is an absent one.
func (c *call) pageOf(size, token string, standard, most int) (pageRequest, *reply) {
	p := pageRequest{size: standard, empty: c.sim.knobs.EmptyPages}
	if v := size; v != "" {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			r := badRequest(rulePageSize, "page_size", `Invalid value at 'page_size' (TYPE_INT32), "`+v+`"`)
			return p, &r
		}
		if n < 0 {
			r := invalidArgument(rulePageSize, "page_size", "page_size must not be negative")
			return p, &r
		}
		if n > 0 {
			p.size = int(min(n, int64(most)))
		}
	}
	if v := token; v != "" {
		raw, err := base64.RawURLEncoding.DecodeString(v)
		kind, rest, ok := strings.Cut(string(raw), " ")
		route, after, ok2 := strings.Cut(rest, " ")
		if err != nil || !ok || !ok2 || route != string(c.route.name) || (kind != "e" && kind != "p") {
			r := invalidArgument(rulePageToken, "page_token", "Invalid page token.")
			return p, &r
		}
		p.after, p.empty = after, p.empty && kind != "e"
	}
	return p, nil
}

// next is the token of the page that follows the cursor; afterEmpty tells that the page given now is an empty one.
func (c *call) next(cursor string, afterEmpty bool) string {
	kind := "p"
	if afterEmpty {
		kind = "e"
	}
	return base64.RawURLEncoding.EncodeToString([]byte(kind + " " + string(c.route.name) + " " + cursor))
}

// cut takes one page from a list whose order does not change between pages; the cursor is an index.
func cut[T any](c *call, p pageRequest, all []T) (page []T, token string) {
	if p.empty {
		return nil, c.next(p.after, true)
	}
	from, _ := strconv.Atoi(p.after) // ours, or "" for 0
	from = min(max(from, 0), len(all))
	to := min(from+p.size, len(all))
	if to < len(all) {
		token = c.next(strconv.Itoa(to), false)
	}
	return all[from:to], token
}
