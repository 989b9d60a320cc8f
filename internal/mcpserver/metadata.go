package mcpserver

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// wellKnown is where RFC 9728 puts a resource's metadata.
const wellKnown = "/.well-known/oauth-protected-resource"

// metadata is the RFC 9728 document of one endpoint. Any origin may read it: it says what is public anyway. It names no
// authorization server, because the tokens are Mappy's own.
func (s *Server) metadata(e *endpoint) http.Handler {
	return auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource:               s.public.resource(e.path),
		ScopesSupported:        s.toolset.scopes,
		BearerMethodsSupported: []string{"header"},
		ResourceName:           serverTitle,
	})
}

// metadataRoutes serves each document at the path-inserted form of its endpoint, with the public prefix and without
// (a proxy may strip it or not), and /mcp's also at the root.
func (s *Server) metadataRoutes(mux *http.ServeMux) {
	routes := map[string]*endpoint{wellKnown: s.dotted}
	for _, e := range []*endpoint{s.dotted, s.underscored} {
		routes[wellKnown+e.path] = e
		routes[wellKnown+s.public.path+e.path] = e
	}
	for path, e := range routes {
		doc := s.metadata(e)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			s.commonHeaders(w.Header())
			w.Header().Set("Cache-Control", "public, max-age=3600")
			doc.ServeHTTP(w, r)
		})
	}
}
