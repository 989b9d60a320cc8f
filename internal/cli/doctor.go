package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/migrations"
)

type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
}

func (c *command) doctor() *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Check configuration, PostgreSQL, Redis, migrations, clock and keyring, and say what to do", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		findings := c.examine(cmd.Context())
		if err := c.print(findings, func(w io.Writer) {
			for _, f := range findings {
				mark := "ok  "
				if !f.OK {
					mark = "FAIL"
				}
				_, _ = fmt.Fprintf(w, "%s %-10s %s\n", mark, f.Check, f.Detail)
				if f.Do != "" {
					_, _ = fmt.Fprintf(w, "     %-10s -> %s\n", "", f.Do)
				}
			}
		}); err != nil {
			return err
		}
		for _, f := range findings {
			if !f.OK {
				return errors.New("doctor found problems")
			}
		}
		return nil
	}}
}

func (c *command) examine(ctx context.Context) []finding {
	cfg, err := c.whole()
	if err != nil {
		return []finding{{Check: "config", Detail: err.Error(), Do: "mend the file or the variable named above"}}
	}
	out := []finding{{Check: "config", OK: true, Detail: "environment " + cfg.Environment}}
	a, err := c.open(ctx)
	if err != nil {
		do := "the server would not start either; mend this first"
		if errors.Is(err, postgres.ErrMigrate) {
			do = "run `mappy-mcp migrate up` with MAPPY_OWNER_DATABASE_URL: it makes the role; if it has run, mend the role's name or password in MAPPY_DATABASE_URL"
		}
		return append(out, finding{Check: "start", Detail: err.Error(), Do: do})
	}
	defer a.Close()
	out = append(out, finding{Check: "keyring", OK: true, Detail: "readable"}, mediaFinding(cfg))
	out = append(out, postgresFindings(ctx, a)...)
	out = append(out, redisFindings(ctx, a)...)
	return append(out, migrationFinding(ctx, a, cfg.OwnerDatabaseURL))
}

// mediaFinding says whether files are looked at before Google is asked to fetch them.
func mediaFinding(cfg config.Config) finding {
	if cfg.ChecksMedia() {
		return finding{Check: "media", OK: true, Detail: "files behind addresses are checked, within " + cfg.Media.CheckWithin.String()}
	}
	f := finding{Check: "media", OK: true, Detail: "files behind addresses are not checked (media.check is " + cfg.Media.Check + "): sizes are not known, so confirm_media_bytes has no effect, and a format is guessed from the name"}
	if cfg.Environment != "simulator" {
		f.Do = "set MAPPY_MEDIA_CHECK=on, unless this host cannot reach the public internet"
	}
	return f
}

// clockTolerance is how far our clock may be from PostgreSQL's before tokens and deadlines are judged wrongly.
const clockTolerance = 5 * time.Second

func postgresFindings(ctx context.Context, a *app.App) []finding {
	var version string
	var now time.Time
	if err := a.DB.Pool().QueryRow(ctx, `SELECT current_setting('server_version'), clock_timestamp()`).Scan(&version, &now); err != nil {
		return []finding{{Check: "postgres", Detail: "does not answer", Do: "check MAPPY_DATABASE_URL and that the server runs"}}
	}
	skew := time.Since(now).Round(time.Millisecond)
	clock := finding{Check: "clock", OK: skew.Abs() < clockTolerance, Detail: "differs from PostgreSQL's by " + skew.String()}
	if !clock.OK {
		clock.Do = "synchronise the clocks (NTP)"
	}
	return []finding{{Check: "postgres", OK: true, Detail: "version " + version}, clock}
}

func redisFindings(ctx context.Context, a *app.App) []finding {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	info, err := a.Redis.InfoMap(ctx, "server", "memory").Result()
	if err != nil {
		return []finding{{Check: "redis", Detail: "does not answer", Do: "check MAPPY_REDIS_URL and that the server runs; writes are refused meanwhile"}}
	}
	out := []finding{{Check: "redis", OK: true, Detail: "version " + info["Server"]["redis_version"]}}
	eviction := finding{Check: "eviction", OK: true, Detail: info["Memory"]["maxmemory_policy"]}
	if eviction.Detail != "noeviction" { // volatile-* too: everything of ours has a time to live
		eviction.OK, eviction.Do = false, "set maxmemory-policy noeviction: this one throws confirm tokens and limits away under memory pressure"
	}
	return append(out, eviction)
}

// migrationFinding asks as the application's role, as the server does; the owner's address, where it is given, has to work too.
func migrationFinding(ctx context.Context, a *app.App, owner string) finding {
	switch err := a.DB.CheckSchema(ctx); {
	case errors.Is(err, postgres.ErrMigrate):
		return finding{Check: "migrations", Detail: err.Error(), Do: "run `mappy-mcp migrate up`; servers and workers of this version do not start before"}
	case err != nil:
		return finding{Check: "migrations", Detail: "cannot be read", Do: "check MAPPY_DATABASE_URL and that the server runs"}
	}
	if owner != "" {
		if _, err := migrations.Status(ctx, owner); err != nil {
			return finding{Check: "migrations", Detail: "cannot be read as the owner", Do: "check MAPPY_OWNER_DATABASE_URL"}
		}
	}
	return finding{Check: "migrations", OK: true, Detail: "all that this version needs are applied"}
}
