package pgtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// fingerprint names a state of the migrations: the path and the bytes of every file, and River's version. 16 hex digits.
func fingerprint(files fs.FS, riverVersion int) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "river %d\n", riverVersion)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %d\n", path, len(b))
		h.Write(b)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the migrations: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
