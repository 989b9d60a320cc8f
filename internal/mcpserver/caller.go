package mcpserver

import (
	"context"
	"errors"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
)

// caller is who sent one request and how it is traced.
type caller struct {
	principal *authn.Principal
	requestID string
	// traceParent is the W3C traceparent that came with the request, in params._meta or else in the HTTP header; "" when
	// there is none or it is malformed.
	traceParent string
	// refused is set on stdio, where a token can die in the middle of the connection.
	refused error
}

type (
	arrivingKey struct{} // *caller, from the HTTP front to the protocol library
	callKey     struct{} // *caller, from the middleware to the handlers
	stdioKey    struct{} // string, the token of a stdio connection
)

// callerExtra is where the caller travels inside the library's token info.
const callerExtra = "caller"

var (
	errInternal    = errors.New("internal error")
	errNoPrincipal = errors.New("the authenticator gave neither a principal nor an error")
	errNoCaller    = errors.New("a request reached a handler without its caller")
)

// callerOf is who made the call in progress; nil outside of one.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callKey{}).(*caller)
	return c
}

// identify finds the caller of a request: beside the request for HTTP, through the connection's token for stdio.
func (s *Server) identify(ctx context.Context, method string, req mcp.Request) *caller {
	c := &caller{}
	extra := req.GetExtra()
	if extra != nil && extra.TokenInfo != nil {
		if arrived, ok := extra.TokenInfo.Extra[callerExtra].(*caller); ok {
			*c = *arrived
		}
	} else if token, ok := ctx.Value(stdioKey{}).(string); ok {
		c.requestID = s.opts.RequestID()
		switch method {
		case "tools/call", "resources/read", "prompts/get":
			c.principal, c.refused = s.opts.Authenticator.Authenticate(ctx, token)
		}
	}
	if c.principal == nil && c.refused == nil {
		c.refused = errNoCaller
	}
	c.traceParent = traceParentOf(req)
	return c
}

// traceparent of W3C Trace Context, version 00.
var traceParentShape = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

func traceParentOf(req mcp.Request) string {
	var candidates []string
	if p := req.GetParams(); p != nil {
		if inMeta, ok := metaOf(p)["traceparent"].(string); ok {
			candidates = append(candidates, inMeta)
		}
	}
	if extra := req.GetExtra(); extra != nil {
		candidates = append(candidates, extra.Header.Get("Traceparent"))
	}
	for _, c := range candidates {
		if traceParentShape.MatchString(c) {
			return c
		}
	}
	return ""
}

// metaOf is the _meta of params; params may be a nil pointer inside the interface.
func metaOf(p mcp.Params) map[string]any {
	if c, ok := p.(*mcp.CallToolParamsRaw); ok && c != nil {
		return c.Meta
	}
	return nil
}
