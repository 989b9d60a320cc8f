package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// textBytes bounds a text block with its JSON: clients refuse results beyond about 25,000 tokens, and by then the write has
// happened. Pages are smaller (pageBytes), so that a client that shows only text sees every entry; what is longer, such as a
// preview for many stores, has its essentials in the sentence and is whole in the structured content.
const textBytes = 20_000

// success is a result whose text is a sentence that stands on its own, followed by the data as JSON.
func success(sentence string, data any, links ...Link) (Result, error) {
	return successShown(sentence, data, data, links...)
}

// successShown is success with the data as the text shows it, which differs where strangers' words are fenced.
func successShown(sentence string, data, shown any, links ...Link) (Result, error) {
	body, err := encode(data)
	if err != nil {
		return Result{}, err
	}
	said, err := encode(shown)
	if err != nil {
		return Result{}, err
	}
	text := sentence
	if len(sentence)+len(said) <= textBytes {
		text += "\n" + string(said)
	} else {
		text += "\n(" + fmt.Sprint(len(body)) + " bytes of data in structuredContent)"
	}
	return Result{Structured: append(append([]byte(`{"data":`), body...), '}'), Text: text, Links: links}, nil
}

// ErrorResult is a refusal: the same facts as structured content and as text, since many hosts show only the text of an error.
func ErrorResult(p errs.Public) Result {
	body, err := encode(p)
	if err != nil { // strings and numbers only
		body = []byte(`{"error_code":"INTERNAL"}`)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (executed: %s)\n%s", p.ErrorCode, p.Message, p.Executed, p.Retry.How)
	if d := p.Details; d != nil {
		for _, v := range d.Violations {
			fmt.Fprintf(&b, "\n- %s: %s", v.Path, v.Message)
		}
		for _, s := range []struct{ name, value string }{{"", d.HumanReadableMessage}, {"confirm_token", d.ConfirmToken}, {"batch_id", d.BatchID}} {
			switch {
			case s.value != "" && s.name != "":
				fmt.Fprintf(&b, "\n%s: %s", s.name, s.value)
			case s.value != "":
				b.WriteString("\n" + s.value)
			}
		}
	}
	if b.Len()+len(body) <= textBytes {
		b.WriteString("\n" + string(body))
	}
	return Result{Structured: body, Text: b.String(), IsError: true}
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// output is the output schema of a tool that answers with T: data and the error fields in one closed object, because
// several clients validate errors against it and throw otherwise.
func output[T any]() (*jsonschema.Schema, error) {
	data, err := schema.OutputFor[T]()
	if err != nil {
		return nil, err
	}
	return enveloped(data)
}

func enveloped(data *jsonschema.Schema) (*jsonschema.Schema, error) {
	fields, err := schema.OutputFor[errs.Public]()
	if err != nil {
		return nil, err
	}
	// The details depend on the code, and their schema in every tool would be most of the tool list.
	fields.Properties["details"] = &jsonschema.Schema{Type: "object", Description: "what the code needs to be acted on, such as violations, confirm_token, not_found, batch_id or retry_after_seconds"}
	return schema.Envelope(data, fields), nil
}

func batchLink(id string) Link {
	return Link{URI: "mappy://batches/" + id, Name: "batch " + id, Description: "the batch with its outcome per store"}
}
