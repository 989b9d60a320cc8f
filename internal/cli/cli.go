// Package cli is the command line of mappy-mcp: flags to action, action to output and exit code. Every command prints for
// people, or with --output json for programs; exit codes are the error catalogue's.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/telemetry"
)

// Env is what a run of the command line touches: tests bring their own.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Lookup   func(string) (string, bool)
}

// OSEnv is the process's own.
func OSEnv() Env {
	return Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Lookup: os.LookupEnv}
}

// command is the state that all subcommands share.
type command struct {
	Env
	file   string
	output string
	tenant string
}

// Run executes the command line and gives the exit code.
func Run(ctx context.Context, args []string, env Env) int {
	c := &command{Env: env}
	root := c.root() //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	begun := false
	watch(root, &begun)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !begun {
		root.FParseErrWhitelist.UnknownFlags = true
		_ = root.ParseFlags(args) // --output may stand behind what is wrong
		err = mistakeError{err}
	}
	return c.fail(err)
}

// fail prints an error once and gives its exit code.
func (c *command) fail(err error) int {
	p, catalogued := public(err)
	if c.output == "json" {
		_ = c.json(p) // nothing more can be said when even this fails
		return p.ErrorCode.Info().Exit
	}
	_, _ = fmt.Fprintln(c.Err, "mappy-mcp:", err)
	if catalogued {
		inWords(c.Err, p)
	}
	return p.ErrorCode.Info().Exit
}

// public is the error as callers see it; one that is not of the catalogue keeps its own words.
func public(err error) (p errs.Public, catalogued bool) {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.Public, true
	}
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Public(errs.English, ""), true
	}
	return uncatalogued(err), false
}

// inWords prints below an error what a person needs to mend it.
func inWords(w io.Writer, p errs.Public) {
	line := func(name, text string) {
		if text != "" {
			_, _ = fmt.Fprintf(w, "  %s: %s\n", name, text)
		}
	}
	if d := p.Details; d != nil {
		for _, v := range d.Violations {
			at := v.Path
			if v.LocationID != 0 {
				at += fmt.Sprintf(" (store %d)", v.LocationID)
			}
			line(at, v.Message)
		}
		line("reason", d.Reason)
		line("needs the scope", d.RequiredScope)
		line("can be lifted by", d.LiftedBy)
		line("not found", strings.Join(d.NotFound, ", "))
	}
	line("what to do", p.Retry.How)
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use: "mappy-mcp", Short: "Mappy's write server for Google Business Profiles", Version: app.Version,
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if c.output != "text" && c.output != "json" {
				return mistake("--output: %q is not text or json", c.output)
			}
			return nil
		},
	}
	f := root.PersistentFlags()
	f.StringVar(&c.file, "config", "", "configuration file (YAML); MAPPY_* variables override it")
	f.StringVar(&c.output, "output", "text", "text or json")
	f.StringVar(&c.tenant, "tenant", "", "tenant to work on; may be left out when there is one")
	root.AddCommand(c.serve(), c.work(), c.ready(), c.stdio(), c.migrate(), c.apply(), c.tokens(), c.connections(), c.locations(), c.batches(), c.kill(), c.policies(), c.audit(), c.doctor(), c.configuration(), c.keys(), c.demo())
	return root
}

// load reads the configuration; whole also wants what the product cannot be built without.
func (c *command) load() (config.Config, error) { return configured(config.Load(c.file, c.Lookup)) }

func (c *command) whole() (config.Config, error) {
	return configured(config.LoadWhole(c.file, c.Lookup))
}

func configured(cfg config.Config, err error) (config.Config, error) {
	if err != nil {
		err = mistakeError{err}
	}
	return cfg, err
}

// open builds the product for one command.
func (c *command) open(ctx context.Context) (*app.App, error) {
	cfg, err := c.whole()
	if err != nil {
		return nil, err
	}
	return app.New(ctx, cfg, telemetry.Logger(cfg.LogLevel))
}

// start is open for a program that stays: it does not begin on a schema that is older than it.
func (c *command) start(ctx context.Context) (*app.App, error) {
	a, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.DB.CheckSchema(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// with opens the product, finds the tenant, and runs fn.
func (c *command) with(ctx context.Context, fn func(a *app.App, tenant authn.TenantID) error) error {
	a, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	t, err := c.theTenant(ctx, a)
	if err != nil {
		return err
	}
	return fn(a, t)
}

func (c *command) theTenant(ctx context.Context, a *app.App) (authn.TenantID, error) {
	all, err := a.DB.Tenants(ctx)
	if err != nil {
		return "", err
	}
	var own []string
	for _, t := range all {
		if c.tenant == string(t) {
			return t, nil
		}
		if t != authn.SystemTenant {
			own = append(own, string(t))
		}
	}
	switch {
	case len(own) == 0:
		return "", mistake("there is no tenant yet; declare one with `mappy-mcp apply -f FILE`")
	case c.tenant != "":
		return "", mistake("there is no tenant %q; known are %s", c.tenant, strings.Join(own, ", "))
	case len(own) == 1:
		return authn.TenantID(own[0]), nil
	}
	return "", mistake("several tenants exist, name one with --tenant: %s", strings.Join(own, ", "))
}

// print writes v as JSON, or the lines that text gives.
func (c *command) print(v any, text func(w io.Writer)) error {
	if c.output == "json" {
		return c.json(v)
	}
	text(c.Out)
	return nil
}

func (c *command) json(v any) error {
	e := json.NewEncoder(c.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// operator is who runs the command, for the audit.
func operator() string {
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli"
}
