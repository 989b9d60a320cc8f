package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/ids"
	"github.com/mappy-dev/mappy-mcp/tools"
)

// again is batch.retry or batch.undo at the terminal: preview, question, write. It acts for the token in MAPPY_TOKEN,
// whose scopes, grants and limits decide what may be done and whom the audit names. Running it twice within the tenant's
// derived-key window has one effect.
func (c *command) again(use, tool, short string) *cobra.Command {
	var only []int64
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use: use + " BATCH_ID", Short: short + ", after a preview and a question; acts for the token in MAPPY_TOKEN", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.output == "json" && !yes && !dryRun {
				return mistake("nobody can be asked with --output json: give --dry-run to preview, or --yes to write")
			}
			a, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			defer a.Close()
			caller, err := c.caller(cmd.Context(), a)
			if err != nil {
				return err
			}
			wanted := earlier{BatchID: args[0], LocationIDs: only, DryRun: true}
			preview, err := caller.call(cmd.Context(), tool, wanted)
			if err != nil {
				return err
			}
			foreseen := preview.data.Preview
			token, no := foreseen.Confirmation.ConfirmToken, foreseen.WouldRefuse
			foreseen.Confirmation.ConfirmToken = "" // the question below stands for it
			if !dryRun {
				foreseen.WouldRefuse = nil // the error below says it
			}
			if dryRun || c.output != "json" {
				if err := c.answer(preview); err != nil || dryRun {
					return err
				}
			}
			if no != nil {
				return foreseenRefusal(no)
			}
			if !yes {
				if err := c.ask("Write this to the live profiles? Type yes: "); err != nil {
					return err
				}
			}
			wanted.DryRun, wanted.ConfirmToken = false, token
			done, err := caller.call(cmd.Context(), tool, wanted)
			if err != nil {
				return err
			}
			return c.answer(done)
		},
	}
	cmd.Flags().Int64SliceVar(&only, "location", nil, "only these `location_ids`, separated by commas")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "preview only")
	cmd.Flags().BoolVar(&yes, "yes", false, "write without asking")
	return cmd
}

// earlier are the arguments of a tool that goes on from an earlier batch.
type earlier struct {
	BatchID      string  `json:"batch_id"`
	LocationIDs  []int64 `json:"location_ids,omitempty"`
	DryRun       bool    `json:"dry_run"`
	ConfirmToken string  `json:"confirm_token,omitempty"`
}

// ask goes on only with the whole word: a stray Enter publishes nothing.
func (c *command) ask(question string) error {
	_, _ = fmt.Fprint(c.Err, question)
	line, err := bufio.NewReader(c.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(line) != "yes" {
		return errors.New("nothing was written")
	}
	return nil
}

// answered is a tool's answer: as programs get it, as what it holds, and in words, without the data.
type answered struct {
	structured json.RawMessage
	data       tools.Write
	locale     errs.Locale
}

func (c *command) answer(x answered) error {
	return c.print(x.structured, func(w io.Writer) {
		_, _ = fmt.Fprintln(w, x.data.Sentence(x.locale))
		if p := x.data.Preview; p != nil && p.Confirmation.Question == "" { // which names the stores
			for _, l := range p.TargetLocations {
				_, _ = fmt.Fprintln(w, "-", l.ID, l.Title)
			}
		}
	})
}

// foreseenRefusal is what would refuse the write, with the advice that the preview gave.
func foreseenRefusal(no *admission.WouldRefuse) error {
	e := errs.New(no.ErrorCode, errs.T(no.Message, no.Message)).With(errs.Details{Changed: no.Changed}).After(time.Duration(no.AfterSeconds) * time.Second)
	e.How = errs.T(no.How, no.How)
	return e
}

// caller calls tools as the token in MAPPY_TOKEN.
type caller struct {
	app       *app.App
	principal *authn.Principal
}

func (c *command) caller(ctx context.Context, a *app.App) (caller, error) {
	if a.Config.Token == "" {
		return caller{}, mistake("MAPPY_TOKEN is not set; make one with `mappy-mcp token create`")
	}
	p, err := a.DB.Authenticate(ctx, a.Config.Token)
	if err != nil {
		return caller{}, err
	}
	return caller{a, p}, nil
}

// call gives the tool's answer, or its error with the code of the catalogue.
func (x caller) call(ctx context.Context, tool string, arguments any) (answered, error) {
	b, err := json.Marshal(arguments)
	if err != nil {
		return answered{}, err
	}
	request := ids.NewSource(time.Now).New() //nolint:forbidigo // a command runs now
	r := x.app.Tools.Call(ctx, tool, &tools.Call{Principal: x.principal, RequestID: request, Arguments: b, Progress: func(int, int, string) {}})
	if r.IsError {
		var p errs.Public
		if err := json.Unmarshal(r.Structured, &p); err != nil {
			return answered{}, fmt.Errorf("read the answer: %w", err)
		}
		return answered{}, &refusedError{p}
	}
	var seen struct {
		Data tools.Write `json:"data"`
	}
	if err := json.Unmarshal(r.Structured, &seen); err != nil {
		return answered{}, fmt.Errorf("read the answer: %w", err)
	}
	return answered{r.Structured, seen.Data, x.principal.Locale}, nil
}

// refusedError is a tool's refusal as the tool put it in words.
type refusedError struct{ errs.Public }

func (e *refusedError) Error() string { return fmt.Sprintf("%s: %s", e.ErrorCode, e.Message) }
