package cli

import (
	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/demo"
)

func (c *command) demo() *cobra.Command {
	var stay bool
	cmd := &cobra.Command{Use: "demo", Short: "Bring everything up privately and play the story of a write in the terminal", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return demo.Run(cmd.Context(), demo.Options{Out: c.Out, Log: c.Err, Stay: stay})
	}}
	cmd.Flags().BoolVar(&stay, "stay", false, "skip the story, stay up and print how to connect clients")
	return cmd
}
