// Package teststack gives one PostgreSQL and one Redis to all tests of a process: those that the environment names
// (MAPPY_OWNER_DATABASE_URL, MAPPY_REDIS_URL), else private ones, each started when first asked for.
//
// The two package-level variables are the one exception to "no globals": what they hold belongs to the process as a
// whole, go test has no place that runs once for several importing packages, and starting a cluster for each test would
// cost 0.7 s. Nobody stops the servers: they end with the process, by the watcher and the parent-death signal of package
// localstack.
package teststack

import (
	"context"
	"os"
	"sync"

	"github.com/mappy-dev/mappy-mcp/internal/localstack"
)

var (
	postgres = sync.OnceValues(func() (*localstack.Stack, error) {
		return localstack.Start(context.Background(), localstack.Options{SkipRedis: true, Log: os.Stderr})
	})
	redis = sync.OnceValues(func() (*localstack.Stack, error) {
		return localstack.Start(context.Background(), localstack.Options{SkipPostgres: true, Log: os.Stderr})
	})
)

// OwnerURL returns a postgres:// URL of a role that may create databases and roles. The error's text says what to do.
func OwnerURL() (string, error) {
	s, err := postgres()
	if err != nil {
		return "", err
	}
	return s.OwnerURL(), nil
}

// RedisURL returns the URL of a Redis that all tests share. The error's text says what to do.
func RedisURL() (string, error) {
	s, err := redis()
	if err != nil {
		return "", err
	}
	return s.RedisURL(), nil
}
