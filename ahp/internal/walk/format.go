package walk

import (
	"bytes"
	"math"
	"strconv"
)

// DateTime reports whether b is an RFC 3339 date-time.
func DateTime[T ~string | ~[]byte](b T) bool {
	// YYYY-MM-DDThh:mm:ss, then a fraction, then an offset
	if len(b) < 20 || b[4] != '-' || b[7] != '-' || b[10] != 'T' && b[10] != 't' || b[13] != ':' || b[16] != ':' {
		return false
	}
	num := func(i, n int) int {
		x := 0
		for ; n > 0; i, n = i+1, n-1 {
			if !isDigit(b[i]) {
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

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// Integer reports whether the JSON number b has no fractional part, however it
// is written ("5", "5.0", "50e-1"), and its value if that fits an int64.
func Integer(b []byte) (n int64, fits, ok bool) {
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

// Negative reports whether the JSON number b is below zero; -0 is not.
func Negative(b []byte) bool {
	if len(b) == 0 || b[0] != '-' {
		return false
	}
	for _, c := range b[1:] {
		switch {
		case '1' <= c && c <= '9':
			return true
		case c|0x20 == 'e':
			return false
		}
	}
	return false
}

// EnvName reports whether b can be the name of an environment variable: letters,
// digits and "_", no digit first.
func EnvName(b []byte) bool {
	for i, c := range b {
		if !isLetter(c) && c != '_' && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return len(b) > 0
}
