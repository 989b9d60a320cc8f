// Command localrun runs a command with PostgreSQL and Redis at hand:
//
//	go run ./internal/localstack/localrun [-durable] [-embedded-redis] [-no-install] -- cmd args…
//
// The child finds the two in MAPPY_OWNER_DATABASE_URL and MAPPY_REDIS_URL. It runs in a process group of its own;
// SIGINT, SIGTERM and SIGHUP are passed on to the whole group, a second one within the same run kills it. When the
// child has ended everything is stopped and localrun exits with the child's code: 128 + signal if a signal ended it,
// 127 if it could not be started, 1 if the services could not, 2 for a usage error.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }
