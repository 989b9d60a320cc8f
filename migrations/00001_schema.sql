-- The whole schema of the write server. Conventions:
--   * every table but tenant's own carries tenant_id and has row-level security: a query that forgets the tenant sees nothing
--   * ids that are ULIDs are text COLLATE "C", so that their order is the order of their making
--   * constraints are named, because their names become error codes
-- +goose Up

CREATE SCHEMA IF NOT EXISTS mappy;

-- The application's rights hang on the group role mappy_app; the login role of MAPPY_DATABASE_URL is a member of it.
-- +goose StatementBegin
DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'mappy_app') THEN
    BEGIN
      CREATE ROLE mappy_app NOLOGIN NOSUPERUSER NOBYPASSRLS;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL; -- a migration of another database in this cluster was faster
    END;
  END IF;
END $$;
-- +goose StatementEnd

-- The tenant of the running transaction; NULL when nobody set one, and then no policy below lets a row through.
-- +goose StatementBegin
CREATE FUNCTION mappy.current_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  AS $$ SELECT nullif(current_setting('mappy.tenant', true), '') $$;
-- +goose StatementEnd

CREATE TABLE mappy.tenant (
  tenant_id      text COLLATE "C" PRIMARY KEY CHECK (tenant_id ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name           text NOT NULL,
  locale         text NOT NULL DEFAULT 'ja' CHECK (locale IN ('ja', 'en')),
  timezone       text NOT NULL DEFAULT 'Asia/Tokyo',
  policy         jsonb NOT NULL DEFAULT '{}',
  policy_version integer NOT NULL DEFAULT 1,
  created_at     timestamptz NOT NULL DEFAULT now()
);
INSERT INTO mappy.tenant (tenant_id, name) VALUES ('system', 'before a tenant is known');

CREATE TABLE mappy.app_user (
  tenant_id  text COLLATE "C" NOT NULL REFERENCES mappy.tenant,
  user_id    text COLLATE "C" NOT NULL,
  email      text NOT NULL DEFAULT '',
  role       text NOT NULL DEFAULT 'viewer' CHECK (role IN ('viewer', 'approver', 'admin')),
  grants     jsonb NOT NULL DEFAULT '{}',
  field_rights jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, user_id)
);

CREATE TABLE mappy.client (
  tenant_id  text COLLATE "C" NOT NULL REFERENCES mappy.tenant,
  client_id  text COLLATE "C" NOT NULL,
  name       text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, client_id)
);

CREATE TABLE mappy.access_token (
  tenant_id   text COLLATE "C" NOT NULL,
  token_id    text COLLATE "C" NOT NULL,
  client_id   text COLLATE "C" NOT NULL,
  user_id     text COLLATE "C" NOT NULL,
  scopes      text[] NOT NULL,
  environment text NOT NULL,
  token_hash  bytea NOT NULL CONSTRAINT access_token_hash_key UNIQUE,
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz,
  revoked_at  timestamptz,
  PRIMARY KEY (tenant_id, token_id),
  FOREIGN KEY (tenant_id, client_id) REFERENCES mappy.client,
  FOREIGN KEY (tenant_id, user_id) REFERENCES mappy.app_user
);

CREATE TABLE mappy.connection (
  tenant_id            text COLLATE "C" NOT NULL REFERENCES mappy.tenant,
  connection_id        text COLLATE "C" NOT NULL,
  google_email         text NOT NULL,
  state                text NOT NULL DEFAULT 'alive' CHECK (state IN ('alive', 'dead')),
  dead_reason          text NOT NULL DEFAULT '',
  refresh_token_sealed bytea NOT NULL,
  access_token_sealed  bytea,
  access_expires_at    timestamptz,
  generation           bigint NOT NULL DEFAULT 1,
  synced_at            timestamptz,
  created_at           timestamptz NOT NULL DEFAULT now(),
  updated_at           timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, connection_id)
);

