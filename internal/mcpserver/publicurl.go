package mcpserver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// publicURL is the parsed Options.PublicURL.
type publicURL struct {
	// origin is scheme://host[:port] in lower case and without a default port, as browsers send it.
	origin string
	// host is the lower-case Host header that clients send.
	host string
	// path is what stands before /mcp; empty, or with a leading and without a trailing slash.
	path string
	// loopback is true for a server that is only reached on its own machine.
	loopback bool
}

func parsePublicURL(s, environment string) (publicURL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return publicURL{}, fmt.Errorf("public URL: %w", err)
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return publicURL{}, fmt.Errorf("public URL %q: want an absolute URL such as https://mappy.example", s)
	}
	p := publicURL{
		origin:   originOf(u),
		host:     strings.ToLower(u.Host),
		path:     strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), mcpPath), "/"),
		loopback: loopbackName(u.Hostname()),
	}
	if u.Scheme == "http" && !p.loopback && environment == "production" {
		return publicURL{}, fmt.Errorf("public URL %q: tokens travel in clear text; production needs https", s)
	}
	return p, nil
}

// resource is the RFC 9728 identifier of an endpoint, exactly the URL that clients are given.
func (p publicURL) resource(endpoint string) string { return p.origin + p.path + endpoint }

// metadata is where an endpoint's RFC 9728 document is found: the well-known part goes between host and path.
func (p publicURL) metadata(endpoint string) string {
	return p.origin + wellKnown + p.path + endpoint
}

// parseOrigin reads an allowed origin.
func parseOrigin(s string) (string, error) {
	if s == "*" {
		return "", errors.New(`allowed origin "*": name each origin`)
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("allowed origin %q: want scheme and host such as https://app.example.com", s)
	}
	return originOf(u), nil
}

func originOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if port == "" || (u.Scheme == "https" && port == "443") || (u.Scheme == "http" && port == "80") {
		return u.Scheme + "://" + host
	}
	return u.Scheme + "://" + host + ":" + port
}

// hostname is a Host header without its port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

func loopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
