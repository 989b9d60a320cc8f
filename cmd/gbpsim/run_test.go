package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// started runs the command until the test ends and gives its base URL.
func started(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var log bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"-listen", "127.0.0.1:0"}, args...), in, &log)
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		t.Fatalf("no URL: %v, exit code %d\n%s", err, <-code, log.String())
	}
	t.Cleanup(func() {
		stop()
		if c := <-code; c != exitOK {
			t.Errorf("exit code %d after a stop\n%s", c, log.String())
		}
	})
	return strings.TrimSpace(line)
}

func TestServesTheDemo(t *testing.T) {
	t.Parallel()
	c := gbpsim.Client{BaseURL: started(t, "-demo", "3", "-time-scale", "5", "-no-quotas", "-latency", "1ms")}
	w, err := c.World(t.Context())
	if err != nil || len(w.Locations) != 3 || len(w.Accounts) != 2 {
		t.Errorf("%d locations, %v", len(w.Locations), err)
	}
	k, err := c.Knobs(t.Context())
	if err != nil || k.TimeScale != 5 || !k.NoQuotas || k.LatencyMS != 1 {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestServesASeedFile saves the world of one simulator and starts another from it.
func TestServesASeedFile(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(gbpsim.JapaneseChain(5))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "world.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c := gbpsim.Client{BaseURL: started(t, "-seed", file)}
	if w, err := c.World(t.Context()); err != nil || len(w.Locations) != 5 {
		t.Errorf("%d locations, %v", len(w.Locations), err)
	}
}

// TestStopsWithARequestHeld sees that a held request does not keep the process alive; started's cleanup checks the exit.
func TestStopsWithARequestHeld(t *testing.T) {
	t.Parallel()
	base := started(t)
	c := gbpsim.Client{BaseURL: base}
	id, err := c.AddFault(t.Context(), gbpsim.Fault{Hold: gbpsim.HoldBefore})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if r, err := http.PostForm(base+"/oauth2.googleapis.com/token", nil); err == nil { // it is dropped
			_ = r.Body.Close()
		}
	}()
	if err := c.AwaitHeld(t.Context(), id, 1); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"stores":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		word string
	}{
		{"-h", exitOK, "-demo"},
		{"-colour", exitUsage, "colour"},
		{"extra", exitUsage, "extra"},
		{"-time-scale 0", exitUsage, "time-scale"},
		{"-demo -1", exitUsage, "demo"},
		{"-latency -1s", exitUsage, "latency"},
		{"-seed " + broken, exitFail, "stores"},
		{"-seed /does/not/exist", exitFail, "read the seed"},
		{"-listen 127.0.0.1:99999", exitFail, "listen"},
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), &out, &log); code != c.code || !strings.Contains(log.String(), c.word) || out.Len() != 0 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", c.args, code, out.String(), log.String())
		}
	}
}
