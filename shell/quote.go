package shell

import (
	"strings"
)

// unescapeBare undoes backslashes of unquoted text and marks globs.
func unescapeBare(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return activate(literal(s))
	}
	var b strings.Builder
	start := 0
	flush := func(end int) {
		if end > start {
			b.WriteString(activate(literal(s[start:end])))
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		flush(i)
		i++
		switch {
		case i >= len(s): // the text ends there
			b.WriteByte('\\')
		case s[i] != '\n':
			b.WriteString(literal(s[i : i+1]))
		}
		start = i + 1
	}
	flush(len(s))
	return b.String()
}

// unescapeDouble undoes the few escapes that double quotes have.
func unescapeDouble(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '$', '`', '"', '\\':
				i++
			case '\n':
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiC decodes the inside of $'…'. spells is set when an escape stands for a
// plain printable character, which nobody needs.
func ansiC(s string) (out string, spells bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 >= len(s) {
			b.WriteByte(c)
			continue
		}
		i++
		num := func(base, most int) (int, int) {
			j := i + 1
			n := 0
			for j < len(s) && j-i-1 < most {
				d := digit(s[j])
				if d < 0 || d >= base {
					break
				}
				n = n*base + d
				j++
			}
			return n, j
		}
		put := func(n int, asRune bool) {
			if n > 0x20 && n < 0x7f {
				spells = true
			}
			if asRune {
				b.WriteRune(rune(n))
			} else {
				b.WriteByte(byte(n))
			}
		}
		switch e := s[i]; e {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'a':
			b.WriteByte(7)
		case 'b':
			b.WriteByte(8)
		case 'e', 'E':
			b.WriteByte(27)
		case 'f':
			b.WriteByte(12)
		case 'v':
			b.WriteByte(11)
		case 'x':
			n, j := num(16, 2)
			if j == i+1 {
				b.WriteString(`\x`)
				continue
			}
			put(n, false)
			i = j - 1
		case 'u', 'U':
			most := 4
			if e == 'U' {
				most = 8
			}
			n, j := num(16, most)
			put(n, true)
			i = j - 1
		case 'c':
			if i+1 < len(s) {
				i++
				b.WriteByte(s[i] & 0x1f)
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i--
			n, j := num(8, 3)
			put(n, false)
			i = j - 1
		case '\\', '\'', '"', '?':
			b.WriteByte(e)
		default:
			b.WriteByte('\\')
			b.WriteByte(e)
		}
	}
	return b.String(), spells
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
