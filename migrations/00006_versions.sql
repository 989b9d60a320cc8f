-- Which migrations are applied, for the application's role: goose's own table is the owner's. A server or worker tells from it that
-- its schema is too old, instead of failing in the middle of a write.
-- +goose Up
CREATE VIEW mappy.migration AS SELECT version_id FROM public.mappy_migration WHERE is_applied;
GRANT SELECT ON mappy.migration TO mappy_app;

-- +goose Down
DROP VIEW mappy.migration;
