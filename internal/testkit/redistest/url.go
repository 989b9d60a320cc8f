package redistest

import (
	"fmt"
	"net/url"
	"strconv"
)

// withNumber sets a URL's database: the path of redis://, the db parameter of unix://.
func withNumber(serverURL string, number int) (string, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", fmt.Errorf("read the Redis URL: %w", err)
	}
	q := u.Query()
	q.Del("db")
	if u.Scheme == "unix" {
		q.Set("db", strconv.Itoa(number))
	} else {
		u.Path = "/" + strconv.Itoa(number)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}
