// Package localstack brings up the two services that Mappy needs, PostgreSQL (15 or newer) and Redis (7 or newer), for
// the demo, the tests and the benchmark, on a machine that may have nothing but Go.
//
// Each service is found on its own, by the first of these ways that works:
//
//  1. the environment: MAPPY_OWNER_DATABASE_URL, MAPPY_REDIS_URL. The server is asked for its version and is never
//     stopped. A URL that does not answer is an error: it is not passed over.
//  2. a private server from binaries on this machine: PGBIN, PATH, pg_config, the usual folders of Debian, Red Hat,
//     Alpine, Homebrew and Postgres.app; redis-server or valkey-server, or redis-check-rdb, which is the same executable.
//  3. the system's package manager, where it asks no question (root or passwordless sudo): apt-get, else apk, else dnf.
//     No daemon is started and no cluster or enabled service is left behind; what was installed is said on Options.Log.
//  4. a container, where a Docker engine answers. This way is not exercised by the tests of this repository.
//  5. for Redis and with Options.AllowEmbeddedRedis only: an in-process stand-in that forgets everything at exit.
//
// Where none works, Start returns one error whose single line says what to install.
//
// # What a private server looks like
//
// Servers listen on a Unix socket in a folder of their own below the temporary folder (mpg*, 0700 or, as root, 0711 with
// 0700 folders in it), so parallel runs cannot meet and no TCP port is taken. Started by root they run as postgres, else
// nobody. Nothing outlives its owner: Stack.Close stops and removes everything; when the owner dies without Close, a
// small watching shell (all systems) and the kernel's parent-death signal (Linux) stop the servers and remove the folder;
// should the watcher be killed too, the next Start removes what it finds without an owner.
package localstack
