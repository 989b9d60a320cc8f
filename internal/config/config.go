// Package config reads the product's configuration: a YAML file, overridden by MAPPY_* environment variables. Unknown keys are
// refused, and all problems are reported at once.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/policy"
)

// Config is the whole configuration. The env tag names the variable; a secret tag keeps the value out of prints.
type Config struct {
	// Environment names the deployment in tokens, descriptions and every record: production, staging or simulator.
	Environment string `yaml:"environment" env:"MAPPY_ENVIRONMENT"`
	// DatabaseURL is the application's role. OwnerDatabaseURL is for migrate only; serve and worker never use it.
	DatabaseURL      string `yaml:"database_url" env:"MAPPY_DATABASE_URL" secret:"url"`
	OwnerDatabaseURL string `yaml:"owner_database_url" env:"MAPPY_OWNER_DATABASE_URL" secret:"url"`
	RedisURL         string `yaml:"redis_url" env:"MAPPY_REDIS_URL" secret:"url"`
	// DatabaseConnections bounds the pool of one process.
	DatabaseConnections int    `yaml:"database_connections" env:"MAPPY_DATABASE_CONNECTIONS"`
	Listen              string `yaml:"listen" env:"MAPPY_LISTEN"`
	AdminListen         string `yaml:"admin_listen" env:"MAPPY_ADMIN_LISTEN"`
	// PublicURL is where clients reach the server, without /mcp; derived from Listen when empty.
	PublicURL      string   `yaml:"public_url" env:"MAPPY_PUBLIC_URL"`
	AllowedHosts   []string `yaml:"allowed_hosts" env:"MAPPY_ALLOWED_HOSTS"`
	AllowedOrigins []string `yaml:"allowed_origins" env:"MAPPY_ALLOWED_ORIGINS"`
	LegacySessions bool     `yaml:"legacy_sessions" env:"MAPPY_LEGACY_SESSIONS"`
	ReadOnly       bool     `yaml:"read_only" env:"MAPPY_READ_ONLY"`
	// Keyring is the file, KeyringB64 the content in base64, of the keys that seal Google tokens.
	Keyring            string `yaml:"keyring" env:"MAPPY_KEYRING"`
	KeyringB64         string `yaml:"keyring_b64" env:"MAPPY_KEYRING_B64" secret:"all"`
	GoogleClientID     string `yaml:"google_client_id" env:"MAPPY_GOOGLE_CLIENT_ID"`
	GoogleClientSecret string `yaml:"google_client_secret" env:"MAPPY_GOOGLE_CLIENT_SECRET" secret:"all"`
	// GoogleBaseURL, when set, is where every Google host is reached, as BASE/<google-host>/<path>.
	GoogleBaseURL string `yaml:"google_base_url" env:"MAPPY_GOOGLE_BASE_URL"`
	// JWTIssuer and JWTAudience are for access tokens of an authorization server.
	JWTIssuer   string      `yaml:"jwt_issuer" env:"MAPPY_JWT_ISSUER"`
	JWTAudience string      `yaml:"jwt_audience" env:"MAPPY_JWT_AUDIENCE"`
	Token       string      `yaml:"-" env:"MAPPY_TOKEN" secret:"all"`
	LogLevel    string      `yaml:"log_level" env:"MAPPY_LOG_LEVEL"`
	OTLP        string      `yaml:"otlp_endpoint" env:"MAPPY_OTLP_ENDPOINT"`
	Locale      errs.Locale `yaml:"locale" env:"MAPPY_LOCALE"`

	Google Google        `yaml:"google"`
	Media  Media         `yaml:"media"`
	Worker Worker        `yaml:"worker"`
	Policy policy.Policy `yaml:"policy"`
}

// Google are Google's budgets as this deployment uses them.
type Google struct {
	// Project keys the shared budgets; deployments of one Google Cloud project name the same.
	Project           string `yaml:"project" env:"MAPPY_GOOGLE_PROJECT"`
	RequestsPerMinute int    `yaml:"requests_per_minute" env:"MAPPY_GOOGLE_REQUESTS_PER_MINUTE"`
	EditsPerMinute    int    `yaml:"edits_per_minute" env:"MAPPY_GOOGLE_EDITS_PER_MINUTE"`
	UserItems         int    `yaml:"user_items" env:"MAPPY_GOOGLE_USER_ITEMS"`
}

