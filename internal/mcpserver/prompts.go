package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Prompt is a fixed text that a person can pick in the client. It takes one optional argument, language ("ja" or
// "en"); without it the tenant's language is used.
type Prompt struct {
	Name, Title, Description string
	Text                     errs.Text
}

func checkPrompts(prompts []Prompt) error {
	var problems []error
	for _, p := range prompts {
		if p.Name == "" || p.Description == "" || p.Text.JA == "" || p.Text.EN == "" {
			problems = append(problems, fmt.Errorf("prompt %q: name, description and text in both languages are needed", p.Name))
		}
	}
	return errors.Join(problems...)
}

func (s *Server) addPrompts(srv *mcp.Server) {
	for _, p := range s.opts.Prompts {
		srv.AddPrompt(&mcp.Prompt{
			Name: p.Name, Title: p.Title, Description: p.Description,
			Arguments: []*mcp.PromptArgument{{Name: "language", Description: `"ja" or "en"; the tenant's language when left out`}},
		}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			locale := s.opts.Locale
			if c := callerOf(ctx); c != nil && c.principal != nil {
				locale = c.principal.Locale
			}
			if l := errs.Locale(req.Params.Arguments["language"]); l == errs.Japanese || l == errs.English {
				locale = l
			}
			return &mcp.GetPromptResult{
				Description: p.Description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: p.Text.In(locale)}}},
			}, nil
		})
	}
}
