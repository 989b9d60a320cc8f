package schema

import (
	"bytes"
	"net/netip"
	"strconv"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

var (
	urlControl     = errs.T("URL に制御文字や見えない文字は使えません。", "A URL must not hold control or invisible characters.")
	urlScheme      = errs.T("https:// または http:// で始まる完全な URL が必要です。", "A complete URL that starts with https:// or http:// is needed.")
	urlHost        = errs.T("URL のホスト名が正しくありません。日本語ドメインは xn-- 形式で書いてください。", "The URL's host name is not valid; write an international domain in its xn-- form.")
	urlNumericHost = errs.T("数値や省略形の IP アドレスは URL に使えません。", "Numeric, octal or shortened IP addresses are not taken in a URL.")
	urlCredentials = errs.T("URL にユーザー名やパスワードを含めることはできません。", "A URL must not hold a user name or password.")
	urlBackslash   = errs.T("URL に \\ は使えません。", "A URL must not hold a backslash.")
	urlPercent     = errs.T("URL の % の後には 16 進 2 桁が必要です（% そのものは %25）。", "In a URL, % has to be followed by two hex digits (% itself is %25).")
	urlTemplate    = errs.T("URL の変数 {{...}} が閉じていません。", "A variable {{...}} in the URL is not closed.")
)

// NormalizeURL checks an absolute http or https URL by its spelling alone; nothing is resolved or fetched.
//
// Spaces around it are dropped, the scheme is lower-cased, and spaces and bytes outside ASCII are percent-encoded.
// Everything else stays byte for byte: escapes are not touched, the query is neither reordered nor re-encoded, the
// fragment stays. Refused are credentials, backslashes, control and invisible characters, % without two hex digits
// outside the query, a host that is neither an ASCII domain name nor an address in full dotted or bracketed form,
// and a port outside 1 to 65535. Whether an address may be dialled is for whoever dials. The length is not bounded here.
func NormalizeURL(text string) (normalised string, problem errs.Text, ok bool) {
	if !utf8.ValidString(text) {
		return "", flawTexts[flawUTF8], false
	}
	out, problem, ok := normalizeURL([]byte(text), false)
	return string(out), problem, ok
}

func normalizeURL(s []byte, templated bool) ([]byte, errs.Text, bool) {
	s = bytes.Trim(s, " ")
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRune(s[i:])
		if c := classOf(r); c != plain && c != mark {
			return nil, urlControl, false
		}
		if r == '\\' {
			return nil, urlBackslash, false
		}
		i += size
	}
	out := make([]byte, 0, len(s)+32)
	if !templated || !bytes.HasPrefix(s, []byte("{{")) {
		var msg errs.Text
		var ok bool
		if out, s, msg, ok = urlFront(out, s); !ok {
			return nil, msg, false
		}
	}
	return encodeTail(out, s, templated)
}

// urlFront checks scheme and authority and moves them to out.
func urlFront(out, s []byte) (front, tail []byte, msg errs.Text, ok bool) {
	colon := bytes.IndexByte(s, ':')
	if colon < 0 {
		return nil, nil, urlScheme, false
	}
	scheme := string(bytes.ToLower(s[:colon]))
	if scheme != "https" && scheme != "http" || !bytes.HasPrefix(s[colon:], []byte("://")) {
		return nil, nil, urlScheme, false
	}
	authority := s[colon+3:]
	if end := bytes.IndexAny(authority, "/?#"); end >= 0 {
		authority, tail = authority[:end], authority[end:]
	}
	if bytes.IndexByte(authority, '@') >= 0 {
		return nil, nil, urlCredentials, false
	}
	if msg, ok = checkAuthority(authority); !ok {
		return nil, nil, msg, false
	}
	out = append(append(append(out, scheme...), "://"...), authority...)
	return out, tail, errs.Text{}, true
}

func checkAuthority(a []byte) (errs.Text, bool) {
	host, port := a, []byte(nil)
	if len(a) > 0 && a[0] == '[' {
		end := bytes.IndexByte(a, ']')
		if end < 0 {
			return urlHost, false
		}
		host, port = a[:end+1], a[end+1:]
	} else if colon := bytes.IndexByte(a, ':'); colon >= 0 {
		host, port = a[:colon], a[colon:]
	}
	if len(port) > 0 {
		n, err := strconv.ParseUint(string(port[1:]), 10, 16)
		if port[0] != ':' || err != nil || n == 0 {
			return urlHost, false
		}
	}
	if len(host) > 0 && host[0] == '[' {
		addr, err := netip.ParseAddr(string(host[1 : len(host)-1]))
		return urlHost, err == nil && addr.Is6() && addr.Zone() == ""
	}
	return checkHost(host)
}

// checkHost takes domain names and addresses of four decimal parts. As browsers do, it reads a host whose last label is a
// number as an address, so that no resolver can understand one that was taken for a name here.
func checkHost(host []byte) (errs.Text, bool) {
	if len(host) == 0 || len(host) > 253 {
		return urlHost, false
	}
	labels := bytes.Split(host, []byte("."))
	for _, l := range labels {
		if len(l) == 0 || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return urlHost, false
		}
		for _, c := range l {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return urlHost, false
			}
		}
	}
	if numeric(labels[len(labels)-1]) {
		addr, err := netip.ParseAddr(string(host))
		return urlNumericHost, err == nil && addr.Is4()
	}
	return errs.Text{}, true
}

// numeric tells whether a label is decimal, octal or 0x-hexadecimal.
func numeric(label []byte) bool {
	if len(label) >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X') {
		for _, c := range label[2:] {
			if !isHex(c) {
				return false
			}
		}
		return true
	}
	_, ok := digits(label)
	return ok
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// encodeTail appends path, query and fragment.
func encodeTail(out, s []byte, templated bool) ([]byte, errs.Text, bool) {
	const hex = "0123456789ABCDEF"
	query, fragment := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case templated && c == '{' && bytes.HasPrefix(s[i:], []byte("{{")):
			end := bytes.Index(s[i:], []byte("}}"))
			if end < 0 {
				return nil, urlTemplate, false
			}
			out = append(out, s[i:i+end+2]...)
			i += end + 1
			continue
		case c == '?':
			query = !fragment
		case c == '#':
			query, fragment = false, true
		case c == '%' && !query && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])):
			return nil, urlPercent, false
		case c == ' ' || c >= utf8.RuneSelf:
			out = append(out, '%', hex[c>>4], hex[c&15])
			continue
		}
		out = append(out, c)
	}
	return out, errs.Text{}, true
}