CREATE TABLE mappy.location (
  location_id     bigint GENERATED ALWAYS AS IDENTITY,
  tenant_id       text COLLATE "C" NOT NULL REFERENCES mappy.tenant,
  connection_id   text COLLATE "C" NOT NULL,
  google_account  text COLLATE "C" NOT NULL,
  google_location text COLLATE "C" NOT NULL,
  title           text NOT NULL,
  store_code      text NOT NULL DEFAULT '',
  city            text NOT NULL DEFAULT '',
  labels          text[] NOT NULL DEFAULT '{}',
  profile         jsonb NOT NULL,
  timezone        text NOT NULL DEFAULT '',
  verified        boolean NOT NULL DEFAULT true,
  pending_google_edit boolean NOT NULL DEFAULT false,
  open_status     text NOT NULL DEFAULT '',
  maps_uri        text NOT NULL DEFAULT '',
  place_id        text NOT NULL DEFAULT '',
  version         text NOT NULL,
  synced_at       timestamptz NOT NULL DEFAULT now(),
  gone_at         timestamptz,
  PRIMARY KEY (tenant_id, location_id),
  CONSTRAINT location_google_key UNIQUE (tenant_id, google_location),
  FOREIGN KEY (tenant_id, connection_id) REFERENCES mappy.connection
);

-- Google's things under ids of our own.
CREATE TABLE mappy.resource (
  tenant_id      text COLLATE "C" NOT NULL REFERENCES mappy.tenant,
  resource_id    text COLLATE "C" NOT NULL,
  kind           text NOT NULL CHECK (kind IN ('post', 'review', 'media')),
  location_id    bigint NOT NULL,
  google_name    text COLLATE "C" NOT NULL,
  origin_item_id text COLLATE "C",
  snapshot       jsonb NOT NULL DEFAULT '{}',
  first_seen_at  timestamptz NOT NULL DEFAULT now(),
  seen_at        timestamptz NOT NULL DEFAULT now(),
  deleted_at     timestamptz,
  PRIMARY KEY (tenant_id, resource_id),
  CONSTRAINT resource_google_key UNIQUE (tenant_id, google_name),
  FOREIGN KEY (tenant_id, location_id) REFERENCES mappy.location
);
CREATE INDEX resource_by_location ON mappy.resource (tenant_id, location_id, kind, resource_id DESC);

CREATE TABLE mappy.kill_switch (
  tenant_id text COLLATE "C" NOT NULL REFERENCES mappy.tenant,
  kind      text NOT NULL CHECK (kind IN ('all', 'tenant', 'client', 'tool')),
  target    text NOT NULL DEFAULT '',
  reason    text NOT NULL DEFAULT '',
  set_by    text NOT NULL DEFAULT '',
  set_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, kind, target),
  -- "all" belongs to the system tenant, whose rows every tenant may read
  CONSTRAINT kill_switch_all_is_system CHECK ((kind = 'all') = (tenant_id = 'system'))
);

CREATE TABLE mappy.batch (
  tenant_id       text COLLATE "C" NOT NULL REFERENCES mappy.tenant,
  batch_id        text COLLATE "C" NOT NULL,
  operation       text NOT NULL,
  status          text NOT NULL,
  environment     text NOT NULL,
  client_id       text COLLATE "C" NOT NULL,
  user_id         text COLLATE "C" NOT NULL,
  token_id        text COLLATE "C" NOT NULL,
  request_id      text NOT NULL,
  assurance       text NOT NULL CHECK (assurance IN ('none', 'token', 'elicited', 'approved', 'dual')),
  policy_version  integer NOT NULL,
  locale          text NOT NULL,
  on_failure      text NOT NULL CHECK (on_failure IN ('continue', 'stop')),
  canonical_input bytea NOT NULL,
  input_hash      bytea NOT NULL,
  preview_digest  bytea,
  confirm_token_hash bytea CONSTRAINT batch_confirm_token_key UNIQUE,
  target_count    integer NOT NULL CHECK (target_count BETWEEN 1 AND 100),
  success_count   integer NOT NULL DEFAULT 0 CHECK (success_count >= 0),
  failure_count   integer NOT NULL DEFAULT 0 CHECK (failure_count >= 0),
  cancelled_count integer NOT NULL DEFAULT 0 CHECK (cancelled_count >= 0),
  unknown_count   integer NOT NULL DEFAULT 0 CHECK (unknown_count >= 0),
  stopped         boolean NOT NULL DEFAULT false,
  cancel_requested boolean NOT NULL DEFAULT false,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  send_deadline   timestamptz NOT NULL,
  started_at      timestamptz,
  finished_at     timestamptz,
  PRIMARY KEY (tenant_id, batch_id),
  CONSTRAINT batch_status_known CHECK (status IN ('awaiting_approval', 'queued', 'processing', 'done', 'partial', 'failed', 'cancelled')),
  CONSTRAINT batch_counts_fit CHECK (success_count + failure_count + cancelled_count + unknown_count <= target_count),
  CONSTRAINT batch_final_when_counted CHECK ((finished_at IS NOT NULL) = (success_count + failure_count + cancelled_count + unknown_count = target_count)),
  CONSTRAINT batch_final_status CHECK ((finished_at IS NOT NULL) = (status IN ('done', 'partial', 'failed', 'cancelled')))
);
CREATE INDEX batch_unfinished ON mappy.batch (tenant_id, batch_id) WHERE finished_at IS NULL;

