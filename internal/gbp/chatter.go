package gbp

import (
	"regexp"
	"strings"
)

// What an assistant says to the person it works for: before its work, behind it, and instead of it. The expressions ask for a
// word about the work itself (reply, draft, wording, tone), because a shop, too, says "of course" and "let us know".
var (
	preamble = regexp.MustCompile(`(?i)^\s*(?:` +
		`(?:sure|certainly|of course|absolutely)?[,!.:\s]*(?:here(?:'|’)?s?(?: is| are)?|below is|i(?:'|’)ve (?:written|drafted))\b[^\n]{0,60}(?:post|reply|response|draft|version|text|description)[^\n]{0,40}[:：]` +
		`|(?:sure|certainly|of course|absolutely|okay|ok|great)[,!.\s]+(?:i(?:'|’)?(?:d be (?:happy|glad) to|ll|m happy to)|i can|let me)(?: help you)? (?:write|draft|craft|compose|create|rephrase|rewrite)[^\n]{0,80}` +
		`|i(?:'|’)?(?:ve| have) (?:written|drafted|crafted|prepared|composed) (?:a|the|this|your)\b[^\n]{0,30}\b(?:reply|response|draft)\b[^\n]{0,40}` +
		`|[*#_>\s]*(?:(?:suggested|draft|drafted|proposed|sample|possible|polite|professional|revised|final)\s+){0,3}(?:reply|response|draft|owner response|review response)(?:\s+(?:draft|option|text))?\s*\d?\s*[*_]*\s*[:：][*_]*` +
		`|(?:sure|certainly|of course|absolutely)[,!.\s]+here you go\b[^\n]{0,20}` +
		`|(?:(?:sure|certainly|of course|absolutely)[,!.\s]+)?here(?:(?:'|’)?s| is)\b[^\n]{0,40}\b(?:draft|version)\b[^\n]{0,20}\byou can (?:use|post|copy)\b` +
		`|here(?:(?:'|’)?s| is)\b[^\n]{0,30}\bgoogle business profile (?:post|update)\b` +
		`|(?:assistant|chatgpt|claude|gemini)\s*[:：]` +
		`|[*#_\s]*(?:option|version)\s+(?:\d|[a-c])\b\s*(?:[(–—-][^\n:：]{0,30})?[:：)*]` +
		`)`)
	preambleJA = regexp.MustCompile(`^[\s*#_]*(?:` +
		`(?:承知(?:しました|いたしました)|かしこまりました|了解(?:です|しました|いたしました))[。！!]*\s*(?:\n|$)` +
		`|` + agreedJA + `[、。！!\s]*(?:[^\n。]{0,30}(?:投稿|返信|告知文|文章|文案)(?:文|案)?(?:です|を[^\n。]{0,6}作成)|喜んで[^\n。]{0,4}作成)[^\n。！!]{0,12}` +
		`|(?:` + agreedJA + `[、。！!\s]*)?(?:` +
		`(?:(?:以下|下記)(?:が|は|に|、)?|こちらが)[^\n]{0,30}(?:(?:投稿|返信|返答|回答)(?:文|案|例|文案|文面)?|文章|文案|文面|下書き)[^\n]{0,6}(?:です|になります|となります|[:：])` +
		`|(?:(?:以下|下記)(?:が|は|に|、)|こちらが)[^\n]{0,20}案(?:です|になります|となります|[:：])` +
		`|(?:返信|返答|回答|投稿)(?:文|案|例|文案|文面)はこちら(?:です|になります)?[。:：]` +
		`|(?:以下|下記)の(?:ような)?[^\n]{0,12}(?:返信|返答|回答|投稿|文章|文案|文面)(?:文|案|例|文案)?(?:を|で|は)[^\n]{0,20}(?:いかが|ご利用|お使い|ご提案|使って)` +
		`|[^\n。]{0,40}(?:返信|返答|回答|投稿)(?:文|案|例|文案|文面)(?:の案)?を[^\n。]{0,10}(?:作成|作り|用意|書き|提案|考え)[^\n。]{0,12}(?:ました|ます)` +
		`|(?:以下|下記)の[^\n。]{0,16}(?:ように|(?:返信|投稿|文章|文案|文面)(?:文|案)?を)[^\n。]{0,6}作成[^\n。]{0,8}ました` +
		`|[^\n。]{0,20}(?:ご?要望|ご?依頼|ご?希望|ご?指示|リクエスト|情報)[^\n。]{0,20}(?:文章|文案|文面|告知文|キャプション)を[^\n。]{0,6}(?:作成|ご用意)[^\n。]{0,8}ました` +
		`|[^\n。]{0,20}(?:ビジネスプロフィール|Googleマップ|GBP)\s?(?:用|向け)の[^\n。]{0,16}(?:投稿|返信|文)[^\n。]{0,6}(?:です|[:：])` +
		`|こちらは[^\n。]{0,20}(?:投稿|返信|文章|文案)文?の(?:サンプル|例|案|たたき台|ドラフト|下書き)(?:です|になります)` +
		`|(?:以下|下記|こちら)[、がは]{0,2}[^\n。]{0,6}(?:修正|改善|改訂|最終|短縮)版(?:です|になります)|(?:修正|改善|改訂|最終|短縮)版\s?[:：]` +
		`|(?:修正|調整)後の(?:文章|投稿|返信|文面|文案)` +
		`)` +
		`|[【\[]?\s?(?:投稿)?(?:本文|件名|キャプション|タイトル案)\s?(?:[】\]]|[:：])|[【\[]\s?投稿タイトル\s?[】\]]` +
		`|(?:AIアシスタント|ChatGPT)(?:の回答)?\s?[:：]` +
		`|[【\[（(]?\s?(?:ご?返信|ご?返答|ご?回答|投稿)(?:文|案|例|文案|文面|文例)?\s?\d?\s?[】\]）)]?[*_]*\s?[:：]` +
		`|[【\[]\s?(?:ご?返信|ご?返答|ご?回答|投稿)(?:文|案|例|文案|文面|文例)\s?\d?\s?[】\]]` +
		`|(?:案|パターン|例文?)\s?[\dA-C１-３①-③]\s?[:：]` +
		`)`)
	// farewell is looked for in the last lines.
	farewell = regexp.MustCompile(`(?i)let me know if you(?:(?:'|’)?d like|\s+would like|\s+want|\s+need)(?:\s*(?:$|[.!…])|\s+(?:me to|any\s+(?:other\s+)?(?:changes|adjustments|edits|revisions|modifications|tweaks)|a\s+(?:different|shorter|longer|more|less|warmer)|another\s+(?:version|draft|option|reply|response|tone)|this|it|changes|adjustments|the tone|something\s+(?:different|else)|to\s+(?:adjust|change|edit|revise|tweak|modify|refine|shorten))\b[^\n]{0,80})` +
		`|(?:would you like|do you want) me to (?:adjust|change|edit|revise|tweak|modify|refine|shorten|translate|write|draft|make|rewrite)\b[^\n]{0,80}` +
		`|want me to (?:adjust|change|edit|revise|tweak|modify|refine|shorten|translate|rewrite)\b[^\n]{0,80}` +
		`|anything else you(?:(?:'|’)?d| would) like me to\b[^\n]{0,40}` +
		`|(?:shall|should|may) i (?:post|publish|send) (?:this|it)\b[^\n]{0,40}` +
		`|[(~][^\n()]{0,12}\b\d{2,4} (?:characters|words)\)?\s*$` +
		`|feel free to (?:adjust|edit|revise|tweak|modify|customi[sz]e|personali[sz]e|adapt)\b[^\n]{0,80}` +
		`|hope this (?:reply|response|draft)\b[^\n]{0,40}` +
		`|this (?:reply|response|draft) (?:keeps|acknowledges|strikes|maintains|addresses|thanks|aims|expresses)\b[^\n]{0,80}` +
		`|(?:word|character) count\s*[:：][^\n]{0,20}`)
	farewellJA = regexp.MustCompile(`(?:文体|文面|文章|文案|返信文|言い回し|口調|返信のトーン)[^\n。]{0,25}(?:調整|修正|変更|編集)[^\n]{0,40}` +
		`|必要に応じて[^\n]{0,12}(?:調整|修正|編集|アレンジ|カスタマイズ|書き換え)[^\n]{0,6}ください` +
		`|修正(?:点|箇所|が必要|をご希望|のご希望|してほしい)[^\n]{0,30}(?:お知らせ|お申し付け|教えて|おっしゃって|言って|ください)[^\n]{0,10}` +
		`|(?:別|他|ほか)の(?:バージョン|パターン|文案|言い回し)(?:も|を|が)[^\n]{0,30}(?:作成|作り|用意|提案|必要)[^\n]{0,20}` +
		`|(?:表現|文字数)[をの][^\n]{0,12}(?:変更|調整|修正|変え)[^\n。]{0,16}(?:可能|できます|ましょうか|お知らせ|お申し付け|教えて|おっしゃって)[^\n]{0,10}` +
		`|(?:絵文字|ハッシュタグ)[をも][^\n]{0,10}(?:追加|減ら|増や)[^\n]{0,10}(?:こともできます|ことも可能|ましょうか)[^\n]{0,4}` +
		`|(?:もう少し|もっと|より)[^\n]{0,12}(?:表現|文体|文章|言い方)に[^\n]{0,12}(?:可能|できます)[^\n]{0,4}` +
		`|別案[もがを](?:必要|ご?希望|作成|お作り|ご?提案|出せ|考え|ご?用意でき)[^\n]{0,20}` +
		`|(?:投稿|返信|公開)して(?:も)?(?:よろしい|よい|いい|良い|大丈夫)(?:です|でしょう)か[？?。]?\s*$` +
		`|(?:投稿|返信)しましょうか[？?。]?\s*$` +
		`|(?:以上|上記|この|こちら)の?(?:ような)?(?:投稿|返信|文|内容)(?:文|案)?でいかがでしょう[^\n]{0,6}` +
		`|問題(?:が)?なければ[^\n]{0,6}(?:投稿|公開|返信)(?:し|いたし|を)[^\n]{0,10}` +
		`|(?:この|上記の|本)(?:投稿|返信|文章)文?(?:は|では)[^\n]{0,30}(?:\d文字|意識し|盛り込|考慮し)[^\n]{0,20}` +
		`|(?:[（(]\s?約\s?|\n\s*[（(]\s?)\d{2,4}\s?文字(?:程度)?\s?[）)]\s*$` +
		`|コピ(?:ーして|ペして|ー＆ペースト|ー&ペースト)[^\n]{0,4}(?:お使い|ご利用|ご使用|使って)[^\n]{0,10}` +
		`|この(?:返信|文章|文案|文面|返答)(?:文|案)?(?:で|は)[^\n]{0,10}(?:いかが|よろしい|問題ない|大丈夫)[^\n]{0,12}` +
		`|(?m:文字数\s*[:：]\s*約?\s*[\d０-９,]{1,5}\s*(?:文字|字)?(?:程度)?\s*[）)]?\s*$)`)
	// aModel, aModelJA and leftover are looked for everywhere.
	aModel   = regexp.MustCompile(`(?i)\bas an ai(?:\s+(?:language\s+)?model|\s+assistant|\s+chatbot|\s*,|\s+i\b)|\bi(?:'|’)?(?: a)?m (?:just |only )?an ai(?:\s+(?:language\s+)?model|\s+assistant|\s*[.,])|\bi(?:'|’)?(?: a)?m sorry,? but i (?:can(?:'|’)?t|cannot|am unable to) (?:assist|comply|fulfill|generate)[^\n]{0,40}`)
	aModelJA = regexp.MustCompile(`(?:AI|ＡＩ|人工知能|言語モデル)(?:言語モデル|アシスタント|チャットボット)?(?:として(?:は|、|お答え|回答)|なので|ですので|である(?:ため|私)|のため、)` +
		`|私は[^\n。、]{0,6}(?:AI|ＡＩ|人工知能|言語モデル)(?:言語モデル|アシスタント|チャットボット)?(?:です|であり)` +
		`|(?:その|この|そのような)(?:コンテンツ|文章|投稿|内容)[^\n。]{0,8}(?:作成|生成)(?:すること)?[はが]?できません`)
	// leftover is what the programs around a model put into its text: marks of sources, roles and thoughts.
	leftover = regexp.MustCompile(`【\d{1,3}(?::\d{1,3})?†[^】\n]{0,40}】|\bturn\d+(?:search|view|news|image)\d+|:?contentReference\[oaicite|utm_source=(?:chatgpt\.com|openai)|</?think(?:ing)?>|<\|[a-z_]{2,20}\|>`)
)

const agreedJA = `(?:はい|承知(?:しました|いたしました|です)|かしこまりました|了解(?:です|しました|いたしました)|もちろんです|わかりました|分かりました)`

// findChatter looks at the beginning of a text, where an assistant introduces its work, at its end, where it offers more of it,
// and for its excuses anywhere.
func findChatter(s string) string {
	head, tail := cut(s, 0, 500), cut(s, len(s)-500, len(s))
	for _, c := range []struct {
		re *regexp.Regexp
		in string
	}{{preamble, head}, {preambleJA, head}, {farewell, tail}, {farewellJA, tail}, {aModel, s}, {aModelJA, s}, {leftover, s}} {
		if m := c.re.FindString(c.in); m != "" {
			return strings.TrimSpace(m)
		}
	}
	return ""
}
