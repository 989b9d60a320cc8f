package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/terminal"
)

func (c *command) connections() *cobra.Command {
	cmd := group("connection", "Google accounts of a tenant")
	cmd.AddCommand(c.connectionAdd(), c.connectionList(), c.connectionRemove())
	return cmd
}

func (c *command) connectionAdd() *cobra.Command {
	var email string
	var from Source
	add := &cobra.Command{
		Use: "add CONNECTION_ID", Short: "Connect a Google account, or connect it anew; the refresh token comes from a variable or a file only", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := from.read(c.Lookup)
			switch {
			case err != nil:
				return mistakeError{err}
			case token == "":
				return mistake("a refresh token is needed: --refresh-token-env or --refresh-token-file")
			}
			return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
				sealed, err := a.Keys.Seal([]byte(token), gtoken.Binding(t, args[0], gtoken.RefreshToken))
				if err != nil {
					return err
				}
				if err := a.DB.AddConnection(cmd.Context(), t, postgres.SetupConnection{ID: args[0], GoogleEmail: email, RefreshTokenSealed: sealed, RefreshTokenDigest: postgres.TokenDigest(token)}, operator()); err != nil {
					return err
				}
				return c.print(map[string]string{"connection_id": args[0], "google_email": email, "state": "alive"}, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "connected %s (%s); read its stores with `mappy-mcp location sync`\n", args[0], email)
				})
			})
		},
	}
	add.Flags().StringVar(&email, "google-email", "", "the account's address, for people")
	add.Flags().StringVar(&from.Env, "refresh-token-env", "", "environment variable that holds the refresh token")
	add.Flags().StringVar(&from.File, "refresh-token-file", "", "file that holds the refresh token")
	_ = add.MarkFlagRequired("google-email") // the flag exists
	return add
}

func (c *command) connectionList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List connections", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			list, err := a.DB.ListConnections(cmd.Context(), t)
			if err != nil {
				return err
			}
			if list == nil {
				list = []postgres.ConnectionInfo{}
			}
			return c.print(list, func(w io.Writer) {
				table(w, "CONNECTION GOOGLE_ACCOUNT STATE REASON SYNCED", func(line func(...any)) {
					for _, x := range list {
						synced := "never"
						if x.SyncedAt != nil {
							synced = x.SyncedAt.Format(time.RFC3339)
						}
						line(x.ID, x.GoogleEmail, x.State, x.DeadReason, synced)
					}
				})
			})
		})
	}}
}

func (c *command) connectionRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove CONNECTION_ID", Short: "Forget a Google account's tokens; its stores leave the mirror and what waits for it fails", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
				stores, err := a.DB.RemoveConnection(cmd.Context(), t, args[0], operator())
				if err != nil {
					return err
				}
				ended, err := a.DB.EndWaiting(cmd.Context(), t, args[0])
				if err != nil {
					return fmt.Errorf("the connection is removed, and workers end what waits for it: %w", err)
				}
				items := 0
				for _, e := range ended {
					items += e.Items
					a.Hints.Announce(cmd.Context(), t, e.Batch)
				}
				return c.print(map[string]any{"connection_id": args[0], "state": "removed", "locations": stores, "ended_items": items}, func(w io.Writer) {
					_, _ = fmt.Fprintf(w, "removed %s: %s, %s ended; revoke the access at https://myaccount.google.com/connections too\n", args[0], terminal.Count(stores, "store"), terminal.Count(items, "waiting item"))
				})
			})
		},
	}
}
