package jcs_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/holdpoint/holdpoint/jcs"
)

func TestCanonicalize(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"white space", " { \"a\" : [ 1 , 2 ] }\n", `{"a":[1,2]}`},
		{"sorted", `{"b":1,"a":2,"":3}`, `{"":3,"a":2,"b":1}`},
		{"UTF-16 order", "{\"\uE000\":1,\"\U00010000\":2}", "{\"\U00010000\":2,\"\uE000\":1}"},
		{"nested", `[{"z":{"y":0,"x":0}}]`, `[{"z":{"x":0,"y":0}}]`},
		{"short escapes", `"\b\t\n\f\r\"\\\/"`, `"\b\t\n\f\r\"\\/"`},
		{"control", `"\u0001\u001F\u007f"`, "\"\\u0001\\u001f\x7f\""},
		{"raw", `"\u003c\u2028é<>&"`, "\"<\u2028é<>&\""},
		{"pair", `"\ud83c\udf0d"`, `"🌍"`},
		{"escaped name", `{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{"minus zero", `[-0,-0.0,0e5,-0E-3]`, `[0,0,0,0]`},
		{"numbers", `[1.0,1e2,1E-7,1e21,1e-6,0.1,5e-324,1.50]`, `[1,100,1e-7,1e+21,0.000001,0.1,5e-324,1.5]`},
		{"largest integer", `[9007199254740991,-9007199254740991]`, `[9007199254740991,-9007199254740991]`},
		{"large with exponent", `[9.999999999999997e+22,1.7976931348623157e308]`, `[9.999999999999997e+22,1.7976931348623157e+308]`},
		{"underflow", `1e-400`, `0`},
		{"literals", `[true,false,null]`, `[true,false,null]`},
		{"depth 128", strings.Repeat("[", 127) + "1" + strings.Repeat("]", 127), strings.Repeat("[", 127) + "1" + strings.Repeat("]", 127)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jcs.Canonicalize([]byte("x"), []byte(tt.in), jcs.Options{})
			if err != nil || string(got) != "x"+tt.want {
				t.Fatalf("Canonicalize(%s) = %s, %v; want x%s", tt.in, got, err, tt.want)
			}
			if err := jcs.Check([]byte(tt.in), jcs.Options{}); err != nil {
				t.Fatalf("Check(%s) = %v", tt.in, err)
			}
			again, err := jcs.Canonicalize(nil, []byte(tt.want), jcs.Options{})
			if err != nil || string(again) != tt.want {
				t.Fatalf("not idempotent: %s, %v", again, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("[", 128) + `"s"` + strings.Repeat("]", 128)
	deepPointer := strings.Repeat("/0", 128)
	tests := []struct {
		name, in string
		kind     jcs.Kind
		pointer  string
		offset   int64
	}{
		{"empty", ``, jcs.KindSyntax, "", 0},
		{"only white space", `  `, jcs.KindSyntax, "", 2},
		{"cut short", `{"a":[1,`, jcs.KindSyntax, "/a", 8},
		{"comma", `[1,]`, jcs.KindSyntax, "", 2},
		{"trailing", `{} {}`, jcs.KindTrailing, "", 3},
		{"trailing junk", `1 x`, jcs.KindTrailing, "", 2},
		{"duplicate", `{"a":{"b":1,"c":2,"b":3}}`, jcs.KindDuplicate, "/a/b", 18},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, jcs.KindDuplicate, "/a", 7},
		{"utf8", "{\"a\":\"x\xff\"}", jcs.KindUTF8, "/a", 7},
		{"utf8 name", "{\"\xc3\":1}", jcs.KindUTF8, "", 2},
		{"encoded surrogate", "\"\xed\xa0\x80\"", jcs.KindUTF8, "", 1},
		{"high surrogate", `["ok","a\ud800b"]`, jcs.KindSurrogate, "/1", 8},
		{"low surrogate", `["\uDC00"]`, jcs.KindSurrogate, "/0", 2},
		{"bad pair", `["\ud800\ud800"]`, jcs.KindSurrogate, "/0", 2},
		{"2^53", `{"a/b":[9007199254740992]}`, jcs.KindInteger, "/a~1b/0", 8},
		{"-2^53", `-9007199254740992`, jcs.KindInteger, "", 0},
		{"u64 beyond", `[18446744073709551616]`, jcs.KindInteger, "/0", 1},
		{"integer past 1e21", `[1000000000000000000000]`, jcs.KindInteger, "/0", 1},
		{"integral with point", `[9007199254740993.0]`, jcs.KindInteger, "/0", 1},
		{"integral with exponent", `[1.8446744073709552e19]`, jcs.KindInteger, "/0", 1},
		{"overflow", `[1e309]`, jcs.KindOverflow, "/0", 1},
		{"overflow integer", `[1` + strings.Repeat("0", 309) + `]`, jcs.KindOverflow, "/0", 1},
		{"deep", deep, jcs.KindDepth, deepPointer, 128},
		{"NaN", `NaN`, jcs.KindSyntax, "", 0},
		{"leading zero", `[01]`, jcs.KindSyntax, "", 2},
		{"long leading zeros", `[00000000000000000000]`, jcs.KindSyntax, "", 2},
		{"control in string", "[\"a\nb\"]", jcs.KindSyntax, "/0", 3},
		{"size", `"` + strings.Repeat("x", jcs.DefaultMaxBytes) + `"`, jcs.KindSize, "", jcs.DefaultMaxBytes},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := jcs.Canonicalize([]byte("keep"), []byte(tt.in), jcs.Options{})
			var e *jcs.Error
			if !errors.As(err, &e) {
				t.Fatalf("accepted, or not a *jcs.Error: %T %v", err, err)
			}
			if string(out) != "keep" {
				t.Errorf("dst changed to %q", out)
			}
			if e.Kind != tt.kind || e.Pointer != tt.pointer || e.Offset != tt.offset {
				t.Errorf("got %s %q %d; want %s %q %d", e.Kind, e.Pointer, e.Offset, tt.kind, tt.pointer, tt.offset)
			}
			if e.Hint() == "" || e.What() == "" || !strings.Contains(e.Error(), e.Hint()) {
				t.Errorf("no remedy in %q", e.Error())
			}
			if jcs.Check([]byte(tt.in), jcs.Options{}) == nil {
				t.Error("Check accepts")
			}
			if _, err := jcs.Digest([]byte(tt.in)); err == nil {
				t.Error("Digest accepts")
			}
		})
	}
}

func TestErrorNeverQuotesTheValue(t *testing.T) {
	for _, in := range []string{
		`{"a":98765432109876543210}`, `{"a":"secret\ud800"}`, `{"a":secret}`, "{\"a\":\"secret\xff\"}", `{"a":1} secret`, `{"a":"secret`,
		`{"a":1e987654321}`,
	} {
		_, err := jcs.Canonicalize(nil, []byte(in), jcs.Options{})
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "98765432") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name, in string
		o        jcs.Options
		ok       bool
	}{
		{"bytes exact", `[1]`, jcs.Options{MaxBytes: 3}, true},
		{"bytes over", `[1] `, jcs.Options{MaxBytes: 3}, false},
		{"negative", `1`, jcs.Options{MaxBytes: -1}, false},
		{"scalar is a level", `[1]`, jcs.Options{MaxDepth: 1}, false},
		{"two levels", `[1]`, jcs.Options{MaxDepth: 2}, true},
		{"empty array", `[]`, jcs.Options{MaxDepth: 1}, true},
		{"string", `["a"]`, jcs.Options{MaxDepth: 1}, false},
		{"literal", `[null]`, jcs.Options{MaxDepth: 1}, false},
		{"name", `{"a":{}}`, jcs.Options{MaxDepth: 2}, true},
		{"no depth", `1`, jcs.Options{MaxDepth: -1}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jcs.Canonicalize(nil, []byte(tt.in), tt.o)
			if cerr := jcs.Check([]byte(tt.in), tt.o); (err == nil) != tt.ok || (cerr == nil) != tt.ok {
				t.Fatalf("Canonicalize: %v, Check: %v; want ok=%v", err, cerr, tt.ok)
			}
		})
	}
}

