package tools

import "github.com/mappy-dev/mappy-mcp/internal/schema"

// safety are the arguments that every tool has which changes a profile. Nothing malformed near them reads as absent.
func safety(multi bool) []schema.Field {
	fields := []schema.Field{
		schema.Boolean("dry_run", "true: preview only, nothing is published and no key is used.", schema.Default(false), schema.Strict()),
		schema.String("idempotency_key", "One key per intended effect, reused on every re-send (a UUIDv4 is good), 8 to 64 printable ASCII characters. Same key and same arguments within 24 h: same answer, no second effect.",
			schema.MinLength(8), schema.MaxLength(64), schema.Pattern(`^[!-~]+$`), schema.Strict(), schema.Example("3f0c2a54-6e0b-4b51-9a43-0f4a8a1b7c55")),
		schema.String("confirm_token", "Token from a preview or from CONFIRMATION_REQUIRED, after the person agreed. Valid 5 minutes, once, for exactly these arguments.",
			schema.MinLength(8), schema.MaxLength(200), schema.Pattern(`^[!-~]+$`), schema.Strict(), schema.Secret()),
		schema.Integer("wait_seconds", "Seconds to wait for the batch to finish before answering, 0 to 25. Giving the call up cancels nothing: batch.cancel does.", 0, 25, schema.Default(0)),
	}
	if multi {
		fields = append(fields,
			schema.Enum("on_failure", "continue: each store on its own; stop: start no further store after the first permanent failure.", []string{"continue", "stop"}, schema.Default("continue")),
			schema.ID("page_token", "next_page_token of a long preview; only together with dry_run true."))
	}
	return fields
}
