package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
)

func (c *command) policies() *cobra.Command {
	cmd := group("policy", "The limits and thresholds of a tenant")
	cmd.AddCommand(&cobra.Command{Use: "show", Short: "Show the policy in force: the tenant's own over the deployment's", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(a *app.App, t authn.TenantID) error {
			p, err := a.DB.TenantPolicy(cmd.Context(), t)
			if err != nil {
				return err
			}
			b, err := yaml.Marshal(p)
			if err != nil {
				return err
			}
			out := struct {
				Tenant  authn.TenantID `json:"tenant_id"`
				Version int            `json:"policy_version"`
				Policy  map[string]any `json:"policy"` // every key, those that say no too
			}{Tenant: t, Version: p.Version}
			if err := yaml.Unmarshal(b, &out.Policy); err != nil {
				return err
			}
			return c.print(out, func(w io.Writer) { _, _ = fmt.Fprintf(w, "# %s, version %d\n%s", t, p.Version, b) })
		})
	}})
	return cmd
}
