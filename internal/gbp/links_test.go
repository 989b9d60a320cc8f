package gbp_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/mappy-dev/mappy-mcp/internal/gbp"
)

func TestFindLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"詳しくは https://own.example/menu をご覧ください。": "own.example",
		"詳しくはhttps://own.exampleをご覧ください":         "own.example",
		"https://own.example、または店頭で":             "own.example",
		"see https://own.example.":               "own.example",
		"see https://own.example, or ask":        "own.example",
		"(https://own.example/a?b=1)":            "own.example",
		"HTTPS://OWN.EXAMPLE/":                   "own.example",
		"www.own.example/sale":                   "own.example",
		"own.example/sale":                       "own.example",
		"詳細はown.exampleへ":                        "own.example",
		"ｗｗｗ．ｅｖｉｌ．ｃｏｍ":                           "evil.com",
		"ｈｔｔｐｓ：／／ｅｖｉｌ．ｃｏｍ／ａ":                     "evil.com",
		"evil.com":                                     "evil.com",
		"win at evil-prize.net!":                       "evil-prize.net",
		"bit.ly/3abc":                                  "bit.ly",
		"t.me/joinchat":                                "t.me",
		"youtu.be/abc":                                 "youtu.be",
		"write to prize@evil.com":                      "evil.com",
		"https:/evil.com":                              "evil.com",
		"https:///evil.com":                            "evil.com",
		"https://own.example@evil.com/":                "evil.com",
		"https://own.example.evil.com/":                "own.example.evil.com",
		"https://evilown.example/":                     "evilown.example",
		"https://own.example\u0430.evil.com":           "own.example\u0430.evil.com",
		"e\u200bvil.com":                               "evil.com",
		"悪い店.com":                                      "悪い店.com",
		"https://悪い店.example/x":                        "悪い店.example",
		"http://a.example https://b.example c.example": "a.example b.example c.example",

		// an address that stands behind another one without a space
		"https://own.example/・https://evil.com/x": "own.example evil.com", "https://own.example/,https://evil.com": "own.example evil.com",
		"https://own.example,https://evil.com": "own.example evil.com", "https://own.example/|www.evil.com": "own.example evil.com",
		"https://own.example/→evil.com": "own.example evil.com", "https://own.example/menuやevil.comから": "own.example evil.com", "https://own.example/?a=1★evil.shop/x": "own.example evil.shop",
		"https://own.example/メニュー.html": "own.example", "https://own.example/r?u=https://own.example/x": "own.example", "https://www.own.example/www.x": "own.example",

		// any top-level domain there is
		"evil.ai/login": "evil.ai", "evil-shop.life": "evil-shop.life", "evil.fun/x": "evil.fun", "evil.website/x": "evil.website", "evil.co.za/x": "evil.co.za",
		"evil.ai": "evil.ai", "evil.co.za": "evil.co.za", "evil.ck": "evil.ck", "evil.zip": "evil.zip", "a.b.com": "a.b.com", "f.com": "f.com", "evil.xn--p1ai": "evil.xn--p1ai", "EVIL.COM": "evil.com",
		"当選！prizewin.shopで受け取り": "prizewin.shop", "prizewin.me now": "prizewin.me", "Evil-Shop.Life": "evil-shop.life", "PrizeWin.Me": "prizewin.me", "Dr.Cafe/x": "dr.cafe",
		"@evil.com": "evil.com", "@evil.shop/x": "evil.shop", "お問い合わせ：prize@evil.shop": "evil.shop", "a@evil.co": "evil.co",
		"evil.Life:8443/x": "evil.life:8443", "evil.Life?a=1": "evil.life", "write to prize@evil.Me": "evil.me", "１２３.ｃｏｍ": "123.com", "X.com": "x.com", "g.page/r": "g.page",
		"evil.みんな": "evil.みんな", "当たり.みんな/x": "当たり.みんな", "悪い店.life": "悪い店.life", "evil.com.Then": "evil.com", "own.example.Life": "own.example.life",
		"own.example.evil.life": "own.example.evil.life", "\u0430own.example": "\u0430own.example", "own.example\u0430.evil.com x": "own.example\u0430.evil.com",
		"evil.com\u0430": "evil.com", "own.example에서": "own.example", "ดูที่own.exampleครับ": "own.example", "evil.fun と own.example": "evil.fun own.example",
	} {
		var got []string
		for _, l := range gbp.FindLinks(text) {
			u, err := url.Parse(l)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimPrefix(strings.ToLower(u.Host), "www."))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q (%q)", text, s, want, gbp.FindLinks(text))
		}
	}
	for _, text := range []string{
		"", "新作の抹茶ラテ", "No.1 の人気", "Come in.To order, ask.", "3.5割引", "a.m. / p.m.", "e.g. latte", "Mr.Smith", "St.Marc", "v2.0.1", "10.30-12.30", "ラテ。コーヒー",
		"R8.12.24", "Co.,Ltd.", "U.S.A.", "http だけ", "https://", "and/or",
		"node.js", "v1.2", "menu.pdf", "IMG_0123.jpg", "index.html", "10.30", "3.5cm", "10.30am-5.30pm", "1.5kg", "No.1.", "i.e. it", "Ph.D.", "B.Sc. in art", "a.m.to p.m.",
		"1.menu 2.news 3.shop", "1.中国 2.香港", "500.ml", "(incl.tax)", "¥1,500 inc.tax", "vol.one", "mr.pizza", "Dr.Cafe", "Mr.Cafe & Bar", "Shibuya.Salon", "Bar&Cafe.Tokyo", "COFFEE.FOOD", "Hair.Nail.Beauty",
		"2F.Cafe 3F.Salon", "本日.Open", "第2弾.Sale", "営業は10.30から19.00まで。", "雨の日も。傘あり", "Come in.Mr Tanaka waits.", "Tanaka & Co. is open.", "St.Cloud", "TEL.03-1000-0000", "Wait...to order",
		"@komorebi.coffee", "ご予約は @hair.tokyo のDMへ", "Instagram:@mr.cafe_ginza", "1F.cafe 2F.bar", "Sat.Sun.11:00", "Mon.-Fri.", "etc.あり",
		"J.League", "Q.B.House", "e.g.to go", "Yes.No", "9.00-17.00", "12.24(木)", "Vol.12.冬",
	} {
		if got := gbp.FindLinks(text); got != nil {
			t.Errorf("%q: taken for a link: %q", text, got)
		}
	}
}

func TestDomainAllowed(t *testing.T) {
	t.Parallel()
	own := []string{"own.example", "www.shop.example", "", "こもれび.example", "xn--r8jz45g.jp"}
	for link, want := range map[string]bool{
		"https://own.example/": true, "https://www.own.example": true, "http://m.own.example/x": true, "https://OWN.example.": true, "https://shop.example/": true,
		"https://own.example:8443/": true, "https://evilown.example/": false, "https://own.example.evil.com/": false, "https://own.example@evil.com/": false,
		"https://example/": false, "https://evil.com/own.example": false, "https://evil.com?own.example": false, "https://evil.com#.own.example": false,
		"https://evil.com\\.own.example/": false, "": false, "own.example": false, "https://": false, "mailto:a@own.example": false,
		"https://xn--28j4cybzb.example/": true, "https://こもれび.example/": true, "https://例え.jp/": true, "https://www.例え.jp/": true, "https://XN--R8JZ45G.jp/": true,
		"https://例え.com/": false, "https://\u043ewn.example/": false, "https://xn--wn-emc.example/": false,
	} {
		if got := gbp.DomainAllowed(link, own); got != want {
			t.Errorf("%q: %v, want %v", link, got, want)
		}
	}
}
