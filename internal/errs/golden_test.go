package errs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/testkit/golden"
)

// The catalogue is a part of the public contract: a changed status, retry class or advice shows in review.
func TestCatalogueGolden(t *testing.T) {
	type row struct {
		Code    Code       `json:"code"`
		Status  int        `json:"status"`
		Exit    int        `json:"exit"`
		Retry   RetryClass `json:"retry"`
		SameKey bool       `json:"same_key"`
		Item    bool       `json:"item,omitempty"`
		Meaning string     `json:"meaning"`
		HowJA   string     `json:"how_ja"`
		HowEN   string     `json:"how_en"`
	}
	var rows []row
	for _, i := range Catalogue() {
		rows = append(rows, row{i.Code, i.Status, i.Exit, i.Retry, i.SameKey, i.Item, i.Meaning, i.How.JA, i.How.EN})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(rows); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/catalogue.golden.json", b.String())
}

// Advice is a sentence, says more than "try again", and allows a new effect nowhere by accident.
func TestCatalogueAdvice(t *testing.T) {
	for _, i := range Catalogue() {
		for _, how := range []string{i.How.JA, i.How.EN} {
			if n := utf8.RuneCountInString(how); n < 12 || n > 300 {
				t.Errorf("%s: advice of %d characters: %s", i.Code, n, how)
			}
		}
		if i.Retry != RetryNever && strings.Contains(i.How.EN, "will not help") {
			t.Errorf("%s: sending again is possible, and the advice says that it does not help", i.Code)
		}
		if i.Retry == RetryUnknownOutcome && i.SameKey {
			t.Errorf("%s: an unknown outcome must not be sent again", i.Code)
		}
		if !i.Item && i.Retry == RetryAfterDelay && !i.SameKey {
			t.Errorf("%s: waiting helps, so the same key has to be usable", i.Code)
		}
	}
}
