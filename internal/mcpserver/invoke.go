package mcpserver

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// toolHandler is how the library reaches one tool. It never gives an error: what the model should read is in the result.
func (s *Server) toolHandler(t *tools.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := callerOf(ctx)
		if c == nil {
			c = &caller{refused: errNoCaller}
		}
		began := s.opts.Clock()
		res := s.call(ctx, t, c, req)
		attrs := []slog.Attr{
			slog.String("request_id", c.requestID), slog.String("tool", t.Name), slog.Bool("is_error", res.IsError),
			slog.Int64("duration_ms", s.opts.Clock().Sub(began).Milliseconds()),
		}
		if c.principal != nil {
			attrs = append(attrs, slog.String("tenant_id", string(c.principal.TenantID)), slog.String("client_id", string(c.principal.ClientID)))
		}
		if c.traceParent != "" {
			attrs = append(attrs, slog.String("traceparent", c.traceParent))
		}
		s.opts.Log.LogAttrs(ctx, slog.LevelInfo, "tool called", attrs...)
		return res, nil
	}
}

func (s *Server) call(ctx context.Context, t *tools.Tool, c *caller, req *mcp.CallToolRequest) *mcp.CallToolResult {
	if c.refused != nil {
		return wireResult(tools.ErrorResult(s.refusedCaller(ctx, c, t.Name).Public(s.opts.Locale, c.requestID)))
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	progress, done := progressOf(ctx, req)
	defer done()
	call := &tools.Call{Principal: c.principal, RequestID: c.requestID, Arguments: req.Params.Arguments, Progress: progress}
	res, ok := s.contained(ctx, t, call)
	if ok {
		if err := checkResult(res); err != nil {
			s.opts.Log.ErrorContext(ctx, "a tool answered what cannot be sent", slog.String("request_id", c.requestID),
				slog.String("tool", t.Name), slog.Any("error", err))
			ok = false
		}
	}
	if !ok {
		res = faultResult(t, c.principal.Locale, c.requestID)
	}
	return wireResult(res)
}

// contained runs the tool; ok is false when it panicked. The library runs handlers on goroutines without a net, so
// that a panic that gets past here would end the process and every other call in it.
func (s *Server) contained(ctx context.Context, t *tools.Tool, call *tools.Call) (res tools.Result, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			s.logPanic(ctx, v, call.RequestID, t.Name)
			res, ok = tools.Result{}, false
		}
	}()
	return s.opts.Tools.Call(ctx, t.Name, call), true
}

// faultResult is what a caller reads when a tool broke. Of a write nobody knows how far it came.
func faultResult(t *tools.Tool, locale errs.Locale, requestID string) tools.Result {
	e := errs.From(errInternal)
	if !t.ReadOnly {
		e.Executed = errs.ExecutedUnknown
	}
	return tools.ErrorResult(e.Public(locale, requestID))
}

// refusedCaller is the answer to a call whose caller is not known, on stdio, where no HTTP status can say that the token died.
func (s *Server) refusedCaller(ctx context.Context, c *caller, tool string) *errs.Error {
	return s.refused(ctx, Refusal{RequestID: c.requestID, Code: errs.CodeOf(c.refused), TokenSent: true, Tool: tool}, c.refused)
}
