package gbp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encode gives JSON with <, > and & as they are, for what is stored, shown and sent. A value that does not marshal is a mistake
// in the program.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("gbp: %T always marshals: %v", v, err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
