package mediacheck_test

import (
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
	"github.com/mappy-dev/mappy-mcp/internal/mediacheck"
)

// TestInsideIsNotReached (F039): wherever the way inside begins, nothing is connected to and one sentence is told.
func TestInsideIsNotReached(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	target := n.Serve(inside, file("image/jpeg", jpegOf(600, 600, 0)))
	plain := n.ServePlain(inside, file("image/jpeg", jpegOf(600, 600, 0)))
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusFound)
	})
	n.Point("inside.example.com", inside)
	n.Point("7f000001.nip.example", inside)
	n.Point("ten.example.com", "10.0.0.5")
	n.Point("meta.example.com", "169.254.169.254")
	c := n.checker()
	direct := []string{
		"https://" + inside + ":" + target.Port + "/a.jpg", "http://" + inside + ":" + plain.Port + "/a.jpg",
		"https://inside.example.com:" + target.Port + "/a.jpg", "https://7f000001.nip.example:" + target.Port + "/", "https://localhost:" + target.Port + "/",
		"http://inside.example.com:" + plain.Port + "/a.jpg",
		"http://10.0.0.5/a.jpg", "https://10.0.0.5/a.jpg", "https://ten.example.com/", "https://meta.example.com/latest/meta-data/", "http://169.254.169.254/latest/meta-data/",
		"https://[::1]:" + target.Port + "/", "https://[::ffff:" + inside + "]:" + target.Port + "/", "https://[::ffff:7f00:1]:" + target.Port + "/",
		"https://0.0.0.0:" + target.Port + "/", "https://[::]:" + target.Port + "/", "https://127.1.2.3:" + target.Port + "/",
		"https://192.168.1.1/", "https://172.16.0.1/", "https://100.64.0.1/", "https://100.100.100.200/", "https://198.18.0.1/", "https://192.0.0.192/", "https://192.0.2.1/",
		"https://168.63.129.16/", "https://224.0.0.1/", "https://255.255.255.255/", "https://240.0.0.1/",
		"https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::a00:5]/", "https://[2002:7f00:1::]/", "https://[2001::1]/", "https://[fd00:ec2::254]/", "https://[fe80::1]/", "https://[ff02::1]/",
		"https://[::7f00:1]/", "https://[2001:db8::1]/", "https://[fec0::1]/",
	}
	var words string
	for _, u := range direct {
		for _, address := range []string{u, base + "/?to=" + u} {
			r := refusal(t, c, address, gbp.UseGallery)
			if !strings.Contains(r.LogValue().String(), "address refused") { // by us, and not by a network that does not answer
				t.Errorf("%s: %s", address, r.LogValue())
			}
			if r.Rule != mediacheck.RuleUnreachable || r.Measured != 0 || r.Limit != 0 || r.Type != "" {
				t.Errorf("%s: %+v", address, r)
			}
			if words == "" {
				words = r.Text.JA + r.Text.EN
			}
			if r.Text.JA+r.Text.EN != words || strings.Contains(r.String(), "127.") || strings.Contains(r.String(), "refused:") {
				t.Errorf("%s: other words: %s", address, r.String())
			}
		}
	}
	// The same sentence for what does not exist at all, and for a closed port outside.
	for _, u := range []string{"https://nowhere.example.com/", "https://" + outside + ":1/"} {
		if r := refusal(t, c, u, gbp.UseGallery); r.Text.JA+r.Text.EN != words {
			t.Errorf("%s: other words: %s", u, r.String())
		}
	}
	if got := target.Connections() + plain.Connections(); got != 0 {
		t.Errorf("%d connections inside", got)
	}
}

// TestRedirectsToOddTargets: schemes, credentials and spellings are judged for redirects as for the first address.
func TestRedirectsToOddTargets(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	target := n.ServePlain(inside, file("text/plain", []byte("secret")))
	_, base := n.images(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	c := n.checker()
	for _, to := range []string{
		"", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "//127.0.0.1:" + target.Port + "/", "https://user:pass@img.example.com/", "http://2130706433:" + target.Port + "/",
		"http://0177.0.0.1:" + target.Port + "/", "http://127.1:" + target.Port + "/", "http://0x7f.1:" + target.Port + "/", "https:///a.jpg", "https://a.example.com:99999/", "https://a.example.com:0/",
	} {
		if r := refusal(t, c, base+"/?to="+to, gbp.UseGallery); r.Rule != mediacheck.RuleUnreachable {
			t.Errorf("%q: %s", to, r.Rule)
		}
	}
	if got := target.Connections(); got != 0 {
		t.Errorf("%d connections inside", got)
	}
}

// TestF041Rebinding: the address that was good when somebody looked is not good when it is dialled.
func TestF041Rebinding(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	target := n.Serve(inside, file("image/jpeg", jpegOf(600, 600, 0)))
	c := n.checker()
	n.Point("rebind.example.com", outside, inside)
	got, err := n.Options().Resolver.LookupNetIP(t.Context(), "ip4", "rebind.example.com")
	if err != nil || got[0] != netip.MustParseAddr(outside) {
		t.Fatalf("the first answer is %v, %v", got, err)
	}
	if r := refusal(t, c, "https://rebind.example.com:"+target.Port+"/a.jpg", gbp.UseGallery); r.Rule != mediacheck.RuleUnreachable {
		t.Errorf("got %s", r.Rule)
	}
	// Good for the first request, inside for the redirect to the same name.
	hop := n.Serve(outside, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Redirect(w, new(http.Request), "https://again.example.com:"+target.Port+"/b.jpg", http.StatusFound)
	}))
	n.Point("again.example.com", outside, inside)
	if r := refusal(t, c, "https://again.example.com:"+hop.Port+"/a.jpg", gbp.UseGallery); r.Rule != mediacheck.RuleUnreachable {
		t.Errorf("got %s", r.Rule)
	}
	if hop.Connections() != 1 || target.Connections() != 0 {
		t.Errorf("%d connections outside, %d inside", hop.Connections(), target.Connections())
	}
}