// Media says how files behind addresses are looked at before a write that hands them to Google is accepted.
type Media struct {
	// Check is "on", "off", or "auto": on but in the environment simulator, whose addresses lead nowhere.
	Check string `yaml:"check" env:"MAPPY_MEDIA_CHECK"`
	// CheckWithin bounds the check of all files of one call; a single file has four fifths of it.
	CheckWithin time.Duration `yaml:"check_within" env:"MAPPY_MEDIA_CHECK_WITHIN"`
}

// The choices of Media.Check.
const (
	MediaAuto = "auto"
	MediaOn   = "on"
	MediaOff  = "off"
)

// ChecksMedia tells whether this deployment looks at files.
func (c Config) ChecksMedia() bool {
	return c.Media.Check == MediaOn || c.Media.Check == MediaAuto && c.Environment != "simulator"
}

// Worker sizes and times the workers.
type Worker struct {
	Interactive   int           `yaml:"interactive" env:"MAPPY_WORKER_INTERACTIVE"`
	Bulk          int           `yaml:"bulk" env:"MAPPY_WORKER_BULK"`
	Attempts      int           `yaml:"attempts" env:"MAPPY_WORKER_ATTEMPTS"`
	Backoff       time.Duration `yaml:"backoff" env:"MAPPY_WORKER_BACKOFF"`
	SendWindow    time.Duration `yaml:"send_window" env:"MAPPY_WORKER_SEND_WINDOW"`
	CallTimeout   time.Duration `yaml:"call_timeout" env:"MAPPY_WORKER_CALL_TIMEOUT"`
	Settle        time.Duration `yaml:"settle" env:"MAPPY_WORKER_SETTLE"`
	GiveUp        time.Duration `yaml:"give_up" env:"MAPPY_WORKER_GIVE_UP"`
	Follow        time.Duration `yaml:"follow" env:"MAPPY_WORKER_FOLLOW"`
	ClockSkew     time.Duration `yaml:"clock_skew" env:"MAPPY_WORKER_CLOCK_SKEW"`
	RescueAfter   time.Duration `yaml:"rescue_after" env:"MAPPY_WORKER_RESCUE_AFTER"`
	SealEvery     time.Duration `yaml:"seal_every" env:"MAPPY_WORKER_SEAL_EVERY"`
	SweepEvery    time.Duration `yaml:"sweep_every" env:"MAPPY_WORKER_SWEEP_EVERY"`
	SyncEvery     time.Duration `yaml:"sync_every" env:"MAPPY_WORKER_SYNC_EVERY"`
	ShutdownGrace time.Duration `yaml:"shutdown_grace" env:"MAPPY_WORKER_SHUTDOWN_GRACE"`
	PollOnly      bool          `yaml:"poll_only" env:"MAPPY_WORKER_POLL_ONLY"`
}

// Default is the configuration without a file: the product's numbers, nothing that names a place. Google grants 300 requests a
// minute per project and API; 297 leaves room for clocks that disagree. Its ten edits a minute on one profile cannot be raised
// (Google's limits page, 2026). Google publishes no bound on its lag, so Settle is a guess on the safe side.
func Default() Config {
	return Config{
		Environment: "production", Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:8081", LogLevel: "info", Locale: errs.Japanese,
		DatabaseConnections: 20,
		Google:              Google{Project: "default", RequestsPerMinute: 297, EditsPerMinute: 10, UserItems: 5},
		Media:               Media{Check: MediaAuto, CheckWithin: 10 * time.Second},
		Worker: Worker{
			Interactive: 10, Bulk: 20, Attempts: 4, Backoff: time.Second, SendWindow: 5 * time.Second, CallTimeout: 20 * time.Second, Settle: time.Minute,
			GiveUp: 15 * time.Minute, Follow: 2 * time.Minute, ClockSkew: 10 * time.Second, RescueAfter: time.Minute, SealEvery: 5 * time.Second, SweepEvery: 30 * time.Second,
			SyncEvery: time.Hour, ShutdownGrace: 25 * time.Second,
		},
		Policy: policy.Default(),
	}
}

