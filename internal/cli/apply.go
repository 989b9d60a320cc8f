package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
	"github.com/mappy-dev/mappy-mcp/internal/terminal"
)

// Declaration is the file that apply reads.
type Declaration struct {
	Tenants []TenantDeclaration `yaml:"tenants"`
}

// TenantDeclaration is one tenant. What is left out stays as it is stored; a policy and a user's grants are declared as a whole,
// and {} takes them back.
type TenantDeclaration struct {
	ID       string         `yaml:"id"`
	Name     string         `yaml:"name"`
	Locale   errs.Locale    `yaml:"locale"`
	Timezone string         `yaml:"timezone"`
	Policy   map[string]any `yaml:"policy"`
	Users    []struct {
		ID          string        `yaml:"id"`
		Email       string        `yaml:"email"`
		Role        string        `yaml:"role"`
		Grants      *authn.Grants `yaml:"grants"`
		FieldRights []string      `yaml:"field_rights"`
	} `yaml:"users"`
	Clients []struct {
		ID   string `yaml:"id"`
		Name string `yaml:"name"`
	} `yaml:"clients"`
	Tokens []struct {
		ID        string   `yaml:"id"`
		Client    string   `yaml:"client"`
		User      string   `yaml:"user"`
		Scopes    []string `yaml:"scopes"`
		ValueFrom Source   `yaml:"value_from"`
	} `yaml:"tokens"`
	Connections []struct {
		ID               string `yaml:"id"`
		GoogleEmail      string `yaml:"google_email"`
		RefreshTokenFrom Source `yaml:"refresh_token_from"`
	} `yaml:"connections"`
}

// Source says where a secret is: secrets never stand in the file.
type Source struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

func (s Source) read(lookup func(string) (string, bool)) (string, error) {
	switch {
	case s.Env != "" && s.File != "":
		return "", mistake("env and file cannot both be given")
	case s.Env != "":
		v, ok := lookup(s.Env)
		if !ok || v == "" {
			return "", mistake("the environment variable %s is not set", s.Env)
		}
		return v, nil
	case s.File != "":
		b, err := os.ReadFile(s.File)
		return strings.TrimSpace(string(b)), err
	}
	return "", nil
}

func (c *command) apply() *cobra.Command {
	var file string
	cmd := &cobra.Command{Use: "apply", Short: "Bring tenants, users, clients, grants, policies, tokens and connections to the declared state", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		d, err := readDeclaration(file, c.In)
		if err != nil {
			return err
		}
		a, err := c.open(cmd.Context())
		if err != nil {
			return err
		}
		defer a.Close()
		return c.applyAll(cmd.Context(), a, d)
	}}
	cmd.Flags().StringVarP(&file, "file", "f", "", "declaration (YAML); - reads standard input")
	_ = cmd.MarkFlagRequired("file") // the flag exists
	return cmd
}

func readDeclaration(file string, in io.Reader) (d Declaration, err error) {
	var b []byte
	if file == "-" {
		b, err = io.ReadAll(in)
	} else {
		b, err = os.ReadFile(file) //nolint:gosec // the operator names the file
	}
	if err != nil {
		return d, mistake("apply: %w", err)
	}
	if err := config.Strict(b, &d); err != nil {
		return d, mistake("apply %s: %w", file, err)
	}
	return d, nil
}

type applied struct {
	Tenant      string `json:"tenant_id"`
	Users       int    `json:"users"`
	Clients     int    `json:"clients"`
	Tokens      int    `json:"tokens"`
	Connections int    `json:"connections"`
	// StayDead are declared tokens whose value was revoked or has expired.
	StayDead []string `json:"tokens_not_live,omitempty"`
}

