package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
)

// mistakeError is a mistake in a command line, in a file that it names, or in the configuration: INVALID_ARGUMENT to programs.
// Nothing was done, and the same command will be refused again.
type mistakeError struct{ error }

func (e mistakeError) Unwrap() error { return e.error }

func mistake(format string, args ...any) error { return mistakeError{fmt.Errorf(format, args...)} }

// mistaken tells whether err is the operator's to mend: a mistake, an id that does not exist, or a value that cannot be stored.
func mistaken(err error) bool {
	_, wrong := errors.AsType[mistakeError](err)
	_, shape := errors.AsType[*postgres.ShapeError](err)
	return wrong || shape || errors.Is(err, postgres.ErrUnknown)
}

// uncatalogued is an error of the command line itself as programs see it: in its own words, and not mended by sending it again.
func uncatalogued(err error) errs.Public {
	p := errs.From(err).Public(errs.English, "")
	p.Executed = errs.ExecutedUnknown
	p.Retry = errs.Retry{How: "Mend what the message names, then run the command again."}
	if mistaken(err) {
		p = errs.New(errs.InvalidArgument, errs.Text{}).Public(errs.English, "")
		p.Retry = errs.Retry{How: "Mend the command line, or the file or variable that the message names; --help shows how a command is written."}
	}
	p.Message = err.Error()
	return p
}

// watch tells in begun whether a command came to run: what is refused before that are its arguments and flags.
func watch(cmd *cobra.Command, begun *bool) {
	for _, sub := range cmd.Commands() {
		watch(sub, begun)
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*begun = true
			return run(cmd, args)
		}
	}
}
