package localstack

import (
	"fmt"
	"io"
	"os"
)

// Environment variables that Start reads, and that localrun sets for its child.
const (
	// EnvPostgres holds a postgres:// URL of a role that may create databases and roles.
	EnvPostgres = "MAPPY_OWNER_DATABASE_URL"
	// EnvRedis holds a redis://, rediss:// or unix:// URL.
	EnvRedis = "MAPPY_REDIS_URL"
)

// Oldest server versions that Mappy works with.
const (
	minPostgresMajor = 15
	minRedisMajor    = 7
)

// Options says what to start. The zero value starts both services for tests: fast, not durable, silent.
type Options struct {
	// Durable keeps PostgreSQL's fsync, synchronous commit and autovacuum on (demo, benchmark). False turns them off.
	// It changes nothing for a server that the environment names.
	Durable bool
	// AllowEmbeddedRedis permits the in-process stand-in where no Redis can be had. For the demo only: it keeps nothing,
	// serves one process, and runs scripts about eight times slower than Redis.
	AllowEmbeddedRedis bool
	// SkipPostgres and SkipRedis leave one service out; its URL is then empty.
	SkipPostgres, SkipRedis bool
	// NoInstall forbids the package manager.
	NoInstall bool
	// Log receives one plain line for each thing started, reused or installed. nil: nothing is said.
	Log io.Writer

	// env replaces the environment (nil: os.Getenv) for the two URLs.
	env func(string) string
	// find replaces the search for binaries (nil: this machine). Tests hide binaries with it.
	find *finder
	// install replaces the package manager (nil: this machine's).
	install func(s service) error
	// noDocker hides the Docker engine.
	noDocker bool
}

func (o Options) logf(format string, args ...any) {
	if o.Log != nil {
		fmt.Fprintf(o.Log, format+"\n", args...)
	}
}

func (o Options) finder() *finder {
	if o.find != nil {
		return o.find
	}
	return systemFinder()
}

// service names one of them; its value is the word used in messages.
type service string

const (
	postgres service = "PostgreSQL"
	redis    service = "Redis"
	bouncer  service = "PgBouncer"
)

// hint is the end of the line that tells a person how to get the service.
func (s service) hint() string {
	switch s {
	case postgres:
		return "install it (apt-get install postgresql, dnf install postgresql-server, brew install postgresql@17), " +
			"start Docker, or set " + EnvPostgres
	case bouncer:
		return "install it (apt-get, apk, dnf or brew install pgbouncer)"
	case redis:
	}
	return "install it (apt-get install redis-tools, dnf install valkey, brew install redis), start Docker, or set " + EnvRedis
}

func (o Options) getenv(name string) string {
	if o.env != nil {
		return o.env(name)
	}
	return os.Getenv(name)
}
