package keyring

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// maxFile bounds a keyset file; ten keys need about 2 KB.
const maxFile = 1 << 20

// Load reads the ring from a file or from base64 text (MAPPY_KEYRING, MAPPY_KEYRING_B64). Exactly one must be given. On
// Unix a file that its group or others may read, write or execute is refused.
func Load(file, b64 string) (*Keyring, error) {
	switch {
	case file != "" && b64 != "":
		return nil, errors.New("keyring: both a file and a base64 text are configured; give one")
	case file != "":
		return readFile(file)
	case b64 != "":
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(b64), ""))
		if err != nil {
			return nil, errors.New("keyring: the base64 text is not standard base64")
		}
		return Parse(raw)
	}
	return nil, errors.New("keyring: no keyring is configured")
}

// Parse reads a cleartext Tink JSON keyset.
func Parse(raw []byte) (*Keyring, error) {
	h, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, errors.New("keyring: not a cleartext Tink JSON keyset")
	}
	return from(h)
}

func readFile(path string) (*Keyring, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("keyring: %s is not a regular file", path)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("keyring: %s has mode %04o, so others than its owner can use it; run chmod 600 on it", path, mode)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("keyring: reading %s failed", path)
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("keyring: %s is larger than %d bytes", path, maxFile)
	}
	r, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Secret is the keyset as cleartext Tink JSON: key material. It is for files and secret stores only.
func (r *Keyring) Secret() ([]byte, error) {
	var b bytes.Buffer
	if err := insecurecleartextkeyset.Write(r.handle, keyset.NewJSONWriter(&b)); err != nil {
		return nil, errors.New("keyring: encoding the keyset failed")
	}
	return b.Bytes(), nil
}

// Create writes the ring to a new file with mode 0600; an existing file is never overwritten (os.ErrExist).
func (r *Keyring) Create(path string) error { return r.write(path, os.Link) }

// Replace writes the ring over a file in one step: a reader sees the old or the new keyset, never a part of one.
func (r *Keyring) Replace(path string) error { return r.write(path, os.Rename) }

func (r *Keyring) write(path string, place func(oldname, newname string) error) error {
	raw, err := r.Secret()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".keyring-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("keyring: writing %s: %w", path, reason(err))
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("keyring: writing %s: %w", path, reason(err))
	}
	return nil
}

// reason is a failure without the names of files, of which one is temporary.
func reason(err error) error {
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
