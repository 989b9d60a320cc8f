package gbpapi

import (
	"bytes"
	"encoding/json"
	"html"
	"mime"
	"regexp"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
)

// Bounds of what is kept of an error body.
const (
	maxFields     = 20
	maxFieldText  = 200
	maxFieldsText = 4 << 10
	maxSnippet    = 200
)

// googleError is an error body, read leniently: any part may be missing or of another type.
type googleError struct {
	// envelope is true for Google's {"error":{...}}.
	envelope bool
	message  string
	status   string
	// reasons are ErrorInfo's first, then those of the older errors[] list.
	reasons  []string
	metadata map[string]string
	fields   []fieldFault
}

// fieldFault is one entry of ValidationError.errorDetails (v4), BadRequest.fieldViolations or ErrorInfo's field_mask (v1).
type fieldFault struct {
	field   string
	index   int // -1: none
	code    int
	message string
}

// parseBody never fails: what is not JSON gives a short text of the page.
func parseBody(body []byte, contentType string) googleError {
	top := object(body)
	if top == nil {
		if list := array(body); len(list) > 0 { // streaming front ends wrap the envelope
			top = object(list[0])
		}
	}
	raw, ok := top["error"]
	if !ok {
		return googleError{message: snippet(body, contentType)}
	}
	e := object(raw)
	if e == nil { // OAuth's spelling: {"error":"invalid_token","error_description":"..."}
		return googleError{envelope: true, reasons: words(raw), message: text(top["error_description"])}
	}
	g := googleError{envelope: true, message: text(e["message"]), status: text(e["status"])}
	for _, d := range array(e["details"]) {
		g.detail(object(d))
	}
	for _, x := range array(e["errors"]) {
		g.reasons = append(g.reasons, words(object(x)["reason"])...)
	}
	return g
}

func (g *googleError) detail(d map[string]json.RawMessage) {
	for _, x := range array(d["errorDetails"]) {
		v := object(x)
		index := -1
		if raw, ok := v["fieldIndex"]; ok {
			index = number(raw)
		}
		g.fields = append(g.fields, fieldFault{field: text(v["field"]), index: index, code: number(v["code"]), message: text(v["message"])})
	}
	for _, x := range array(d["fieldViolations"]) {
		v := object(x)
		g.fields = append(g.fields, fieldFault{field: text(v["field"]), index: -1, message: text(v["description"])})
	}
	reason := words(d["reason"])
	if len(reason) == 0 {
		return
	}
	g.reasons = append(g.reasons, reason...)
	if g.metadata == nil {
		g.metadata = map[string]string{}
	}
	for name, v := range object(d["metadata"]) {
		if _, ok := g.metadata[name]; !ok {
			g.metadata[name] = text(v)
		}
	}
	if names := text(object(d["metadata"])["attribute_names"]); names != "" {
		g.fields = append(g.fields, fieldFault{field: "attributes", index: -1, message: reason[0] + ": " + names})
	}
	for f := range strings.SplitSeq(text(object(d["metadata"])["field_mask"]), ",") {
		if f = strings.TrimSpace(f); f != "" {
			g.fields = append(g.fields, fieldFault{field: f, index: -1, message: reason[0]})
		}
	}
}

// fault is the public form of the body.
func (g googleError) fault(httpStatus int, argument func(string) string, secrets []string) errs.GoogleFault {
	f := errs.GoogleFault{
		HTTPStatus: httpStatus, Status: safeWord(g.status), Service: safeWord(g.metadata["service"]), Message: redact.Text(g.message, secrets...),
	}
	if len(g.reasons) > 0 {
		f.Reason = safeWord(g.reasons[0])
	}
	total := 0
	for _, x := range g.fields {
		out := errs.GoogleField{Field: redact.TextIn(100, x.field, secrets...), Code: x.code, Message: redact.TextIn(maxFieldText, x.message, secrets...)}
		if argument != nil {
			out.Argument = argument(indexed(x.field, x.index))
		}
		total += len(out.Field) + len(out.Argument) + len(out.Message)
		if len(f.Fields) == maxFields || total > maxFieldsText {
			break
		}
		f.Fields = append(f.Fields, out)
	}
	return f
}

// safeWord passes identifiers on ("RESOURCE_EXHAUSTED", "mybusiness.googleapis.com/default_requests") and drops all else.
func safeWord(s string) string {
	if len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
	}) {
		return ""
	}
	return redact.TextIn(100, s)
}

var (
	pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	unseen    = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(?:script|style|head)>|<!--.*?-->`)
	tag       = regexp.MustCompile(`(?s)<[^>]*>`)
)

// snippet is a short text of an answer that is not JSON: the title of a page, else its first words.
func snippet(body []byte, contentType string) string {
	if len(body) > 16<<10 {
		body = body[:16<<10]
	}
	s := string(body)
	kind, _, _ := mime.ParseMediaType(contentType)
	if strings.HasPrefix(kind, "text/html") || bytes.Contains(bytes.ToLower(body), []byte("<html")) || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		if m := pageTitle.FindStringSubmatch(s); m != nil && strings.TrimSpace(m[1]) != "" {
			s = m[1]
		} else {
			s = unseen.ReplaceAllString(s, " ")
		}
		s = html.UnescapeString(tag.ReplaceAllString(s, " "))
		s = strings.NewReplacer("<", "", ">", "").Replace(s)
	}
	return redact.TextIn(maxSnippet, s)
}

// The readers below give the zero value for what is absent or of another type.

func object(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func array(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

func number(raw json.RawMessage) int {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil { // also takes a quoted number
		return 0
	}
	i, err := n.Int64()
	if err != nil || i < 0 || i > 1<<30 {
		return 0
	}
	return int(i)
}

func words(raw json.RawMessage) []string {
	if s := text(raw); s != "" {
		return []string{s}
	}
	return nil
}
