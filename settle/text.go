package settle

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on reasons, in bytes after escaping.
const (
	MaxLineBytes   = 320  // what the model or a terminal line gets
	MaxReasonBytes = 2048 // what a record keeps
)

const ellipsis = "…"

// OneLine returns s as one short line that is fit to be shown to a person or a
// model: control characters, line separators, bidirectional controls, invisible
// format characters and bytes that are not UTF-8 are written as escapes (\n,
// \u202e, \xff), and what exceeds [MaxLineBytes] is cut at a character and
// marked with "…". Applying it twice changes nothing.
func OneLine(s string) string { return Escape(s, MaxLineBytes) }

// Escape is [OneLine] with a bound of its own: the result has at most limit
// bytes (at least 8).
func Escape(s string, limit int) string {
	limit = max(limit, 8)
	if len(s) <= limit && plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(min(len(s), limit) + 16)
	cut := 0 // length of the longest whole prefix that leaves room for the mark
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if b.Len() <= limit-len(ellipsis) {
			cut = b.Len()
		}
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x`)
			b.WriteString(hex(uint64(s[i]), 2))
		case !hidden(r):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r > 0xffff:
			b.WriteString(`\U`)
			b.WriteString(hex(uint64(r), 8))
		default:
			b.WriteString(`\u`)
			b.WriteString(hex(uint64(r), 4))
		}
		if b.Len() > limit {
			return b.String()[:cut] + ellipsis
		}
		i += size
	}
	return b.String()
}

// plain reports whether s is printable ASCII, which nothing needs to be done to.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// hidden reports whether r can move, hide or break the text around it. It covers
// Cc, Cf (bidirectional controls, zero-width characters, tags), line and
// paragraph separators, variation selectors, fillers that are letters by class
// only, what Unicode says to leave out when it is not known, and private use.
func hidden(r rune) bool {
	if r < 0x20 || r == 0x7f {
		return true
	}
	if r < 0x7f {
		return false
	}
	return r == 0x2800 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func hex(v uint64, width int) string {
	s := strconv.FormatUint(v, 16)
	if len(s) < width {
		s = strings.Repeat("0", width-len(s)) + s
	}
	return s
}
