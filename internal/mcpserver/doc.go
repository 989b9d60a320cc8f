// Package mcpserver puts the tools of the product on the wire: MCP over Streamable HTTP and over stdio.
//
// It is the only package that knows the protocol library. Tools are handed in as [Tools] and stay free of wire types;
// who is calling is asked of an authn.Authenticator for every single request.
//
// Two revisions of the protocol are served at one URL: 2026-07-28, where every POST stands alone, and 2025-11-25 and
// older, which open sessions. The library serves the first only from a stateless handler, and can ask a person back
// (elicitation) in the second only from a stateful one, so each endpoint holds one of both and a small router
// (endpoint.go) chooses. With [Options.LegacySessions] off everything is stateless and any replica serves any request.
//
//	/mcp          tools listed with dotted names, post.create
//	/mcp/compat   the same tools listed as post_create, for model APIs that refuse dots
//	/.well-known/oauth-protected-resource[/mcp[/compat]]   RFC 9728 metadata, no token needed
//
// Both spellings of a tool's name are accepted in calls everywhere.
//
// What the library leaves open and this package closes: the Host and Origin allow-lists, JSON-RPC arrays, repeated
// members around the arguments, panics in tools (they would end the process), the shape of 401 and 403, a cap on open
// sessions, progress without a token, and an orderly end.
package mcpserver
