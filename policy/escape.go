package policy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

func escapeTo(b *strings.Builder, s string, maxBytes int) {
	const ellipsis = "…"
	limit := maxBytes
	if limit < 4 {
		limit = int(^uint(0) >> 1)
	}
	cut := -1 // length of b at the last place where the ellipsis still fits
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+n]
		if r == utf8.RuneError && n == 1 {
			piece = fmt.Sprintf(`\x%02x`, s[i])
		} else if hidden(r) {
			if r > 0xffff {
				piece = fmt.Sprintf(`\U%08x`, r)
			} else {
				piece = fmt.Sprintf(`\u%04x`, r)
			}
		}
		if b.Len() <= limit-len(ellipsis) {
			cut = b.Len()
		}
		if b.Len()+len(piece) > limit {
			kept := b.String()[:cut]
			b.Reset()
			b.WriteString(kept)
			b.WriteString(ellipsis)
			return
		}
		b.WriteString(piece)
		i += n
	}
}

// hidden reports whether r must not reach a terminal, a log or a model as itself:
// controls, line and paragraph separators, format characters (bidirectional
// overrides, zero-width joiners, tags) and the invisible fillers that are letters
// by class only.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad
	case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
		return true
	case r == 0x2800, unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	}
	return false
}
