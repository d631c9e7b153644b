package walk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// read goes over a text with the three calls that a reader has, and returns its
// outline and problems.
func read(text string, set func(w *walk.Walker, l *walk.Limits)) (string, []walk.Problem) {
	var w walk.Walker
	l := limits
	if set != nil {
		set(&w, &l)
	}
	lint, known := w.Lint, w.Known
	w.Reset([]byte(text), l)
	w.Build, w.Lint, w.Known = true, lint, known
	if w.Known == nil {
		w.Known = func(s string) bool { return s != "secret" }
	}
	var b strings.Builder
	var value func()
	value = func() {
		switch w.Kind() {
		case '{':
			b.WriteByte('{')
			for w.Open(); w.More(); {
				fmt.Fprintf(&b, "%s:", w.Name())
				value()
			}
			b.WriteByte('}')
		case '[':
			b.WriteByte('[')
			for w.Open(); w.More(); {
				value()
				b.WriteByte(' ')
			}
			b.WriteByte(']')
		case '"':
			fmt.Fprintf(&b, "%q", w.Str(w.Skip()))
		default:
			b.Write(w.Text(w.Skip()))
		}
	}
	if w.Start() {
		value()
		w.End()
	}
	return b.String(), slices.Clone(w.Problems())
}

func TestRead(t *testing.T) {
	got, problems := read(" {\"a\" : [1, {} , \"x\\u0041\\n\"],\t\"b\\u0062\":{\"c\":null}, \"\":true} ", nil)
	if want := `{a:[1 {} "xA\n" ]bb:{c:null}:true}`; got != want || len(problems) > 0 {
		t.Errorf("%s, want %s; %v", got, want, problems)
	}
}

