package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Resource is something a client can read by URI, such as mappy://capabilities, or by a template of URIs (RFC 6570),
// such as mappy://batches/{batch_id}.
type Resource struct {
	URI                      string
	Name, Title, Description string
	// MIMEType is application/json when empty.
	MIMEType string
	// Read gives the text for one caller. Errors are catalogued; a code ending in _NOT_FOUND becomes the protocol's own
	// "resource not found".
	Read func(ctx context.Context, call *ResourceCall) (string, error)
}

// ResourceCall is one reading of a resource.
type ResourceCall struct {
	Principal *authn.Principal
	RequestID string
	// URI is what the client asked for; of a template, with its variables filled in.
	URI string
}

func checkResources(resources []Resource) error {
	var problems []error
	for _, r := range resources {
		if r.URI == "" || r.Name == "" || r.Description == "" || r.Read == nil {
			problems = append(problems, fmt.Errorf("resource %q: URI, name, description and reader are needed", r.URI))
		}
	}
	return errors.Join(problems...)
}

func (s *Server) addResources(srv *mcp.Server) {
	for _, r := range s.opts.Resources {
		if r.MIMEType == "" {
			r.MIMEType = "application/json"
		}
		handler := s.resourceHandler(r)
		if strings.Contains(r.URI, "{") {
			srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType}, handler)
		} else {
			srv.AddResource(&mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType}, handler)
		}
	}
}

func (s *Server) resourceHandler(r Resource) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		c := callerOf(ctx)
		if c == nil {
			c = &caller{refused: errNoCaller}
		}
		if c.refused != nil {
			return nil, s.resourceError(ctx, c, uri, s.refusedCaller(ctx, c, ""), c.refused)
		}
		ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
		defer cancel()
		text, err := r.Read(ctx, &ResourceCall{Principal: c.principal, RequestID: c.requestID, URI: uri})
		if err != nil {
			return nil, s.resourceError(ctx, c, uri, errs.From(err), err)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: r.MIMEType, Text: text}}}, nil
	}
}

// resourceError is a catalogued error as the protocol's: resources have no results that are errors.
func (s *Server) resourceError(ctx context.Context, c *caller, uri string, e *errs.Error, cause error) error {
	if strings.HasSuffix(string(e.Code), "_NOT_FOUND") {
		return mcp.ResourceNotFoundError(uri)
	}
	s.opts.Log.WarnContext(ctx, "resource not read", slog.String("request_id", c.requestID), slog.String("uri", clip(uri)), slog.Any("error", cause))
	locale := s.opts.Locale
	if c.principal != nil {
		locale = c.principal.Locale
	}
	public := e.Public(locale, c.requestID)
	data, err := json.Marshal(public)
	if err != nil {
		return internalRPC(c.requestID)
	}
	return &jsonrpc.Error{Code: codeRefused, Message: string(public.ErrorCode) + ": " + public.Message, Data: data}
}
