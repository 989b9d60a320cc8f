-- Writes that change what exists: the target and the version that must still hold, undo and retry of earlier batches, and
-- following what Google makes of a write after it was accepted.
-- +goose Up
ALTER TABLE mappy.batch
  ADD COLUMN origin_batch_id text COLLATE "C",
  ADD CONSTRAINT batch_origin FOREIGN KEY (tenant_id, origin_batch_id) REFERENCES mappy.batch;
CREATE INDEX batch_by_origin ON mappy.batch (tenant_id, origin_batch_id) WHERE origin_batch_id IS NOT NULL;

ALTER TABLE mappy.item
  ADD COLUMN kind             text NOT NULL DEFAULT 'post' CHECK (kind IN ('post', 'review', 'media', 'location', 'report')),
  -- Google's name and our id of what is changed; a create has neither before it succeeds (then resource_name says what it made)
  ADD COLUMN target_name      text COLLATE "C",
  ADD COLUMN target_id        text COLLATE "C",
  -- digest of what must still be there when the write is sent
  ADD COLUMN expected_version text,
  -- Google's update mask of a partial update
  ADD COLUMN mask             text[] NOT NULL DEFAULT '{}',
  ADD COLUMN origin_item_id   text COLLATE "C",
  -- readings before a write that found nothing usable
  ADD COLUMN looks            integer NOT NULL DEFAULT 0,
  ADD COLUMN already          boolean NOT NULL DEFAULT false,
  ADD COLUMN follow_at        timestamptz,
  ADD COLUMN follows          integer NOT NULL DEFAULT 0,
  ADD COLUMN resolved_by      text,
  -- what a report is billed by
  ADD COLUMN units            integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT item_origin FOREIGN KEY (tenant_id, origin_item_id) REFERENCES mappy.item;
CREATE INDEX item_by_origin ON mappy.item (tenant_id, origin_item_id) WHERE origin_item_id IS NOT NULL;
CREATE INDEX item_by_target ON mappy.item (tenant_id, target_name, item_id DESC) WHERE target_name IS NOT NULL;
CREATE INDEX item_billed ON mappy.item (tenant_id, created_at) WHERE units > 0;
CREATE INDEX item_to_follow ON mappy.item (tenant_id, follow_at) WHERE follow_at IS NOT NULL;

-- An edit that stayed undecided blocks nothing: the next one reads the target before it writes.
ALTER TABLE mappy.attempt
  DROP CONSTRAINT attempt_state_known,
  ADD CONSTRAINT attempt_state_known CHECK (state IN ('open', 'unknown', 'succeeded', 'refused', 'found', 'absent', 'not_sent', 'given_up'));

-- +goose Down
ALTER TABLE mappy.attempt
  DROP CONSTRAINT attempt_state_known,
  ADD CONSTRAINT attempt_state_known CHECK (state IN ('open', 'unknown', 'succeeded', 'refused', 'found', 'absent', 'not_sent')) NOT VALID;
ALTER TABLE mappy.item DROP COLUMN kind, DROP COLUMN target_name, DROP COLUMN target_id, DROP COLUMN expected_version, DROP COLUMN mask,
  DROP COLUMN origin_item_id, DROP COLUMN looks, DROP COLUMN already, DROP COLUMN follow_at, DROP COLUMN follows, DROP COLUMN resolved_by, DROP COLUMN units;
ALTER TABLE mappy.batch DROP COLUMN origin_batch_id;
