//go:build interop

package mcpserver_test

import (
	"fmt"
	"os"
	"testing"
)
func TestInteropConformance(t *testing.T) {
	f := newFixtures(t)
	fmt.Println(f.URL)
	os.Stdin.Read(make([]byte,1))
}