CREATE TABLE mappy.item (
  tenant_id       text COLLATE "C" NOT NULL,
  item_id         text COLLATE "C" NOT NULL,
  batch_id        text COLLATE "C" NOT NULL,
  ordinal         integer NOT NULL,
  operation       text NOT NULL,
  location_id     bigint NOT NULL,
  connection_id   text COLLATE "C" NOT NULL,
  google_account  text COLLATE "C" NOT NULL,
  google_location text COLLATE "C" NOT NULL,
  title           text NOT NULL,
  state           text NOT NULL DEFAULT 'queued',
  payload         bytea NOT NULL,
  fingerprint     bytea NOT NULL,
  before          jsonb,
  state_after     jsonb,
  version         text,
  publication     text,
  resource_name   text COLLATE "C",
  resource_id     text COLLATE "C",
  error_code      text,
  error           jsonb,
  retry_possible  boolean NOT NULL DEFAULT false,
  executed        text NOT NULL DEFAULT 'no' CHECK (executed IN ('no', 'yes', 'unknown')),
  attempts        integer NOT NULL DEFAULT 0,
  google_calls    integer NOT NULL DEFAULT 0,
  river_job_id    bigint,
  not_before      timestamptz,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at      timestamptz,
  finished_at     timestamptz,
  PRIMARY KEY (tenant_id, item_id),
  CONSTRAINT item_state_known CHECK (state IN ('queued', 'processing', 'succeeded', 'failed', 'cancelled', 'unknown')),
  CONSTRAINT item_final_has_time CHECK ((finished_at IS NOT NULL) = (state IN ('succeeded', 'failed', 'cancelled', 'unknown'))),
  CONSTRAINT item_failed_has_code CHECK (state NOT IN ('failed', 'unknown') OR error_code IS NOT NULL),
  CONSTRAINT item_ordinal_key UNIQUE (tenant_id, batch_id, ordinal),
  FOREIGN KEY (tenant_id, batch_id) REFERENCES mappy.batch,
  FOREIGN KEY (tenant_id, location_id) REFERENCES mappy.location
);
-- A post belongs to one item: reconciliation can never bind it twice.
CREATE UNIQUE INDEX item_resource_name_key ON mappy.item (tenant_id, resource_name) WHERE resource_name IS NOT NULL;
CREATE INDEX item_by_location ON mappy.item (tenant_id, location_id, item_id DESC);
-- What was lately written at a location, and whether the same content was.
CREATE INDEX item_same_content ON mappy.item (tenant_id, location_id, fingerprint, created_at DESC);
CREATE INDEX item_last_success ON mappy.item (tenant_id, location_id, operation, finished_at DESC) WHERE state = 'succeeded';
CREATE INDEX item_unsettled ON mappy.item (tenant_id, google_location, fingerprint, item_id) WHERE state IN ('queued', 'processing', 'unknown');

CREATE TABLE mappy.attempt (
  attempt_id      bigint GENERATED ALWAYS AS IDENTITY,
  tenant_id       text COLLATE "C" NOT NULL,
  item_id         text COLLATE "C" NOT NULL,
  google_location text COLLATE "C" NOT NULL,
  fingerprint     bytea NOT NULL,
  no              integer NOT NULL,
  state           text NOT NULL DEFAULT 'open',
  started_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  examine_at      timestamptz NOT NULL,
  looks           integer NOT NULL DEFAULT 0,
  looked_at       timestamptz,
  note            text NOT NULL DEFAULT '',
  closed_at       timestamptz,
  PRIMARY KEY (tenant_id, attempt_id),
  CONSTRAINT attempt_state_known CHECK (state IN ('open', 'unknown', 'succeeded', 'refused', 'found', 'absent', 'not_sent')),
  CONSTRAINT attempt_closed_has_time CHECK ((closed_at IS NOT NULL) = (state NOT IN ('open', 'unknown'))),
  FOREIGN KEY (tenant_id, item_id) REFERENCES mappy.item
);
-- At most one undecided attempt per location and content, whoever the tenant is: this is what keeps two runners of one
-- item, and two items of one content, from both sending.
CREATE UNIQUE INDEX attempt_undecided_key ON mappy.attempt (google_location, fingerprint) WHERE state IN ('open', 'unknown');
CREATE INDEX attempt_by_item ON mappy.attempt (tenant_id, item_id, attempt_id);

