package mcpserver

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressOf gives the function that reports a call's progress. It does nothing for a client that did not ask (no
// token), when the number does not grow, and after done was called: the protocol allows none of these. A report that
// cannot be delivered is dropped; the result will tell.
func progressOf(ctx context.Context, req *mcp.CallToolRequest) (report func(done, total int, message string), done func()) {
	token := req.Params.GetProgressToken()
	switch token.(type) {
	case string, float64, int64, int:
	default:
		return func(int, int, string) {}, func() {}
	}
	var (
		mu    sync.Mutex
		last  = -1
		ended bool
	)
	report = func(done, total int, message string) {
		mu.Lock()
		defer mu.Unlock()
		if ended || done <= last {
			return
		}
		last = done
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(done), Total: float64(total), Message: message,
		})
	}
	return report, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}
