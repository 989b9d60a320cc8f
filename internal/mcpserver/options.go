package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// Tools are the tools to serve.
type Tools interface {
	// List is every tool with its dotted name, the same at each call.
	List() []tools.Tool
	// Call runs one tool, named with dots. Every refusal is part of the Result; a panic is contained by the caller.
	Call(ctx context.Context, name string, call *tools.Call) tools.Result
}

// ToolNames says how tools are spelled in tools/list. Calls may use either spelling.
type ToolNames string

// The two spellings.
const (
	Dotted      ToolNames = "dot"        // post.create
	Underscored ToolNames = "underscore" // post_create
)

// Options configure a [Server]. Tools, Authenticator and PublicURL are required; zero values of the rest are the
// defaults named at each field.
type Options struct {
	Tools         Tools
	Authenticator authn.Authenticator
	// AuditRefusal records a call that was refused before a tool saw it, and runs before the answer is sent. When it gives
	// RATE_LIMITED, of a caller that only collects refusals, that is the answer instead of the refusal; any other error makes
	// it UNAVAILABLE. Strangers can make it run as often as they like, with a made-up token or with none
	// ([Refusal.TokenSent]); it bounds what that costs. Nil: refusals are only logged.
	AuditRefusal func(ctx context.Context, r Refusal) error

	// PublicURL is where clients reach the server, such as "https://mappy.example": absolute, without /mcp and without a
	// trailing slash (both are removed when present). A path is kept: behind a proxy that strips "/gbp" it is
	// "https://example.com/gbp". It is the base of the RFC 9728 resource identifiers.
	PublicURL string
	// AllowedHosts are further values of the Host header, "gbp.example.com" (any port) or "gbp.example.com:8443". The
	// host of PublicURL, and loopback names on connections that arrive on loopback, are always allowed.
	AllowedHosts []string
	// AllowedOrigins are the browser origins that may call, "https://app.example.com". PublicURL's own origin is allowed,
	// and loopback origins when PublicURL and the connection are on loopback. There is no wildcard.
	AllowedOrigins []string

	// ReadOnly hides write tools from tools/list. Calling one still reaches Tools.Call.
	ReadOnly bool
	// LegacySessions opens sessions for clients of 2025-11-25 and older. They live in this process only.
	LegacySessions bool
	// Environment is the deployment's name; "production" refuses to start with MCPGODEBUG set.
	Environment string
	// Version is the server's own version, shown to clients.
	Version string
	// Instructions are shown to clients when they connect.
	Instructions string
	// Locale is the language of texts for callers that are not known yet.
	Locale    errs.Locale
	Prompts   []Prompt
	Resources []Resource

	Log *slog.Logger
	// RequestID makes the id of one call; random when nil.
	RequestID func() string
	// Clock is used for durations in the log; the wall clock when nil.
	Clock func() time.Time

	// MaxBody is the largest request in bytes; 4 MiB.
	MaxBody int64
	// MaxSessionsPerPrincipal bounds the open sessions of one token; 20. One more ends the one that was not used for longest.
	// MaxSessions bounds all; 2,000.
	MaxSessionsPerPrincipal, MaxSessions int
	// SessionTimeout ends a session without requests; 15 minutes.
	SessionTimeout time.Duration
	// CallTimeout ends the context of one tool call; 45 s, because many clients give up after 60.
	CallTimeout time.Duration
}

// Refusal is a request that was turned away before a tool was called.
type Refusal struct {
	RequestID string
	// Code is UNAUTHENTICATED or INSUFFICIENT_SCOPE.
	Code errs.Code
	// TokenSent tells a refused token from a request without one.
	TokenSent bool
	// Principal is nil unless the token was good and only lacked a scope.
	Principal *authn.Principal
	// Tool is the dotted name of the tool where the request names one that exists, Scope what that tool needs.
	Tool, Scope string
	// RemoteAddr is the peer of the connection, which may be a proxy; empty on stdio.
	RemoteAddr string
}

// withDefaults fills the zero values in and reports every problem at once.
func (o Options) withDefaults() (Options, error) {
	var problems []error
	if o.Tools == nil {
		problems = append(problems, errors.New("no tools"))
	}
	if o.Authenticator == nil {
		problems = append(problems, errors.New("no authenticator"))
	}
	if v := os.Getenv("MCPGODEBUG"); v != "" && o.Environment == "production" {
		problems = append(problems, fmt.Errorf("MCPGODEBUG is set to %q: it weakens checks of the protocol library and is refused in production", v))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RequestID == nil {
		o.RequestID = rand.Text
	}
	if o.Clock == nil {
		o.Clock = time.Now //nolint:forbidigo // the default of the injected clock
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	setDefault(&o.MaxBody, 4<<20)
	setDefault(&o.MaxSessionsPerPrincipal, 20)
	setDefault(&o.MaxSessions, 2000)
	setDefault(&o.SessionTimeout, 15*time.Minute)
	setDefault(&o.CallTimeout, 45*time.Second)
	return o, errors.Join(problems...)
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
