package localstack

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// startEmbedded starts the in-process stand-in on a free loopback port. Its expiry follows the clock, which it does not
// by default.
func startEmbedded() (url string, stop func(), err error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := m.Start(); err != nil {
		return "", nil, fmt.Errorf("start the in-process Redis: %w", err)
	}
	return "redis://" + m.Addr(), m.Close, nil
}
