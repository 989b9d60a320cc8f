package gbpsim_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// TestStrictFailsOnWhatIsNotSimulated runs Start under a test double and sees it fail at the end.
func TestStrictFailsOnWhatIsNotSimulated(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int32{
		"/mybusiness.googleapis.com/v4/accounts/1/locations/2/admins": 1,
		"/mybusinessqanda.googleapis.com/v1/locations/1/questions":    1,
		"/v4/accounts/1": 1, // the host segment is missing
		"/":              0,
		"/admin/stats":   0,
	} {
		var log bytes.Buffer
		r := &recorder{}
		sim, base := gbpsim.Start(r, gbpsim.Options{Strict: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
		status, _ := fetch(t, "GET", base+path, "")
		if (status == 404) != (want == 1) || len(sim.Unknown()) != int(want) || strings.Contains(log.String(), "not simulated") != (want == 1) {
			t.Errorf("%s: %d, %d unknown, log %q", path, status, len(sim.Unknown()), log.String())
		}
		for _, f := range r.cleanup {
			f()
		}
		if n := r.errors.Load(); n != want {
			t.Errorf("%s: the test failed %d times, want %d", path, n, want)
		}
	}
}

func TestStartRefusesAWrongSeed(t *testing.T) {
	t.Parallel()
	_, err := gbpsim.New(gbpsim.Options{Seed: gbpsim.World{
		Accounts:  []gbpsim.Account{{Name: "accounts/", Type: "SHOP"}},
		Locations: []gbpsim.Location{{Name: "1", Account: "accounts/9", OpenInfo: []byte("{")}},
		Grants:    []gbpsim.Grant{{}},
	}})
	for _, want := range []string{"accounts[0]: name", "accounts[0]: type", "locations[0]: name", "locations[0]: account", "openInfo is not JSON", "grants[0]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in %v", want, err)
		}
	}
}
