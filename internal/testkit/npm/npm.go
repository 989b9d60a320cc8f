// Package npm runs programs that come as npm packages: the clients and judges that we did not write. Versions are those
// of a package-lock.json beside the test; the run itself fetches them, once per machine.
package npm

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds one program; the slowest takes half a minute.
const patience = 3 * time.Minute

// Box is Node.js with a folder of scripts and the packages that they need.
type Box struct {
	node, modules string
	scripts       fs.FS
}

// New gives the packages that package.json and package-lock.json in scripts name, fetching them where they are not in the
// cache yet, together with the *.mjs files there. The test fails where Node.js, npm or the registry cannot be had.
func New(tb testing.TB, scripts fs.FS) *Box {
	tb.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			tb.Fatalf("%s was not found; %s", program, installNode)
		}
	}
	return &Box{node: node(tb), modules: fetched(tb, scripts), scripts: scripts}
}

// Result is how a program ended.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Run runs one of the scripts, or a program of the packages ("node_modules/…"), with Node.js in a folder of its own, with a
// home of its own and further variables of the environment.
func (b *Box) Run(tb testing.TB, env []string, args ...string) Result {
	tb.Helper()
	dir, home := tb.TempDir(), tb.TempDir()
	names, err := fs.Glob(b.scripts, "*.mjs")
	if err != nil {
		tb.Fatal(err)
	}
	copyFiles(tb, dir, b.scripts, append(names, "package.json")...)
	if err := os.Symlink(b.modules, filepath.Join(dir, "node_modules")); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.node, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.WaitDelay = time.Second // a child that outlives a program that was killed holds its pipes
	cmd.Env = append(append(os.Environ(), "HOME="+home, "NODE_NO_WARNINGS=1"), env...)
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		tb.Fatalf("%v: %v\n%s%s", args, errors.Join(err, ctx.Err()), &stdout, &stderr)
	}
	return Result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
