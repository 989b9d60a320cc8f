package localstack

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// RedisDatabases is the number of databases of a private Redis: enough that each test of a run gets its own.
const RedisDatabases = "16384"

// RedisServer is a private Redis that can be stopped, started again at the same address, and frozen. It keeps nothing
// on disk: after Stop its data are gone. Its methods may be called from several goroutines.
type RedisServer struct {
	bin  redisBinary
	home *home
	dir  string

	mu   sync.Mutex
	proc *process // nil when stopped
}

// StartRedisServer starts a private Redis in a folder of its own, from binaries on this machine or, unless
// opts.NoInstall, installed for it. It never reuses a server that the environment names: it is for tests that stop,
// freeze or flush it. The caller must Close it.
func StartRedisServer(ctx context.Context, opts Options) (*RedisServer, error) {
	bin, err := findOrInstall(ctx, opts, redis, opts.finder().redis)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, redis.hint())
	}
	h, err := newHome(ctx)
	if err != nil {
		return nil, err
	}
	s, err := newRedis(ctx, h, bin)
	if err != nil {
		h.close()
		return nil, err
	}
	return s, nil
}

// newRedis starts a server in h/redis.
func newRedis(ctx context.Context, h *home, bin redisBinary) (*RedisServer, error) {
	dir, err := h.sub("redis")
	if err != nil {
		return nil, err
	}
	s := &RedisServer{bin: bin, home: h, dir: dir}
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// URL is the server's address, unix://…, the same over every Stop and Start.
func (s *RedisServer) URL() string { return "unix://" + s.socket() }

func (s *RedisServer) socket() string { return filepath.Join(s.dir, "redis.sock") }

// Start starts the server, empty, and returns when it has answered. It is a no-op when running.
func (s *RedisServer) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && !s.proc.ended() {
		return nil
	}
	logPath := filepath.Join(s.home.dir, "redis.log")
	logFile, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("make Redis's log: %w", err)
	}
	defer logFile.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.bin.path)
	cmd.Args = []string{
		s.bin.argv0, "--port", "0", "--unixsocket", s.socket(), "--unixsocketperm", "700",
		"--dir", s.dir, "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
		"--databases", RedisDatabases, "--daemonize", "no",
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, serverEnv(s.dir), logFile, logFile
	// SIGKILL, because there is nothing to save and a frozen server would not hear anything else.
	proc, err := startProcess(cmd, s.home.cred, syscall.SIGKILL)
	if err != nil {
		return err
	}
	s.proc = proc
	err = s.home.notePID("redis", "KILL", proc.pid())
	if err == nil {
		err = await(ctx, proc, func() error { return pingRedis(ctx, s.URL()) })
	}
	if err != nil {
		s.stopLocked()
		return fmt.Errorf("%s (%s) did not come up: %w (%s)", redis, s.bin.path, err, lastLines(logPath))
	}
	return nil
}

// Stop ends the server at once and loses its data; connections are cut and new ones refused. No-op when stopped.
func (s *RedisServer) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopLocked()
}

func (s *RedisServer) stopLocked() {
	if s.proc == nil {
		return
	}
	s.proc.stop(syscall.SIGKILL, time.Second)
	s.proc = nil
}

// Pause freezes the server: connections stay open and new ones are accepted by the kernel, but nothing is answered.
func (s *RedisServer) Pause() { s.send(syscall.SIGSTOP) }

// Resume lets a frozen server go on; it then answers what was sent meanwhile.
func (s *RedisServer) Resume() { s.send(syscall.SIGCONT) }

func (s *RedisServer) send(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.signal(sig)
	}
}

// Close stops the server and removes its folder. Only for one made by StartRedisServer; calling it twice is harmless.
func (s *RedisServer) Close() error {
	s.Stop()
	s.home.close()
	return nil
}

func pingRedis(ctx context.Context, url string) error {
	client, err := openRedis(url)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := dialable(ctx, client); err != nil {
		return err
	}
	return client.Ping(ctx).Err()
}

// openRedis makes a client that tries once.
func openRedis(url string) (*goredis.Client, error) {
	opt, err := goredis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("read Redis URL: %w", err)
	}
	opt.MaxRetries = -1
	opt.DialerRetries = 1
	opt.DialTimeout = 5 * time.Second
	opt.PoolSize = 1
	opt.ContextTimeoutEnabled = true
	return goredis.NewClient(opt), nil
}

// dialable connects once without the client library, which prints a line for each refusal.
func dialable(ctx context.Context, client *goredis.Client) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, client.Options().Network, client.Options().Addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
