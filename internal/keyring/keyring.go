// Package keyring encrypts what must not lie in the database in clear: the tokens of Google connections.
//
// The keys are a Tink keyset of AES-256-GCM keys, one of them primary. New ciphertexts are made with the primary key; older
// ones are opened with the key they name, so a rotation does not touch the rows until they are sealed again. Every ciphertext
// is bound to associated data, which says where it belongs (see [Binding]): copied to another row it does not open.
//
// The keyset file is a cleartext Tink JSON keyset and therefore a secret of the first rank: who has it and the database has
// every connected Google account. It is read from a file that only its owner can read, or from the environment. Lose it and
// every account has to be connected again. No error of this package contains key material or plaintext.
package keyring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// KeyID names a key of the ring. It is no secret.
type KeyID uint32

// What goes wrong when opening.
var (
	// ErrUnknownKey: the ciphertext names a key that is not in this ring, or is no ciphertext of a ring.
	ErrUnknownKey = errors.New("keyring: sealed with a key that is not in the keyring")
	// ErrOpen: the key is there and does not fit: the bytes were changed, or they belong to another row.
	ErrOpen = errors.New("keyring: the sealed value was changed or belongs to another place")
)

// Keyring seals and opens. It never changes and is safe for use from many goroutines.
type Keyring struct {
	handle  *keyset.Handle
	aead    tink.AEAD
	primary KeyID
	keys    []KeyID
}

// New makes a ring with one fresh key.
func New() (*Keyring, error) {
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, errors.New("keyring: making a key failed")
	}
	return from(h)
}

// from takes a keyset over. Tink's own errors are not passed on: some of them quote what they could not read.
func from(h *keyset.Handle) (*Keyring, error) {
	a, err := aead.New(h)
	if err != nil {
		return nil, errors.New("keyring: the keyset has no usable AEAD keys")
	}
	p, err := h.Primary()
	if err != nil {
		return nil, errors.New("keyring: the keyset has no primary key")
	}
	r := &Keyring{handle: h, aead: a, primary: KeyID(p.KeyID())}
	for i := range h.Len() {
		e, err := h.Entry(i)
		if err != nil {
			return nil, errors.New("keyring: the keyset is damaged")
		}
		if e.KeyStatus() == keyset.Enabled {
			r.keys = append(r.keys, KeyID(e.KeyID()))
		}
	}
	return r, nil
}

// Binding is the associated data of a value: the parts of its place, such as tenant, connection and kind, joined by "/" with
// slashes inside a part escaped, so that no two places have the same binding.
func Binding(parts ...string) []byte {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = url.PathEscape(p)
	}
	return []byte(strings.Join(escaped, "/"))
}

// Seal encrypts with the primary key.
func (r *Keyring) Seal(plaintext, binding []byte) ([]byte, error) {
	c, err := r.aead.Encrypt(plaintext, binding)
	if err != nil {
		return nil, errors.New("keyring: sealing failed")
	}
	return c, nil
}

// Open decrypts; it gives ErrUnknownKey or ErrOpen.
func (r *Keyring) Open(sealed, binding []byte) ([]byte, error) {
	id, err := KeyOf(sealed)
	if err != nil {
		return nil, err
	}
	if !r.Has(id) {
		return nil, fmt.Errorf("%w (key %d)", ErrUnknownKey, id)
	}
	p, err := r.aead.Decrypt(sealed, binding)
	if err != nil {
		return nil, ErrOpen
	}
	return p, nil
}

// Rotate makes a ring with one more key, which is primary; all old keys stay for opening. The receiver is unchanged.
func (r *Keyring) Rotate() (*Keyring, error) {
	m := keyset.NewManagerFromHandle(r.handle)
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, errors.New("keyring: making a key failed")
	}
	if err := m.SetPrimary(id); err != nil {
		return nil, errors.New("keyring: the new key cannot be primary")
	}
	h, err := m.Handle()
	if err != nil {
		return nil, errors.New("keyring: the new keyset is not usable")
	}
	return from(h)
}

// Primary is the key that seals.
func (r *Keyring) Primary() KeyID { return r.primary }

// Has tells whether the ring can open what this key sealed.
func (r *Keyring) Has(id KeyID) bool {
	return slices.Contains(r.keys, id)
}

// Keys are the usable keys in the order of the keyset.
func (r *Keyring) Keys() []KeyID { return append([]KeyID(nil), r.keys...) }

// prefixed is the first byte of a Tink ciphertext that carries its key's id in the next four bytes.
const prefixed = 1

// KeyOf reads which key sealed a value, without opening it. It gives ErrUnknownKey for bytes that are no sealed value.
func KeyOf(sealed []byte) (KeyID, error) {
	if len(sealed) < 5 || sealed[0] != prefixed {
		return 0, ErrUnknownKey
	}
	return KeyID(binary.BigEndian.Uint32(sealed[1:5])), nil
}

// String shows ids only.
func (r *Keyring) String() string {
	return fmt.Sprintf("keyring(primary %d of %d keys)", r.primary, len(r.keys))
}

// GoString is String, so that %#v shows no key either.
func (r *Keyring) GoString() string { return r.String() }
