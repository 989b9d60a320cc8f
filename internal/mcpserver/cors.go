package mcpserver

import "net/http"

// corsHeaders tell a browser of an allowed origin that it may read the answer. The guard has refused all others.
func corsHeaders(h http.Header, r *http.Request) {
	h.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, X-Request-Id, Retry-After")
	}
}

// preflight answers a browser that asks before it sends; it carries no token and so comes before authentication.
func preflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Allow", "GET, POST, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-Id, Traceparent, Tracestate")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
