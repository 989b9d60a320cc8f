package gbpsim

import (
	"net/http"
	"net/url"
	"time"
)

const scopeBusiness = "https://www.googleapis.com/auth/business.manage"

// exchangeToken is POST /token with grant_type=refresh_token. Client credentials come in the body or as Basic.
func (c *call) exchangeToken() (reply, effect) {
	form, err := url.ParseQuery(string(c.body))
	if err != nil {
		return oauthError(ruleOAuthRequest, http.StatusBadRequest, "invalid_request", "The request body is not a form."), nil
	}
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if id == "" {
		id, secret, _ = c.r.BasicAuth()
	}
	kind, refresh := form.Get("grant_type"), form.Get("refresh_token")
	switch {
	case kind == "":
		return oauthError(ruleOAuthRequest, http.StatusBadRequest, "invalid_request", "Required parameter is missing: grant_type"), nil
	case kind != "refresh_token":
		return oauthError(ruleGrantType, http.StatusBadRequest, "unsupported_grant_type", "Invalid grant_type: "+kind), nil
	case id == "":
		return oauthError(ruleOAuthRequest, http.StatusBadRequest, "invalid_request", "Could not determine client ID from request."), nil
	case refresh == "":
		return oauthError(ruleOAuthRequest, http.StatusBadRequest, "invalid_request", "Missing required parameter: refresh_token"), nil
	}
	if want, known := c.sim.clients[id]; len(c.sim.clients) > 0 && (!known || want != secret) {
		words := "Unauthorized"
		if !known {
			words = "The OAuth client was not found."
		}
		return oauthError(ruleInvalidClient, http.StatusUnauthorized, "invalid_client", words), nil
	}
	g := c.sim.grants[refresh]
	if g == nil || g.revoked {
		return oauthError(ruleInvalidGrant, http.StatusBadRequest, "invalid_grant", "Token has been expired or revoked."), nil
	}
	return reply{}, func(c *call) reply {
		out := struct {
			AccessToken  string `json:"access_token"`
			ExpiresIn    int    `json:"expires_in"`
			RefreshToken string `json:"refresh_token,omitempty"`
			Scope        string `json:"scope"`
			TokenType    string `json:"token_type"`
		}{AccessToken: c.sim.issue(g, c.now), ExpiresIn: int(c.sim.knobs.tokenLife() / time.Second), Scope: scopeBusiness, TokenType: "Bearer"}
		if c.sim.knobs.RotateRefreshTokens {
			out.RefreshToken = "1//0" + randomText(30)
			delete(c.sim.grants, refresh)
			c.sim.grants[out.RefreshToken] = g
		}
		return answer(out)
	}
}

// issue makes an access token for a grant. It runs under the lock.
func (s *Sim) issue(g *grant, now time.Time) string {
	token := "ya29.a0" + randomText(48)
	s.tokens[token] = accessToken{grant: g, expires: now.Add(s.knobs.tokenLife())}
	return token
}

// revokeToken is POST /revoke with a refresh or access token; it ends the grant.
func (c *call) revokeToken() (reply, effect) {
	token := formValue(c.body, "token")
	g := c.sim.grants[token]
	if t, ok := c.sim.tokens[token]; ok && g == nil {
		g = t.grant
	}
	if g == nil || g.revoked {
		return oauthError(ruleInvalidGrant, http.StatusBadRequest, "invalid_token", "Token expired or revoked"), nil
	}
	return reply{}, func(*call) reply {
		g.revoked = true
		return answer(struct{}{})
	}
}

func oauthError(rule RuleID, status int, code, description string) reply {
	return reply{status: status, rule: rule, body: encode(struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{code, description})}
}

func formValue(body []byte, name string) string {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return ""
	}
	return form.Get(name)
}

// revoke is the fault: the person takes the consent back while the request is on its way.
func (c *call) revoke() {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	if c.grant != nil {
		c.grant.revoked = true
	}
}

// checkToken asks for a live access token of a live grant.
func (c *call) checkToken() *reply {
	if c.token == "" {
		r := refuse(ruleTokenMissing, http.StatusUnauthorized, "UNAUTHENTICATED",
			"Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
			errorInfo("CREDENTIALS_MISSING", map[string]string{"service": c.route.host, "method": string(c.route.name)}))
		r.header = http.Header{"Www-Authenticate": {`Bearer realm="https://accounts.google.com/"`}}
		return &r
	}
	t, known := c.sim.tokens[c.token]
	if known && !t.grant.revoked && c.now.Before(t.expires) {
		c.grant = t.grant
		return nil
	}
	r := refuse(ruleTokenInvalid, http.StatusUnauthorized, "UNAUTHENTICATED",
		"Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.")
	r.header = http.Header{"Www-Authenticate": {`Bearer realm="https://accounts.google.com/", error="invalid_token"`}}
	return &r
}

// checkEnabled asks whether the project has the API switched on.
func (c *call) checkEnabled() *reply {
	host, project := c.route.host, c.sim.project
	if !names(c.sim.knobs.DisabledAPIs, host) {
		return nil
	}
	page := "https://console.developers.google.com/apis/api/" + host + "/overview?project=" + project
	message := "Google My Business API has not been used in project " + project + " before or it is disabled. Enable it by visiting " + page +
		" then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry."
	r := refuse(ruleServiceDisabled, http.StatusForbidden, "PERMISSION_DENIED", message,
		detail("google.rpc.Help", "links", []map[string]string{{"description": "Google developers console API activation", "url": page}}),
		errorInfo("SERVICE_DISABLED", map[string]string{"service": host, "serviceTitle": "Google My Business API", "activationUrl": page, "consumer": "projects/" + project, "containerInfo": project}))
	return &r
}
