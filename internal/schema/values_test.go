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
	if err := (schema.Values{}).Into(&got); err != nil {
		t.Error(err)
	}
}

func TestValuesHas(t *testing.T) {
	t.Parallel()
	v := values(t, `{"location_ids":[1,2],"post":{"summary":"a]}\"[{,","event":{"title":"t","start_date":"2026-01-01"},"media":[]},"overrides":[{"location_id":1},{"location_id":2,"summary":"s"}],"dry_run":false,"query":null,"batch_id":""}`)
	for path, want := range map[string]bool{
		"location_ids": true, "location_ids[1]": true, "location_ids[2]": false, "post.event.title": true, "post.event.end_time": false,
		"overrides[1].summary": true, "overrides[0].summary": false, "dry_run": true, "query": false, "batch_id": false, "post.media": true, "post.media[0]": false,
		"post.summary.x": false, "nope": false, "location_ids[x]": false, "location_ids[": false, "post[0]": false,
	} {
		if got := v.Has(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if (schema.Values{}).Has("dry_run") {
		t.Error("the zero value has dry_run")
	}
}

func TestValuesWithout(t *testing.T) {
	t.Parallel()
	v := values(t, `{"post":{"summary":"a,b"},"dry_run":true,"query":"q","confirm_token":"t"}`)
	if got, want := string(v.Without("dry_run", "confirm_token", "absent")), `{"post":{"summary":"a,b"},"query":"q"}`; got != want {
		t.Errorf("got %s", got)
	}
	if got := string(v.Without("post", "dry_run", "query", "confirm_token")); got != `{}` {
		t.Errorf("got %s", got)
	}
	if got := string(v.Without()); got != string(v.Canonical()) {
		t.Errorf("got %s", got)
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
