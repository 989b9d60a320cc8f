package gbpsim

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The demo chain's person, grant and accounts.
const (
	DemoEmail        = "owner@komorebi-coffee.example"
	DemoRefreshToken = "1//0komorebi-coffee-owner-refresh-token" //nolint:gosec // a made-up credential of a made-up person
	DemoPersonal     = AccountName("accounts/104920215550012345671")
	DemoGroup        = AccountName("accounts/118063792240987654323")
)

// place is a quarter with a store.
type place struct{ name, code, city, prefecture, postal, dial string }

func places() []place {
	tokyo := func(name, code, city, postal string) place { return place{name, code, city, "東京都", postal, "03"} }
	return []place{
		tokyo("渋谷", "SHIBUYA", "渋谷区", "150-0002"),
		tokyo("新宿", "SHINJUKU", "新宿区", "160-0022"),
		tokyo("池袋", "IKEBUKURO", "豊島区", "171-0022"),
		tokyo("銀座", "GINZA", "中央区", "104-0061"),
		tokyo("上野", "UENO", "台東区", "110-0005"),
		tokyo("浅草", "ASAKUSA", "台東区", "111-0032"),
		tokyo("吉祥寺", "KICHIJOJI", "武蔵野市", "180-0003"),
		tokyo("下北沢", "SHIMOKITAZAWA", "世田谷区", "155-0031"),
		tokyo("中目黒", "NAKAMEGURO", "目黒区", "153-0051"),
		tokyo("恵比寿", "EBISU", "渋谷区", "150-0013"),
		tokyo("品川", "SHINAGAWA", "港区", "108-0075"),
		tokyo("北千住", "KITASENJU", "足立区", "120-0034"),
		{"横浜", "YOKOHAMA", "横浜市", "神奈川県", "220-0011", "045"},
		{"川崎", "KAWASAKI", "川崎市", "神奈川県", "210-0007", "044"},
		{"大宮", "OMIYA", "さいたま市", "埼玉県", "330-0846", "048"},
		{"千葉", "CHIBA", "千葉市", "千葉県", "260-0015", "043"},
		{"梅田", "UMEDA", "大阪市", "大阪府", "530-0001", "06"},
		{"難波", "NAMBA", "大阪市", "大阪府", "542-0076", "06"},
		{"天王寺", "TENNOJI", "大阪市", "大阪府", "543-0063", "06"},
		{"心斎橋", "SHINSAIBASHI", "大阪市", "大阪府", "542-0085", "06"},
		{"堺東", "SAKAIHIGASHI", "堺市", "大阪府", "590-0028", "072"},
		{"三宮", "SANNOMIYA", "神戸市", "兵庫県", "650-0021", "078"},
		{"四条烏丸", "SHIJOKARASUMA", "京都市", "京都府", "600-8008", "075"},
		{"河原町", "KAWARAMACHI", "京都市", "京都府", "604-8026", "075"},
		{"祇園", "GION", "京都市", "京都府", "605-0073", "075"},
		{"奈良", "NARA", "奈良市", "奈良県", "630-8215", "0742"},
		{"栄", "SAKAE", "名古屋市", "愛知県", "460-0008", "052"},
		{"名駅", "MEIEKI", "名古屋市", "愛知県", "450-0002", "052"},
		{"金山", "KANAYAMA", "名古屋市", "愛知県", "460-0022", "052"},
		{"静岡", "SHIZUOKA", "静岡市", "静岡県", "420-0852", "054"},
		{"金沢", "KANAZAWA", "金沢市", "石川県", "920-0853", "076"},
		{"新潟", "NIIGATA", "新潟市", "新潟県", "950-0087", "025"},
		{"仙台", "SENDAI", "仙台市", "宮城県", "980-0021", "022"},
		{"盛岡", "MORIOKA", "盛岡市", "岩手県", "020-0034", "019"},
		{"札幌", "SAPPORO", "札幌市", "北海道", "060-0005", "011"},
		{"すすきの", "SUSUKINO", "札幌市", "北海道", "064-0804", "011"},
		{"函館", "HAKODATE", "函館市", "北海道", "040-0063", "0138"},
		{"岡山", "OKAYAMA", "岡山市", "岡山県", "700-0023", "086"},
		{"広島", "HIROSHIMA", "広島市", "広島県", "732-0822", "082"},
		{"高松", "TAKAMATSU", "高松市", "香川県", "760-0011", "087"},
		{"松山", "MATSUYAMA", "松山市", "愛媛県", "790-0012", "089"},
		{"博多", "HAKATA", "福岡市", "福岡県", "812-0012", "092"},
		{"天神", "TENJIN", "福岡市", "福岡県", "810-0001", "092"},
		{"小倉", "KOKURA", "北九州市", "福岡県", "802-0002", "093"},
		{"熊本", "KUMAMOTO", "熊本市", "熊本県", "860-0807", "096"},
		{"長崎", "NAGASAKI", "長崎市", "長崎県", "850-0057", "095"},
		{"鹿児島中央", "KAGOSHIMACHUO", "鹿児島市", "鹿児島県", "890-0053", "099"},
		{"那覇", "NAHA", "那覇市", "沖縄県", "900-0015", "098"},
	}
}

