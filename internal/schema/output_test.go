package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

type failure struct {
	LocationID int64  `json:"location_id" jsonschema:"The store, example 8802."`
	ErrorCode  string `json:"error_code" jsonschema:"A code of the catalogue."`
}

type batchView struct {
	BatchID    string     `json:"batch_id" jsonschema:"Id of the batch."`
	Failures   []failure  `json:"failures,omitempty" jsonschema:"Items that failed."`
	Undo       *undoView  `json:"undo,omitempty" jsonschema:"Whether it can be undone."`
	PollAfter  *int       `json:"poll_after_seconds,omitempty" jsonschema:"Seconds to wait; absent when final."`
	FinishedAt *time.Time `json:"finished_at,omitempty" jsonschema:"When the last item ended, RFC 3339."`
	Attempts   [][]int    `json:"attempts,omitempty" jsonschema:"Attempts per item."`
}

type undoView struct {
	Possible bool `json:"possible" jsonschema:"true: batch.undo would work."`
}

type refusal struct {
	Status    int    `json:"status,omitempty" jsonschema:"HTTP-like status, for example 412."`
	ErrorCode string `json:"error_code,omitempty" jsonschema:"Code of the catalogue."`
}

func TestOutputForAndEnvelope(t *testing.T) {
	t.Parallel()
	data, err := schema.OutputFor[batchView]()
	if err != nil {
		t.Fatal(err)
	}
	fields, err := schema.OutputFor[refusal]()
	if err != nil {
		t.Fatal(err)
	}
	envelope := schema.Envelope(data, fields)
	raw, err := json.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	walkSchema(t, "$", raw)
	for _, part := range []string{`"format":"date-time"`, `{"type":"object","properties":{"data":{"type":"object","properties":{"batch_id":`} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("lacks %s:\n%s", part, raw)
		}
	}
	if len(envelope.Required) != 0 {
		t.Errorf("the envelope requires %v", envelope.Required)
	}
	resolved, err := envelope.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for doc, valid := range map[string]bool{
		`{"data":{"batch_id":"01","failures":[{"location_id":1,"error_code":"INTERNAL"}],"poll_after_seconds":5,"attempts":[[1]]}}`: true,
		`{"status":412,"error_code":"CONFIRMATION_REQUIRED"}`:                                                                       true,
		`{}`:          true,
		`{"data":{}}`: false,
		`{"data":{"batch_id":"01","failures":null}}`:                false,
		`{"data":{"batch_id":"01","undo":{"possible":true,"x":1}}}`: false,
		`{"other":1}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(doc), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != valid {
			t.Errorf("%s: %v", doc, err)
		}
	}
	if fields.Properties["data"] != nil || data.Description != "" {
		t.Error("Envelope changed its arguments")
	}
}

func TestOutputForRefuses(t *testing.T) {
	t.Parallel()
	fails := func(err error, words ...string) {
		t.Helper()
		if err == nil {
			t.Errorf("no error; want one with %q", words)
			return
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %q lacks %q", err, w)
			}
		}
	}
	_, err := schema.OutputFor[struct {
		A int `json:"a"`
		B struct {
			C []struct {
				D string `json:"d"`
			} `json:"c" jsonschema:"described"`
		} `json:"b" jsonschema:"described"`
	}]()
	fails(err, "a: no description", "b.c[].d: no description")
	_, err = schema.OutputFor[struct {
		A map[string]int `json:"a" jsonschema:"described"`
	}]()
	fails(err, "a: a map")
	_, err = schema.OutputFor[struct {
		A any             `json:"a" jsonschema:"described"`
		B json.RawMessage `json:"b" jsonschema:"described"`
	}]()
	fails(err, "a: the Go type", "b: the Go type")
	_, err = schema.OutputFor[[]int]()
	fails(err, "root")
	type loop struct {
		Next *loop `json:"next" jsonschema:"described"`
	}
	_, err = schema.OutputFor[loop]()
	fails(err, "cycle")
}
