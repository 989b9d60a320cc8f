package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// group is a command that only holds others. Without one it shows its help; an unknown one is a mistake: cobra alone would show
// the help and succeed.
func group(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // they belong to the command that was meant
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var known []string
			for _, sub := range cmd.Commands() {
				if sub.IsAvailableCommand() {
					known = append(known, sub.Name())
				}
			}
			return mistake("unknown command %q for %q; known are %s", args[0], cmd.CommandPath(), strings.Join(known, ", "))
		},
	}
}
