package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// middleware stands around every request of one endpoint, whatever the transport.
func (s *Server) middleware(names ToolNames) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			c := s.identify(ctx, method, req)
			ctx = context.WithValue(ctx, callKey{}, c)
			defer func() {
				if v := recover(); v != nil {
					s.logPanic(ctx, v, c.requestID, "")
					res, err = nil, internalRPC(c.requestID)
				}
			}()
			switch p := req.GetParams().(type) {
			case *mcp.InitializeParams:
				// The library would settle on an older revision and still answer in the new one's manner.
				if p != nil && p.ProtocolVersion >= statelessSince {
					p.ProtocolVersion = newestWithSessions
				}
			case *mcp.CallToolParamsRaw:
				if p != nil {
					if t, ok := s.toolset.byName[p.Name]; ok {
						p.Name = spelled(t.Name, names)
					}
				}
			}
			res, err = next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil && s.opts.ReadOnly {
				list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool { return !t.Annotations.ReadOnlyHint })
			}
			return res, err
		}
	}
}

// internalRPC is what a client sees of a fault outside of a tool.
func internalRPC(requestID string) *jsonrpc.Error {
	data, err := json.Marshal(rpcErrorData{RequestID: requestID})
	if err != nil { // one string
		data = nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "An internal error occurred. Give the request_id to the operator.", Data: data}
}

// logPanic writes what happened and where; the caller sees neither.
func (s *Server) logPanic(ctx context.Context, v any, requestID, tool string) {
	s.opts.Log.ErrorContext(ctx, "panic", slog.String("request_id", requestID), slog.String("tool", tool),
		slog.String("panic", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
}
