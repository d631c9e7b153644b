package jcs_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/jcs"
)

// ecmaString is Number::toString of ECMA-262 by its definition: the shortest
// decimal that reads back as x, the one closest to x among those, written in
// the standard's four layouts. It uses exact rationals and shares nothing with
// strconv's shortest formatting.
func ecmaString(x float64) string {
	if x == 0 {
		return "0"
	}
	if x < 0 {
		return "-" + ecmaString(-x)
	}
	exact := new(big.Rat).SetFloat64(x)
	// n is such that 10^(n-1) <= x < 10^n.
	n := int(math.Floor(math.Log10(x))) + 1
	for pow10(n).Cmp(exact) <= 0 {
		n++
	}
	for pow10(n-1).Cmp(exact) > 0 {
		n--
	}
	for k := 1; ; k++ {
		// Candidates s*10^(n-k) with k digits: the two around x.
		scaled := new(big.Rat).Quo(exact, pow10(n-k))
		low := new(big.Int).Quo(scaled.Num(), scaled.Denom())
		var best *big.Int
		var bestDiff *big.Rat
		for _, s := range []*big.Int{low, new(big.Int).Add(low, big.NewInt(1))} {
			v := new(big.Rat).Mul(new(big.Rat).SetInt(s), pow10(n-k))
			if f, _ := v.Float64(); f != x {
				continue
			}
			diff := new(big.Rat).Sub(v, exact)
			diff.Abs(diff)
			c := -1
			if best != nil {
				c = diff.Cmp(bestDiff)
			}
			if best == nil || c < 0 || c == 0 && s.Bit(0) == 0 {
				best, bestDiff = s, diff
			}
		}
		if best == nil {
			continue
		}
		digits := best.String()
		if len(digits) > k { // 99…9 + 1
			digits, n = digits[:k], n+1
		}
		return layout(digits, n)
	}
}

func pow10(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

func layout(digits string, n int) string {
	k := len(digits)
	switch {
	case k <= n && n <= 21:
		return digits + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return digits[:n] + "." + digits[n:]
	case -6 < n && n <= 0:
		return "0." + strings.Repeat("0", -n) + digits
	}
	e := n - 1
	exp := "e+" + strconv.Itoa(e)
	if e < 0 {
		exp = "e-" + strconv.Itoa(-e)
	}
	if k == 1 {
		return digits + exp
	}
	return digits[:1] + "." + digits[1:] + exp
}

func TestECMAStringItself(t *testing.T) {
	for x, want := range map[float64]string{
		5e-324: "5e-324", 1e21: "1e+21", 1e20: "100000000000000000000", 0.1: "0.1", 1e-6: "0.000001", 1e-7: "1e-7",
		123.456: "123.456", -1.5e300: "-1.5e+300", 9.999999999999997e22: "9.999999999999997e+22", 1.7976931348623157e308: "1.7976931348623157e+308",
	} {
		if got := ecmaString(x); got != want {
			t.Errorf("ecmaString(%g) = %s, want %s", x, got, want)
		}
	}
}

// checkDouble feeds x in three spellings and wants the ECMAScript text, or a
// refusal where x is an integer that a double does not carry exactly.
func checkDouble(t interface{ Fatalf(string, ...any) }, x float64) {
	want := ecmaString(x)
	abs := math.Abs(x)
	integral := abs == math.Trunc(abs)
	for _, form := range []byte{'e', 'g', 'E'} {
		in := strconv.FormatFloat(x, form, 17, 64)
		if form == 'e' {
			in = strconv.FormatFloat(x, form, -1, 64)
		}
		got, err := jcs.Canonicalize(nil, []byte(in), jcs.Options{})
		integerToken := !strings.ContainsAny(in, ".eE")
		if abs > jcs.MaxInteger && integral && (abs < 1e21 || integerToken) {
			if err == nil {
				t.Fatalf("%s was accepted as %s", in, got)
			}
			continue
		}
		if err != nil || string(got) != want {
			t.Fatalf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestNumbersAgainstECMAScript(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 2000
	if testing.Short() || raceEnabled { // exact rationals are slow
		n = 200
	}
	for range n {
		x := math.Float64frombits(r.Uint64())
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		checkDouble(t, x)
		checkDouble(t, float64(r.Int64N(1<<54))/float64(int64(1)<<r.IntN(60)))
		checkDouble(t, float64(r.IntN(1e6))*math.Pow(10, float64(r.IntN(60)-30)))
	}
	for e := -1074; e < 1024; e += 11 { // powers of two sit at the uneven gaps
		checkDouble(t, math.Ldexp(1, e))
		checkDouble(t, math.Nextafter(math.Ldexp(1, e), 0))
	}
}

func TestNumbersProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkDouble(t, rapid.Float64().Draw(t, "x"))
	})
}

func TestIntegersProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64().Draw(t, "i")
		in := strconv.FormatInt(i, 10)
		got, err := jcs.Canonicalize(nil, []byte(in), jcs.Options{})
		if exact := -jcs.MaxInteger <= i && i <= jcs.MaxInteger; exact != (err == nil) {
			t.Fatalf("%s: %v", in, err)
		}
		if err == nil && string(got) != in {
			t.Fatalf("%s became %s", in, got)
		}
	})
}

func TestNameOrderProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Names around the surrogate range, where byte order and UTF-16 order differ.
		names := rapid.SliceOfNDistinct(rapid.StringOf(rapid.RuneFrom([]rune{'a', 'b', 0x7f, 'é', 0x2028, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x1F30D, 0x10FFFF})), 1, 20, rapid.ID).Draw(t, "names")
		in := []byte("{")
		for i, n := range names {
			if i > 0 {
				in = append(in, ',')
			}
			q, _ := jsontext.AppendQuote(nil, n)
			in = append(append(in, q...), ":0"...)
		}
		in = append(in, '}')
		got, err := jcs.Canonicalize(nil, in, jcs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(names, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		d := jsontext.NewDecoder(strings.NewReader(string(got)))
		d.ReadToken()
		for _, want := range names {
			tok, err := d.ReadToken()
			if err != nil || tok.String() != want {
				t.Fatalf("%s: got %q, want %q", got, tok.String(), want)
			}
			d.ReadToken()
		}
	})
}

// TestErratumNumber shows which text ECMAScript gives for the number on which
// the public golden file of AGENT-HOOKS-0.1 (fixture G-15) is one unit off.
func TestErratumNumber(t *testing.T) {
	const literal = "9.999999999999997e+22"
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		t.Fatal(err)
	}
	exact, _ := new(big.Rat).SetString(literal)
	below, above := math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1))
	dist := func(f float64) *big.Rat {
		d := new(big.Rat).Sub(new(big.Rat).SetFloat64(f), exact)
		return d.Abs(d)
	}
	if dist(x).Cmp(dist(below)) >= 0 || dist(x).Cmp(dist(above)) >= 0 {
		t.Fatal("not the nearest double")
	}
	if got := ecmaString(x); got != literal {
		t.Errorf("ECMAScript text of %s is %s", literal, got)
	}
	if got := ecmaString(below); got != "9.999999999999996e+22" && got != "9.999999999999995e+22" {
		t.Errorf("the neighbour below is %s", got)
	}
	if got, err := jcs.Canonicalize(nil, []byte(literal), jcs.Options{}); err != nil || string(got) != literal {
		t.Errorf("Canonicalize(%s) = %s, %v", literal, got, err)
	}
}

// TestAgainstJSONText compares with jsontext on random texts: names that need
// sorting and escaping, white space, nesting.
func TestAgainstJSONText(t *testing.T) {
	var value func(r *rand.Rand, depth int) string
	str := func(r *rand.Rand) string {
		var b strings.Builder
		b.WriteByte('"')
		for range r.IntN(5) {
			b.WriteString([]string{"a", "b", "Z", "é", "\uE000", "\uFFFD", "\U00010000", "\U0010FFFF", `\n`, `\u000b`, `\u0061`, `\"`, `\/`, `\\`, `\ud83c\udf0d`, `\u00e9`, " ", "\x7f", `\uFFFF`, `\u0000`, `\b`}[r.IntN(21)])
		}
		b.WriteByte('"')
		return b.String()
	}
	value = func(r *rand.Rand, depth int) string {
		n := r.IntN(10)
		if depth > 4 {
			n = r.IntN(5)
		}
		space := []string{"", "", " ", "\n\t"}[r.IntN(4)]
		switch n {
		case 0, 1:
			return space + str(r)
		case 2:
			return []string{"true", "false", "null", "-0", "0.10", "1e3", "-1.5E-7", "123456789012345", "1e21"}[r.IntN(9)] + space
		case 3, 4:
			return strconv.Itoa(r.IntN(1000) - 500)
		case 5, 6:
			var parts []string
			for range r.IntN(4) {
				parts = append(parts, value(r, depth+1))
			}
			return "[" + space + strings.Join(parts, space+",") + space + "]"
		}
		var parts []string
		for range r.IntN(20/(depth+1) + 1) {
			parts = append(parts, str(r)+space+":"+value(r, depth+1))
		}
		return space + "{" + space + strings.Join(parts, ","+space) + space + "}"
	}
	r := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range 20000 {
		in := []byte(value(r, 0))
		out, err := jcs.Canonicalize(nil, in, jcs.Options{})
		same(t, in, out, err)
		if err == nil {
			accepted++
		}
	}
	if accepted < 10000 {
		t.Errorf("only %d texts were valid", accepted)
	}
}
