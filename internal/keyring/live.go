package keyring

import (
	"errors"
	"sync/atomic"
)

// Live is a ring that follows its file: a value sealed with a key that it does not have makes it read the file again. So a
// key can be added while processes run. A ring that came from the environment stays as it is. Safe for use from many
// goroutines.
type Live struct {
	file string
	ring atomic.Pointer[Keyring]
}

// LoadLive reads the ring as [Load] does.
func LoadLive(file, b64 string) (*Live, error) {
	r, err := Load(file, b64)
	if err != nil {
		return nil, err
	}
	l := &Live{file: file}
	l.ring.Store(r)
	return l, nil
}

// Seal encrypts with the primary key as it was last read.
func (l *Live) Seal(plaintext, binding []byte) ([]byte, error) {
	return l.ring.Load().Seal(plaintext, binding)
}

// Open decrypts; it gives ErrUnknownKey or ErrOpen. A file that cannot be read leaves the ring as it is.
func (l *Live) Open(sealed, binding []byte) ([]byte, error) {
	p, err := l.ring.Load().Open(sealed, binding)
	if !errors.Is(err, ErrUnknownKey) || l.file == "" {
		return p, err
	}
	fresh, unread := readFile(l.file)
	if unread != nil {
		return nil, err
	}
	l.ring.Store(fresh)
	return fresh.Open(sealed, binding)
}

// Primary is the key that seals.
func (l *Live) Primary() KeyID { return l.ring.Load().Primary() }

// String shows ids only.
func (l *Live) String() string { return l.ring.Load().String() }

// GoString is String, so that %#v shows no key either.
func (l *Live) GoString() string { return l.String() }
