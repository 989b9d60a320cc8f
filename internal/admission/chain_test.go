package admission

import (
	"slices"
	"testing"
)

// The order of the chain is the product's promise: what is certain and free refuses first, a replay spends nothing, a
// preview ends before anything is claimed, and what holds or spends comes last.
func TestChainOrder(t *testing.T) {
	var names []string
	for _, s := range chain {
		names = append(names, s.name)
	}
	want := []string{"parse", "scope", "replay", "authorise", "files", "validate", "preview", "claim", "confirmation", "limits", "enqueue"}
	if !slices.Equal(names, want) {
		t.Fatalf("chain is %v, want %v", names, want)
	}
}
