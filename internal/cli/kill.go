package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
)

func (c *command) kill() *cobra.Command {
	cmd := group("kill", "Kill switches: stop writes of everybody, a tenant, a client or a tool")
	cmd.AddCommand(c.killOn(), c.killOff(), c.killStatus())
	return cmd
}

// killKinds are what a switch can stop, and whether it names which.
var killKinds = map[string]bool{"all": false, "tenant": false, "client": true, "tool": true}

// checkKill refuses a switch that would stop something else than its words say. Off takes what an older program has stored.
func checkKill(k authn.KillSwitch, on bool) error {
	targeted, known := killKinds[k.Kind]
	switch {
	case !known:
		return mistake("--kind: %q is not all, tenant, client or tool", k.Kind)
	case targeted && k.Target == "":
		return mistake("--kind %s needs a --target", k.Kind)
	case on && !targeted && k.Target != "":
		return mistake("--kind %s takes no --target: it stops every write; --kind client or tool stops one, --tenant says whose", k.Kind)
	}
	return nil
}

// killable are the tools that a switch stops: those that write. Cancelling stays possible whatever is switched off.
func killable(a *app.App) (names []string) {
	for _, t := range a.Tools.List() {
		if !t.ReadOnly && t.Name != "batch.cancel" {
			names = append(names, t.Name)
		}
	}
	return names
}

// toolNamed finds a tool by either of its spellings.
func toolNamed(a *app.App, name string) (string, error) {
	names := killable(a)
	i := slices.IndexFunc(names, func(n string) bool { return n == name || strings.ReplaceAll(n, ".", "_") == name })
	if i < 0 {
		return "", mistake("--target: no switch stops a tool %q; known are %s", name, strings.Join(names, ", "))
	}
	return names[i], nil
}

// turn opens the product and runs fn for the tenant that the switch belongs to.
func (c *command) turn(ctx context.Context, k authn.KillSwitch, fn func(a *app.App, t authn.TenantID) error) error {
	if k.Kind != "all" {
		return c.with(ctx, fn)
	}
	a, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	return fn(a, authn.SystemTenant)
}

// killFlags are those of on and off.
func killFlags(cmd *cobra.Command, k *authn.KillSwitch) *cobra.Command {
	cmd.Flags().StringVar(&k.Kind, "kind", "tenant", "all, tenant, client or tool")
	cmd.Flags().StringVar(&k.Target, "target", "", "client id or tool name")
	return cmd
}

func (c *command) killOn() *cobra.Command {
	var k authn.KillSwitch
	cmd := &cobra.Command{Use: "on", Short: "Turn a switch on", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if err := checkKill(k, true); err != nil {
			return err
		}
		return c.turn(cmd.Context(), k, func(a *app.App, t authn.TenantID) (err error) {
			switch k.Kind {
			case "tool":
				if k.Target, err = toolNamed(a, k.Target); err != nil {
					return err
				}
			case "client":
				has, err := a.DB.HasClient(cmd.Context(), t, authn.ClientID(k.Target))
				if err != nil {
					return err
				}
				if !has {
					return mistake("--target: the tenant %s has no client %q", t, k.Target)
				}
			}
			if err := a.DB.SetKill(cmd.Context(), t, k, true, operator()); err != nil {
				return err
			}
			return c.print(map[string]any{"kind": k.Kind, "target": k.Target, "on": true}, func(w io.Writer) { _, _ = fmt.Fprintln(w, strings.Join(switchWords(k, "on"), " ")) })
		})
	}}
	cmd.Flags().StringVar(&k.Reason, "reason", "", "why, shown to refused callers")
	return killFlags(cmd, &k)
}

func (c *command) killOff() *cobra.Command {
	var k authn.KillSwitch
	cmd := &cobra.Command{Use: "off", Short: "Turn a switch off", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if err := checkKill(k, false); err != nil {
			return err
		}
		return c.turn(cmd.Context(), k, func(a *app.App, t authn.TenantID) error {
			on, err := c.switchOff(cmd.Context(), a, t, k)
			if err != nil {
				return err
			}
			return c.print(map[string]any{"kind": k.Kind, "target": k.Target, "on": false, "was_on": on}, func(w io.Writer) {
				words := switchWords(k, "off")
				if !on {
					words = append(words, "(it was not on)")
				}
				_, _ = fmt.Fprintln(w, strings.Join(words, " "))
			})
		})
	}}
	return killFlags(cmd, &k)
}

// switchOff removes the switch under every spelling of its target, and tells whether there was one.
func (c *command) switchOff(ctx context.Context, a *app.App, t authn.TenantID, k authn.KillSwitch) (on bool, err error) {
	targets := []string{k.Target}
	if k.Kind == "tool" {
		if name, err := toolNamed(a, k.Target); err == nil && name != k.Target {
			targets = append(targets, name)
		}
	}
	for _, target := range targets {
		k.Target = target
		switch err := a.DB.SetKill(ctx, t, k, false, operator()); {
		case err == nil:
			on = true
		case !errors.Is(err, postgres.ErrUnknown):
			return on, err
		}
	}
	return on, nil
}

func switchWords(k authn.KillSwitch, state string) []string {
	if k.Target == "" {
		return []string{k.Kind, state}
	}
	return []string{k.Kind, k.Target, state}
}

func (c *command) killStatus() *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show the switches that are on", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			on, err := a.DB.Kills(cmd.Context(), t)
			if err != nil {
				return err
			}
			if on == nil {
				on = []authn.KillSwitch{}
			}
			return c.print(on, func(w io.Writer) {
				table(w, "KIND TARGET REASON", func(line func(...any)) {
					for _, k := range on {
						line(k.Kind, k.Target, k.Reason)
					}
				})
			})
		})
	}}
}
