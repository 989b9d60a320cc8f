package gbp_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

// F045, F054: the rules of a reply, by what a caller gets wrong.
func TestRenderReplyRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
	}{
		"F045 1,366 kana":              {strings.Repeat("あ", 1366), "comment max_bytes"},
		"F045 Thai":                    {strings.Repeat("ก", 1366), "comment max_bytes"},
		"F045 Arabic":                  {strings.Repeat("ع", 2049), "comment max_bytes"},
		"F045 emoji":                   {strings.Repeat("🎄", 1025), "comment max_bytes"},
		"F045 ASCII":                   {strings.Repeat("a", 4097), "comment max_bytes"},
		"F045 too long once rendered":  {strings.Repeat("あ", 1360) + "{{location.title}}", "comment max_bytes"},
		"F054 empty":                   {"", "comment required"},
		"F054 blank":                   {"   ", "comment required"},
		"F054 wide blank":              {"　\n\t\r\n", "comment required"},
		"F054 invisible":               {"\u200b\u2060\ufeff\u3164", "comment required"},
		"F054 a mark on nothing":       {" \u0301", "comment required"},
		"F054 unknown variable":        {"Hi {{reviewer_name}}, thanks", "comment unknown_variable"},
		"F054 unknown variable alone":  {"{{reviewer_name}}", "comment unknown_variable"},
		"F054 unclosed":                {"Hi {{location.title}, thanks", "comment unknown_variable"},
		"NUL":                          {"a\x00b", "comment characters"},
		"escape":                       {"a\x1b[31mb", "comment characters"},
		"broken UTF-8":                 {"a\xffb", "comment characters"},
		"several at once":              {strings.Repeat("あ", 1366) + "\x00{{x}}", "comment unknown_variable|comment max_bytes|comment characters"},
		"fine: F045 1,365 kana":        {strings.Repeat("あ", 1365) + "a", ""},
		"fine: blank lines around":     {"\r\n \n" + strings.Repeat("あ", 1365) + "\r\n\r\n", ""},
		"fine: CRLF counts as one":     {strings.Repeat("a\r\n", 2048), ""},
		"fine: tab, family and kanji":  {"\tありがとう👨‍👩‍👧𠮷", ""},
		"fine: one sign":               {"👍", ""},
		"fine: the store's own values": {"{{location.title}} ({{ location.city }})", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, l := range []errs.Locale{errs.English, errs.Japanese} {
				r, v, _ := gbp.RenderReply(c.text, shibuya(), l)
				if got := strings.Join(broken(v), "|"); got != c.want {
					t.Fatalf("got %q, want %q", got, c.want)
				}
				if (r.Payload != nil) == (c.want != "") {
					t.Fatalf("payload %s beside %q", r.Payload, c.want)
				}
				for _, x := range v {
					if x.Message == "" || x.LocationID != 8802 {
						t.Fatalf("violation %+v", x)
					}
				}
			}
		})
	}
	_, v, _ := gbp.RenderReply(strings.Repeat("あ", 1366), shibuya(), errs.English)
	if !strings.Contains(v[0].Message, "4,098 of 4,096 bytes") {
		t.Errorf("message %q", v[0].Message)
	}
	loc := shibuya()
	loc.Profile.City = ""
	if _, v, _ := gbp.RenderReply("{{location.city}}", loc, errs.English); strings.Join(broken(v), "|") != "comment empty_variable" {
		t.Errorf("empty variable: %v", v)
	}
}

func TestReplyIsNotRewritten(t *testing.T) {
	t.Parallel()
	r, v, w := gbp.RenderReply("\r\n  A & B <3\r\rありがとう \n\n　\n", shibuya(), errs.English)
	if v != nil || len(w) != 0 || r.Comment != "  A & B <3\n\nありがとう " || string(r.Payload) != `{"comment":"  A & B <3\n\nありがとう "}` {
		t.Errorf("%q %s %v %v", r.Comment, r.Payload, v, w)
	}
	r, _, w = gbp.RenderReply("{{location.title}} https://evil.example/x 090-1234-5678", shibuya(), errs.English)
	if !slices.Equal(r.Links, []string{"https://evil.example/x"}) || !slices.Equal(r.Phones, []string{"090-1234-5678"}) || !strings.HasPrefix(r.Comment, "こもれび珈琲 渋谷店 ") {
		t.Errorf("%+v", r)
	}
	if len(w) != 1 || w[0].Code != "PHONE_NUMBER_IN_TEXT" || w[0].Span != "090-1234-5678" || strings.Contains(w[0].Message, "CALL") || w[0].LocationID != 8802 {
		t.Errorf("%+v", w)
	}
}