// JapaneseChain is a world with one café chain of n stores (at most 9999) over Japan, a LOCATION_GROUP account that holds
// them, the owner's PERSONAL account, the owner's grant, and a few reviews of each store. It is the same for the same n, and the stores of a smaller
// world are the first of a larger one. Numbers cannot ring: no exchange in Japan starts with 1.
func JapaneseChain(n int) World {
	w := World{
		Accounts: []Account{
			{Name: DemoGroup, AccountName: "こもれび珈琲", Type: "LOCATION_GROUP", Emails: []string{DemoEmail}},
			{Name: DemoPersonal, AccountName: "木漏 陽子", Type: "PERSONAL", Emails: []string{DemoEmail}},
		},
		Grants: []Grant{{Email: DemoEmail, RefreshToken: DemoRefreshToken}},
	}
	all := places()
	for i := range min(n, 9999) {
		w.Locations = append(w.Locations, demoStore(all[i%len(all)], i, i/len(all)))
		w.Reviews = append(w.Reviews, demoReviews(w.Locations[i].Name, i)...)
	}
	return w
}

// demoStore is the i-th store of the chain and, from 0, the round-th of its quarter.
func demoStore(p place, i, round int) Location {
	code := fmt.Sprintf("%s%03d", p.code, round+1)
	suffixes := []string{"店", "駅前店", "中央店", "東口店", "西口店", "南口店", "北口店", "本通り店", "公園前店", "市場店"}
	suffix := fmt.Sprintf("%d号店", round+1)
	if round < len(suffixes) {
		suffix = suffixes[round]
	}
	labels := []string{"直営"}
	if i%3 == 2 {
		labels = []string{"フランチャイズ"}
	}
	if i%4 == 0 {
		labels = append(labels, "テラス席")
	}
	number := fmt.Sprintf("%04d", i)
	exchange := "1000"[:6-len(p.dial)] // area code and exchange have six digits together
	return Location{
		Name: LocationName("locations/" + stableDigits(uint64(i)+77_000, 19)), Account: DemoGroup, //nolint:gosec // i is small
		Title: "こもれび珈琲 " + p.name + suffix, StoreCode: code, LanguageCode: "ja", RegionCode: "JP",
		Phone: p.dial + "-" + exchange + "-" + number, Website: "https://komorebi-coffee.example/stores/" + strings.ToLower(code),
		Description: p.name + "のまちかどで、自家焙煎のコーヒーと焼きたてのスコーンをお出ししています。",
		PostalCode:  p.postal, AdministrativeArea: p.prefecture, City: p.city, AddressLines: []string{fmt.Sprintf("%s%d-%d-%d", p.name, 1+i%5, 1+i%17, 1+i%9)},
		Labels: labels, RegularHours: demoHours(i), Media: demoMedia(code),
		Categories: json.RawMessage(`{"primaryCategory":{"name":"categories/gcid:cafe","displayName":"カフェ・喫茶"}}`),
	}
}

// demoHours is every day from 7, 8 or 9 o'clock to 20 o'clock, in Google's v1 form.
func demoHours(i int) json.RawMessage {
	type hour struct {
		Hours int `json:"hours"`
	}
	type period struct {
		OpenDay   string `json:"openDay"`
		OpenTime  hour   `json:"openTime"`
		CloseDay  string `json:"closeDay"`
		CloseTime hour   `json:"closeTime"`
	}
	var out struct {
		Periods []period `json:"periods"`
	}
	for _, day := range []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"} {
		out.Periods = append(out.Periods, period{day, hour{7 + i%3}, day, hour{20}})
	}
	return encode(out)
}
