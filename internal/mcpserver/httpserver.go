package mcpserver

import (
	"net/http"
	"time"
)

// HTTPServer is an http.Server with limits that fit the endpoints: 10 s for the header, 60 s for the whole request,
// 2 minutes for an idle connection, 64 KiB of header. There is no write timeout, because streams stay open; calls are
// bounded by Options.CallTimeout instead. To end, call [Server.Shutdown] first and then the http.Server's own.
func HTTPServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
