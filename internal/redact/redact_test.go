package redact

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextMasksSecrets(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"access token":           `the token ya29.a0SECRETsecret-_x was refused`,
		"refresh token":          `{"refresh_token":"1//0SECRETsecret","note":"x"}`,
		"refresh token escaped":  `{"rt":"1\/\/0SECRETsecret"}`,
		"refresh token encoded":  `grant=1%2F%2F0SECRETsecret`,
		"code":                   `code 4/0AdSECRETsecretSECRET`,
		"code parameter":         `redirect &code=SECRET12345`,
		"client secret":          `secret GOCSPX-SECRET-abc`,
		"api key":                `AIzaSySECRETSECRETSECRETSECRET1234`,
		"jwt":                    `eyJhbGciOi.SECRETSECRET.SECRET`,
		"our token":              `mappy_production_SECRETSECRETSECRET_0123abcd`,
		"bearer":                 `sent Bearer SECRETabc`,
		"authorization header":   `Authorization: Bearer SECRETabc`,
		"authorization in a map": `map[Authorization:[Bearer SECRETabc] Accept:[x]]`,
		"authorization in JSON":  `{"Authorization":"Bearer SECRETabc"}`,
		"authorization scheme":   `authorization=Token SECRET was sent as token=SECRET`,
		"cookie":                 `Cookie: sid=SECRET`,
		"basic":                  `Basic SECRETSECRETSECRET==`,
		"signed URL":             `Get "https://bucket.s3.amazonaws.com/a.jpg?X-Amz-Credential=A&X-Amz-Signature=SECRETSIG": 403`,
		"signed parameter alone": `signature X-Amz-Signature=SECRETSIG differs`,
		"goog signature":         `X-Goog-Signature=SECRETSIG`,
		"access_token query":     `GET /v4/accounts/1?alt=json&access_token=SECRET`,
		"form":                   `client_id=a&client_secret=SECRET&grant_type=refresh_token`,
		"escaped JSON":           `body "{\"access_token\":\"SECRET\"}"`,
		"user info":              `https://user:SECRET@example.com/x`,
		"split by zero width":    "ya2\u200b9.SECRET",
		"split by NUL":           "ya29\x00.SECRET",
		"password":               `password=SECRET host=db`,
		"confirm token":          `confirm_token: "SECRET"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Text(in); strings.Contains(got, "SECRET") {
				t.Errorf("%q still holds the secret", got)
			}
		})
	}
}

func TestTextKeepsWhatExplains(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"Request contains an invalid argument.",
		"Quota exceeded for quota metric 'Requests' and limit 'Requests per minute' of service 'mybusiness.googleapis.com'",
		"dial tcp 127.0.0.1:4444: connect: connection refused",
		"accounts/1/locations/22/localPosts/333 was not found (code 1000)",
		"本文が長すぎます (1501 文字)",
		"field topic_type: missing value",
		"https://support.example.com/path/page",
	} {
		if got := Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestTextTakesKnownSecretsByValue(t *testing.T) {
	t.Parallel()
	if got := Text("echo opaque-value-17 end", "", "opaque-value-17"); got != "echo "+Mask+" end" {
		t.Errorf("got %q", got)
	}
}

// F150: what PostgreSQL refuses, and what makes a text unreadable, does not survive.
func TestF150TextIsStorable(t *testing.T) {
	t.Parallel()
	in := "a\x00b\xff\xfe c\r\n\td\u202eevil\x1b[31m " + strings.Repeat("あ", 400)
	got := Text(in)
	if strings.ContainsAny(got, "\x00\r\n\t\x1b\u202e") || !utf8.ValidString(got) || len(got) > MaxBytes {
		t.Errorf("unsafe: %q (%d bytes)", got, len(got))
	}
	if !strings.HasPrefix(got, "ab c devil[31m あ") || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
}

func TestErrorKeepsTheChain(t *testing.T) {
	t.Parallel()
	err := Error(errors.Join(context.Canceled, errors.New("Bearer SECRETabc\x00")))
	if !errors.Is(err, context.Canceled) {
		t.Error("the chain is lost")
	}
	if s := err.Error(); strings.Contains(s, "SECRET") || strings.Contains(s, "\x00") {
		t.Errorf("got %q", s)
	}
	if Error(nil) != nil {
		t.Error("an error from nothing")
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"abc", 3, "abc"}, {"abcdef", 5, "ab…"}, {"ああ", 5, "…"}, {"ああ", 2, ""}, {"あああ", 8, "あ…"}, {"abc", 0, ""}, {"", 0, ""}} {
		if got := Cut(c.in, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("Authorization: Bearer ya29.x\x00")
	f.Add("https://a/?x=\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if len(got) > MaxBytes || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Fatalf("unsafe %q", got)
		}
		if marked := Text("ya29.SECRETX " + s); strings.Contains(marked, "ya29.SECRETX") {
			t.Fatalf("leak %q", marked)
		}
	})
}
