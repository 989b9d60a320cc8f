package terminal

import "fmt"

// Count is a number of things in words: one, or several.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprint(n, " ", thing, "s")
}
