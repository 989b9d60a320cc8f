package localstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	homePrefix = "mpg"
	ownerFile  = "owner"
	// socketRoom is what a home's path may be followed by: "/redis/redis.sock", "/pg/.s.PGSQL.5432".
	socketRoom = 17
	// maxSocketPath is the shortest limit of the systems we run on (macOS: 104 bytes with the final zero).
	maxSocketPath = 103
)

// home is the folder of one stack. Its owner file is locked (flock) as long as the owning process lives; the kernel
// drops the lock at death, so whoever gets the lock knows that the folder is nobody's. Files in it:
//
//	owner        the lock
//	*.pid        "SIGNAL PID": a server and the signal that stops it (watch.sh reads these)
//	*.container  id of a Docker container
//	*.group      process group that shall not outlive the owner
type home struct {
	dir   string
	lock  *os.File
	cred  *syscall.Credential // identity of the servers; nil: our own
	watch *watcher

	closing sync.Once
}

// newHome removes the folders of dead owners, makes one for this process, and starts its watcher.
func newHome(ctx context.Context) (*home, error) {
	cred, err := unprivileged()
	if err != nil {
		return nil, err
	}
	sweep(ctx)
	base := baseDir(cred)
	dir, err := os.MkdirTemp(base, homePrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the servers: %w", err)
	}
	h := &home{dir: dir, cred: cred}
	if err := h.claim(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if cred != nil {
		if err := os.Chmod(dir, 0o711); err != nil { // the servers' identity must pass through
			h.close()
			return nil, fmt.Errorf("open the servers' folder: %w", err)
		}
	}
	if h.watch, err = startWatcher(ctx, dir); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// claim locks the owner file before it gets its name, so that nobody sees it unlocked.
func (h *home) claim() error {
	tmp := filepath.Join(h.dir, ownerFile+".new")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("claim %s: %w", h.dir, err)
	}
	h.lock = f
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", tmp, err)
	}
	if err := os.Rename(tmp, filepath.Join(h.dir, ownerFile)); err != nil {
		return fmt.Errorf("claim %s: %w", h.dir, err)
	}
	return nil
}

// sub makes a folder that belongs to the servers' identity, 0700.
func (h *home) sub(name string) (string, error) {
	dir := filepath.Join(h.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a server's folder: %w", err)
	}
	if err := h.give(dir); err != nil {
		return "", fmt.Errorf("give a server its folder: %w", err)
	}
	return dir, nil
}

// give hands a folder or file to the servers' identity.
func (h *home) give(path string) error {
	if h.cred == nil {
		return nil
	}
	return os.Chown(path, int(h.cred.Uid), int(h.cred.Gid))
}

// note writes one line for watch.sh.
func (h *home) note(name, line string) error {
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(line+"\n"), 0o600); err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return nil
}

func (h *home) notePID(name, signal string, pid int) error {
	return h.note(name+".pid", signal+" "+strconv.Itoa(pid))
}

// close deletes the folder, lets the watcher go, and drops the lock, once. The servers must have ended.
func (h *home) close() {
	h.closing.Do(func() {
		_ = os.RemoveAll(h.dir) // what stays, the watcher or the next Start removes
		if h.watch != nil {
			h.watch.release()
		}
		_ = h.lock.Close()
	})
}

// sweep removes folders whose owner is gone and stops what still runs from them. It never fails: what it cannot remove
// (another user's, one in use) is not its business.
func sweep(ctx context.Context) {
	for _, base := range baseDirs() {
		dirs, _ := filepath.Glob(filepath.Join(base, homePrefix+"*"))
		for _, dir := range dirs {
			if ours(dir) {
				sweepOne(ctx, dir)
			}
		}
	}
}

func sweepOne(ctx context.Context, dir string) {
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// Being made this moment, or its maker was killed between two system calls.
		if s, err := os.Stat(dir); err == nil && time.Since(s.ModTime()) > time.Minute {
			_ = os.Remove(filepath.Join(dir, ownerFile+".new"))
			_ = os.Remove(dir) // only ever empty: a stranger's folder of that name keeps its files
		}
		return
	}
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return // alive
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", watchScript, "mappy-sweep", dir, "sweep")
	_ = cmd.Run()
}

// ours tells whether dir is a real folder of this very user, not a link that somebody laid into a shared /tmp.
func ours(dir string) bool {
	s, err := os.Lstat(dir)
	if err != nil || !s.IsDir() {
		return false
	}
	st, ok := s.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// baseDirs lists where homes may lie: the temporary folder and, should that be unfit, /tmp.
func baseDirs() []string {
	if t := filepath.Clean(os.TempDir()); t != "/tmp" {
		return []string{t, "/tmp"}
	}
	return []string{"/tmp"}
}

// baseDir is the temporary folder unless a socket's path in it would be too long or the servers' identity could not
// reach it.
func baseDir(cred *syscall.Credential) string {
	for _, base := range baseDirs() {
		const random = 10 // digits that MkdirTemp appends, at most
		if len(base)+1+len(homePrefix)+random+socketRoom <= maxSocketPath && (cred == nil || passable(base)) {
			return base
		}
	}
	return "/tmp"
}

// passable tells whether every folder on the way lets strangers through.
func passable(dir string) bool {
	for {
		s, err := os.Stat(dir)
		if err != nil || s.Mode()&0o001 == 0 {
			return false
		}
		if dir == "/" || dir == "." {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
