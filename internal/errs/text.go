package errs

import "fmt"

// Locale is the language of texts for people: "ja" or "en". Codes and JSON names are the same in both.
type Locale string

// The two languages of the product; Japanese is the default.
const (
	Japanese Locale = "ja"
	English  Locale = "en"
)

// Text is a sentence for people in both languages.
type Text struct{ JA, EN string }

// T is a fixed text.
func T(ja, en string) Text { return Text{JA: ja, EN: en} }

// Tf formats both languages with the same arguments; use explicit indexes where the order of words differs.
func Tf(ja, en string, args ...any) Text {
	return Text{JA: fmt.Sprintf(ja, args...), EN: fmt.Sprintf(en, args...)}
}

// In is the text in one language; anything but English is Japanese.
func (t Text) In(l Locale) string {
	if l == English {
		return t.EN
	}
	return t.JA
}
