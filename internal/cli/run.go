package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

func (c *command) serve() *cobra.Command {
	var withWorker bool
	cmd := &cobra.Command{Use: "serve", Short: "Serve MCP over HTTP (/mcp, /mcp/compat)", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		a, err := c.open(ctx)
		if err != nil {
			return err
		}
		defer a.Close()
		l, err := listener(ctx, a.Config.Listen)
		if err != nil {
			return err
		}
		admin, err := listener(ctx, a.Config.AdminListen)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		return a.Run(ctx, l, admin, withWorker)
	}}
	cmd.Flags().BoolVar(&withWorker, "with-worker", false, "run the workers in this process too")
	return cmd
}

func listener(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

func (c *command) work() *cobra.Command {
	return &cobra.Command{Use: "worker", Short: "Carry out accepted writes", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		a, err := c.open(cmd.Context())
		if err != nil {
			return err
		}
		defer a.Close()
		return a.Work(cmd.Context())
	}}
}

func (c *command) stdio() *cobra.Command {
	var names string
	cmd := &cobra.Command{Use: "stdio", Short: "Serve MCP on standard input and output for the token in MAPPY_TOKEN", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if names != string(mcpserver.Dotted) && names != string(mcpserver.Underscored) {
			return fmt.Errorf("--tool-names: %q is not dot or underscore", names)
		}
		a, err := c.open(cmd.Context())
		if err != nil {
			return err
		}
		defer a.Close()
		if a.Config.Token == "" {
			return errors.New("MAPPY_TOKEN is not set; make one with `mappy-mcp token create`")
		}
		return a.Stdio(cmd.Context(), c.In, c.Out, mcpserver.ToolNames(names))
	}}
	cmd.Flags().StringVar(&names, "tool-names", string(mcpserver.Dotted), "dot (post.create) or underscore (post_create)")
	return cmd
}

func (c *command) migrate() *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", Short: "Bring the database schema up, down, or show it"}
	run := func(use, short string, fn func(ctx context.Context, owner, app string) error) {
		cmd.AddCommand(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			if cfg.OwnerDatabaseURL == "" {
				return errors.New("MAPPY_OWNER_DATABASE_URL is not set: migrations run as the owner of the schema")
			}
			return fn(cmd.Context(), cfg.OwnerDatabaseURL, cfg.DatabaseURL)
		}})
	}
	run("up", "Apply what is missing, River's tables included, and make the application's role", func(ctx context.Context, owner, app string) error {
		if err := migrations.Up(ctx, owner, app); err != nil {
			return err
		}
		return c.showMigrations(ctx, owner)
	})
	run("down", "Take the newest migration back", func(ctx context.Context, owner, _ string) error {
		if err := migrations.Down(ctx, owner); err != nil {
			return err
		}
		return c.showMigrations(ctx, owner)
	})
	run("status", "Show which migrations are applied", func(ctx context.Context, owner, _ string) error { return c.showMigrations(ctx, owner) })
	return cmd
}

func (c *command) showMigrations(ctx context.Context, owner string) error {
	list, err := migrations.Status(ctx, owner)
	if err != nil {
		return err
	}
	return c.print(list, func(w io.Writer) {
		for _, m := range list {
			state := "missing"
			if m.Applied {
				state = "applied"
			}
			_, _ = fmt.Fprintf(w, "%05d  %-8s %s\n", m.Version, state, m.File)
		}
	})
}

func (c *command) configuration() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "The configuration"}
	cmd.AddCommand(&cobra.Command{Use: "print", Short: "Print the effective configuration without secrets", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		cfg, err := c.load()
		if err != nil {
			return err
		}
		s, err := cfg.Redacted()
		if err != nil {
			return err
		}
		_, err = io.WriteString(c.Out, s)
		return err
	}})
	return cmd
}
