package endpoint

import "testing"

func TestURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                           "https://oauth2.googleapis.com/",
		"http://127.0.0.1:9400":      "http://127.0.0.1:9400/oauth2.googleapis.com/",
		"http://127.0.0.1:9400/":     "http://127.0.0.1:9400/oauth2.googleapis.com/",
		"http://127.0.0.1:9400///":   "http://127.0.0.1:9400/oauth2.googleapis.com/",
		"https://sim.example/google": "https://sim.example/google/oauth2.googleapis.com/",
	} {
		b, err := Parse(base)
		if err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if got := b.URL(OAuth); got != want {
			t.Errorf("%q: got %q, want %q", base, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"127.0.0.1:9400", "ftp://x/", "http://", "http://u:p@x/", "http://x/?q=1", "http://x/?", "http://x/#f", "http://x\x00/"} {
		if _, err := Parse(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}
