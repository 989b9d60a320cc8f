package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/mappy-dev/mappy-mcp/internal/mcpserver"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

func (c *command) serve() *cobra.Command {
	var withWorker bool
	cmd := &cobra.Command{Use: "serve", Short: "Serve MCP over HTTP (/mcp, /mcp/compat)", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		a, err := c.start(ctx)
		if err != nil {
			return err
		}
		defer a.Close()
		l, err := listener(ctx, "MAPPY_LISTEN", a.Config.Listen)
		if err != nil {
			return err
		}
		admin, err := listener(ctx, adminListen, a.Config.AdminListen)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		return a.Run(ctx, l, admin, withWorker)
	}}
	cmd.Flags().BoolVar(&withWorker, "with-worker", false, "run the workers in this process too")
	return cmd
}

const adminListen = "MAPPY_ADMIN_LISTEN"

func listener(ctx context.Context, variable, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return l, nil
}

// readyWithin bounds the question of `ready`: the answer itself looks at both stores for a second.
const readyWithin = 3 * time.Second

// readiness is what a running server or worker says of itself.
type readiness struct {
	Ready  bool   `json:"ready"`
	Detail string `json:"detail"`
}

func (c *command) ready() *cobra.Command {
	return &cobra.Command{Use: "ready", Short: "Ask the server or worker of this configuration, at its admin address, whether it takes work; for health checks", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.load()
		if err != nil {
			return err
		}
		r, err := askReady(cmd.Context(), cfg.AdminListen)
		if err != nil {
			return err
		}
		if err := c.print(r, func(w io.Writer) { _, _ = fmt.Fprintln(w, r.Detail) }); err != nil {
			return err
		}
		if !r.Ready {
			return errors.New("not ready")
		}
		return nil
	}}
}

// askReady asks the process that listens on the address; a wildcard is reached on loopback.
func askReady(ctx context.Context, address string) (readiness, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return readiness{}, mistake("admin_listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return readiness{}, err
	}
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req) // past any proxy of the surroundings
	if err != nil {
		return readiness{}, fmt.Errorf("nobody answers: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if err != nil {
		return readiness{}, fmt.Errorf("read the answer: %w", err)
	}
	return readiness{resp.StatusCode == http.StatusOK, strings.TrimSpace(string(b))}, nil
}

func (c *command) work() *cobra.Command {
	return &cobra.Command{Use: "worker", Short: "Carry out accepted writes", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		a, err := c.start(cmd.Context())
		if err != nil {
			return err
		}
		defer a.Close()
		admin, err := listener(cmd.Context(), adminListen, a.Config.AdminListen)
		if err != nil {
			return err
		}
		return a.RunWorker(cmd.Context(), admin)
	}}
}

func (c *command) stdio() *cobra.Command {
	var names string
	cmd := &cobra.Command{Use: "stdio", Short: "Serve MCP on standard input and output for the token in MAPPY_TOKEN", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if names != string(mcpserver.Dotted) && names != string(mcpserver.Underscored) {
			return mistake("--tool-names: %q is not dot or underscore", names)
		}
		a, err := c.start(cmd.Context())
		if err != nil {
			return err
		}
		defer a.Close()
		if a.Config.Token == "" {
			return mistake("MAPPY_TOKEN is not set; make one with `mappy-mcp token create`")
		}
		return a.Stdio(cmd.Context(), c.In, c.Out, mcpserver.ToolNames(names))
	}}
	cmd.Flags().StringVar(&names, "tool-names", string(mcpserver.Dotted), "dot (post.create) or underscore (post_create)")
	return cmd
}

func (c *command) migrate() *cobra.Command {
	cmd := group("migrate", "Bring the database schema up, down, or show it")
	run := func(use, short string, fn func(ctx context.Context, owner, app string) error) {
		cmd.AddCommand(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			if cfg.OwnerDatabaseURL == "" {
				return mistake("MAPPY_OWNER_DATABASE_URL is not set: migrations run as the owner of the schema")
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
	cmd := group("config", "The configuration")
	cmd.AddCommand(&cobra.Command{Use: "print", Short: "Print the effective configuration without secrets", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		cfg, err := c.load()
		if err != nil {
			return err
		}
		s, err := cfg.Redacted()
		if err != nil {
			return err
		}
		var v any // under the keys of the file
		if err := yaml.Unmarshal([]byte(s), &v); err != nil {
			return err
		}
		return c.print(v, func(w io.Writer) { _, _ = io.WriteString(w, s) })
	}})
	return cmd
}
