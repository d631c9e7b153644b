package settle_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/settle"
)

func TestOneLine(t *testing.T) {
	long := strings.Repeat("ä", 400)
	tests := []struct{ name, in, want string }{
		{"plain", "Use a branch instead.", "Use a branch instead."},
		{"line breaks", "a\nb\r\nc\td", `a\nb\r\nc\td`},
		{"escape sequence", "\x1b[31mred\x1b[0m\x07", `\u001b[31mred\u001b[0m\u0007`},
		{"c1 and delete", "a\u009bb\u007f", `a\u009bb\u007f`},
		{"fillers", "a\u034fb\u3164c\u2800d\ufe0fe", `a\u034fb\u3164c\u2800d\ufe0fe`},
		{"bidirectional", "rm \u202etxt.exe\u2069", `rm \u202etxt.exe\u2069`},
		{"zero width and separators", "a\u200bb\u2028c\ufeff", `a\u200bb\u2028c\ufeff`},
		{"tags", "a\U000e0041", `a\U000e0041`},
		{"not UTF-8", "a\xff\xc0b", `a\xff\xc0b`},
		{"accents and emoji stay", "señor 🎉 日本", "señor 🎉 日本"},
		{"real replacement character stays", "a\ufffdb", "a\ufffdb"},
		{"long", long, strings.Repeat("ä", (settle.MaxLineBytes-3)/2) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := settle.OneLine(tt.in); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "a\nb", "\x1b[0m", "\u202e", "\xff", "\U000e0001x", strings.Repeat("\u202e", 100), "日本"} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := settle.Escape(s, limit)
		if len(got) > max(limit, 8) {
			t.Errorf("%d bytes, limit %d", len(got), limit)
		}
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		for _, r := range got {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%U is left in %q", r, got)
			}
		}
		if again := settle.Escape(got, limit); again != got {
			t.Errorf("twice: %q, then %q", got, again)
		}
	})
}
