package wire01

import (
	"bytes"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// dateTime reports whether b is an RFC 3339 date-time.
func dateTime[T ~string | ~[]byte](b T) bool {
	// YYYY-MM-DDThh:mm:ss, then a fraction, then an offset
	if len(b) < 20 || b[4] != '-' || b[7] != '-' || b[10] != 'T' && b[10] != 't' || b[13] != ':' || b[16] != ':' {
		return false
	}
	num := func(i, n int) int {
		x := 0
		for ; n > 0; i, n = i+1, n-1 {
			if !digit(b[i]) {
				return -1 << 20
			}
			x = x*10 + int(b[i]-'0')
		}
		return x
	}
	year, month, day := num(0, 4), num(5, 2), num(8, 2)
	hour, minute, second := num(11, 2), num(14, 2), num(17, 2)
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 {
		return false
	}
	i := 19
	if b[i] == '.' {
		for i++; i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		}
		if i == 20 {
			return false
		}
	}
	off := 0
	switch rest := b[i:]; {
	case len(rest) == 1 && (rest[0] == 'Z' || rest[0] == 'z'):
	case len(rest) == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':':
		h, m := num(i+1, 2), num(i+4, 2)
		if h < 0 || h > 23 || m < 0 || m > 59 {
			return false
		}
		off = h*60 + m
		if rest[0] == '-' {
			off = -off
		}
	default:
		return false
	}
	// A leap second exists only at the end of a UTC day.
	return second < 60 || ((hour*60+minute-off)%1440+1440)%1440 == 1439
}

func daysIn(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// uri reports whether b is a URI with a scheme (RFC 3986): an identifier, so
// that only its characters and its authority are looked at.
func uri[T ~string | ~[]byte](b T) bool {
	colon := 0
	for ; ; colon++ {
		if colon == len(b) {
			return false
		}
		c := b[colon]
		if c == ':' {
			break
		}
		if !letter(c) && (colon == 0 || !digit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	if colon == 0 {
		return false
	}
	rest := b[colon+1:]
	authority := 0
	if len(rest) > 1 && rest[0] == '/' && rest[1] == '/' {
		for authority = 2; authority < len(rest) && rest[authority] != '/' && rest[authority] != '?' && rest[authority] != '#'; authority++ {
		}
	}
	hash := false
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case letter(c) || digit(c):
		case c == '%':
			if i+2 >= len(rest) || !hex(rest[i+1]) || !hex(rest[i+2]) {
				return false
			}
			i += 2
		case c == '[' || c == ']':
			if i >= authority {
				return false
			}
		case c == '#':
			if hash {
				return false
			}
			hash = true
		case strings.IndexByte("-._~:/?@!$&'()*+,;=", c) < 0:
			return false
		}
	}
	if authority > 0 {
		_, err := url.Parse(string(b))
		return err == nil
	}
	return true
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func hex(c byte) bool    { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// integer reports whether the JSON number b has no fractional part, however it
// is written ("5", "5.0", "50e-1"), and its value if that fits an int64.
func integer(b []byte) (n int64, fits, ok bool) {
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		return n, true, true
	}
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	mant, exp := b, int64(0)
	if i := bytes.IndexAny(b, "eE"); i >= 0 {
		mant = b[:i]
		e, err := strconv.ParseInt(string(bytes.TrimPrefix(b[i+1:], []byte("+"))), 10, 32)
		if err != nil { // beyond 32 bits: 10^e or 10^-e
			e = math.MaxInt32
			if b[i+1] == '-' {
				e = math.MinInt32
			}
		}
		exp = e
	}
	digits := make([]byte, 0, len(mant))
	if i := bytes.IndexByte(mant, '.'); i >= 0 {
		digits = append(append(digits, mant[:i]...), mant[i+1:]...)
		exp -= int64(len(mant) - i - 1)
	} else {
		digits = append(digits, mant...)
	}
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) == 0 {
		return 0, true, true
	}
	trimmed := bytes.TrimRight(digits, "0")
	exp += int64(len(digits) - len(trimmed))
	if exp < 0 {
		return 0, false, false
	}
	if int64(len(trimmed))+exp > 19 {
		return 0, false, true
	}
	s := append(trimmed, bytes.Repeat([]byte("0"), int(exp))...)
	if neg {
		s = append([]byte("-"), s...)
	}
	n, err := strconv.ParseInt(string(s), 10, 64)
	return n, err == nil, true
}
