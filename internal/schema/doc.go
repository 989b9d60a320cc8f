// Package schema declares the arguments of a tool once and derives both sides from it: the JSON schema that clients
// read ([Object.JSONSchema]) and the strict decoder that decides what a call means ([Object.Decode]).
//
// A declaration reads like a table:
//
//	var input = schema.Object{Fields: []schema.Field{
//		schema.List("location_ids", "Stores that get the post.",
//			schema.LocationID("", "Id of one store.", schema.Example("8802")),
//			schema.Required(), schema.Items(1, 100)),
//		schema.Nested("post", "What is published.", schema.Object{Fields: []schema.Field{
//			schema.Text("summary", "Text of the post, at most 1,500 characters.", schema.MaxLength(1500)),
//		}}, schema.Required()),
//		schema.Boolean("dry_run", "true: preview only.", schema.Default(false), schema.Strict()),
//	}}
//
// The order of declaration is the order in the schema, in the canonical document and in messages.
//
// # What the decoder takes
//
//   - Nothing, null and {} are the same empty arguments; null for a field is the same as leaving it out. null inside a
//     list is refused.
//   - The arguments as a whole, and every array and object below, may be sent as a JSON string; each is decoded once, a
//     string inside that string is refused. A lone value is never made a list.
//   - Where an object is declared with [Shorthand], an array stands for the object with that one list. The schema shows the
//     object only: one shape, because strict clients and some model APIs take no alternatives.
//   - Integers: JSON numbers with an integral value (1.0, 1e2), or strings of plain decimal digits with an optional
//     minus and without leading zeros, plus or spaces. Nothing beyond ±2^53.
//   - Booleans: true, false, or exactly the strings "true" and "false".
//   - An empty string for an optional field counts as absent (for text also a blank one), except for booleans and for
//     fields marked [Strict].
//   - Strings are NFC; CRLF and CR become LF; trailing white space of a [Text] is cut, with [SingleLine] leading as
//     well. Lengths are counted afterwards, in code points ("characters").
//
// Everything else is refused, and all violations are reported at once: at most [MaxViolations], then one that counts
// the rest. Bytes that are not JSON, and input beyond the bounds on size or nesting, are the only ones reported alone.
//
// # Rules
//
// The word in [errs.Violation].Rule is one of the Rule constants. Paths look like "post.event.title" and
// "overrides[2].summary"; the arguments as a whole are "$". Where bytes are not JSON, the path is where reading stopped.
//
// # Characters
//
// Every string is refused when it holds NUL or another control character (newline and tab are allowed in a multi-line
// text), bytes that are not UTF-8, half a surrogate pair, or characters that hide or reorder text: bidirectional
// marks, overrides and isolates, zero width space (U+200B), word joiner, U+FEFF, soft hyphen, Hangul fillers, tag
// characters (U+E0000 to U+E007F; the flags of England, Scotland and Wales are lost with them), interlinear and
// musical format characters, U+2028, U+2029, and noncharacters. Zero width joiner and non-joiner and variation selectors stay allowed,
// because emoji, kanji variants and several scripts need them, but only one at a time behind a visible character, so
// that they cannot carry a hidden message. More than 16 combining marks in a row are refused.
//
// The package calls nothing outside the process. Declarations are values, safe for concurrent use once made.
package schema