// Load reads file (none when empty) over the defaults and the environment over both.
func Load(file string, lookup func(string) (string, bool)) (Config, error) {
	c, unread, problems := load(file, lookup)
	return c, errors.Join(unread, problems)
}

// LoadWhole is Load for what needs the whole product: what Missing says is told with the other problems, unless the file could not be
// read, because then nobody knows what is missing.
func LoadWhole(file string, lookup func(string) (string, bool)) (Config, error) {
	c, unread, problems := load(file, lookup)
	if unread != nil {
		return c, errors.Join(unread, problems)
	}
	return c, errors.Join(problems, c.Missing())
}

// load tells a file that could not be read apart from what is wrong in it.
func load(file string, lookup func(string) (string, bool)) (c Config, unread, problems error) {
	c = Default()
	var found []error
	if file != "" {
		switch b, err := os.ReadFile(file); { //nolint:gosec // the operator names the file
		case err != nil:
			unread = fmt.Errorf("config: %w", err)
		default:
			if err := Strict(b, &c); err != nil {
				err = fmt.Errorf("config %s: %w", file, err)
				if _, ok := errors.AsType[*yaml.TypeError](err); ok { // each key that is wrong; the others are read
					found = append(found, err)
				} else {
					unread = err
				}
			}
		}
	}
	c.Policy.Version = 1
	found = append(found, fromEnv(reflect.ValueOf(&c).Elem(), lookup)...)
	found = append(found, c.problems()...)
	return c, unread, errors.Join(found...)
}

// Strict decodes YAML over what v already holds: a section or map that names one key keeps the others. Unknown keys are
// refused; an empty document changes nothing.
func Strict(b []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func fromEnv(v reflect.Value, lookup func(string) (string, bool)) (problems []error) {
	for i := range v.NumField() {
		f, t := v.Field(i), v.Type().Field(i)
		if f.Kind() == reflect.Struct && t.Type != reflect.TypeFor[policy.Policy]() {
			problems = append(problems, fromEnv(f, lookup)...)
			continue
		}
		name := t.Tag.Get("env")
		s, ok := lookup(name)
		if name == "" || !ok || s == "" {
			continue
		}
		if err := set(f, s); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return problems
}

var (
	errNumber   = errors.New("a whole number is needed")
	errBool     = errors.New("true or false is needed")
	errDuration = errors.New("a duration such as 30s is needed")
)

func set(f reflect.Value, s string) error {
	switch f.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(s)
		if err != nil {
			return errDuration
		}
		f.SetInt(int64(d))
		return nil
	case []string:
		parts := []string{}
		for p := range strings.SplitSeq(s, ",") {
			if p = strings.TrimSpace(p); p != "" {
				parts = append(parts, p)
			}
		}
		f.Set(reflect.ValueOf(parts))
		return nil
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(s)
	case reflect.Int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return errNumber
		}
		f.SetInt(int64(n))
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return errBool
		}
		f.SetBool(b)
	default:
		return fmt.Errorf("a %s cannot come from the environment", f.Kind())
	}
	return nil
}

