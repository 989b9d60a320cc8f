package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mappy-dev/mappy-mcp/internal/app"
	"github.com/mappy-dev/mappy-mcp/internal/authn"
	"github.com/mappy-dev/mappy-mcp/internal/config"
	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gtoken"
	"github.com/mappy-dev/mappy-mcp/internal/postgres"
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
}

func (c *command) applyAll(ctx context.Context, a *app.App, d Declaration) error {
	out := []applied{}
	for _, t := range d.Tenants {
		s, err := c.setup(a, t)
		if err != nil {
			return mistake("tenant %q: %w", t.ID, err)
		}
		if err := a.DB.Save(ctx, s, operator()); err != nil {
			return mistake("tenant %q: %w", t.ID, err)
		}
		out = append(out, applied{t.ID, len(s.Users), len(s.Clients), len(s.Tokens), len(s.Connections)})
	}
	return c.print(out, func(w io.Writer) {
		for _, t := range out {
			_, _ = fmt.Fprintf(w, "tenant %s: %d users, %d clients, %d tokens, %d connections\n", t.Tenant, t.Users, t.Clients, t.Tokens, t.Connections)
		}
	})
}

// setup turns a declaration into what is stored: secrets are read, tokens digested, refresh tokens sealed.
func (c *command) setup(a *app.App, t TenantDeclaration) (postgres.Setup, error) {
	s := postgres.Setup{ID: authn.TenantID(t.ID), Name: t.Name, Locale: t.Locale, DefaultLocale: a.Config.Locale, Timezone: t.Timezone}
	if s.ID == authn.SystemTenant {
		return s, errors.New("the tenant system is the server's own")
	}
	var err error
	if t.Policy != nil {
		if s.Policy, err = json.Marshal(t.Policy); err != nil {
			return s, fmt.Errorf("policy: %w", err)
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
				return s, fmt.Errorf("user %q: field_rights narrow grants, which have to be given too", u.ID)
			case u.Grants.Fields != nil:
				return s, fmt.Errorf("user %q: field_rights and grants.fields cannot both be given", u.ID)
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
			return s, fmt.Errorf("token %q: %w", tok.ID, err)
		}
		if !authn.CheckToken(v, a.Config.Environment) {
			return s, fmt.Errorf("token %q: the value is not a token of the environment %s; make one with `mappy-mcp token generate`", tok.ID, a.Config.Environment)
		}
		scopes, err := checkScopes(a, tok.Scopes)
		if err != nil {
			return s, fmt.Errorf("token %q: %w", tok.ID, err)
		}
		s.Tokens = append(s.Tokens, postgres.NewToken{Tenant: s.ID, ID: authn.TokenID(tok.ID), Client: authn.ClientID(tok.Client), User: authn.UserID(tok.User), Scopes: scopes, Hash: authn.HashToken(v)})
	}
	for _, cn := range t.Connections {
		v, err := cn.RefreshTokenFrom.read(c.Lookup)
		if err != nil {
			return s, fmt.Errorf("connection %q: %w", cn.ID, err)
		}
		sc := postgres.SetupConnection{ID: cn.ID, GoogleEmail: cn.GoogleEmail}
		if v != "" {
			sc.RefreshTokenDigest = postgres.TokenDigest(v)
			if sc.RefreshTokenSealed, err = a.Keys.Seal([]byte(v), gtoken.Binding(s.ID, cn.ID, gtoken.RefreshToken)); err != nil {
				return s, fmt.Errorf("connection %q: %w", cn.ID, err)
			}
		}
		s.Connections = append(s.Connections, sc)
	}
	return s, nil
}
