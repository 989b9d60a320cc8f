package app

import (
	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
	"github.com/mappy-dev/mappy-mcp/internal/sourcecheck"
	"github.com/mappy-dev/mappy-mcp/worker"
)

// Option changes how an App is built, beyond what is a matter of configuration.
type Option func(*App)

// WithMediaCheck makes the media check work with these options, such as a test's own name server and trusted addresses. It
// has no effect where the configuration switches the check off.
func WithMediaCheck(o mediacheck.Options) Option { return func(a *App) { a.mediaCheck = o } }

// files is the media check; nil where it is off.
func (a *App) files() admission.Files {
	if !a.Config.ChecksMedia() {
		return nil
	}
	within, o := a.Config.Media.CheckWithin, a.mediaCheck
	if o.Timeout == 0 {
		o.Timeout = within * 4 / 5
	}
	return sourcecheck.New(mediacheck.New(o), within, a.now, a.Log)
}

// mediaExecutors are the effects on galleries. An upload whose answer was lost is looked for among what Google dates up to the
// settle time after the call could still run.
func mediaExecutors(g *gbpapi.Client, w config.Worker) []worker.Executor {
	return []worker.Executor{
		worker.MediaUpload{Google: g, Reach: w.SendWindow + w.CallTimeout + w.Settle + 2*w.ClockSkew}, worker.MediaDelete{Google: g},
	}
}
