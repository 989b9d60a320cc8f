package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/ids"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
)

func (c *command) tokens() *cobra.Command {
	cmd := group("token", "Access tokens of agents")
	cmd.AddCommand(c.tokenCreate(), c.tokenGenerate(), c.tokenList(), c.tokenRevoke())
	return cmd
}

func (c *command) tokenCreate() *cobra.Command {
	var client, user string
	var scopes []string
	var life time.Duration
	create := &cobra.Command{Use: "create", Short: "Create a token and print it once", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if life < 0 {
			return mistake("--expires-in: %s has passed already", life)
		}
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			granted, err := checkScopes(a, scopes)
			if err != nil {
				return fmt.Errorf("--scopes: %w", err)
			}
			now := time.Now() //nolint:forbidigo // a command runs now
			secret := authn.NewToken(a.Config.Environment)
			n := postgres.NewToken{Tenant: t, ID: authn.TokenID(ids.NewSource(func() time.Time { return now }).New()), Client: authn.ClientID(client), User: authn.UserID(user), Scopes: granted, Hash: authn.HashToken(secret)}
			if life > 0 {
				n.ExpiresAt = now.Add(life)
			}
			if err := a.DB.AddToken(cmd.Context(), n, operator()); err != nil {
				return err
			}
			return c.print(map[string]string{"token_id": string(n.ID), "token": secret}, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%s\n", secret)
				_, _ = fmt.Fprintf(c.Err, "token_id %s; the token is shown only now\n", n.ID)
			})
		})
	}}
	create.Flags().StringVar(&client, "client", "", "client id (the agent)")
	create.Flags().StringVar(&user, "user", "", "user id (the person it acts for)")
	create.Flags().StringSliceVar(&scopes, "scopes", []string{"locations:read", "posts:read", "posts:write", "batches:read", "batches:cancel"}, "scopes, separated by commas; undoing post.create needs posts:delete, too")
	create.Flags().DurationVar(&life, "expires-in", 0, "life of the token; 0: until revoked")
	_ = create.MarkFlagRequired("client") // the flag exists
	_ = create.MarkFlagRequired("user")
	return create
}

// manage lets a token continue and cancel the batches of other users; no tool asks for it as a whole.
const manage = "batches:manage"

// checkScopes gives the scopes, trimmed and each once. Those that no tool asks for are mistakes.
func checkScopes(a *app.App, scopes []string) ([]string, error) {
	known := []string{manage}
	for _, t := range a.Tools.List() {
		if t.Scope != "" {
			known = append(known, t.Scope)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var out []string
	for _, s := range scopes {
		s = strings.TrimSpace(s)
		switch {
		case !slices.Contains(known, s):
			return nil, mistake("there is no scope %q; known are %s", s, strings.Join(known, ", "))
		case !slices.Contains(out, s):
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, mistake("a token without scopes can do nothing; known are %s", strings.Join(known, ", "))
	}
	return out, nil
}

func (c *command) tokenGenerate() *cobra.Command {
	return &cobra.Command{Use: "generate", Short: "Print a fresh token value without storing it, for value_from of an apply file", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		cfg, err := c.load()
		if err != nil {
			return err
		}
		token := authn.NewToken(cfg.Environment)
		return c.print(map[string]string{"token": token}, func(w io.Writer) { _, _ = fmt.Fprintln(w, token) })
	}}
}

// shownToken is a token as it stands now.
type shownToken struct {
	postgres.Token
	// State is live, expired or revoked.
	State string `json:"state"`
}

func (c *command) tokenList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List tokens", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			list, err := a.DB.ListTokens(cmd.Context(), t)
			if err != nil {
				return err
			}
			now := time.Now() //nolint:forbidigo // a command runs now
			out := []shownToken{}
			for _, x := range list {
				out = append(out, shownToken{x, tokenState(x, now)})
			}
			return c.print(out, func(w io.Writer) {
				table(w, "TOKEN CLIENT USER CREATED EXPIRES STATE SCOPES", func(line func(...any)) {
					for _, x := range out {
						expires := "never"
						if x.ExpiresAt != nil {
							expires = x.ExpiresAt.Format(time.RFC3339)
						}
						line(x.ID, x.Client, x.User, x.CreatedAt.Format(time.RFC3339), expires, x.State, strings.Join(x.Scopes, ","))
					}
				})
			})
		})
	}}
}

// live is the state of a token that opens the door.
const live = "live"

func tokenState(t postgres.Token, now time.Time) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case t.ExpiresAt != nil && !t.ExpiresAt.After(now):
		return "expired"
	}
	return live
}

func (c *command) tokenRevoke() *cobra.Command {
	return &cobra.Command{Use: "revoke TOKEN_ID", Short: "Revoke a token at once, also for accepted writes that are not sent yet", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			if err := a.DB.RevokeToken(cmd.Context(), t, authn.TokenID(args[0]), operator()); err != nil {
				return err
			}
			return c.print(map[string]string{"token_id": args[0], "state": "revoked"}, func(w io.Writer) { _, _ = fmt.Fprintln(w, "revoked", args[0]) })
		})
	}}
}