// F054: placeholders that nobody filled in and words that were meant for the person in front of the assistant, in both languages.
func TestF054ReplySuspicions(t *testing.T) {
	t.Parallel()
	const placeholder, chatter, markup = "PLACEHOLDER_IN_TEXT", "MODEL_CHATTER_IN_TEXT", "MARKUP_IN_TEXT"
	for _, c := range []struct{ text, code, span string }{
		{"Dear [Customer Name],\nthank you.", placeholder, "[Customer Name]"},
		{"Dear [CustomerName], thank you.", placeholder, "[CustomerName]"},
		{"Hi [first_name]!", placeholder, "[first_name]"},
		{"Best, [Your Name]", placeholder, "[Your Name]"},
		{"We at [Business Name] thank you", placeholder, "[Business Name]"},
		{"Thank you for visiting on [date].", placeholder, "[date]"},
		{"Please call [Phone Number].", placeholder, "[Phone Number]"},
		{"We loved hearing about [specific dish mentioned]", placeholder, "[specific dish mentioned]"},
		{"[Insert apology here]", placeholder, "[Insert apology here]"},
		{"Dear <<NAME>>,", placeholder, "<<NAME>>"},
		{"Dear ${reviewer},", placeholder, "${reviewer}"},
		{"Dear %FIRST_NAME%,", placeholder, "%FIRST_NAME%"},
		{"Dear {customer_name},", placeholder, "{customer_name}"},
		{"Dear {name},", placeholder, "{name}"},
		{"Dear __REVIEWER_NAME__", placeholder, "__REVIEWER_NAME__"},
		{"[お客様名]様、ありがとうございます。", placeholder, "[お客様名]"},
		{"【お名前】様、ありがとうございます。", placeholder, "【お名前】"},
		{"（お客様のお名前）様", placeholder, "（お客様のお名前）"},
		{"＜氏名＞様", placeholder, "＜氏名＞"},
		{"｛店名｝をご利用いただき", placeholder, "｛店名｝"},
		{"【ここに謝罪を入力してください】", placeholder, "【ここに謝罪を入力してください】"},
		{"○○様、ありがとうございます。", placeholder, "○○"},
		{"◯◯様、ありがとうございます。", placeholder, "◯◯"},
		{"●●店でお待ちしております。", placeholder, "●●店"},
		{"XX様、ありがとうございます。", placeholder, "XX様"},

		{"Sure! Here is a reply: Thank you!", chatter, "Sure! Here is a reply:"},
		{"Here's a polite response you can use:\n\nThank you!", chatter, "Here's a polite response you can use:"},
		{"Certainly, I can help you write a reply.\nThank you!", chatter, "Certainly, I can help you write a reply."},
		{"I've drafted a reply to this review.\nThank you!", chatter, "I've drafted a reply to this review."},
		{"**Reply:** Thank you!", chatter, "**Reply:**"},
		{"Suggested response: Thank you!", chatter, "Suggested response:"},
		{"Option 1: Thank you!", chatter, "Option 1:"},
		{"Thank you!\n\nLet me know if you'd like me to adjust the tone.", chatter, "Let me know if you'd like me to adjust the tone."},
		{"Thank you!\nLet me know if you’d like any changes!", chatter, "Let me know if you’d like any changes!"},
		{"Thank you!\nLet me know if you'd like…", chatter, "Let me know if you'd like…"},
		{"Thank you!\nLet me know if you want a shorter version", chatter, "Let me know if you want a shorter version"},
		{"Thank you!\nWould you like me to translate it?", chatter, "Would you like me to translate it?"},
		{"Thank you!\nFeel free to customize this as needed.", chatter, "Feel free to customize this as needed."},
		{"As an AI, I cannot visit, but thank you.", chatter, "As an AI,"},
		{"as an AI assistant I thank you", chatter, "as an AI assistant"},
		{"I'm sorry, but I can't assist with that request.", chatter, "I'm sorry, but I can't assist with that request."},
		{"以下は返信です。\nありがとうございます。", chatter, "以下は返信です"},
		{"以下、返信文の案です：\nありがとうございます。", chatter, "以下、返信文の案です："},
		{"承知しました。以下が返信案になります。\nありがとう", chatter, "承知しました。以下が返信案になります"},
		{"はい、ご依頼の返信文を作成しました。\nありがとう", chatter, "はい、ご依頼の返信文を作成しました"},
		{"こちらが返信文です\nありがとう", chatter, "こちらが返信文です"},
		{"返信文はこちらです。\nありがとう", chatter, "返信文はこちらです。"},
		{"返信例：ありがとうございます。", chatter, "返信例："},
		{"【返信案】\nありがとうございます。", chatter, "【返信案】"},
		{"案1：ありがとうございます。", chatter, "案1："},
		{"ありがとうございます。\n\n必要に応じて調整してください。", chatter, "必要に応じて調整してください"},
		{"ありがとうございます。\n文体の調整が必要であればお知らせください。", chatter, "文体の調整が必要であればお知らせください。"},
		{"ありがとうございます。\n修正点があればお知らせください。", chatter, "修正点があればお知らせください。"},
		{"ありがとうございます。\n別のパターンもご用意できます。", chatter, "別のパターンもご用意できます。"},
		{"ありがとうございます。\n（文字数：120文字）", chatter, "文字数：120文字）"},
		{"AIアシスタントとしてお答えします。", chatter, "AIアシスタントとしてお答え"},
		{"私はAIなので訪問できません。", chatter, "AIなので"},
		{"承知しました。\n\n新作の抹茶ラテが始まりました。", chatter, "承知しました。"},
		{"かしこまりました！", chatter, "かしこまりました！"},
		{"もちろんです！新メニューの告知文を作成します。\n抹茶", chatter, "もちろんです！新メニューの告知文を作成します"},
		{"承知いたしました！以下の投稿を作成しました。\n抹茶", chatter, "承知いたしました！以下の投稿を作成しました"},
		{"以下のように作成しました。\n抹茶", chatter, "以下のように作成しました"},
		{"ご要望に合わせて文章を作成いたしました。\n抹茶", chatter, "ご要望に合わせて文章を作成いたしました"},
		{"Googleビジネスプロフィール用の投稿です：抹茶", chatter, "Googleビジネスプロフィール用の投稿です："},
		{"こちらは投稿文のサンプルです。抹茶", chatter, "こちらは投稿文のサンプルです"},
		{"以下、修正版です。\n抹茶", chatter, "以下、修正版です"},
		{"修正版：抹茶", chatter, "修正版："},
		{"【本文】\n抹茶", chatter, "【本文】"},
		{"投稿本文：抹茶", chatter, "投稿本文："},
		{"ChatGPTの回答：抹茶", chatter, "ChatGPTの回答："},
		{"抹茶です。\n\nこのまま投稿してよろしいでしょうか？", chatter, "投稿してよろしいでしょうか？"},
		{"抹茶です。\n\nこのような投稿文でいかがでしょうか。", chatter, "このような投稿文でいかがでしょうか。"},
		{"抹茶です。\n\n問題なければ投稿します。", chatter, "問題なければ投稿します。"},
		{"抹茶です。\n\n※この投稿文は約150文字です。", chatter, "この投稿文は約150文字です。"},
		{"抹茶です。\n（150文字）", chatter, "（150文字）"},
		{"抹茶です。（約150文字）", chatter, "（約150文字）"},
		{"抹茶です。\n\nこの投稿はSEOを意識して作成しました。", chatter, "この投稿はSEOを意識して作成しました。"},
		{"抹茶です。\n\n別案もご用意できます。", chatter, "別案もご用意できます。"},
		{"抹茶です。\n\n絵文字を追加することもできます。", chatter, "絵文字を追加することもできます。"},
		{"抹茶です。\n\nこの投稿をコピペしてお使いください", chatter, "コピペしてお使いください"},
		{"私はAIアシスタントです。", chatter, "私はAIアシスタントです"},
		{"申し訳ございませんが、そのコンテンツを作成することはできません。", chatter, "そのコンテンツを作成することはできません"},
		{"Sure, here you go: latte", chatter, "Sure, here you go: latte"},
		{"Certainly! Here's a draft you can use.\nLatte", chatter, "Certainly! Here's a draft you can use"},
		{"Latte.\n\nShall I post this?", chatter, "Shall I post this?"},
		{"Latte.\n\nAnything else you'd like me to change?", chatter, "Anything else you'd like me to change?"},
		{"Latte. (150 characters)", chatter, "(150 characters)"},
		{"抹茶です【4†source】", chatter, "【4†source】"},
		{"Latte turn0search0", chatter, "turn0search0"},
		{"抹茶 :contentReference[oaicite:0]{index=0}", chatter, ":contentReference[oaicite"},
		{"**Thank you** for coming", markup, "**Thank you**"},
		{"```\nThank you\n```", markup, "```"},
	} {
		_, v, w := gbp.RenderReply(c.text, shibuya(), errs.Japanese)
		at := slices.IndexFunc(w, func(x gbp.Warning) bool { return x.Code == c.code })
		if v != nil || at < 0 || w[at].Span != c.span || w[at].Message == "" {
			t.Errorf("%q: %+v %v, want %s %q", c.text, w, v, c.code, c.span)
		}
	}
}

