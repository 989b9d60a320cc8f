package gbpsim

import "testing"

func TestHoldsPhone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"お電話は03-1234-5678":                     true,
		"０３−１２３４−５６７８":                         true,
		"(03) 1234 5678":                       true,
		"(03)1234-5678":                        true,
		"0312345678":                           true,
		"０９０ー１２３４ー５６７８":                        true,
		"フリーダイヤル 0120-123-456":                 true,
		"+81 3-1234-5678":                      true,
		"+81312345678":                         true,
		"call 555-010-9999":                    true,
		"(555) 010-9999":                       true,
		"TEL: 1234-5678":                       true,
		"☎12-3456":                             true,
		"営業 10:00-19:00 03-1234-5678":          true,
		"03・1234・5678":                         true,
		"本日のおすすめ":                              false,
		"2026-11-30 から 2026/12/24 まで":          false,
		"営業時間 10:00-19:00":                     false,
		"1,000円、12,800円":                       false,
		"〒150-0002 渋谷区":                        false,
		"先着100名様、1000円引き":                      false,
		"クーポン 20261130":                        false,
		"11/30(月) 10:00〜18:00":                 false,
		"3,980円 → 2,980円":                      false,
		"電話ではなく店頭で 500円引き":                     false,
		"https://a.example/?id=20261130123456": false,
	} {
		if got := holdsPhone(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