CREATE TABLE mappy.idempotency (
  tenant_id       text COLLATE "C" NOT NULL,
  client_id       text COLLATE "C" NOT NULL,
  user_id         text COLLATE "C" NOT NULL,
  tool            text NOT NULL,
  source          text NOT NULL CHECK (source IN ('client', 'derived')),
  key_hash        bytea NOT NULL,
  input_hash      bytea NOT NULL,
  canonical_input bytea NOT NULL,
  batch_id        text COLLATE "C" NOT NULL,
  response        bytea NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at      timestamptz NOT NULL,
  CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, client_id, user_id, tool, source, key_hash)
);
CREATE INDEX idempotency_expiry ON mappy.idempotency (tenant_id, expires_at);

-- Audit: append-only. body holds the canonical bytes that are hashed and exported; the other columns are derived from it
-- for searching, and verification compares them.
CREATE TABLE mappy.audit_event (
  tenant_id   text COLLATE "C" NOT NULL,
  event_id    text COLLATE "C" NOT NULL,
  occurred_at timestamptz NOT NULL,
  txid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
  event       text NOT NULL,
  request_id  text NOT NULL DEFAULT '',
  client_id   text NOT NULL DEFAULT '',
  user_id     text NOT NULL DEFAULT '',
  tool        text NOT NULL DEFAULT '',
  location_id bigint NOT NULL DEFAULT 0,
  batch_id    text COLLATE "C" NOT NULL DEFAULT '',
  item_id     text COLLATE "C" NOT NULL DEFAULT '',
  result      text NOT NULL DEFAULT '',
  error_code  text NOT NULL DEFAULT '',
  body        bytea NOT NULL,
  PRIMARY KEY (tenant_id, event_id, occurred_at)
) PARTITION BY RANGE (occurred_at);
CREATE TABLE mappy.audit_event_default PARTITION OF mappy.audit_event DEFAULT;
CREATE INDEX audit_event_by_txid ON mappy.audit_event (tenant_id, txid, event_id);
CREATE INDEX audit_event_by_batch ON mappy.audit_event (tenant_id, batch_id, event_id);

CREATE TABLE mappy.audit_seal (
  tenant_id text COLLATE "C" NOT NULL,
  seal_no   bigint NOT NULL,
  from_txid xid8 NOT NULL,
  upto_txid xid8 NOT NULL,
  n         bigint NOT NULL,
  digest    bytea NOT NULL,
  prev      bytea NOT NULL,
  hash      bytea NOT NULL,
  sealed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, seal_no)
);
-- One leaf per sealed event, so that verification can name the row that was changed or removed.
CREATE TABLE mappy.audit_leaf (
  tenant_id text COLLATE "C" NOT NULL,
  seal_no   bigint NOT NULL,
  ordinal   bigint NOT NULL,
  event_id  text COLLATE "C" NOT NULL,
  leaf      bytea NOT NULL,
  PRIMARY KEY (tenant_id, seal_no, ordinal),
  FOREIGN KEY (tenant_id, seal_no) REFERENCES mappy.audit_seal
);

-- +goose StatementBegin
CREATE FUNCTION mappy.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '42501';
END $$;
-- +goose StatementEnd