func TestProblems(t *testing.T) {
	bound := func(f func(l *walk.Limits)) func(*walk.Walker, *walk.Limits) {
		return func(_ *walk.Walker, l *walk.Limits) { f(l) }
	}
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":1`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	tests := []struct {
		name, text string
		set        func(*walk.Walker, *walk.Limits)
		stage      walk.Stage
		code       ahp.ErrorCode
		off        int
		pointer    string
		found      string
	}{
		{"size", `"aaaa"`, bound(func(l *walk.Limits) { l.MaxBytes = 5 }), walk.StageParse, ahp.CodeInvalidRequest, 5, "", "more than 5 bytes"},
		{"depth", `{"a":[[1]]}`, bound(func(l *walk.Limits) { l.MaxDepth = 2 }), walk.StageLimit, ahp.CodeInvalidRequest, 6, "/a/0", "more than 2 levels of objects and arrays"},
		{"members", `{"a":` + members(4) + `}`, bound(func(l *walk.Limits) { l.MaxMembers = 3 }), walk.StageLimit, ahp.CodeInvalidRequest, 27, "/a", "more than 3 members in one object"},
		{"items", `[1,2,3]`, bound(func(l *walk.Limits) { l.MaxItems = 2 }), walk.StageLimit, ahp.CodeInvalidRequest, 5, "/2", "more than 2 items in one array"},
		{"line", "{\n}", bound(func(l *walk.Limits) { l.SingleLine = true }), walk.StageParse, ahp.CodeParse, 1, "", "a raw line feed inside the message"},
		{"utf8", "{\"a\":\"x\xff\"}", nil, walk.StageParse, ahp.CodeParse, 7, "/a", "bytes that are not UTF-8"},
		{"nothing", "  ", nil, walk.StageParse, ahp.CodeParse, 2, "", "no JSON value"},
		{"more", `{} x`, nil, walk.StageParse, ahp.CodeParse, 3, "", "more data after the JSON value"},
		{"cut", `{"a":[1,`, nil, walk.StageParse, ahp.CodeParse, 8, "/a/1", "the end of the text inside a JSON value"},
		{"cut name", `{"a":1,"b`, nil, walk.StageParse, ahp.CodeParse, 9, "", "the end of the text inside a JSON value"},
		{"cut escape", `["\u00`, nil, walk.StageParse, ahp.CodeParse, 6, "/0", "the end of the text inside a JSON value"},
		{"escape", `["\x"]`, nil, walk.StageParse, ahp.CodeParse, 2, "/0", "an escape that JSON does not have"},
		{"surrogate", `["\udc00"]`, nil, walk.StageParse, ahp.CodeParse, 2, "/0", "half of a surrogate pair"},
		{"control", "[\"a\x01\"]", nil, walk.StageParse, ahp.CodeParse, 3, "/0", "a raw control character inside a string"},
		{"syntax", `{"a":tru}`, nil, walk.StageParse, ahp.CodeParse, 8, "/a", "text that is not JSON"},
		{"twice", `{"a":1,"b":{"x":1,"\u0078":2}}`, nil, walk.StageParse, ahp.CodeParse, 18, "/b/x", "a member name that the object already has"},
		{"twice of many", members(100)[:len(members(100))-1] + `,"k50":1}`, nil, walk.StageParse, ahp.CodeParse, len(members(100)), "/k50", "a member name that the object already has"},
		{"number", `{"a":[1.x]}`, nil, walk.StageParse, ahp.CodeParse, 8, "/a/0", "text that is not JSON"},
		{"between", `{"a":[1 2]}`, nil, walk.StageParse, ahp.CodeParse, 8, "/a", "text that is not JSON"},
		{"cut array", `{"a":[`, nil, walk.StageParse, ahp.CodeParse, 6, "/a", "the end of the text inside a JSON value"},
		{"cut rune", "[\"a\xe2\x82", nil, walk.StageParse, ahp.CodeParse, 5, "/0", "the end of the text inside a JSON value"},
		{"utf8 first", "[\"a\xe2\x82\x01\"]", nil, walk.StageParse, ahp.CodeParse, 3, "/0", "bytes that are not UTF-8"},
		{"utf8 outside", "[1,\x80]", nil, walk.StageParse, ahp.CodeParse, 3, "/1", "bytes that are not UTF-8"},
		{"twice and cut", `{"a":1,"a"`, nil, walk.StageParse, ahp.CodeParse, 7, "/a", "a member name that the object already has"},
		{"secret", `{"a":{"secret":{"b":tru}}}`, nil, walk.StageParse, ahp.CodeParse, 23, "/a", "text that is not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, list := read(tt.text, tt.set)
			if len(list) != 1 {
				t.Fatalf("%d problems", len(list))
			}
			p := list[0]
			if p.Stage != tt.stage || p.Code != tt.code || p.Off != tt.off || p.Pointer != tt.pointer || p.Found != tt.found || p.Class != ahp.FailMalformed {
				t.Errorf("%+v, want %+v", p, tt)
			}
		})
	}
	t.Run("trailing line feed", func(t *testing.T) {
		if _, list := read("{}\n", bound(func(l *walk.Limits) { l.SingleLine = true })); len(list) > 0 {
			t.Errorf("%v", list)
		}
	})
	t.Run("lint", func(t *testing.T) {
		_, list := read(`{"a/b":{"x":1,"x":2},"a/b":3}`, func(w *walk.Walker, _ *walk.Limits) { w.Lint = true })
		if len(list) != 2 || list[0].Pointer != "/a~1b/x" || list[1].Pointer != "/a~1b" {
			t.Errorf("%+v", list)
		}
	})
	t.Run("lint of no JSON", func(t *testing.T) {
		_, list := read(`{"a":1,"a":2]`, func(w *walk.Walker, _ *walk.Limits) { w.Lint = true })
		if len(list) != 1 || list[0].Off != 12 || list[0].Pointer != "" {
			t.Errorf("%+v", list)
		}
	})
}

// TestUTF8 holds that bytes which are not UTF-8 are found in a string, and in a name, of
// any length, and what is UTF-8 is taken.
func TestUTF8(t *testing.T) {
	for _, x := range []string{"\x80", "\xff", "\xc3", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x7f", "\u00e9", "\u20ac", "\U0001f600"} {
		for before := range 36 {
			for _, after := range []string{"", "a", `\n`, "\u00e9", "12345678", "1234567890abcdef1"} {
				s := strings.Repeat("a", before) + x + after
				for _, text := range []string{`["` + s + `","` + s + `"]`, `{"` + s + `":1}`, `["1234567","` + s} {
					_, list := read(text, nil)
					off := strings.Index(text, x)
					switch {
					case !utf8.ValidString(x):
						if len(list) != 1 || list[0].Off != off || list[0].Found != "bytes that are not UTF-8" {
							if last := after == "" && !utf8.FullRuneInString(x) && strings.HasSuffix(text, x); !last {
								t.Errorf("%q: %+v", text, list)
							}
						}
					case strings.HasSuffix(text, s):
						if len(list) != 1 || list[0].Found != "the end of the text inside a JSON value" {
							t.Errorf("%q: %+v", text, list)
						}
					case len(list) > 0:
						t.Errorf("%q: %+v", text, list)
					}
				}
			}
		}
	}
}

