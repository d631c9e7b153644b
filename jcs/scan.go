package jcs

import (
	"math"
	"strconv"
)

// scan walks the text once, allocates nothing, and reports whether size,
// depth and numbers are in bounds. It is no validator: on text that is not
// JSON it may say either, and the canonicalizer refuses afterwards.
func scan(src []byte, o Options) bool {
	if len(src) > o.maxBytes() {
		return false
	}
	depth, limit := 0, o.maxDepth()
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '"':
			if depth >= limit {
				return false
			}
			i++
			for i < len(src) && src[i] != '"' {
				if src[i] == '\\' {
					i++
				}
				i++
			}
			i++
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return false
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == '-' || '0' <= c && c <= '9':
			start := i
			for i++; i < len(src) && isNumberByte(src[i]); i++ {
			}
			if depth >= limit || numberFault(src[start:i], o.BigIntegers) != "" {
				return false
			}
		case c == 't' || c == 'f' || c == 'n':
			if depth >= limit {
				return false
			}
			i++
		default:
			i++
		}
	}
	return true
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// maxIntegerDigits is the decimal text of [MaxInteger].
const maxIntegerDigits = "9007199254740991"

// numberFault reports why a number token is outside the domain, "" if it is
// inside. This is the one place where the domain is decided.
func numberFault(tok []byte, bigIntegers bool) Kind {
	digits := tok
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	whole := 0 // digits before a point or an exponent
	for whole < len(digits) && '0' <= digits[whole] && digits[whole] <= '9' {
		whole++
	}
	if whole == len(digits) {
		switch {
		case whole < len(maxIntegerDigits):
			return ""
		case whole > 308 && overflows(tok):
			return KindOverflow
		case !bigIntegers && (whole > len(maxIntegerDigits) || string(digits) > maxIntegerDigits):
			return KindInteger
		}
		return ""
	}
	if digits[whole] == '.' && whole < len(maxIntegerDigits) && !hasExponent(digits[whole:]) {
		return "" // below 1e15
	}
	f, err := strconv.ParseFloat(string(tok), 64)
	f = math.Abs(f)
	switch {
	case math.IsInf(f, 0):
		return KindOverflow
	case err != nil:
		return KindSyntax
	case !bigIntegers && f > MaxInteger && f < 1e21 && f == math.Trunc(f):
		return KindInteger
	}
	return ""
}

func overflows(tok []byte) bool {
	f, _ := strconv.ParseFloat(string(tok), 64)
	return math.IsInf(f, 0)
}

func hasExponent(b []byte) bool {
	for _, c := range b {
		if c == 'e' || c == 'E' {
			return true
		}
	}
	return false
}
