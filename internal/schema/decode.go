package schema

import (
	"bytes"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// Decode reads the raw bytes of a call's arguments. Without violations, the values hold the canonical document; with any,
// they are empty. Messages are in the given language. Decode keeps no reference to raw.
func (o Object) Decode(raw []byte, locale errs.Locale) (Values, []errs.Violation) {
	d := decoder{root: &o, locale: locale}
	if len(raw) > MaxBytesTotal {
		d.violate(RuleTooLarge, errs.Tf("引数が大きすぎます（%[1]s / %[2]s バイト）。", "The arguments are too large: %[1]s of %[2]s bytes.",
			count(len(raw)), count(MaxBytesTotal)), "")
		return Values{}, d.violations
	}
	d.in = raw
	d.out = make([]byte, 0, len(raw)+16)
	d.arguments()
	if d.fatal != nil {
		return Values{}, []errs.Violation{*d.fatal}
	}
	if d.more > 0 {
		msg := errs.Tf("ほかに %[1]s 件の違反があります。", "And %[1]s more violations.", count(d.more))
		d.violations = append(d.violations, errs.Violation{Path: pathRoot, Rule: RuleMore, Message: msg.In(locale)})
	}
	if len(d.violations) > 0 {
		return Values{}, d.violations
	}
	return Values{object: &o, doc: d.out}, nil
}

// decoder walks tokens and declaration together and writes the canonical document as it goes.
type decoder struct {
	scanner
	root       *Object
	locale     errs.Locale
	out        []byte // canonical so far
	scratch    []byte // for putting members in order
	path       []byte
	depth      int
	secrets    int  // how many Secret fields we are inside
	fill       bool // write declared defaults for what is absent
	violations []errs.Violation
	more       int
	fatal      *errs.Violation
}

// state is what became of one value.
type state int

const (
	present state = iota
	absent
	refused
)

func (d *decoder) hidden() bool { return d.secrets > 0 || len(d.path) == 0 }

// broken records that the input cannot be read further. It always returns false.
func (d *decoder) broken(rule string, msg errs.Text) bool {
	if d.fatal == nil {
		d.fatal = &errs.Violation{Path: d.pathString(), Rule: rule, Message: msg.In(d.locale)}
	}
	return false
}

func (d *decoder) notJSON() bool {
	return d.broken(RuleJSON, errs.T("引数を JSON として読めません。", "The arguments are not valid JSON."))
}

// arguments reads the whole input.
func (d *decoder) arguments() {
	switch c := d.peek(); {
	case d.pos == len(d.in):
		d.missing(d.root)
		return
	case c == 'n':
		if d.word("null") {
			d.missing(d.root)
		} else {
			d.notJSON()
		}
	case c == '{':
		d.object(d.root)
	case c == '"':
		s, _, ok := d.str()
		if !ok {
			d.notJSON()
			return
		}
		d.embedded(s, '{', func() bool { return d.object(d.root) }, wrongType(TypeObject, "string"))
	default:
		got := kindOf(c)
		if d.skip() {
			d.violate(RuleType, wrongType(TypeObject, got), "")
		}
	}
	if d.fatal == nil && (d.peek() != 0 || d.pos < len(d.in)) {
		d.notJSON()
	}
}

// missing treats every field of o as not sent and writes the empty object.
func (d *decoder) missing(o *Object) {
	d.finishObject(o, nil, make([]span, len(o.Fields)), len(d.out))
}

// span is where the canonical form of one member stands in out.
type span struct{ from, to int }

// object reads an object at its opening brace.
func (d *decoder) object(o *Object) bool {
	if !d.enter() {
		return false
	}
	d.pos++
	mark := len(d.out)
	var (
		spanRoom [24]span
		seenRoom [24]bool
		spans    = spanRoom[:]
		seen     = seenRoom[:]
		foreign  foreignNames
	)
	if n := len(o.Fields); n > len(spanRoom) {
		spans, seen = make([]span, n), make([]bool, n)
	} else {
		spans, seen = spans[:n], seen[:n]
	}
	if !d.take('}') {
		for {
			if !d.member(o, spans, seen, &foreign) {
				return false
			}
			if d.take(',') {
				continue
			}
			if d.take('}') {
				break
			}
			return d.notJSON()
		}
	}
	d.reportForeign(o, seen, &foreign)
	d.finishObject(o, seen, spans, mark)
	d.depth--
	return true
}

// member reads one name and value.
func (d *decoder) member(o *Object, spans []span, seen []bool, foreign *foreignNames) bool {
	if d.peek() != '"' {
		return d.notJSON()
	}
	name, _, ok := d.str()
	if !ok || !d.take(':') {
		return d.notJSON()
	}
	i := o.find(name)
	if i < 0 {
		foreign.add(name)
		return d.skip()
	}
	f := &o.Fields[i]
	at := d.pushName(f.Name)
	defer d.pop(at)
	if seen[i] {
		d.violate(RuleDuplicate, errs.Tf("%[1]s が 2 回以上指定されています。1 回だけにしてください。", "%[1]s is given more than once; give it once.", f.Name), "")
		return d.skip()
	}
	seen[i] = true
	from := len(d.out)
	st, ok := d.value(f, false)
	if !ok {
		return false
	}
	if st == present {
		spans[i] = span{from, len(d.out)}
		return true
	}
	d.out = d.out[:from]
	if st == absent && f.Required {
		d.required(f)
	}
	return true
}

func (d *decoder) required(f *Field) {
	d.violate(RuleRequired, errs.Tf("%[1]s は必須です。", "%[1]s is required.", f.Name), "")
}

// finishObject reports what is missing and puts the members, written to out from mark on, into the order of declaration.
func (d *decoder) finishObject(o *Object, seen []bool, spans []span, mark int) {
	d.scratch = append(d.scratch[:0], '{')
	for i := range o.Fields {
		f := &o.Fields[i]
		value := d.out[spans[i].from:spans[i].to]
		if len(value) == 0 {
			if f.Required && (seen == nil || !seen[i]) {
				at := d.pushName(f.Name)
				d.required(f)
				d.pop(at)
			}
			if !d.fill || f.Default == nil {
				continue
			}
			value = f.Default
		}
		if len(d.scratch) > 1 {
			d.scratch = append(d.scratch, ',')
		}
		d.scratch = append(d.scratch, '"')
		d.scratch = append(d.scratch, f.Name...)
		d.scratch = append(d.scratch, '"', ':')
		d.scratch = append(d.scratch, value...)
	}
	d.scratch = append(d.scratch, '}')
	d.out = append(d.out[:mark], d.scratch...)
}

// value reads one value as f's type. element says that it stands in a list, where nothing can be absent.
func (d *decoder) value(f *Field, element bool) (state, bool) {
	if f.Secret {
		d.secrets++
		defer func() { d.secrets-- }()
	}
	c := d.peek()
	if c == 'n' {
		if !d.word("null") {
			return refused, d.notJSON()
		}
		if element {
			d.violate(RuleType, errs.T("リストの中に null は置けません。", "null is not allowed inside a list."), "null")
			return refused, true
		}
		return absent, true
	}
	switch f.Type {
	case TypeObject:
		return d.container(f, element, '{')
	case TypeList:
		return d.container(f, element, '[')
	default:
		return d.scalar(f, c, element)
	}
}

// scalar reads a value that is neither object nor array, c being its first byte.
func (d *decoder) scalar(f *Field, c byte, element bool) (state, bool) {
	start := d.pos
	switch {
	case c == '"':
		s, flaw, ok := d.str()
		if !ok {
			return refused, d.notJSON()
		}
		return d.text(f, s, flaw, element), true
	case (c == 't' || c == 'f') && f.Type == TypeBoolean:
		return d.boolean()
	case (c == '-' || c >= '0' && c <= '9') && f.isInteger():
		s, ok := d.number()
		if !ok {
			return refused, d.notJSON()
		}
		return d.integer(f, s, false), true
	}
	if !d.skip() {
		return refused, false
	}
	d.violate(RuleType, wrongType(f.Type, kindOf(c)), shown(d.in[start:d.pos]))
	return refused, true
}

func (f *Field) isInteger() bool { return f.Type == TypeInteger || f.Type == TypeLocationID }

func (d *decoder) boolean() (state, bool) {
	switch {
	case d.word("true"):
		d.out = append(d.out, "true"...)
	case d.word("false"):
		d.out = append(d.out, "false"...)
	default:
		return refused, d.notJSON()
	}
	return present, true
}

// container reads an object or array, also one that was sent as a string.
func (d *decoder) container(f *Field, element bool, open byte) (state, bool) {
	read := func() bool {
		if open == '{' {
			if f.Object == nil {
				return d.object(&Object{})
			}
			return d.object(f.Object)
		}
		return d.list(f)
	}
	c, start, before := d.peek(), d.pos, len(d.violations)+d.more
	switch c {
	case open:
		if !read() {
			return refused, false
		}
	case '"':
		s, _, ok := d.str()
		if !ok {
			return refused, d.notJSON()
		}
		if len(s) == 0 {
			return d.empty(f, element), true
		}
		if l := f.short(); l != nil && bytes.HasPrefix(bytes.TrimLeft(s, " \t\r\n"), []byte("[")) {
			open, read = '[', func() bool { return d.shorthand(l) }
		}
		if !d.embedded(s, open, read, wrongType(f.Type, "string")) {
			return refused, false
		}
	case '[':
		if l := f.short(); l != nil {
			if !d.shorthand(l) {
				return refused, false
			}
			break
		}
		fallthrough
	default:
		if !d.skip() {
			return refused, false
		}
		value := shown(d.in[start:d.pos])
		if f.holdsSecret() {
			value = ""
		}
		d.violate(RuleType, wrongType(f.Type, kindOf(c)), value)
	}
	if len(d.violations)+d.more > before {
		return refused, true
	}
	return present, true
}

// short is the list that an array in the object's place stands for, nil for none.
func (f *Field) short() *Field {
	if f.Type != TypeObject || f.Shorthand == "" || f.Object == nil {
		return nil
	}
	if i := f.Object.find([]byte(f.Shorthand)); i >= 0 && f.Object.Fields[i].Type == TypeList {
		return &f.Object.Fields[i]
	}
	return nil
}

// shorthand reads an array as the object that has it as its member l. Paths stay those of the array.
func (d *decoder) shorthand(l *Field) bool {
	d.out = append(d.out, '{', '"')
	d.out = append(d.out, l.Name...)
	d.out = append(d.out, '"', ':')
	ok := d.list(l)
	d.out = append(d.out, '}')
	return ok
}

func (f *Field) holdsSecret() bool {
	if f.Secret || f.Items != nil && f.Items.holdsSecret() {
		return true
	}
	if f.Object != nil {
		for i := range f.Object.Fields {
			if f.Object.Fields[i].holdsSecret() {
				return true
			}
		}
	}
	return false
}

// embedded reads s, the text of a string, with read. When s is not one JSON value that starts with open, that is one
// violation of the whole string, whatever was found inside.
func (d *decoder) embedded(s []byte, open byte, read func() bool, msg errs.Text) bool {
	outer, depth, path := d.scanner, d.depth, len(d.path)
	listed, more, mark := len(d.violations), d.more, len(d.out)
	d.scanner = scanner{in: s}
	ok := d.peek() == open && read() && d.peek() == 0 && d.pos == len(s)
	d.scanner, d.depth, d.path = outer, depth, d.path[:path]
	if ok {
		return true
	}
	if d.fatal != nil && d.fatal.Rule != RuleJSON {
		return false
	}
	d.fatal = nil
	d.violations, d.more, d.out = d.violations[:listed], more, d.out[:mark]
	d.violate(RuleType, msg, "")
	return true
}

// list reads an array at its opening bracket.
func (d *decoder) list(f *Field) bool {
	if !d.enter() {
		return false
	}
	d.pos++
	item := f.Items
	if item == nil {
		item = &Field{}
	}
	var unique map[string]int
	if f.Unique {
		unique = make(map[string]int)
	}
	d.out = append(d.out, '[')
	n := 0
	if !d.take(']') {
		for {
			if !d.element(f, item, n, unique) {
				return false
			}
			n++
			if d.take(',') {
				continue
			}
			if d.take(']') {
				break
			}
			return d.notJSON()
		}
	}
	d.out = append(d.out, ']')
	d.depth--
	switch {
	case f.MaxItems > 0 && n > f.MaxItems:
		d.violate(RuleMaxItems, errs.Tf("要素が多すぎます（%[1]s / %[2]s 件）。", "%[1]s of %[2]s elements: too many.", count(n), count(f.MaxItems)), "")
	case n < f.MinItems:
		d.violate(RuleMinItems, errs.Tf("要素が足りません（%[1]s 件、%[2]s 件以上必要）。", "%[1]s elements; at least %[2]s are needed.", count(n), count(f.MinItems)), "")
	}
	return true
}

// element reads one element. Elements beyond the bound are only counted.
func (d *decoder) element(f, item *Field, n int, unique map[string]int) bool {
	if f.MaxItems > 0 && n >= f.MaxItems {
		d.peek()
		return d.skip()
	}
	if n > 0 {
		d.out = append(d.out, ',')
	}
	at := d.pushIndex(n)
	defer d.pop(at)
	from := len(d.out)
	st, ok := d.value(item, true)
	if !ok || st != present || unique == nil {
		return ok
	}
	canonical := d.out[from:]
	if first, dup := unique[string(canonical)]; dup {
		d.violate(RuleUnique, errs.Tf("[%[1]d] と同じ値です。", "Same value as element [%[1]d].", first), shown(canonical))
		return true
	}
	unique[string(canonical)] = n
	return true
}

func (d *decoder) enter() bool {
	d.depth++
	if d.depth > MaxDepth {
		return d.broken(RuleDepth, errs.Tf("入れ子が深すぎます（%[1]d 段まで）。", "Nested too deeply; at most %[1]d levels.", MaxDepth))
	}
	return true
}

// skip reads any value without keeping it.
func (d *decoder) skip() bool {
	var ok bool
	switch c := d.peek(); c {
	case '{', '[':
		return d.skipContainer(c)
	case '"':
		_, _, ok = d.str()
	case 't':
		ok = d.word("true")
	case 'f':
		ok = d.word("false")
	case 'n':
		ok = d.word("null")
	default:
		_, ok = d.number()
	}
	if !ok {
		return d.notJSON()
	}
	return true
}

func (d *decoder) skipContainer(open byte) bool {
	if !d.enter() {
		return false
	}
	d.pos++
	closing := open + 2 // '{' and '[' both stand two before their counterpart
	if d.take(closing) {
		d.depth--
		return true
	}
	for {
		if open == '{' {
			if d.peek() != '"' {
				return d.notJSON()
			}
			if _, _, ok := d.str(); !ok || !d.take(':') {
				return d.notJSON()
			}
		}
		if !d.skip() {
			return false
		}
		if d.take(',') {
			continue
		}
		if d.take(closing) {
			d.depth--
			return true
		}
		return d.notJSON()
	}
}

// kindOf names a JSON value by its first byte.
func kindOf(c byte) string {
	switch c {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// wrongType says what is expected of a value of type t when got was sent.
func wrongType(t Type, got string) errs.Text {
	switch t {
	case TypeObject:
		if got == "string" {
			return errs.T("JSON オブジェクトが必要です。文字列で送る場合は、そのまま 1 回だけ JSON にしたオブジェクトにしてください。",
				"Expected a JSON object; the string does not hold exactly one JSON object, encoded once.")
		}
		return errs.Tf("JSON オブジェクトが必要ですが、%[1]s が送られました。", "Expected a JSON object, got %[1]s.", got)
	case TypeList:
		if got == "string" {
			return errs.T(`JSON 配列が必要です（値が 1 つでも ["..."] と書きます）。文字列で送る場合は、そのまま 1 回だけ JSON にした配列にしてください。`, `Expected a JSON array (a single value is written ["..."]); the string does not hold exactly one, encoded once.`)
		}
		return errs.Tf("JSON 配列が必要ですが、%[1]s が送られました。値が 1 つでも [値] と書きます。", "Expected a JSON array, got %[1]s; a single value is written [value].", got)
	case TypeBoolean:
		return errs.Tf("true または false が必要ですが、%[1]s が送られました。", "Expected true or false, got %[1]s.", got)
	case TypeInteger, TypeLocationID:
		return errs.Tf("整数が必要ですが、%[1]s が送られました。", "Expected an integer, got %[1]s.", got)
	case TypeID:
		if got == "number" {
			return errs.T("ID は文字列で送ってください。数値では桁が失われることがあります。", "Send the id as a string; as a number, digits may be lost.")
		}
	default: // a string like any other
	}
	return errs.Tf("文字列が必要ですが、%[1]s が送られました。", "Expected a string, got %[1]s; write it in quotes.", got)
}

// countsAsEmpty tells whether s counts as empty for f.
func countsAsEmpty(f *Field, s []byte) bool {
	return len(s) == 0 || f.Type == TypeText && len(bytes.TrimRightFunc(s, blank)) == 0
}
