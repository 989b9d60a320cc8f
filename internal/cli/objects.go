package cli

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/admission"
	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/audit"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/batch"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/locsync"
	"github.com/mappy-dev/mappy-mcp/internal/terminal"
)

// everything is the grant of an operator on the command line.
var everything = authn.Grants{All: true}

func table(w io.Writer, head string, rows func(line func(cells ...any))) {
	all := [][]string{strings.Fields(head)}
	rows(func(cells ...any) {
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = fmt.Sprint(c)
		}
		all = append(all, line)
	})
	lines(w, all)
}

// lines prints rows under a head.
func lines(w io.Writer, rows [][]string) {
	for _, l := range terminal.Table(rows) {
		_, _ = fmt.Fprintln(w, l) // a closed terminal is nobody's to tell
	}
}

func (c *command) locations() *cobra.Command {
	cmd := group("location", "Locations of a tenant")
	sync := &cobra.Command{Use: "sync", Short: "Read all locations from Google, over all accounts and pages", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			results, err := locsync.Tenant(cmd.Context(), locsync.Metered(a.Google, a.Slots), a.DB, t, operator())
			if err != nil {
				return err
			}
			if err := c.print(results, func(w io.Writer) {
				for _, r := range results {
					line := fmt.Sprintf("%s: %s, %s (%d new, %d changed, %d gone)", r.Connection, terminal.Count(r.Accounts, "account"), terminal.Count(r.Found, "location"), r.Added, r.Changed, r.Gone)
					if r.Error != "" {
						line += " " + r.Error
					}
					_, _ = fmt.Fprintln(w, line)
				}
			}); err != nil {
				return err
			}
			for _, r := range results {
				if r.Error != "" {
					return errors.New("not every connection could be synchronised")
				}
			}
			return nil
		})
	}}
	list := &cobra.Command{Use: "list", Short: "List locations", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			list, err := a.DB.ListLocations(cmd.Context(), t, everything, gbp.LocationFilter{Limit: 10_000})
			if err != nil {
				return err
			}
			return c.print(list, func(w io.Writer) {
				table(w, "ID STORE_CODE TITLE CITY GOOGLE", func(line func(...any)) {
					for _, l := range list {
						line(l.ID, l.Profile.StoreCode, l.Profile.Title, l.Profile.City, l.Name)
					}
				})
			})
		})
	}}
	cmd.AddCommand(sync, list)
	return cmd
}

type shownBatch struct {
	ID        batch.ID     `json:"batch_id"`
	Operation string       `json:"operation"`
	Status    batch.Status `json:"status"`
	Target    int          `json:"target_count"`
	errs.Counts
	User      authn.UserID `json:"user_id"`
	CreatedAt time.Time    `json:"created_at"`
	Items     []shownItem  `json:"items,omitempty"`
}

type shownItem struct {
	ID         batch.ItemID      `json:"item_id"`
	LocationID int64             `json:"location_id"`
	Title      string            `json:"title"`
	State      batch.ItemState   `json:"state"`
	Code       errs.Code         `json:"error_code,omitempty"`
	Message    string            `json:"message,omitempty"`
	Google     string            `json:"google_name,omitempty"`
	Attempts   int               `json:"attempts"`
	Published  batch.Publication `json:"publication,omitempty"`
}

func show(b batch.Batch) shownBatch {
	return shownBatch{ID: b.ID, Operation: b.Operation, Status: b.Status, Target: b.Counts.Target, Counts: b.Counts.Public(), User: b.User, CreatedAt: b.CreatedAt}
}

func (c *command) batches() *cobra.Command {
	cmd := group("batch", "Accepted writes")
	list := &cobra.Command{Use: "list", Short: "List batches, newest first", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			found, err := a.DB.Batches(cmd.Context(), t, batch.Filter{Grants: everything, Limit: 200})
			if err != nil {
				return err
			}
			out := []shownBatch{}
			for _, b := range found {
				out = append(out, show(b))
			}
			return c.print(out, func(w io.Writer) {
				table(w, "BATCH OPERATION STATUS TARGETS OK FAILED CANCELLED UNKNOWN PENDING USER", func(line func(...any)) {
					for _, b := range out {
						line(b.ID, b.Operation, b.Status, b.Target, b.Success, b.Failure, b.Cancelled, b.Unknown, b.Pending, b.User)
					}
				})
			})
		})
	}}
	one := &cobra.Command{Use: "show BATCH_ID", Short: "Show a batch with its outcome per store", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			b, items, ok, err := a.DB.BatchItems(cmd.Context(), t, everything, batch.ID(args[0]), batch.ItemFilter{})
			if err != nil {
				return err
			}
			if !ok {
				return admission.BatchNotFound(batch.ID(args[0]))
			}
			out := show(b)
			for _, i := range items {
				out.Items = append(out.Items, shownItem{i.ID, int64(i.Location), i.Title, i.State, i.ErrorCode, i.Error.In(a.Config.Locale), i.ResourceName, i.Attempts, i.Publication})
			}
			return c.print(out, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%s %s: %s\n", out.ID, out.Operation, out.Status)
				table(w, "ITEM LOCATION TITLE STATE CODE ATTEMPTS", func(line func(...any)) {
					for _, i := range out.Items {
						line(i.ID, i.LocationID, i.Title, i.State, i.Code, i.Attempts)
					}
				})
			})
		})
	}}
	cancel := &cobra.Command{Use: "cancel BATCH_ID", Short: "Cancel a queued batch", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			pol, err := a.DB.TenantPolicy(cmd.Context(), t)
			if err != nil {
				return err
			}
			p := &authn.Principal{TenantID: t, UserID: authn.UserID(operator()), Scopes: []string{"batches:manage"}, Grants: everything, Policy: pol}
			done, err := a.DB.Cancel(cmd.Context(), p, batch.ID(args[0]), "")
			if err != nil {
				return err
			}
			a.Hints.Announce(cmd.Context(), t, done.Batch.ID)
			return c.print(show(done.Batch), func(w io.Writer) { _, _ = fmt.Fprintf(w, "%s: %s\n", done.Batch.ID, done.Batch.Status) })
		})
	}}
	cmd.AddCommand(list, one, cancel, c.resolve(),
		c.again("retry", "batch.retry", "Send the failed stores of a batch again"), c.again("undo", "batch.undo", "Take back what a batch changed"))
	return cmd
}