// What shops write every day draws no warning.
func TestOrdinaryRepliesDrawNoWarning(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Thank you for your kind words, Ken! See you again on 12/24 at 18:00.",
		"We are sorry. Our latte is ¥1,200 (tax included), not ¥1,500 [see the menu]; prices changed on 2026-11-01.",
		"Sure, we remember you! Here is to many more visits.",
		"Of course, we would be happy to welcome you again. Please let us know if you'd like a table by the window.",
		"Let me know if you'd like to visit again: ask for Aya (manager).",
		"Absolutely! The [updated] hours are 9:00-18:00, and the [workshop] starts at 10.",
		"Limited time: 10% off! [Save the date] [Limited time offer] 50%OFF%",
		"Feel free to ask our staff. I hope this helps, and I have written to you by email.",
		"Was an AI, in your opinion, behind our menu? No: our chef wrote it.",
		"Response times are slow on Sundays: sorry.",
		"{happy customers} <3 (^_^) *special*",
		"ご来店ありがとうございます。12月24日（木）18:00〜のご予約、お一人様3,500円（税込）にて承ります。",
		"【お知らせ】年末年始の営業時間【12/31〜1/3は休業】です。[新作]抹茶ラテもぜひ。",
		"【日時】12月24日【住所】渋谷区渋谷1-2-3【お客様へ】ご予約をお待ちしております。",
		"[お客様アンケート]へのご協力ありがとうございます。",
		"こちらの投稿をご覧いただきありがとうございます。返信が遅くなり申し訳ございません。",
		"以下、いただいたご質問に回答いたします。駐車場は3台ございます。",
		"承知いたしました。次回のご来店時にお申し付けください。ご要望がございましたらお知らせください。",
		"お好みに合わせて辛さを調整できますので、スタッフにお申し付けください。別の案内も店頭にございます。",
		"カラーのトーンの調整はお気軽にお申し付けください。ご予約の変更をご希望の際はお知らせください。",
		"もちろんです！またお会いできるのを楽しみにしております。★★★★★ありがとうございます！",
		"二〇〇五年の創業以来、○をいただけるよう努めております。",
		"AIではなく、スタッフが一件ずつ拝見しております。AI翻訳のため読みにくければ失礼いたします。",
		"承知しました、次回からそのようにいたします。以下の通り営業時間を修正しました。問題なければそのままご来店ください。",
		"はい、喜んで！はい、投稿キャンペーンが始まりました。この投稿を見せると1杯無料、感想を投稿しませんか？",
		"名刺の文面を作成しました。修正版メニュー表ができました。最終版です。川柳募集（17文字）",
		"別案件のため休業します。もっと伝わる文章に！文章講座。私はAI開発会社の社員です。夏のギフトにいかがでしょうか。",
		"Sure, here it is: our new latte. Here is a post card you can use as a coupon. May I suggest the cake?",
		"郵便番号は〒150-0002、創業は2005年、席数は40〜50席です。",
		"【10:00〜18:00】短縮営業のお知らせ。【11:30オープン】ランチ始めました！【1】予約【2】来店の順です。",
		"備考欄へ（お名前をご記入ください）。フォーム（クーポンコードを入力）からのお申し込みで【合言葉を入力で10%OFF】。",
		"インスタに写真を投稿してもいいですか？とよく聞かれます。次は何を投稿しましょうか？とスタッフも楽しみにしております。",
		"表現を変えた新作アートをぜひご覧ください。名入れは文字数：10文字まで無料、別案もご用意してお待ちしております。",
		"Version 2 of our famous burger is here: bigger, juicier, 1,200 yen.",
	} {
		_, v, w := gbp.RenderReply(text, shibuya(), errs.English)
		if v != nil || len(w) != 0 {
			t.Errorf("%q: %+v %+v", text, v, w)
		}
	}
}

