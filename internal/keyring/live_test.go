package keyring

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A process opens what another one sealed with a key that was added meanwhile.
func TestLiveFollowsItsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keyring.json")
	old, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Create(file); err != nil {
		t.Fatal(err)
	}
	live, err := LoadLive(file, "")
	if err != nil {
		t.Fatal(err)
	}
	binding := Binding("t", "c")
	before, err := live.Seal([]byte("before"), binding)
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := old.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	after, err := rotated.Seal([]byte("after"), binding)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Open(after, binding); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("a key that is in no file: %v", err)
	}
	if err := rotated.Replace(file); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if p, err := live.Open(after, binding); err != nil || string(p) != "after" {
				t.Errorf("%s, %v", p, err)
			}
			if p, err := live.Open(before, binding); err != nil || string(p) != "before" {
				t.Errorf("%s, %v", p, err)
			}
		})
	}
	wg.Wait()
	if live.Primary() != rotated.Primary() {
		t.Error("it still seals with the old key")
	}
	// A file that is gone or broken takes nothing away.
	stranger, err := New()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := stranger.Seal([]byte("x"), binding)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := live.Open(foreign, binding); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("got %v", err)
	}
	if p, err := live.Open(after, binding); err != nil || string(p) != "after" {
		t.Errorf("%s, %v", p, err)
	}
}

func TestLiveOfTheEnvironmentStays(t *testing.T) {
	t.Parallel()
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.Secret()
	if err != nil {
		t.Fatal(err)
	}
	live, err := LoadLive("", base64.StdEncoding.EncodeToString(raw))
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := r.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := rotated.Seal([]byte("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Open(sealed, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("got %v", err)
	}
	if _, err := LoadLive("", ""); err == nil {
		t.Error("no keyring was taken")
	}
}
