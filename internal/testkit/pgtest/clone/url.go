package clone

import (
	"fmt"
	"net/url"
)

// appPassword is used where the server asks for one. It guards nothing: test servers hold no secret.
const appPassword = "mappy_test_app"

func withDatabase(serverURL, database string) (string, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", fmt.Errorf("read the owner URL: %w", err)
	}
	u.Path = "/" + database
	dropQuery(u, "dbname", "database")
	return u.String(), nil
}

func withRole(serverURL, database, role string) (string, error) {
	s, err := withDatabase(serverURL, database)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", fmt.Errorf("read the owner URL: %w", err)
	}
	u.User = url.UserPassword(role, appPassword)
	dropQuery(u, "user", "password")
	return u.String(), nil
}

// dropQuery removes parameters that would win over the parts that were set.
func dropQuery(u *url.URL, names ...string) {
	q := u.Query()
	for _, n := range names {
		q.Del(n)
	}
	u.RawQuery = q.Encode()
}
