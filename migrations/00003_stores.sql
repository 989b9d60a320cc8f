-- What location.update needs of a store beside its profile: attributes, which are a resource of their own and are read when
-- somebody asks, and Google's own version where it shows one. Field rights stand in a user's grants, next to what they narrow.
-- +goose Up
ALTER TABLE mappy.location
  ADD COLUMN attributes     jsonb,
  ADD COLUMN attributes_at  timestamptz,
  ADD COLUMN google_version jsonb;
UPDATE mappy.app_user SET grants = grants || jsonb_build_object('fields', field_rights) WHERE jsonb_typeof(field_rights) = 'array';
ALTER TABLE mappy.app_user DROP COLUMN field_rights;

-- +goose Down
ALTER TABLE mappy.app_user ADD COLUMN field_rights jsonb NOT NULL DEFAULT '{}';
UPDATE mappy.app_user SET field_rights = grants -> 'fields', grants = grants - 'fields' WHERE grants ? 'fields';
ALTER TABLE mappy.location DROP COLUMN attributes, DROP COLUMN attributes_at, DROP COLUMN google_version;
