package gtoken

import (
	"fmt"

	"github.com/mappy-dev/mappy-mcp/internal/keyring"
)

// ResealKeys are Keys that tell which key seals; *keyring.Live is the real one.
type ResealKeys interface {
	Keys
	Primary() keyring.KeyID
}

// Resealed are a connection's tokens under the primary key.
type Resealed struct {
	RefreshTokenSealed []byte
	// AccessTokenSealed is nil where there was none, or none that could be opened: the next use refreshes.
	AccessTokenSealed []byte
	// From are the keys that sealed the tokens before.
	From []keyring.KeyID
}

// Reseal gives the connection's tokens sealed with the primary key, or nil when they are already, or there are none. The
// error is of the keyring: the refresh token cannot be opened.
func Reseal(keys ResealKeys, c Connection) (*Resealed, error) {
	if len(c.RefreshTokenSealed) == 0 {
		return nil, nil //nolint:nilnil // a removed connection holds nothing
	}
	r := &Resealed{}
	for _, sealed := range [][]byte{c.RefreshTokenSealed, c.AccessTokenSealed} {
		if id, err := keyring.KeyOf(sealed); err == nil && id != keys.Primary() {
			r.From = append(r.From, id)
		}
	}
	refresh := Binding(c.Tenant, c.ID, RefreshToken)
	plain, err := keys.Open(c.RefreshTokenSealed, refresh)
	if err != nil {
		return nil, fmt.Errorf("refresh token of %s: %w", c.ID, err)
	}
	if len(r.From) == 0 {
		return nil, nil //nolint:nilnil // nothing to do
	}
	if r.RefreshTokenSealed, err = keys.Seal(plain, refresh); err != nil {
		return nil, err
	}
	access := Binding(c.Tenant, c.ID, AccessToken)
	if plain, err := keys.Open(c.AccessTokenSealed, access); err == nil {
		if r.AccessTokenSealed, err = keys.Seal(plain, access); err != nil {
			return nil, err
		}
	}
	return r, nil
}
