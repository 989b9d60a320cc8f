package gbp

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Words that stand in a placeholder for what a person was to fill in. Anywhere between brackets only those that are nothing
// else there; the others ("[date]", "[店舗]") when they are all that the brackets hold, because "[Save the date]", "[updated]"
// and 【日時】 are headings. A name of something counts however it is joined: "[CustomerName]", "{first_name}".
const (
	blankNames    = `(?:customer|reviewer|guest|client|user|store|shop|business|company|restaurant|hotel|owner|manager|staff|first|last|full|your)[ _.-]?(?:name|title)`
	blankAlone    = `(?:the )?(?:customer|reviewer|guest|client|store|shop|restaurant|business|company|location|city|owner|manager|date|visit date|date of visit|address|e-?mail(?: address)?|phone(?: number)?|contact(?: info(?:rmation)?)?|url|link|website|signature|job title|position|title|specific [a-z ]{2,30})`
	blankPersonJA = `(?:お?名前|氏名|お?客様(?:の)?(?:お?名前|名|氏名)|レビュアー名|投稿者名|担当者名)`
	blankWordsJA  = `(?:` + blankPersonJA + `|店名|店舗名?|会社名|商品名|メニュー名|日付|日時|電話番号|住所|お客様|担当者)`
)

var (
	// bracketed is [Customer Name], [店名] and their kind.
	bracketed = regexp.MustCompile(`\[[^\[\]\n]{0,20}` + blankWordsJA + `(?:など|等|を[^\[\]\n]{0,12})?\]|(?i:\[(?:[^\[\]\n]{0,30}[^\[\]\na-z])?(?:names?|insert|your|` + blankNames + `)(?:[^\[\]\na-z][^\[\]\n]{0,30})?\]|\[` + blankAlone + `\])`)
	// signed is what template languages put around a name: <<STORE>>, ${name}, %FIRST_NAME%, {customer_name}, __NAME__, {% if %}.
	signed = regexp.MustCompile(`<<[^<>\n]{1,40}>>|<%[^<>\n]{1,40}%>|\{%[^{}\n]{1,40}%\}|#\{[^{}\n]{1,40}\}|\{\d\}|\$\{[^{}\n]{1,40}\}|%{1,2}(?:[A-Z]{2,20}_[A-Z_]{2,20}|NAME|CUSTOMER|STORE|SHOP|DATE)%{1,2}|\{ ?[a-zA-Z]{2,20}(?:[_.-][a-zA-Z]{1,20}){1,3} ?\}|\{ ?(?i:names?|` + blankNames + `|` + blankAlone + `) ?\}|__[A-Z][A-Z_]{2,30}__`)
	// signedJA is 【お名前】, ＜お客様名＞, ｛店名｝, ｛｛location.title｝｝, （店名を入力） and 【ここに本文を入力】. A shop asks its customers
	// for the like in parentheses: （お名前をご記入ください）.
	signedJA = regexp.MustCompile(`｛｛[^｛｝\n]{1,40}｝｝|[【＜<〈《≪［（(]\s?` + blankPersonJA + `\s?[】＞>〉》≫］）)]|[｛{]\s?` + blankWordsJA + `\s?[｝}]|[【＜〈《≪［｛\[][^】＞〉》≫］｝\]\n]{0,20}を(?:ご?記入|入力|挿入)(?:する|して)?(?:ください)?[】＞〉》≫］｝\]]|（[^（）\n]{0,6}` + blankWordsJA + `を(?:記入|入力|挿入)）|[【＜〈《≪［（｛\[][^】＞〉》≫］）｝\]\n]{0,8}ここに[^】＞〉》≫］）｝\]\n]{0,12}(?:記入|入力|挿入|貼)[^】＞〉》≫］）｝\]\n]{0,8}[】＞〉》≫］）｝\]]`)
	// circles is ○○様, ●●店, XX様, ○月○日: signs where a name or number belongs.
	circles = regexp.MustCompile(`[○〇◯]{2,}|[○〇◯●]月[○〇◯●]日|[○◯●](?:円|[%％])|(?:[●△▲□■◇◆]{2,}|[XxＸｘ×✕]{2,})(?:様|さま|さん|店|氏|円|日|月|時|分|[%％])`)
	// unset is what programs write where a value is missing, and letters of a date's format.
	unset = regexp.MustCompile(`\[object Object\]|\b(?:undefined|null|NaN|None)\s?(?:様|さま|さん|店|円|月|日|時|[%％])|\b(?i:dear|hi|hello),? (?:undefined|null|NaN|None)\b|YYYY[年/-]MM|MM月DD日`)
)

// findPlaceholder gives the first thing in a text that was to be filled in.
func findPlaceholder(s string) string {
	for _, word := range []string{"Lorem ipsum", "lorem ipsum", "ダミーテキスト", "サンプルテキスト"} {
		if strings.Contains(s, word) {
			return word
		}
	}
	for _, c := range []struct {
		re    *regexp.Regexp
		signs string
	}{{bracketed, "["}, {signed, "<${%_#"}} {
		if m := findFrom(c.re, s, c.signs); m != "" {
			return m
		}
	}
	for _, re := range []*regexp.Regexp{signedJA, unset} {
		if m := re.FindString(s); m != "" {
			return m
		}
	}
	for _, at := range circles.FindAllStringIndex(s, -1) {
		// 二〇〇五年 is a year: its circles are zeros.
		before, _ := utf8.DecodeLastRuneInString(s[:at[0]])
		after, _ := utf8.DecodeRuneInString(s[at[1]:])
		if !strings.ContainsRune(kanjiDigits, before) && !strings.ContainsRune(kanjiDigits, after) {
			return s[at[0]:at[1]]
		}
	}
	return ""
}
