package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mappy-dev/mappy-mcp/migrations"
)

// database is a fresh database with a login role of its own, both of the same name.
type database struct {
	name string
	// serverURL is the owner's URL of the server as it was given, ownerURL and appURL are this database for the owner and
	// for the application's role.
	serverURL, ownerURL, appURL string
}

// createDatabase makes an empty database; migrate makes the role. serverURL is of a role that may create databases and roles.
func createDatabase(ctx context.Context, serverURL string) (database, error) {
	d := database{name: "mappy_demo_" + strings.ToLower(rand.Text()[:12]), serverURL: serverURL}
	var err error
	if d.ownerURL, err = addressed(serverURL, d.name, nil); err != nil {
		return d, err
	}
	if d.appURL, err = addressed(serverURL, d.name, url.UserPassword(d.name, rand.Text())); err != nil {
		return d, err
	}
	err = onServer(ctx, serverURL, "CREATE DATABASE "+d.quoted()+" TEMPLATE template0 ENCODING 'UTF8'")
	if err != nil {
		return d, fmt.Errorf("create a database: %w", errors.Join(err, d.drop(ctx))) // a cancelled statement may have gone through
	}
	return d, nil
}

// migrate brings the schema up and makes the application's role.
func (d database) migrate(ctx context.Context) error {
	return migrations.Up(ctx, d.ownerURL, d.appURL)
}

// dropTimeout bounds the removal: connections are cut, so only a checkpoint can take time.
const dropTimeout = 20 * time.Second

// drop removes the database with the connections that are still open, and the role, also when ctx has ended.
func (d database) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	err := onServer(ctx, d.serverURL, "DROP DATABASE IF EXISTS "+d.quoted()+" WITH (FORCE)", "DROP ROLE IF EXISTS "+d.quoted())
	if err != nil {
		return fmt.Errorf("drop the database %s: %w", d.name, err)
	}
	return nil
}

func (d database) quoted() string { return pgx.Identifier{d.name}.Sanitize() }

func onServer(ctx context.Context, serverURL string, statements ...string) error {
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing is lost with it
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// addressed is the server's URL with another database and, unless nil, another user. Query parameters that would win over
// these parts are taken out.
func addressed(serverURL, name string, user *url.Userinfo) (string, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", errors.New("the database URL cannot be parsed") // the parser's text may hold the password
	}
	u.Path = "/" + name
	out := []string{"dbname", "database"}
	if user != nil {
		u.User = user
		out = append(out, "user", "password")
	}
	q := u.Query()
	for _, p := range out {
		q.Del(p)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}