func FuzzRenderReply(f *testing.F) {
	for _, s := range []string{"", "ありがとう", "{{location.title}}", "{{{{x}}", "[Customer Name]", "\r\n\x00\xff", "以下は返信です。", "AI" + strings.Repeat("[", 900)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, v, w := gbp.RenderReply(s, shibuya(), errs.English)
		for _, x := range w {
			if x.Code == "" || x.Message == "" || len(x.Span) > 2*len(s)+100 {
				t.Fatalf("warning %+v", x)
			}
		}
		if v != nil {
			return
		}
		if len(r.Comment) > gbp.ReplyBytes || !utf8.ValidString(r.Comment) || strings.TrimSpace(r.Comment) == "" || strings.Contains(r.Comment, "\r") {
			t.Fatalf("sent %q", r.Comment)
		}
		var back struct{ Comment string }
		if json.Unmarshal(r.Payload, &back) != nil || back.Comment != r.Comment || bytes.Contains(r.Payload, []byte(`\u003c`)) && !strings.Contains(s, `\u003c`) {
			t.Fatalf("payload %s", r.Payload)
		}
		again, v, _ := gbp.RenderReply(r.Comment, shibuya(), errs.English)
		if v == nil && again.Comment != r.Comment {
			t.Fatalf("%q becomes %q", r.Comment, again.Comment)
		}
	})
}
