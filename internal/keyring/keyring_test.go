package keyring

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func ring(t *testing.T) *Keyring {
	t.Helper()
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seal(t *testing.T, r *Keyring, text string, binding []byte) []byte {
	t.Helper()
	c, err := r.Seal([]byte(text), binding)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSealIsBoundToItsPlace(t *testing.T) {
	t.Parallel()
	r := ring(t)
	at := Binding("t1", "c1", "refresh")
	c := seal(t, r, "1//token", at)
	if bytes.Contains(c, []byte("token")) {
		t.Fatal("not encrypted")
	}
	if p, err := r.Open(c, at); err != nil || string(p) != "1//token" {
		t.Fatalf("got %q, %v", p, err)
	}
	for name, other := range map[string][]byte{
		"tenant": Binding("t2", "c1", "refresh"), "connection": Binding("t1", "c2", "refresh"), "kind": Binding("t1", "c1", "access"), "none": nil,
	} {
		if _, err := r.Open(c, other); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for i := 5; i < len(c); i++ {
		bad := bytes.Clone(c)
		bad[i] ^= 1
		if _, err := r.Open(bad, at); !errors.Is(err, ErrOpen) {
			t.Fatalf("byte %d: got %v", i, err)
		}
	}
	if bytes.Equal(c, seal(t, r, "1//token", at)) {
		t.Error("two seals of one text are equal")
	}
}

func TestBindingsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b"}, {"a/b"}, {"a", "", "b"}, {"a%2Fb"}, {"", "a", "b"}, {"a", "b", ""}} {
		k := string(Binding(parts...))
		if other, ok := seen[k]; ok {
			t.Errorf("%q and %q are both %q", parts, other, k)
		}
		seen[k] = parts
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	old := ring(t)
	at := Binding("t", "c", "refresh")
	before := seal(t, old, "x", at)
	rotated, err := old.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if rotated.Primary() == old.Primary() || len(rotated.Keys()) != 2 || len(old.Keys()) != 1 {
		t.Fatalf("%v after %v", rotated, old)
	}
	if p, err := rotated.Open(before, at); err != nil || string(p) != "x" {
		t.Fatalf("the old value: %q, %v", p, err)
	}
	after := seal(t, rotated, "y", at)
	for sealed, want := range map[string]KeyID{string(before): old.Primary(), string(after): rotated.Primary()} {
		if got, err := KeyOf([]byte(sealed)); err != nil || got != want {
			t.Errorf("sealed with %d, %v; want %d", got, err, want)
		}
	}
	if _, err := old.Open(after, at); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("the old ring opens the new value: %v", err)
	}
}

func TestOpenRefusesWhatIsNotSealed(t *testing.T) {
	t.Parallel()
	r := ring(t)
	for _, b := range [][]byte{nil, {}, {1}, {1, 2, 3, 4}, []byte("plain text"), {0, 0, 0, 0, 0, 0}} {
		if _, err := r.Open(b, nil); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "keyring.json")
	r := ring(t)
	c := seal(t, r, "x", nil)
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	if err := ring(t).Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing keyring was overwritten: %v", err)
	}
	loaded, err := Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := loaded.Open(c, nil); err != nil || string(p) != "x" {
		t.Fatalf("got %q, %v", p, err)
	}
	rotated, err := loaded.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if err := rotated.Replace(path); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path, "")
	if err != nil || again.Primary() != rotated.Primary() || !again.Has(r.Primary()) {
		t.Fatalf("%v, %v", again, err)
	}
	secret, err := again.Secret()
	if err != nil {
		t.Fatal(err)
	}
	fromEnv, err := Load("", " "+base64.StdEncoding.EncodeToString(secret)+"\n")
	if err != nil || fromEnv.Primary() != again.Primary() {
		t.Fatalf("%v, %v", fromEnv, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o620} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, ""); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, b64 string }{
		"nothing": {}, "both": {"x", "eA=="}, "no such file": {filepath.Join(dir, "none"), ""}, "a folder": {dir, ""},
		"huge": {huge, ""}, "not base64": {"", "%%%"}, "not a keyset": {"", base64.StdEncoding.EncodeToString([]byte(`{"a":1}`))},
	} {
		if r, err := Load(c.file, c.b64); err == nil {
			t.Errorf("%s: got %v", name, r)
		}
	}
}

// No key material in any error or printed form.
func TestNothingPrintsAKey(t *testing.T) {
	t.Parallel()
	r := ring(t)
	secret, err := r.Secret()
	if err != nil {
		t.Fatal(err)
	}
	var ks struct {
		Key []struct {
			KeyData struct{ Value string }
		}
	}
	if err := json.Unmarshal(secret, &ks); err != nil || len(ks.Key) != 1 || len(ks.Key[0].KeyData.Value) < 32 {
		t.Fatalf("unexpected keyset: %v", err)
	}
	value := ks.Key[0].KeyData.Value
	said := fmt.Sprintf("%v %+v %#v %s", r, r, r, r)
	for _, broken := range []string{
		strings.Replace(string(secret), `"SYMMETRIC"`, `"`+value+`"`, 1),
		strings.Replace(string(secret), "AesGcmKey", "AesGcmKey"+value, 1),
		string(secret[:len(secret)-2]),
	} {
		_, err := Parse([]byte(broken))
		if err == nil {
			t.Errorf("a broken keyset was read")
			continue
		}
		said += err.Error()
	}
	if strings.Contains(said, value) || strings.Contains(said, value[:16]) {
		t.Errorf("key material in %q", said)
	}
}
