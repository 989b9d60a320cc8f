package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/keyring"
	"github.com/mappy-dev/mappy-mcp/internal/redact"
	"github.com/mappy-dev/mappy-mcp/internal/terminal"
)

func (c *command) keys() *cobra.Command {
	cmd := group("keys", "The keyring that seals Google tokens")
	cmd.AddCommand(c.keysNew(), c.keysAdd(), c.keysRotate())
	return cmd
}

func (c *command) keysNew() *cobra.Command {
	return &cobra.Command{Use: "new FILE", Short: "Create a keyring file", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		k, err := keyring.New()
		if err != nil {
			return err
		}
		if err := k.Create(args[0]); err != nil {
			return mistakeError{err}
		}
		return c.print(map[string]string{"file": args[0]}, func(w io.Writer) { _, _ = fmt.Fprintln(w, "created", args[0]) })
	}}
}

func (c *command) keysAdd() *cobra.Command {
	return &cobra.Command{Use: "add FILE", Short: "Add a key to a keyring file and seal with it from now on; the old keys stay for reading", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		k, err := keyring.Load(args[0], "")
		if err != nil {
			return mistakeError{err}
		}
		if k, err = k.Rotate(); err != nil {
			return err
		}
		if err := k.Replace(args[0]); err != nil {
			return err
		}
		out := map[string]any{"file": args[0], "primary_key": k.Primary(), "keys": len(k.Keys())}
		return c.print(out, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "added key %d to %s (%s); bring the file to every host, then run `mappy-mcp keys rotate`\n", k.Primary(), args[0], terminal.Count(len(k.Keys()), "key"))
		})
	}}
}

// rotation is what `keys rotate` did.
type rotation struct {
	PrimaryKey  keyring.KeyID      `json:"primary_key"`
	Resealed    int                `json:"resealed"`
	Failed      int                `json:"failed"`
	Connections []rotatedReference `json:"connections"`
}

// rotatedReference is one connection: resealed, current (nothing to do) or failed.
type rotatedReference struct {
	Tenant     authn.TenantID `json:"tenant_id"`
	Connection string         `json:"connection_id"`
	State      string         `json:"state"`
	Error      string         `json:"error,omitempty"`
}

var errNotResealed = errors.New("not every connection could be sealed anew; the old keys are still needed")

func (c *command) keysRotate() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Seal the tokens of every connection of every tenant with the keyring's primary key; safe while servers and workers run", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			defer a.Close()
			r, err := rotate(cmd.Context(), a)
			if err != nil {
				return err
			}
			if err := c.print(r, func(w io.Writer) {
				for _, x := range r.Connections {
					_, _ = fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%s/%s: %s %s", x.Tenant, x.Connection, x.State, x.Error), " "))
				}
				_, _ = fmt.Fprintf(w, "%d of %s sealed anew with key %d, %d failed\n", r.Resealed, terminal.Count(len(r.Connections), "connection"), r.PrimaryKey, r.Failed)
			}); err != nil {
				return err
			}
			if r.Failed > 0 {
				return errNotResealed
			}
			return nil
		},
	}
}

// rotate goes on behind a connection that fails: the others are as much at risk.
func rotate(ctx context.Context, a *app.App) (rotation, error) {
	r := rotation{PrimaryKey: a.Keys.Primary(), Connections: []rotatedReference{}}
	tenants, err := a.DB.Tenants(ctx)
	if err != nil {
		return r, err
	}
	for _, t := range tenants {
		list, err := a.DB.ListConnections(ctx, t)
		if err != nil {
			return r, err
		}
		for _, x := range list {
			one := rotatedReference{Tenant: t, Connection: x.ID, State: "current"}
			done, err := a.DB.Reseal(ctx, t, x.ID, operator(), func(c gtoken.Connection) (*gtoken.Resealed, error) { return gtoken.Reseal(a.Keys, c) })
			switch {
			case err != nil:
				one.State, one.Error = "failed", redact.Text(err.Error())
				r.Failed++
			case done:
				one.State = "resealed"
				r.Resealed++
			}
			r.Connections = append(r.Connections, one)
		}
	}
	return r, nil
}