func (c Config) problems() (p []error) {
	if !slices.Contains([]string{"production", "staging", "simulator"}, c.Environment) {
		p = append(p, fmt.Errorf("environment: %q is not production, staging or simulator", c.Environment))
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel) {
		p = append(p, fmt.Errorf("log_level: %q is not debug, info, warn or error", c.LogLevel))
	}
	if c.Locale != errs.Japanese && c.Locale != errs.English {
		p = append(p, fmt.Errorf("locale: %q is not ja or en", c.Locale))
	}
	if c.Media.Check != MediaAuto && c.Media.Check != MediaOn && c.Media.Check != MediaOff {
		p = append(p, fmt.Errorf("media.check: %q is not auto, on or off", c.Media.Check))
	}
	for name, u := range map[string]string{"public_url": c.PublicURL, "google_base_url": c.GoogleBaseURL} {
		if v, err := url.Parse(u); u != "" && (err != nil || v.Host == "" || v.Scheme != "http" && v.Scheme != "https") {
			p = append(p, fmt.Errorf("%s: %q is not an absolute http or https URL", name, u))
		}
	}
	if c.Environment == "production" && c.GoogleBaseURL != "" {
		p = append(p, errors.New("google_base_url: production talks to Google itself; name the environment simulator or staging"))
	}
	for name, n := range map[string]int{
		"google.requests_per_minute": c.Google.RequestsPerMinute, "google.edits_per_minute": c.Google.EditsPerMinute, "google.user_items": c.Google.UserItems,
		"worker.interactive": c.Worker.Interactive, "worker.bulk": c.Worker.Bulk, "worker.attempts": c.Worker.Attempts, "database_connections": c.DatabaseConnections,
	} {
		if n < 1 {
			p = append(p, fmt.Errorf("%s: %d, at least 1 is needed", name, n))
		}
	}
	for name, d := range map[string]time.Duration{
		"media.check_within": c.Media.CheckWithin, "worker.backoff": c.Worker.Backoff, "worker.send_window": c.Worker.SendWindow, "worker.call_timeout": c.Worker.CallTimeout, "worker.settle": c.Worker.Settle,
		"worker.give_up": c.Worker.GiveUp, "worker.follow": c.Worker.Follow, "worker.rescue_after": c.Worker.RescueAfter, "worker.seal_every": c.Worker.SealEvery, "worker.sweep_every": c.Worker.SweepEvery,
		"worker.sync_every": c.Worker.SyncEvery, "worker.shutdown_grace": c.Worker.ShutdownGrace,
	} {
		if d <= 0 {
			p = append(p, fmt.Errorf("%s: %s, more than nothing is needed", name, d))
		}
	}
	for _, check := range []func() error{c.Policy.Validate, c.Policy.Thresholds, c.Policy.Contacts} {
		if err := check(); err != nil {
			p = append(p, err)
		}
	}
	return p
}

// withoutPasswords masks an address's password, and what drivers take as one from its query. What is no address is masked whole.
func withoutPasswords(address string) string {
	const masked = "xxxxx"
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return "(set)"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "(set)"
	}
	hidden := false
	for key := range query {
		if strings.Contains(strings.ToLower(key), "pass") { // password, sslpassword, passfile
			query[key], hidden = []string{masked}, true
		}
	}
	if hidden {
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// Missing reports, all at once, what the product cannot be built without and what contradicts itself.
func (c Config) Missing() error {
	var p []error
	for _, need := range []struct{ value, name, what string }{
		{c.DatabaseURL, "MAPPY_DATABASE_URL", "PostgreSQL, as the application's role"},
		{c.RedisURL, "MAPPY_REDIS_URL", "Redis"},
		{c.GoogleClientID, "MAPPY_GOOGLE_CLIENT_ID", "the OAuth client of the Google Cloud project"},
		{c.Keyring + c.KeyringB64, "MAPPY_KEYRING or MAPPY_KEYRING_B64", "the keyring, made by `mappy-mcp keys new FILE`"},
	} {
		if need.value == "" {
			p = append(p, fmt.Errorf("%s is not set: %s", need.name, need.what))
		}
	}
	if c.Keyring != "" && c.KeyringB64 != "" {
		p = append(p, errors.New("MAPPY_KEYRING and MAPPY_KEYRING_B64 are both set: give one"))
	}
	if p != nil {
		p = append(p, errors.New("`make run` brings everything up without any of them"))
	}
	return errors.Join(p...)
}

// Redacted is the configuration as YAML without secrets.
func (c Config) Redacted() (string, error) {
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.String || f.String() == "" {
			continue
		}
		switch v.Type().Field(i).Tag.Get("secret") {
		case "all":
			f.SetString("(set)")
		case "url":
			f.SetString(withoutPasswords(f.String()))
		}
	}
	b, err := yaml.Marshal(c)
	return string(b), err
}
