package localstack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestInstallCommandTakesTheFirstPackageManager(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, name := range []string{"apt-get", "apk", "dnf"} {
		program(t, filepath.Join(base, name), name, "")
	}
	for _, c := range []struct {
		have    []string
		s       service
		manager string
		want    string // the last or, for apt-get, the second last argument
	}{
		{[]string{"dnf", "apk", "apt-get"}, redis, "apt-get", "redis"},
		{[]string{"apt-get"}, postgres, "apt-get", "postgresql"},
		{[]string{"dnf", "apk"}, postgres, "apk", "apk add postgresql"},
		{[]string{"dnf"}, redis, "dnf", "dnf -y install valkey || dnf -y install redis"},
	} {
		f := &finder{}
		for _, name := range c.have {
			f.path = append(f.path, filepath.Join(base, name))
		}
		argv, manager := installCommand(f, c.s)
		if manager != c.manager || !slices.Contains(argv, c.want) {
			t.Errorf("%v for %s: %s %q", c.have, c.s, manager, argv[min(3, len(argv)-1):])
		}
	}
	if argv, _ := installCommand(&finder{}, redis); argv != nil {
		t.Errorf("no package manager, but %q", argv)
	}
}

func TestFindOrInstall(t *testing.T) {
	t.Parallel()
	missing := errors.Join(errNotFound)
	t.Run("installs once for parallel callers", func(t *testing.T) {
		t.Parallel()
		var installed atomic.Bool
		var installs atomic.Int32
		find := func(context.Context) (string, error) {
			if installed.Load() {
				return "binary", nil
			}
			return "", missing
		}
		opts := Options{install: func(service) error { installs.Add(1); installed.Store(true); return nil }}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if got, err := findOrInstall(t.Context(), opts, redis, find); err != nil || got != "binary" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		wg.Wait()
		if installs.Load() != 1 {
			t.Errorf("installed %d times", installs.Load())
		}
	})
	never := Options{install: func(service) error { t.Error("installed"); return nil }}
	t.Run("not when forbidden", func(t *testing.T) {
		t.Parallel()
		opts := never
		opts.NoInstall = true
		if _, err := findOrInstall(t.Context(), opts, redis, func(context.Context) (int, error) { return 0, missing }); !errors.Is(err, errNotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("not for another error", func(t *testing.T) {
		t.Parallel()
		if _, err := findOrInstall(t.Context(), never, postgres, func(context.Context) (int, error) { return 0, fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a failure keeps the way to the next source open", func(t *testing.T) {
		t.Parallel()
		opts := Options{install: func(service) error { return errNoInstaller }}
		_, err := findOrInstall(t.Context(), opts, postgres, func(context.Context) (int, error) { return 0, missing })
		if !errors.Is(err, errNotFound) || !errors.Is(err, errNoInstaller) {
			t.Errorf("got %v", err)
		}
	})
}

// machine is a Debian of shell scripts below a folder: aptinstall.sh runs on it with its paths put before.
type machine struct {
	t    *testing.T
	root string
}

const foreignPolicy = "#!/bin/sh\n# the administrator's\nexit 0\n"

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir()}
	for _, dir := range []string{"run", "usr/sbin", "etc/systemd/system/multi-user.target.wants", "etc/rc2.d", "etc/init.d", "bin", "state"} {
		if err := os.MkdirAll(filepath.Join(m.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.write("state/known", "postgresql-9 - old\npostgresql-15 - object-relational\npostgresql-16 - object-relational\npostgresql-16-extension - no\nredis-tools - tools\n")
	m.write("state/packages", "ii  libc6 2.36\n")
	m.script("apt-cache", `case $1 in
show) grep -q "^redis-tools " $S/known ;;
search) grep "^postgresql-[0-9]* " $S/known ;;
esac`)
	// apt-get notes its arguments and what the system looks like while it runs, then does what state/on-install says.
	m.script("apt-get", `echo "$*" >>$S/apt
case "$*" in
*update*) if [ -f $S/known-after-update ]; then mv $S/known-after-update $S/known; fi ;;
*install*)
  cp $R/usr/sbin/policy-rc.d $S/policy-during; sh $R/usr/sbin/policy-rc.d; echo $? >$S/policy-answer
  cat $R/etc/postgresql-common/createcluster.d/* >$S/cluster-during 2>/dev/null
  . $S/on-install ;;
esac`)
	m.script("dpkg-query", `for last; do :; done
case $last in
*'{'*) cat $S/packages ;;
*) grep "^ii  $last " $S/packages ;;
esac`)
	m.script("systemctl", `echo "$*" >>$S/systemctl; rm -f $R/etc/systemd/system/multi-user.target.wants/$2`)
	m.script("update-rc.d", `echo "$*" >>$S/update-rc.d`)
	m.write("state/on-install", `for last; do :; done; echo "ii  $last 1.0" >>$S/packages`)
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) script(name, body string) {
	m.t.Helper()
	m.write("bin/"+name, "#!/bin/sh\nR="+m.root+" S="+m.root+"/state\n"+body+"\n")
}

// read returns a file's text, "" for none.
func (m *machine) read(name string) string {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(b)
}

func (m *machine) argv(what string) []string {
	env := []string{"/usr/bin/env", "PATH=" + m.root + "/bin:/usr/bin:/bin"}
	return append(env, "/bin/sh", "-c", aptScript, "mappy-install", what, m.root)
}

func (m *machine) install(s service) (log string, err error) {
	m.t.Helper()
	var out tail
	err = runInstall(m.t.Context(), Options{Log: &out}, s, m.argv(strings.ToLower(string(s))))
	return out.String(), err
}

// clean checks that nothing temporary is left.
func (m *machine) clean(policy string) {
	m.t.Helper()
	if got := m.read("usr/sbin/policy-rc.d"); got != policy {
		m.t.Errorf("policy-rc.d is now %q, was %q", got, policy)
	}
	left, err := filepath.Glob(filepath.Join(m.root, "usr/sbin/*"))
	if err != nil {
		m.t.Fatal(err)
	}
	want := 1
	if policy == "" {
		want = 0
	}
	if len(left) != want || exists(filepath.Join(m.root, "etc/postgresql-common")) {
		m.t.Errorf("left behind: %v, postgresql-common %t", left, exists(filepath.Join(m.root, "etc/postgresql-common")))
	}
}

func TestAptInstallsRedisToolsWithoutServices(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	log, err := m.install(redis)
	if err != nil {
		t.Fatal(err)
	}
	apt := m.read("state/apt")
	if strings.Count(apt, "\n") != 1 || !strings.HasSuffix(apt, "install --no-install-recommends redis-tools\n") || !strings.HasPrefix(apt, "-q -y ") {
		t.Errorf("apt-get ran as %q", apt)
	}
	if m.read("state/policy-answer") != "101\n" {
		t.Errorf("service starts were not forbidden: policy said %q", m.read("state/policy-answer"))
	}
	if m.read("state/cluster-during") != "" {
		t.Error("PostgreSQL's settings were touched for Redis")
	}
	if log != "Redis: installed redis-tools 1.0\n" {
		t.Errorf("log: %q", log)
	}
	m.clean("")
}

func TestAptInstallsTheNewestPostgresWithoutACluster(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/sbin/policy-rc.d", foreignPolicy)
	log, err := m.install(postgres)
	if err != nil {
		t.Fatal(err)
	}
	if apt := m.read("state/apt"); !strings.HasSuffix(apt, "install --no-install-recommends postgresql-16\n") {
		t.Errorf("apt-get ran as %q", apt)
	}
	if got := m.read("state/cluster-during"); got != "create_main_cluster = false\n" {
		t.Errorf("createcluster.d held %q", got)
	}
	if m.read("state/policy-answer") != "101\n" {
		t.Error("service starts were not forbidden")
	}
	if !strings.Contains(log, "installed postgresql-16 1.0") {
		t.Errorf("log: %q", log)
	}
	m.clean(foreignPolicy)
}

func TestAptKeepsPostgresSettingsThatWereThere(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("etc/postgresql-common/createcluster.d/own.conf", "# mine\n")
	if _, err := m.install(postgres); err != nil {
		t.Fatal(err)
	}
	if got := m.read("etc/postgresql-common/createcluster.d/own.conf"); got != "# mine\n" {
		t.Errorf("own.conf: %q", got)
	}
	if exists(filepath.Join(m.root, "etc/postgresql-common/createcluster.d/mappy-localstack.conf")) {
		t.Error("our setting was left")
	}
}

func TestAptTurnsOffOnlyTheUnitsItBrought(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("etc/systemd/system/multi-user.target.wants/redis-server.service", "the user's own, enabled before")
	m.write("state/on-install", `mkdir -p $R/etc/init.d
touch $R/etc/systemd/system/multi-user.target.wants/postgresql.service $R/etc/systemd/system/multi-user.target.wants/unrelated.service
touch $R/etc/rc2.d/S01postgresql $R/etc/init.d/postgresql`)
	log, err := m.install(postgres)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.read("state/systemctl"); got != "disable postgresql.service\n" {
		t.Errorf("systemctl ran as %q", got)
	}
	if got := m.read("state/update-rc.d"); got != "postgresql disable\n" {
		t.Errorf("update-rc.d ran as %q", got)
	}
	if !strings.Contains(log, "PostgreSQL: disabled postgresql\n") {
		t.Errorf("log: %q", log)
	}
	if !exists(filepath.Join(m.root, "etc/systemd/system/multi-user.target.wants/redis-server.service")) {
		t.Error("the user's own service was turned off")
	}
}

func TestAptUpdatesWhenThePackageIsUnknown(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("state/known", "postgresql-14 - too old\n")
	m.write("state/known-after-update", "postgresql-14 - too old\npostgresql-17 - new\n")
	if _, err := m.install(postgres); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(m.read("state/apt")), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], " update") || !strings.HasSuffix(lines[1], " postgresql-17") {
		t.Errorf("apt-get ran as %q", lines)
	}

	m = newMachine(t)
	m.write("state/known", "postgresql-14 - too old\n")
	if _, err := m.install(postgres); err == nil || !strings.Contains(err.Error(), "apt knows no package for postgresql") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(m.read("state/apt"), "install") {
		t.Error("something was installed")
	}
	m.clean("")
}

func TestAptUpdatesAndTriesAgainWhenTheInstallationFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("state/on-install", `[ -f $S/failed ] || { touch $S/failed; echo '404 Not Found' >&2; exit 100; }`)
	if _, err := m.install(redis); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(m.read("state/apt"), "\n"); got != 3 {
		t.Errorf("apt-get ran %d times: %s", got, m.read("state/apt"))
	}
}

func TestAptNeverTouchesAPackageThatIsThere(t *testing.T) {
	t.Parallel()
	for s, line := range map[service]string{postgres: "ii  postgresql-16 0.9\n", redis: "ii  redis-tools 0.9\n"} {
		m := newMachine(t)
		m.write("state/packages", line)
		if _, err := m.install(s); err == nil || !strings.Contains(err.Error(), "is installed, but no server was found in it") {
			t.Errorf("%s: got %v", s, err)
		}
		if apt := m.read("state/apt"); apt != "" {
			t.Errorf("%s: apt-get ran as %q", s, apt)
		}
		m.clean("")
	}
}

func TestAptFailureIsReportedAndCleanedUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/sbin/policy-rc.d", foreignPolicy)
	m.write("state/on-install", `echo 'E: no space left on device' >&2; exit 100`)
	_, err := m.install(postgres)
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	m.clean(foreignPolicy)
}

func TestAptUndoesWhatAKilledRunLeft(t *testing.T) {
	t.Parallel()
	ours := "#!/bin/sh\n# mappy localstack: temporary\nexit 101\n"
	for name, c := range map[string]struct{ policy, saved, want string }{
		"nothing was there":           {ours, "", ""},
		"one was there":               {ours, foreignPolicy, foreignPolicy},
		"killed between two renames":  {"", foreignPolicy, foreignPolicy},
		"replaced by the admin since": {"#!/bin/sh\nexit 7\n", foreignPolicy, "#!/bin/sh\nexit 7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if c.policy != "" {
				m.write("usr/sbin/policy-rc.d", c.policy)
			}
			if c.saved != "" {
				m.write("usr/sbin/policy-rc.d.before-mappy", c.saved)
			}
			m.write("etc/postgresql-common/createcluster.d/mappy-localstack.conf", "create_main_cluster = false\n")
			if _, err := m.install(redis); err != nil {
				t.Fatal(err)
			}
			if m.read("state/cluster-during") != "" {
				t.Error("the left setting was still there while installing")
			}
			m.clean(c.want)
		})
	}
}

func TestAnInterruptedInstallationCleansUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/sbin/policy-rc.d", foreignPolicy)
	fifo := filepath.Join(m.root, "state/started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	m.write("state/on-install", `echo go >$S/started; exec sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- runInstall(ctx, Options{}, postgres, m.argv("postgresql")) }()
	if _, err := os.ReadFile(fifo); err != nil { // apt-get runs now
		t.Fatal(err)
	}
	if !strings.Contains(m.read("usr/sbin/policy-rc.d"), "temporary") {
		t.Error("no policy while installing")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	m.clean(foreignPolicy)
}

// A user in the group of the terminal may press Ctrl-C; a killed parent must not cut the package manager off either.
func TestAnInstallationOutlivesItsKilledParentAndCleansUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	fifo := filepath.Join(m.root, "state/started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	m.write("state/on-install", `echo go >$S/started; read -r _ <$S/goon; touch $S/finished`)
	if err := syscall.Mkfifo(filepath.Join(m.root, "state/goon"), 0o600); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperEnv+"=install", "MAPPY_TEST_ROOT="+m.root)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(fifo); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if err := os.WriteFile(filepath.Join(m.root, "state/goon"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the installation finishes and cleans up", func() bool {
		return exists(filepath.Join(m.root, "state/finished")) && !exists(filepath.Join(m.root, "usr/sbin/policy-rc.d"))
	})
	m.clean("")
}
