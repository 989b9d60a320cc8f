package admission

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// shownPerWarning is how many stores a warning is written out for; the others are named in one line. A hundred stores with
// several warnings each would make an answer that clients refuse, after the write has happened.
const shownPerWarning = 12

// warningsOf are a call's warnings as answers show them, by code in the order in which they came up; never nil.
func warningsOf(c *Call) []gbp.Warning {
	var codes []string
	byCode := map[string][]gbp.Warning{}
	for _, w := range c.warnings {
		if byCode[w.Code] == nil {
			codes = append(codes, w.Code)
		}
		byCode[w.Code] = append(byCode[w.Code], w)
	}
	out := []gbp.Warning{}
	for _, code := range codes {
		list := byCode[code]
		if len(list) <= shownPerWarning+1 {
			out = append(out, list...)
			continue
		}
		out = append(out, list[:shownPerWarning]...)
		out = append(out, others(code, list[shownPerWarning:], c.Principal.Locale))
	}
	return out
}

func others(code string, list []gbp.Warning, l errs.Locale) gbp.Warning {
	var ids []string
	for _, w := range list {
		if id := strconv.FormatInt(int64(w.LocationID), 10); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return gbp.Warning{Code: code, Message: errs.Tf("同じ警告がほかに %[1]d 件あります (店舗 %[2]s)。", "The same for %[1]d more (stores %[2]s).", len(list), strings.Join(ids, ", ")).In(l)}
}
