-- Which refresh token an operator connected an account with, so that declaring the same one again changes nothing. Google may
-- have replaced the token since; the sealed one is the newest.
-- +goose Up
ALTER TABLE mappy.connection ADD COLUMN refresh_token_digest bytea;

-- +goose Down
ALTER TABLE mappy.connection DROP COLUMN refresh_token_digest;
