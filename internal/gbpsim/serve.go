package gbpsim

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// maxBody bounds what a request may send; Google's own bound for JSON is not published.
const maxBody = 4 << 20

// call is one request to a Google host on its way through the simulator.
type call struct {
	sim      *Sim
	route    *route
	r        *http.Request
	body     []byte
	query    url.Values
	account  AccountName
	location LocationName
	post     PostName
	review   ReviewName
	media    MediaName          // also the resource name of an upload
	fetched  map[string]fetched // by source URL, with the knob
	grant    *grant             // nil without a known access token
	token    string             // the access token as sent
	fault    *Fault             // the fault that fires, or nil
	now      time.Time
}

// Handler serves Google's hosts, the admin API and the page for people. It does not clean paths: Google does not either.
func (s *Sim) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, path, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
		if strings.HasSuffix(host, ".googleapis.com") || host == "accounts.google.com" {
			s.serveGoogle(w, r, host, path)
			return
		}
		s.anonymous.ServeHTTP(w, r)
	})
}

func (s *Sim) serveGoogle(w http.ResponseWriter, r *http.Request, host, path string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit(path)+1))
	query := r.URL.Query()
	compact := query.Get("prettyPrint") == "false"
	c := &call{sim: s, r: r, body: body, query: query, now: s.Now()}
	e := c.enter(host, path)
	if err != nil { // the client broke off while sending
		s.journal.end(e, Dropped, 0)
		drop(w)
		return
	}
	out := c.serve(e) //nolint:contextcheck // a call carries its request
	if out.dropped {
		s.journal.end(e, Dropped, 0)
		drop(w)
		return
	}
	s.journal.update(e, func(e *Entry) { e.Rule, e.Unknown = out.reply.rule, out.reply.unknown })
	s.journal.end(e, Answered, out.reply.status)
	if out.reply.unknown && s.options.Log != nil {
		s.options.Log.WarnContext(r.Context(), "request is not simulated", "method", r.Method, "host", host, "path", path)
	}
	out.reply.write(w, compact)
}

// enter finds the route and opens the journal entry.
func (c *call) enter(host, path string) *Entry {
	s, r := c.sim, c.r
	e := Entry{Time: c.now, Method: r.Method, Host: host, Path: "/" + path}
	c.token = bearer(r, c.query)
	if q := r.URL.RawQuery; q != "" {
		shown := c.query
		if shown.Has("access_token") {
			shown = cloneWithout(shown, "access_token")
			q = shown.Encode()
		}
		e.Query = q
	}
	if rt, args := match(s.routes, host, r.Method, path); rt != nil {
		c.route = rt
		e.Route, e.Write = rt.name, rt.write
		c.account, c.location, c.post, c.review = rt.resources(args)
		c.media = rt.mediaName(c.account, c.location, args)
		e.Account, e.Location, e.Resource = c.account, c.location, orDefault(orDefault(string(c.post), string(c.review)), string(c.media))
	}
	secret := c.route != nil && c.route.host == hostOAuth
	if !secret {
		e.Body = c.shownBody()
	}
	s.mu.Lock()
	if secret {
		c.grant = s.grants[formValue(c.body, "refresh_token")]
	} else if t, ok := s.tokens[c.token]; ok {
		c.grant = t.grant
	}
	if c.grant != nil {
		e.Email = c.grant.email
	}
	s.mu.Unlock()
	return s.journal.begin(e)
}

// outcome is how a call ends: with a reply or with a dropped connection.
type outcome struct {
	reply   reply
	dropped bool
}

// serve takes a request through its faults and its rules. The order is: latency, hold, fault without effect, rules, effect,
// latency, hold, answer.
func (c *call) serve(e *Entry) outcome {
	s := c.sim
	if c.route == nil {
		return outcome{reply: htmlNotFound(strings.TrimPrefix(c.r.URL.Path, "/"+e.Host))}
	}
	ordered := s.faults.match(e)
	if ordered != nil {
		f := ordered.Fault
		c.fault = &f
		s.journal.update(e, func(e *Entry) { e.Fault = f.ID })
	}
	s.pause(s.Knobs().LatencyMS)
	if f := c.fault; f != nil {
		s.pause(f.LatencyBeforeMS)
		if f.Hold == HoldBefore && !s.faults.hold(ordered, s.closed) {
			return outcome{dropped: true}
		}
		if f.Revoke {
			c.revoke()
		}
	}
	var out reply
	if c.fault.commits() {
		out = c.carryOut(e)
	}
	if f := c.fault; f != nil {
		s.pause(f.LatencyAfterMS)
		if f.Hold == HoldAfter && !s.faults.hold(ordered, s.closed) {
			return outcome{dropped: true}
		}
		f.decorate(&out)
		if f.replaces() && (!f.commits() || out.rule == "") {
			if f.Answer == AnswerReset {
				return outcome{dropped: true}
			}
			out = f.reply()
		}
	}
	return outcome{reply: out}
}

// carryOut applies the rules and, to a valid request, its effect, in one section under the lock.
func (c *call) carryOut(e *Entry) reply {
	s := c.sim
	c.fetchSources()
	s.mu.Lock()
	c.now = s.Now() // it may have waited
	out, do := c.judge()
	at := c.now
	if do != nil {
		if c.fault != nil && c.fault.Effect == EffectLater {
			at = at.Add(seconds(c.fault.DelaySeconds))
		}
		c.now = at
		out = do(c)
	}
	s.mu.Unlock()
	if out.effect {
		s.journal.update(e, func(e *Entry) {
			e.Effect, e.EffectTime, e.Post, e.Media = true, at, out.post, out.media
			e.Resource = orDefault(orDefault(string(out.post), string(out.media)), e.Resource)
		})
	}
	return out
}

// judge applies the rules in Google's order as far as it is known: shape of the query, credentials, API, quota, then the
// method itself. That order is assumed.
func (c *call) judge() (reply, effect) {
	if !c.route.open {
		for _, check := range []func() *reply{c.checkParameters, c.checkToken, c.checkEnabled, c.chargeQuota} {
			if refusal := check(); refusal != nil {
				return *refusal, nil
			}
		}
	}
	return c.route.handle(c)
}

func (c *call) checkParameters() *reply {
	for name := range c.query {
		if !systemParameter(name) && !c.route.takes(name) {
			r := badRequest(ruleUnknownParameter, "",
				`Invalid JSON payload received. Unknown name "`+name+`": Cannot bind query parameter. Field '`+name+`' could not be found in request message.`)
			return &r
		}
	}
	if !c.route.raw && !utf8.Valid(c.body) {
		r := badRequest(ruleBadJSON, "", "Invalid JSON payload received. Parsing terminated: invalid UTF-8.")
		return &r
	}
	return nil
}

// systemParameter tells whether every Google API takes the parameter.
func systemParameter(name string) bool {
	switch name {
	case "alt", "$alt", "prettyPrint", "$prettyPrint", "fields", "$fields", "key", "access_token", "quotaUser", "callback", "$.xgafv", "uploadType", "upload_protocol", "oauth_token":
		return true
	}
	return false
}

// bearer is the access token of the header, or of the system parameter.
func bearer(r *http.Request, q url.Values) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return q.Get("access_token")
}

func cloneWithout(q url.Values, name string) url.Values {
	out := url.Values{}
	for k, v := range q {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// drop ends the connection with a TCP reset and no answer.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2 and recorders: the server ends the stream
	}
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if t, ok := conn.(*net.TCPConn); ok {
		err = t.SetLinger(0)
	}
	_ = errors.Join(err, conn.Close()) // it is gone either way
}
