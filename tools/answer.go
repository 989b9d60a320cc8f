package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

// Write is the answer of a write tool: a preview, or the accepted batch and, after wait_seconds, how it stands. In JSON it
// is flat: the fields of the preview (would_execute is there then, and only then), or those of the accepted batch, over
// which those of batch.status are laid after a wait.
type Write struct {
	Preview  *admission.Preview
	Accepted *admission.Accepted
	Batch    *BatchView
}

// under is one level deeper than what it is embedded beside, so that a field of both is that of the other.
type under struct{ *admission.Accepted }

// waited is an accepted batch after a wait.
type waited struct {
	*BatchView
	under
}

// MarshalJSON implements json.Marshaler.
func (w Write) MarshalJSON() ([]byte, error) {
	switch {
	case w.Preview != nil:
		return encode(w.Preview)
	case w.Batch != nil:
		return encode(waited{w.Batch, under{w.Accepted}})
	default:
		return encode(w.Accepted)
	}
}

// UnmarshalJSON implements json.Unmarshaler, for programs that call tools.
func (w *Write) UnmarshalJSON(b []byte) error {
	var kind struct {
		Preview *bool    `json:"would_execute"`
		Waited  *float64 `json:"progress"`
	}
	if err := json.Unmarshal(b, &kind); err != nil {
		return fmt.Errorf("answer of a write: %w", err)
	}
	*w = Write{}
	if kind.Preview != nil {
		return json.Unmarshal(b, &w.Preview)
	}
	if kind.Waited != nil {
		if err := json.Unmarshal(b, &w.Batch); err != nil {
			return fmt.Errorf("answer of a write: %w", err)
		}
	}
	return json.Unmarshal(b, &w.Accepted)
}

// writeOutput is the output schema of all write tools. Required is what a preview and an accepted batch have both.
func writeOutput() (*jsonschema.Schema, error) {
	accepted, err1 := schema.OutputFor[admission.Accepted]()
	view, err2 := schema.OutputFor[BatchView]()
	preview, err3 := schema.OutputFor[admission.Preview]()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	data := accepted // to which the others add what they have beyond it
	for _, part := range []*jsonschema.Schema{view, preview} {
		for _, name := range part.PropertyOrder {
			if data.Properties[name] == nil {
				data.Properties[name] = part.Properties[name]
				data.PropertyOrder = append(data.PropertyOrder, name)
			}
		}
		data.Required = slices.DeleteFunc(data.Required, func(name string) bool { return !slices.Contains(part.Required, name) })
	}
	for _, of := range []struct{ property, words string }{
		{"status", "status of the batch: as accepted, or after wait_seconds as it stands"},
		{"poll_after_seconds", "seconds to wait before the next batch.status; absent when final and in a preview"},
		{"next_page_token", "send as page_token: with dry_run true for the rest of changes, to batch.status for further items"},
		{"as_of", "RFC 3339 time: of the oldest store data that a preview used, or of this reading of the batch"},
	} {
		data.Properties[of.property].Description = of.words
	}
	return enveloped(data)
}
