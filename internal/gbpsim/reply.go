package gbpsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// reply is an answer before it is written.
type reply struct {
	status int
	header http.Header
	body   []byte
	html   bool
	// rule is the rule that refused the request, or "".
	rule RuleID
	// unknown marks what the simulator does not simulate.
	unknown bool
	// effect tells that the request changed what exists; post or media is what it created or deleted, if any.
	post   PostName
	media  MediaName
	effect bool
}

// effect carries out what a valid request asks for, at the given instant. It runs under the simulator's lock.
type effect func(c *call) reply

// Detail is one element of error.details: its @type and further members, as Google's JSON.
type Detail map[string]json.RawMessage

type statusBody struct {
	Error struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Status  string   `json:"status"`
		Details []Detail `json:"details,omitempty"`
	} `json:"error"`
}

// answer is a 200 with a JSON body.
func answer(v any) reply { return reply{status: http.StatusOK, body: encode(v)} }

// encode writes JSON and leaves <, > and & as they are.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("gbpsim: an answer always marshals: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// refuse is Google's error envelope.
func refuse(rule RuleID, status int, word, message string, details ...Detail) reply {
	var b statusBody
	b.Error.Code, b.Error.Message, b.Error.Status, b.Error.Details = status, message, word, details
	return reply{status: status, body: encode(b), rule: rule}
}

// statusWord is the google.rpc.Code name that goes with an HTTP status.
func statusWord(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusConflict:
		return "ABORTED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusNotImplemented:
		return "UNIMPLEMENTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	}
	return "UNKNOWN"
}

func detail(kind string, members ...any) Detail {
	d := Detail{"@type": encode("type.googleapis.com/" + kind)}
	for i := 0; i+1 < len(members); i += 2 {
		d[fmt.Sprint(members[i])] = encode(members[i+1])
	}
	return d
}

// errorInfo is google.rpc.ErrorInfo in the domain googleapis.com.
func errorInfo(reason string, metadata map[string]string) Detail {
	return detail("google.rpc.ErrorInfo", "reason", reason, "domain", "googleapis.com", "metadata", metadata)
}

type fieldViolation struct {
	Field       string `json:"field,omitempty"`
	Description string `json:"description"`
}

// badRequest is a 400 about the shape of a request, with google.rpc.BadRequest.
func badRequest(rule RuleID, field, message string) reply {
	return refuse(rule, http.StatusBadRequest, "INVALID_ARGUMENT", message,
		detail("google.rpc.BadRequest", "fieldViolations", []fieldViolation{{field, message}}))
}

// invalidArgument is the v1 answer to a missing or wrong field: a short message, the words in the violation.
func invalidArgument(rule RuleID, field, description string) reply {
	return refuse(rule, http.StatusBadRequest, "INVALID_ARGUMENT", "Request contains an invalid argument.",
		detail("google.rpc.BadRequest", "fieldViolations", []fieldViolation{{field, description}}))
}

// The numbers of v4 validation errors. Only missingValue, tooLarge and photoFetchFailed have been seen in real answers.
const (
	missingValue         = 2
	invalidValue         = 3
	readOnly             = 6
	invertedRange        = 8
	tooLarge             = 10
	missingDependent     = 11
	unsupportedValue     = 13
	expiredValue         = 14
	photoFetchFailed     = 1000
	unsupportedByAccount = 1301
	postsDisabled        = 1302
)

type validationError struct {
	Code    int    `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Value   string `json:"value,omitempty"`
}

// invalid is a 400 of the v4 API about the content of a post. field is a snake_case path.
func invalid(rule RuleID, code int, field, message, value string) *reply {
	r := refuse(rule, http.StatusBadRequest, "INVALID_ARGUMENT", "Request contains an invalid argument.",
		detail("google.mybusiness.v4.ValidationError", "errorDetails", []validationError{{code, field, message, value}}))
	return &r
}

func notFound(rule RuleID) reply {
	return refuse(rule, http.StatusNotFound, "NOT_FOUND", "Requested entity was not found.")
}

// htmlPage is what Google's front end says before any API has seen the request.
func htmlPage(status int, title, text string) reply {
	return reply{status: status, html: true, body: fmt.Appendf(nil,
		"<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Error %d (%s)!!1</title>\n<p><b>%d.</b> <ins>That’s an error.</ins>\n<p>%s <ins>That’s all we know.</ins>\n",
		status, title, status, text)}
}

func htmlNotFound(path string) reply {
	r := htmlPage(http.StatusNotFound, "Not Found", "The requested URL <code>"+strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(path)+"</code> was not found on this server.")
	r.rule, r.unknown = ruleUnknownRoute, true
	return r
}

// write sends the reply. Google indents JSON unless prettyPrint=false.
func (r reply) write(w http.ResponseWriter, compact bool) {
	h := w.Header()
	maps.Copy(h, r.header)
	body := r.body
	switch {
	case r.html:
		h.Set("Content-Type", "text/html; charset=UTF-8")
	case len(body) > 0:
		h.Set("Content-Type", "application/json; charset=UTF-8")
		if !compact {
			var b bytes.Buffer
			if json.Indent(&b, body, "", "  ") == nil { // broken bodies of faults stay as they are
				body = append(b.Bytes(), '\n')
			}
		}
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(body) // the client may be gone; the journal has the outcome
}