// TestOpenValues holds that no pointer goes into a value that a reader skips whole.
func TestOpenValues(t *testing.T) {
	var w walk.Walker
	w.Reset([]byte(`{"input":{"hunter2":{"hunter2":[tru]}}}`), limits)
	w.Known = func(string) bool { return true }
	if w.Start() {
		for w.Open(); w.More(); {
			w.Skip()
		}
	}
	if p := w.Problems(); len(p) != 1 || p[0].Pointer != "/input" {
		t.Errorf("%+v", p)
	}
}

func TestLater(t *testing.T) {
	var w walk.Walker
	w.Reset([]byte(`{"a":{"deep":[1,2]},"b":7,"type":"t"}`), limits)
	w.Build, w.Known = true, func(string) bool { return true }
	if !w.Start() {
		t.Fatal(w.Problems())
	}
	if v, ok := w.Ahead("type"); !ok || !w.Is(v, "t") {
		t.Errorf("%v %v", v, ok)
	}
	if _, ok := w.Ahead("none"); ok || w.Pos() != 0 || w.Depth() != 0 {
		t.Error("moved")
	}
	var a walk.Later
	w.Open()
	for w.More() {
		if string(w.Name()) == "a" {
			a = w.Later()
		}
		w.Skip()
	}
	end := w.Pos()
	var sum []string
	w.Revisit(a, func() {
		if string(w.Name()) != "a" || w.Pointer("") != "/a" {
			t.Errorf("at %s", w.Pointer(""))
		}
		for w.Open(); w.More(); {
			for w.Open(); w.More(); {
				sum = append(sum, w.Pointer("")+"="+string(w.Text(w.Skip())))
			}
		}
	})
	if w.Pos() != end || w.Depth() != 0 || strings.Join(sum, " ") != "/a/deep/0=1 /a/deep/1=2" {
		t.Errorf("%d %d %v", w.Pos(), w.Depth(), sum)
	}
	w.End()
	if len(w.Problems()) > 0 {
		t.Error(w.Problems())
	}
}

// TestStages holds that of several problems the first of the lowest stage is kept.
func TestStages(t *testing.T) {
	var w walk.Walker
	w.Reset([]byte(`{}`), limits)
	for _, s := range []walk.Stage{walk.StageBody, walk.StageVersion, walk.StageVersion, walk.StageType} {
		w.Fail(s, ahp.FailMalformed, ahp.CodeInvalidParams, int(s), fmt.Sprint(len(w.Problems())), "x")
	}
	if p := w.Problems(); len(p) != 1 || p[0].Stage != walk.StageVersion || p[0].Found != "1" {
		t.Errorf("%+v", p)
	}
}

func TestFormats(t *testing.T) {
	for s, want := range map[string]bool{"-1": true, "-0": false, "-0.0": false, "-0.1": true, "-0e5": false, "1": false, "-1e-9": true, "": false, "-0.0e1": false} {
		if walk.Negative([]byte(s)) != want {
			t.Errorf("%s", s)
		}
	}
	for s, want := range map[string]bool{"A": true, "_1": true, "1A": false, "": false, "A-B": false} {
		if walk.EnvName([]byte(s)) != want {
			t.Errorf("%s", s)
		}
	}
	for s, want := range map[string]bool{"5": true, "5.0": true, "50e-1": true, "5.5": false, "1e400": true, "1e-400": false, "0e-9": true, "0.0": true} {
		if _, _, ok := walk.Integer([]byte(s)); ok != want {
			t.Errorf("%s", s)
		}
	}
}

// TestRelease holds that a walker keeps nothing of a text.
func TestRelease(t *testing.T) {
	var w walk.Walker
	w.Reset([]byte(`["`+strings.Repeat(`\n`, 100_000)+`"]`), limits)
	w.Build = true
	if w.Start() {
		for w.Open(); w.More(); {
			if s := w.Str(w.Skip()); len(s) != 100_000 {
				t.Errorf("%d", len(s))
			}
		}
	}
	w.Release()
	if w.Bytes() != nil || w.Shared() != "" || len(w.Problems()) > 0 {
		t.Error("kept")
	}
}