// applyAll saves nothing while anything is wrong with the file by itself, and says all of it.
func (c *command) applyAll(ctx context.Context, a *app.App, d Declaration) error {
	var setups []postgres.Setup
	var problems []error
	for _, t := range d.Tenants {
		s, wrong := c.setup(a, t)
		for _, err := range append(wrong, a.DB.Problems(s)...) {
			problems = append(problems, fmt.Errorf("tenant %q: %w", t.ID, err))
		}
		setups = append(setups, s)
	}
	if problems != nil {
		return mistakeError{errors.Join(problems...)}
	}
	out := []applied{}
	for _, s := range setups {
		if err := a.DB.Save(ctx, s, operator()); err != nil {
			if len(out) > 0 {
				return fmt.Errorf("tenant %q: %w; the %s before are applied", s.ID, err, terminal.Count(len(out), "tenant"))
			}
			return mistake("tenant %q: %w", s.ID, err)
		}
		dead, err := stayDead(ctx, a, s)
		if err != nil {
			return err
		}
		out = append(out, applied{string(s.ID), len(s.Users), len(s.Clients), len(s.Tokens), len(s.Connections), dead})
	}
	return c.print(out, func(w io.Writer) {
		for _, t := range out {
			_, _ = fmt.Fprintf(w, "tenant %s: %s, %s, %s, %s\n", t.Tenant, terminal.Count(t.Users, "user"), terminal.Count(t.Clients, "client"), terminal.Count(t.Tokens, "token"), terminal.Count(t.Connections, "connection"))
			for _, id := range t.StayDead {
				_, _ = fmt.Fprintf(w, "  token %s is as it was declared, but not live: `mappy-mcp token list` says why; declare another value, made by `mappy-mcp token generate`\n", id)
			}
		}
	})
}

// stayDead are the declared tokens that saving did not bring to life: their value is the one that was revoked or has expired.
func stayDead(ctx context.Context, a *app.App, s postgres.Setup) (dead []string, err error) {
	stored, err := a.DB.ListTokens(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	now := time.Now() //nolint:forbidigo // a command runs now
	for _, t := range s.Tokens {
		for _, x := range stored {
			if x.ID == t.ID && tokenState(x, now) != live {
				dead = append(dead, string(t.ID))
			}
		}
	}
	return dead, nil
}

// setup turns a declaration into what is stored: secrets are read, tokens digested, refresh tokens sealed. It goes on behind a
// mistake, to find them all.
func (c *command) setup(a *app.App, t TenantDeclaration) (s postgres.Setup, problems []error) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	s = postgres.Setup{ID: authn.TenantID(t.ID), Name: t.Name, Locale: t.Locale, DefaultLocale: a.Config.Locale, Timezone: t.Timezone}
	if s.ID == authn.SystemTenant {
		wrong("it is the server's own")
	}
	var err error
	if t.Policy != nil {
		if s.Policy, err = json.Marshal(t.Policy); err != nil {
			wrong("policy: %w", err)
		}
	}
	for _, u := range t.Users {
		one := postgres.SetupUser{ID: authn.UserID(u.ID), Email: u.Email, Role: u.Role, KeepGrants: u.Grants == nil}
		if u.Grants != nil {
			one.Grants = *u.Grants
		}
		if u.FieldRights != nil { // another place to write the same
			switch {
			case u.Grants == nil:
				wrong("user %q: field_rights narrow grants, which have to be given too", u.ID)
			case u.Grants.Fields != nil:
				wrong("user %q: field_rights and grants.fields cannot both be given", u.ID)
			}
			one.Grants.Fields = u.FieldRights
		}
		s.Users = append(s.Users, one)
	}
	for _, cl := range t.Clients {
		s.Clients = append(s.Clients, postgres.SetupClient{ID: authn.ClientID(cl.ID), Name: cl.Name})
	}
	for _, tok := range t.Tokens {
		v, err := tok.ValueFrom.read(c.Lookup)
		if err != nil {
			wrong("token %q: %w", tok.ID, err)
		} else if !authn.CheckToken(v, a.Config.Environment) {
			wrong("token %q: the value is not a token of the environment %s; make one with `mappy-mcp token generate`", tok.ID, a.Config.Environment)
		}
		scopes, err := checkScopes(a, tok.Scopes)
		if err != nil {
			wrong("token %q: %w", tok.ID, err)
		}
		s.Tokens = append(s.Tokens, postgres.NewToken{Tenant: s.ID, ID: authn.TokenID(tok.ID), Client: authn.ClientID(tok.Client), User: authn.UserID(tok.User), Scopes: scopes, Hash: authn.HashToken(v)})
	}
	for _, cn := range t.Connections {
		v, err := cn.RefreshTokenFrom.read(c.Lookup)
		if err != nil {
			wrong("connection %q: %w", cn.ID, err)
		}
		sc := postgres.SetupConnection{ID: cn.ID, GoogleEmail: cn.GoogleEmail}
		if v != "" {
			sc.RefreshTokenDigest = postgres.TokenDigest(v)
			if sc.RefreshTokenSealed, err = a.Keys.Seal([]byte(v), gtoken.Binding(s.ID, cn.ID, gtoken.RefreshToken)); err != nil {
				wrong("connection %q: %w", cn.ID, err)
			}
		}
		s.Connections = append(s.Connections, sc)
	}
	return s, problems
}