func TestBigIntegersForCheckOnly(t *testing.T) {
	o := jcs.Options{BigIntegers: true}
	in := []byte(`[9007199254740993,1.8446744073709552e19]`)
	if err := jcs.Check(in, o); err != nil {
		t.Errorf("Check: %v", err)
	}
	if _, err := jcs.Canonicalize(nil, in, o); err == nil {
		t.Error("Canonicalize rounded")
	}
	if err := jcs.Check([]byte(`[1e400]`), o); err == nil {
		t.Error("Check let an overflow pass")
	}
	if err := jcs.Check([]byte(`[1`+strings.Repeat("0", 400)+`]`), o); err == nil {
		t.Error("Check let an integer overflow pass")
	}
}

func TestDigest(t *testing.T) {
	a, err := jcs.Digest([]byte(`{"b":1, "a":2.0}`))
	if err != nil {
		t.Fatal(err)
	}
	// printf '{"a":2,"b":1}' | sha256sum
	if want := "sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"; a != want {
		t.Errorf("Digest = %s, want %s", a, want)
	}
	if b := jcs.DigestOf([]byte(`{"a":2,"b":1}`)); b != a {
		t.Errorf("DigestOf = %s, want %s", b, a)
	}
	// printf abc | sha256sum
	if got, want := jcs.RawDigest([]byte("abc")), "raw-sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("RawDigest = %s, want %s", got, want)
	}
	if jcs.RawDigest([]byte(`[9007199254740992]`)) == jcs.RawDigest([]byte(`[9007199254740993]`)) {
		t.Error("two big integers share one identity")
	}
}

func TestConcurrentUse(t *testing.T) {
	in := []byte(`{"z":[1,2,{"k":"v","a":"ü"}],"b":1e3}`)
	want, err := jcs.Digest(in)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if got, err := jcs.Digest(in); got != want || err != nil {
					t.Errorf("got %s, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