// resolve settles an unknown item by an operator's word.
func (c *command) resolve() *cobra.Command {
	var as, name, reason string
	x := &cobra.Command{
		Use: "resolve ITEM_ID", Short: "Settle an item whose outcome is unknown by hand, after looking at the profile", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state := batch.ItemState(as)
			if state != batch.ItemSucceeded && state != batch.ItemFailed {
				return mistake("--as is succeeded (it is on the profile) or failed (it is not)")
			}
			if strings.TrimSpace(reason) == "" {
				return mistake("--reason says how you know")
			}
			return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
				i, err := a.DB.Resolve(cmd.Context(), t, batch.ItemID(args[0]), state, name, reason, operator())
				if err != nil {
					return err
				}
				out := struct {
					ItemID  batch.ItemID    `json:"item_id"`
					BatchID batch.ID        `json:"batch_id"`
					State   batch.ItemState `json:"state"`
				}{i.ID, i.Batch, i.State}
				return c.print(out, func(w io.Writer) { _, _ = fmt.Fprintf(w, "%s: %s\n", out.ItemID, out.State) })
			})
		},
	}
	x.Flags().StringVar(&as, "as", "", "succeeded or failed")
	x.Flags().StringVar(&name, "google-name", "", "what a create made, as accounts/…/locations/…/localPosts/… (or /media/…); without it batch.undo cannot take it back")
	x.Flags().StringVar(&reason, "reason", "", "how you know; kept in the audit")
	return x
}

func (c *command) audit() *cobra.Command {
	cmd := group("audit", "The audit log")
	var f audit.Filter
	var kind string
	list := &cobra.Command{Use: "list", Short: "List events, newest first (reading is recorded)", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if f.Limit < 1 {
			return mistake("--limit: %d, at least 1 is needed", f.Limit)
		}
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			f.Kind = audit.Kind(kind)
			events, err := a.DB.Events(cmd.Context(), t, f, audit.Actor{OperatorID: operator()})
			if err != nil {
				return err
			}
			if events == nil {
				events = []json.RawMessage{}
			}
			stores, err := a.DB.ListLocations(cmd.Context(), t, everything, gbp.LocationFilter{Limit: 10_000})
			if err != nil {
				return err
			}
			titles := map[int64]string{}
			for _, l := range stores {
				titles[int64(l.ID)] = l.Profile.Title
			}
			rows, err := terminal.Events(events, titles)
			if err != nil {
				return err
			}
			return c.print(events, func(w io.Writer) { lines(w, rows) })
		})
	}}
	list.Flags().StringVar(&kind, "event", "", "only this kind of event")
	list.Flags().StringVar(&f.Batch, "batch", "", "only this batch")
	list.Flags().StringVar(&f.Tool, "tool", "", "only this tool")
	list.Flags().Int64Var(&f.Location, "location", 0, "only this location_id")
	list.Flags().IntVar(&f.Limit, "limit", 200, "at most so many")
	cmd.AddCommand(list, c.verify())
	return cmd
}

func (c *command) verify() *cobra.Command {
	var kept audit.SealHash
	x := &cobra.Command{Use: "verify", Short: "Walk the hash chain and name the first broken row", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if kept != (audit.SealHash{}) && (kept.No < 1 || len(kept.Hash) != sha256.Size*2) {
			return fmt.Errorf("--seal and --hash go together: a seal's number and the %d characters of its hash, as an earlier verify printed them", sha256.Size*2)
		}
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			r, err := a.DB.VerifyAuditAgainst(cmd.Context(), t, kept)
			if err != nil {
				return err
			}
			if err := c.print(r, func(w io.Writer) { _, _ = fmt.Fprintf(w, "%s: %s\n", r.Tenant, terminal.Verdict(r)) }); err != nil {
				return err
			}
			if !r.Valid {
				return fmt.Errorf("the audit chain of %s is broken at %s: %s", t, r.FirstBroken, r.Problem)
			}
			return nil
		})
	}}
	x.Flags().Int64Var(&kept.No, "seal", 0, "number of a seal that was kept; with --hash")
	x.Flags().StringVar(&kept.Hash, "hash", "", "the hash that this seal had; another one means that the chain was computed anew")
	return x
}
