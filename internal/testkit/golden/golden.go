// Package golden compares what a test got with a file in the repository, so that a change of a public contract is seen in
// review. A missing file fails; -update rewrites.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Compare fails the test unless got is what the file holds.
func Compare(tb testing.TB, file, got string) {
	tb.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatalf("%v; `make golden` writes it", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		tb.Errorf("%s differs (-file +now); `make golden` accepts the change:\n%s", file, d)
	}
}