-- Monthly partitions: this month and the next; retention makes the later ones, the default catches what nobody made.
-- The TRUNCATE trigger is not inherited by partitions, so each gets its own.
-- +goose StatementBegin
CREATE FUNCTION mappy.make_audit_partition(month date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  part text := 'audit_event_' || to_char(month, 'YYYYMM');
BEGIN
  month := date_trunc('month', month);
  IF to_regclass('mappy.' || part) IS NOT NULL THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE mappy.%I PARTITION OF mappy.audit_event FOR VALUES FROM (%L) TO (%L)', part, month, month + interval '1 month');
  EXECUTE format('CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON mappy.%I FOR EACH STATEMENT EXECUTE FUNCTION mappy.refuse_change()', part);
  EXECUTE format('ALTER TABLE mappy.%I ENABLE ROW LEVEL SECURITY', part);
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['audit_event', 'audit_seal', 'audit_leaf'] LOOP
    EXECUTE format('CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON mappy.%I FOR EACH ROW EXECUTE FUNCTION mappy.refuse_change()', t);
    EXECUTE format('CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON mappy.%I FOR EACH STATEMENT EXECUTE FUNCTION mappy.refuse_change()', t);
  END LOOP;
  CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON mappy.audit_event_default FOR EACH STATEMENT EXECUTE FUNCTION mappy.refuse_change();
  ALTER TABLE mappy.audit_event_default ENABLE ROW LEVEL SECURITY;
  PERFORM mappy.make_audit_partition(now()::date);
  PERFORM mappy.make_audit_partition((now() + interval '1 month')::date);
END $$;
-- +goose StatementEnd

-- Row-level security, the second line behind the tenant_id in every query.
-- +goose StatementBegin
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['tenant', 'app_user', 'client', 'access_token', 'connection', 'location', 'resource', 'kill_switch',
                           'batch', 'item', 'attempt', 'idempotency', 'audit_event', 'audit_seal', 'audit_leaf'] LOOP
    EXECUTE format('ALTER TABLE mappy.%I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY own_tenant ON mappy.%I TO mappy_app USING (tenant_id = mappy.current_tenant()) WITH CHECK (tenant_id = mappy.current_tenant())', t);
  END LOOP;
END $$;
-- +goose StatementEnd
CREATE POLICY everyone_reads_system_switches ON mappy.kill_switch FOR SELECT TO mappy_app USING (tenant_id = 'system');

GRANT USAGE ON SCHEMA mappy TO mappy_app;
GRANT SELECT, INSERT, UPDATE ON mappy.tenant, mappy.app_user, mappy.client, mappy.access_token, mappy.connection, mappy.location,
  mappy.resource, mappy.batch, mappy.item, mappy.attempt TO mappy_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mappy.idempotency, mappy.kill_switch TO mappy_app;
GRANT SELECT, INSERT ON mappy.audit_event, mappy.audit_seal, mappy.audit_leaf TO mappy_app;

-- Before the tenant is known: one trip from a token's hash to everything that decides what its bearer may do.
-- Expired and revoked tokens and those of another environment give no row, like unknown ones.
-- +goose StatementBegin
CREATE FUNCTION mappy.authenticate(hash bytea, env text) RETURNS TABLE (
  tenant_id text, client_id text, user_id text, token_id text, scopes text[], grants jsonb, locale text, timezone text,
  policy jsonb, policy_version integer, kill jsonb, expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, mappy AS $$
  SELECT a.tenant_id, a.client_id, a.user_id, a.token_id, a.scopes, u.grants, t.locale, t.timezone, t.policy, t.policy_version,
         (SELECT coalesce(jsonb_agg(jsonb_build_object('kind', k.kind, 'target', k.target, 'reason', k.reason)), '[]')
            FROM mappy.kill_switch k WHERE k.tenant_id IN (a.tenant_id, 'system')),
         a.expires_at
  FROM mappy.access_token a
  JOIN mappy.app_user u USING (tenant_id, user_id)
  JOIN mappy.tenant t USING (tenant_id)
  WHERE a.token_hash = hash AND a.environment = env AND a.revoked_at IS NULL AND (a.expires_at IS NULL OR a.expires_at > now())
$$;
-- +goose StatementEnd
-- Periodic jobs go through the tenants one by one; they only learn the ids here.
-- +goose StatementBegin
CREATE FUNCTION mappy.tenant_ids() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, mappy AS $$
  SELECT tenant_id FROM mappy.tenant ORDER BY tenant_id
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION mappy.authenticate(bytea, text), mappy.tenant_ids(), mappy.make_audit_partition(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mappy.authenticate(bytea, text), mappy.tenant_ids() TO mappy_app;

-- River's tables live in a schema of their own.
GRANT USAGE ON SCHEMA river TO mappy_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA river TO mappy_app;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA river TO mappy_app;

-- +goose Down
DROP SCHEMA mappy CASCADE;
