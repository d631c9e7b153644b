package jcs

import (
	"math"
	"strconv"
)

// numberEnd finds the end of the number that starts at i, by the grammar of
// RFC 8259 §6, and says whether it is written as an integer.
func numberEnd(b []byte, i int) (end int, integer, ok bool) {
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, false, false
	}
	integer = true
	if i < len(b) && b[i] == '.' {
		i++
		integer = false
		if !digits() {
			return i, false, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		integer = false
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, false, false
		}
	}
	return i, integer, true
}

// maxIntegerDigits is the decimal text of [MaxInteger].
const maxIntegerDigits = "9007199254740991"

// numberValue is the one place where the domain of numbers is decided. For a
// token that is not written as an integer it returns the nearest double.
func numberValue(tok []byte, integer, bigIntegers bool) (float64, Kind) {
	if integer {
		digits := tok
		if digits[0] == '-' {
			digits = digits[1:]
		}
		switch n := len(digits); {
		case n < len(maxIntegerDigits), n == len(maxIntegerDigits) && string(digits) <= maxIntegerDigits:
			return 0, ""
		case n > 308:
			if f, _ := strconv.ParseFloat(string(tok), 64); math.IsInf(f, 0) {
				return 0, KindOverflow
			}
		}
		if !bigIntegers {
			return 0, KindInteger
		}
		return 0, ""
	}
	f, _ := strconv.ParseFloat(string(tok), 64) // the grammar holds, so only the range can be wrong
	switch abs := math.Abs(f); {
	case math.IsInf(f, 0):
		return 0, KindOverflow
	case !bigIntegers && abs > MaxInteger && abs < 1e21 && abs == math.Trunc(abs):
		return 0, KindInteger
	}
	return f, ""
}
