package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/schema"
)

func values(t *testing.T, in string) schema.Values {
	t.Helper()
	v, violations := optional().Decode([]byte(in), errs.English)
	if len(violations) > 0 {
		t.Fatalf("%+v", violations)
	}
	return v
}

func TestValuesInto(t *testing.T) {
	t.Parallel()
	type args struct {
		LocationIDs []int64 `json:"location_ids"`
		Post        *struct {
			Summary string `json:"summary"`
		} `json:"post"`
		PageSize int   `json:"page_size"`
		DryRun   *bool `json:"dry_run"`
	}
	var got args
	if err := values(t, `{"location_ids":"[\"1\",2.0]","post":{"summary":"a\r\n\"b\" \u0026 \u3042"},"page_size":"7","dry_run":null}`).Into(&got); err != nil {
		t.Fatal(err)
	}
	want := args{LocationIDs: []int64{1, 2}, PageSize: 7}
	want.Post = &struct {
		Summary string `json:"summary"`
	}{"a\n\"b\" & あ"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var none struct {
		Query int `json:"query"`
	}
	if err := values(t, `{"query":"x"}`).Into(&none); err == nil {
		t.Error("a string went into an int")
	}
	var mistyped struct {
		Post struct {
			Summary string `json:"sumary"`
		} `json:"post"`
	}
	if err := values(t, `{"post":{"summary":"x"}}`).Into(&mistyped); err == nil {
		t.Error("a text got lost")
	}
	if err := (schema.Values{}).Into(&got); err != nil {
		t.Error(err)
	}
}

func TestValuesWithDefaults(t *testing.T) {
	t.Parallel()
	v := values(t, `{"post":{"summary":"a"},"page_size":7}`)
	if got, want := string(v.WithDefaults().Canonical()), `{"post":{"topic_type":"STANDARD","summary":"a"},"page_size":7,"dry_run":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(v.Canonical()), `{"post":{"summary":"a"},"page_size":7}`; got != want {
		t.Errorf("the original became %s", got)
	}
	if got, want := string(values(t, ``).WithDefaults().Canonical()), `{"page_size":50,"dry_run":false}`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestDecodeKeepsNoReference(t *testing.T) {
	t.Parallel()
	in := []byte(`{"query":"abcdef"}`)
	v, violations := optional().Decode(in, errs.English)
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	for i := range in {
		in[i] = 'X'
	}
	if string(v.Canonical()) != `{"query":"abcdef"}` {
		t.Errorf("%s", v.Canonical())
	}
}
