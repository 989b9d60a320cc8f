//go:build interop

package mcpserver

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Extend puts what this package never serves (media, sampling, subscriptions, …) behind the front, beside what the options
// name: change adapts the library's options of /mcp, add registers at its server. It is called before Handler.
func (s *Server) Extend(change func(*mcp.ServerOptions), add func(*mcp.Server)) error {
	o := s.serverOptions()
	change(o)
	e, err := s.newEndpoint(mcpPath, Dotted, o)
	if err != nil {
		return fmt.Errorf("extended endpoint: %w", err)
	}
	add(e.server)
	s.dotted = e
	return nil
}
