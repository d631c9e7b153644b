package jcs

import "strconv"

// maxDigits is how many significant digits a decimal may have and still be told from
// every other one of as many digits by its double.
const maxDigits = 15

// Rounds reports whether the JSON text b, which must be well formed, holds a number
// that its double may not tell from another one: many digits, or an exponent that
// underflows. Its canonical form is then that of other texts, too, so that whoever must
// tell values apart takes the bytes ([RawDigest]). Integers are not looked at: a
// canonical form exists only for those that are exact.
func Rounds(b []byte) bool {
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = endOfString(b, i)
		case '0' <= c && c <= '9':
			start, digits, plain := i, 0, true
			for ; i < len(b); i++ {
				switch c := b[i]; {
				case '0' <= c && c <= '9':
					if digits > 0 || c != '0' {
						digits++
					}
					continue
				case c == '.':
					plain = false
					continue
				case c == 'e' || c == 'E':
					f, err := strconv.ParseFloat(string(b[start:endOfNumber(b, i)]), 64)
					if digits > maxDigits || err != nil || digits > 0 && f > -minNormal && f < minNormal {
						return true
					}
					i = endOfNumber(b, i)
				}
				break
			}
			if !plain && digits > maxDigits {
				return true
			}
		default:
			i++
		}
	}
	return false
}

// minNormal is the least double of full precision.
const minNormal = 0x1p-1022

func endOfNumber(b []byte, i int) int {
	for i < len(b) && (b[i] == '+' || b[i] == '-' || b[i] == '.' || b[i]|0x20 == 'e' || '0' <= b[i] && b[i] <= '9') {
		i++
	}
	return i
}

// stringEnd returns the position after the string that begins at i, or the end.
func endOfString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
