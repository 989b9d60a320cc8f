package gbp

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Why an address cannot be used, as the second half of a sentence.
var (
	wrongForm        = errs.T("URL として読み取れません。", "it cannot be read as one.")
	wrongScheme      = errs.T("http と https だけが使えます。", "only http and https are possible.")
	wrongCredentials = errs.T("ユーザー名やパスワードは入れられません。", "user names and passwords are not possible in it.")
	wrongHost        = errs.T("公開されたホスト名がありません。", "it has no public host name.")
	wrongCharacter   = errs.T("空白または制御文字があります。", "it holds a space or control character.")
)

// parsePublicURL checks an address syntactically: the address, or nil and why it cannot be used. Numeric and short spellings of
// IPv4 are refused here, so that the answer does not depend on the resolver of the machine.
func parsePublicURL(s string) (*url.URL, errs.Text) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, wrongCharacter
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, wrongForm
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, wrongScheme
	}
	if u.User != nil {
		return nil, wrongCredentials
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if _, err := netip.ParseAddr(host); err == nil || host == "" || !strings.Contains(host, ".") || numericHost(host) {
		return nil, wrongHost
	}
	return u, errs.Text{}
}

// quotable is an address that is refused without the password that it may hold.
func quotable(s string) string {
	if strings.Contains(s, "@") {
		return ""
	}
	return s
}

// numericHost tells whether the last label of a host starts with a digit: no public top-level domain does, and every odd spelling of an IPv4 address does.
func numericHost(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "" || last[0] >= '0' && last[0] <= '9'
}

func isVideo(p string) bool {
	return slices.Contains([]string{".mp4", ".mov", ".m4v", ".avi", ".webm", ".mkv", ".wmv", ".mpg", ".mpeg", ".3gp"}, strings.ToLower(path.Ext(p)))
}

// Domain is the host of a URL without "www.", in lower case; "" for what is no URL.
func Domain(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), "www.")
}

// sharedHosts serve pages of many businesses, told apart by the path, they and their subdomains (ja-jp.facebook.com,
// page.line.me). Assumed: the large ones that Japanese stores name as their website, and shorteners. Where each business has a
// subdomain, that is its own.
var sharedHosts = append([]string{
	"youtube.com", "youtu.be", "line.me", "lin.ee", "linkedin.com", "tabelog.com", "hotpepper.jp", "gnavi.co.jp", "retty.me", "ekiten.jp", "jalan.net", "ikyu.com",
	"rakuten.co.jp", "yahoo.co.jp", "amazon.co.jp", "reserva.be", "airrsv.net", "coubic.com", "tablecheck.com", "peraichi.com", "booking.com", "ubereats.com", "demae-can.com",
	"tripadvisor.jp", "tripadvisor.com", "yelp.com", "google.com", "goo.gl", "forms.gle", "g.page", "bit.ly", "is.gd", "x.gd", "t.co", "tinyurl.com", "ow.ly", "amzn.to",
}, nameHosts...)

// nameHosts are those whose first segment is the name of the business, large and small letters alike, unless it is one of
// collections.
var nameHosts = []string{
	"facebook.com", "instagram.com", "x.com", "twitter.com", "threads.net", "tiktok.com", "note.com", "ameblo.jp", "linktr.ee", "lit.link",
}

var collections = []string{"pages", "people", "groups", "events", "p", "reel", "i"}

// among tells whether a domain is one of the hosts or below one.
func among(hosts []string, domain string) bool {
	return slices.ContainsFunc(hosts, func(h string) bool { return domain == h || strings.HasSuffix(domain, "."+h) })
}

// OwnSite is what a store's website makes the tenant's own: its domain, or its page "host/page" on a host that many businesses
// share. "" for what is no URL.
func OwnSite(s string) string {
	d := Domain(s)
	if !among(sharedHosts, d) {
		return d
	}
	return d + page(s)
}

// page is the part of an address that names a page of a shared host: the path, or the name that it begins with, or the query
// as well where the path is a program that tells its pages apart by it.
func page(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "/"
	}
	at := path.Clean("/" + strings.ReplaceAll(u.Path, `\`, "/")) // as a browser reads "/a/../b"
	first, _, _ := strings.Cut(at[1:], "/")
	switch program := path.Ext(at) != "" || at == "/watch" || at == "/maps"; {
	case among(nameHosts, Domain(s)) && path.Ext(first) != ".php" && !slices.Contains(collections, first):
		return "/" + strings.ToLower(first)
	case program && u.RawQuery != "":
		return at + "?" + u.RawQuery
	}
	return at
}

// DomainAllowed tells whether a link leads to one of the domains, a subdomain of one, or one of the pages "host/page" or what
// is below it. The two spellings of an international domain are the same.
func DomainAllowed(link string, domains []string) bool {
	d := inASCII(Domain(link))
	return d != "" && slices.ContainsFunc(domains, func(a string) bool {
		host, _, paged := strings.Cut(a, "/")
		host = inASCII(strings.TrimPrefix(strings.ToLower(host), "www."))
		if paged {
			own, at := page("https://"+a), page(link)
			return own != "/" && d == host && (at == own || strings.HasPrefix(at, own+"/"))
		}
		return host != "" && (d == host || strings.HasSuffix(d, "."+host))
	})
}

// inASCII is the one spelling of a domain that both of an international one's compare in.
func inASCII(domain string) string {
	if ascii, err := idna.Lookup.ToASCII(domain); err == nil {
		return ascii
	}
	return domain
}

// PhoneAllowed tells whether a number found in text is one of the known ones, as whole numbers. The spellings of one number
// count as the same: separators, full-width digits, and national against international for Japan (+81, 0081, 010-81, or 81 in front)
// and North America (+1, or 1). A national number with a leading 0 reads as a Japanese one, so another country's
// (+33 3 1234 5678) is never taken for it; a store elsewhere needs both spellings among the known ones.
func PhoneAllowed(number string, known []string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return SamePhone(number, k) })
}

// SamePhone tells whether two spellings are one number, as in [PhoneAllowed].
func SamePhone(a, b string) bool {
	n := significantPhone(a)
	return n != "" && n == significantPhone(b)
}

const (
	japan        = "81"
	northAmerica = "1"
	// significantMin is the fewest digits of a number without its leading 0 or country code that says which country it is in:
	// nine in Japan. Shorter ones are compared as they are.
	significantMin = 9
)

// significantPhone is a number in one spelling, "+81312345678"; one whose country cannot be told is its digits alone.
func significantPhone(s string) string {
	s = strings.ReplaceAll(FoldPhone(s), "(0)", "")
	d := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
	international := strings.HasPrefix(strings.TrimLeft(s, "( "), "+")
	for _, code := range []string{"00", "010", "011"} { // what leads out of a country; the last two begin other numbers as well
		if rest, out := strings.CutPrefix(d, code); out && (code == "00" || strings.HasPrefix(rest, japan) && len(rest) >= len(japan)+significantMin) {
			d, international = rest, true
			break
		}
	}
	n := len(d)
	switch {
	case n == 0:
		return ""
	case strings.HasPrefix(d, japan) && (international || n == len(japan)+9 || n == len(japan)+10):
		if rest := strings.TrimPrefix(d[len(japan):], "0"); len(rest) >= significantMin {
			return "+" + japan + rest
		}
	case strings.HasPrefix(d, northAmerica) && n == 11:
		return "+" + d
	case international:
	case strings.HasPrefix(d, "0") && n > significantMin:
		return "+" + japan + d[1:]
	case !strings.HasPrefix(d, "0") && n == 10:
		return "+" + northAmerica + d
	}
	if international {
		return "+" + d
	}
	return d
}
