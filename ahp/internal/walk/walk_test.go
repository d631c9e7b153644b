package walk_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

var limits = walk.Limits{MaxBytes: 1 << 20, MaxDepth: 64, MaxMembers: 10_000, MaxItems: 10_000}

var texts = []string{
	``, ` `, `null`, ` true `, `false`, `nul`, `truex`, `"a"`, `"`, `"\`, `"\u12`, `"\x"`, `"\ud800"`, `"\ud83d\ude00"`, `"\ud83d\u0041"`,
	`"\udc00"`, "\"\x01\"", "\"a\tb\"", "\"\xff\"", "\"\xed\xa0\x80\"", `-`, `-0`, `01`, `1.`, `.5`, `1e`, `1e+`, `1E-5`, `-12.50e+3`, `1 2`, `+1`,
	`[]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[`, `]`, `{}`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":[{"x":1,"x":2}]}`, `{"a":1]`, `[1}`, `{"a":1`, `{"a`, `{"a":`,
	"\ufeff{}", `{"":1,"":2}`, `[[[[]]]]`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaa\naaaaaaaaaaaaaaaaaaaa"`, "\"aaaaaaaaaaaaaaaaaaaaaaaa\naaaaaaaaaa\"", `"\/\b\f\n\r\t\"\\"`, "{\x00}",
	"\t{\"a\" : [1,-0,0.5,1e9,1E-9,1.25e+10,true,false,null,\"\"] , \"b\":{\"a\":{}}}\r\n", `"12345678 1234567\" \\ \/ \b\f\n\r\t 12345678"`,
	`"\u0041\u00e9\uD83D\uDE00 ` + "\u00e9\u20ac\U0001f600" + `"`, `{"same":1,"sane":2,"Same":3,"":4}`, `{"x":{"a":1,"b":{"a":1},"a":2}}`, `-01`, `NaN`,
	`"\u12g4"`, `"\uD83D\n"`, `"\uD83D\uD83D"`, "\"1234567\n\"", "\"12345678\xff\"", "\"\xc0\x80\"", "{}\x00", "\f{}", `{} {}`,
}

// FuzzCheck holds the walker's verdict against that of jsontext, which is strict in
// the same way but for limits.
func FuzzCheck(f *testing.F) {
	for _, s := range texts {
		f.Add([]byte(s))
	}
	var b strings.Builder
	for i := range 80 {
		b.WriteString(`,"k` + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + `":` + "1")
	}
	f.Add([]byte("{" + b.String()[1:] + "}"))
	f.Add([]byte("{" + b.String()[1:] + `,"kxa":1,"ka":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, got := walk.Check(b, limits, 9999)
		if want := jsontext.Value(b).IsValid(); got != want {
			t.Errorf("%q: valid = %v, want %v", b, got, want)
		}
		var w walk.Walker
		w.Reset(b, limits)
		w.Build = true
		if w.Start() {
			v := w.Skip()
			w.End()
			if !w.Dead() && v.Kind == '"' {
				want, err := jsontext.AppendUnquote(nil, b[v.Start:v.End])
				if s := w.Str(v); err != nil || s != string(want) {
					t.Errorf("%q: value %q, want %q", b, s, want)
				}
			}
		}
		if n := len(w.Problems()); w.Dead() != (n == 1) {
			t.Errorf("%q: dead is %v with %d problems", b, w.Dead(), n)
		}
		for _, p := range w.Problems() {
			if p.Off < 0 || p.Off > len(b) {
				t.Errorf("%q: offset %d", b, p.Off)
			}
		}
	})
}
