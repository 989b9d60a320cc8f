// Command gbpsim serves the Google Business Profile simulator on a loopback address.
//
//	gbpsim -demo 120                 # a café chain of 120 stores
//	gbpsim -seed world.json          # a world of one's own
//
// It prints its base URL, which is what MAPPY_GOOGLE_BASE_URL takes. Nothing is persisted. The admin API under /admin/ has
// no authentication, so leave it on loopback.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