// TestSpellings (F043): decided by the spelling alone, so nothing depends on a resolver.
func TestSpellings(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	target := n.ServePlain(inside, file("image/jpeg", jpegOf(600, 600, 0)))
	c := n.checker()
	for _, u := range []string{
		"http://2130706433:" + target.Port + "/", "http://0177.0.0.1:" + target.Port + "/", "http://127.1:" + target.Port + "/", "http://0x7f000001:" + target.Port + "/",
		"http://127.0.0.1.:" + target.Port + "/", "https://0/", "file:///etc/passwd", "ftp://example.com/a.jpg", "http://user:pass@example.com/a.jpg",
		"http://example.com@127.0.0.1:" + target.Port + "/", "https://example.com:443@127.0.0.1/", "https://@127.0.0.1/", "https://example.com\\@127.0.0.1/", "https://127%2e0.0.1/",
		"https://１２７.0.0.1/", "https://img.example.com./a.jpg", "https:/img.example.com/a.jpg", "https://", "javascript:alert(1)", "data:image/png;base64,AAAA",
		"https://[::1", "https://[fe80::1%25lo]/", "https://a b.example.com/", "https://img.example.com/\r\nHost: x", "", " ", "a.jpg",
		"https://img.example.com/" + strings.Repeat("a", 2100),
	} {
		if r := refusal(t, c, u, gbp.UseGallery); r.Rule != mediacheck.RuleURL {
			t.Errorf("%q: %s", u, r.Rule)
		}
	}
	if got := target.Connections(); got != 0 {
		t.Errorf("%d connections inside", got)
	}
	if len(n.Lookups()) != 0 {
		t.Errorf("names were looked up: %v", n.Lookups())
	}
}

// TestProductionTrustsNothing: the zero value takes https only and no loopback at all.
func TestProductionTrustsNothing(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	h := n.Serve(outside, file("image/jpeg", jpegOf(600, 600, 0)))
	p := n.ServePlain(outside, file("image/jpeg", jpegOf(600, 600, 0)))
	n.Point("img.example.com", outside)
	c := n.checker(func(o *mediacheck.Options) { o.Trusted = nil })
	for u, want := range map[string]mediacheck.Rule{
		"https://img.example.com:" + h.Port + "/a.jpg": mediacheck.RuleUnreachable,
		"http://img.example.com:" + p.Port + "/a.jpg":  mediacheck.RuleHTTPS,
		"HTTP://img.example.com:" + p.Port + "/a.jpg":  mediacheck.RuleHTTPS,
		"http://" + outside + ":" + p.Port + "/a.jpg":  mediacheck.RuleUnreachable,
	} {
		if r := refusal(t, c, u, gbp.UseGallery); r.Rule != want {
			t.Errorf("%s: %s, want %s", u, r.Rule, want)
		}
	}
	if h.Connections()+p.Connections() != 0 {
		t.Error("something was dialled")
	}
}

// TestProxyOfTheEnvironmentIsNotUsed: it would dial what we refuse. In a process of its own, because net/http reads the
// environment once.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Parallel()
	const inner = "MEDIACHECK_TEST_PROXY"
	n := newInternet(t)
	if proxy := os.Getenv(inner); proxy != "" {
		_, base := n.images(file("image/jpeg", jpegOf(600, 600, 0)))
		passes(t, n.checker(), base+"/a.jpg", gbp.UseGallery)
		return
	}
	proxy := n.ServePlain(inside, file("image/jpeg", jpegOf(600, 600, 0)))
	self := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfTheEnvironmentIsNotUsed$")
	self.Env = append(os.Environ(), inner+"=yes")
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		self.Env = append(self.Env, name+"=http://"+inside+":"+proxy.Port)
	}
	self.Env = append(self.Env, "NO_PROXY=", "no_proxy=")
	if out, err := self.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if proxy.Connections() != 0 {
		t.Error("the proxy was used")
	}
}

// TestForeignCertificate: an untrusted certificate is one more case of the neutral sentence.
func TestForeignCertificate(t *testing.T) {
	t.Parallel()
	n := newInternet(t)
	_, base := n.images(file("image/jpeg", jpegOf(600, 600, 0)))
	c := n.checker(func(o *mediacheck.Options) { o.RootCAs = newInternet(t).Options().RootCAs })
	r := refusal(t, c, base+"/a.jpg", gbp.UseGallery)
	if r.Rule != mediacheck.RuleUnreachable || !strings.Contains(r.LogValue().String(), "certificate") {
		t.Errorf("got %s, %s", r.Rule, r.LogValue())
	}
	if strings.Contains(r.String(), "certificate") {
		t.Errorf("the cause is told: %s", r)
	}
}
