package wire01_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// values are texts of which the first reading must take those that are good.
var values = []struct {
	text string
	good bool
}{
	{`{}`, true},
	{` [ ] `, true},
	{"\t{\"a\" : [1,-0,0.5,1e9,1E-9,1.25e+10,true,false,null,\"\"] , \"b\":{\"a\":{}}}\r\n", true},
	{`"12345678 1234567\" \\ \/ \b\f\n\r\t 12345678"`, true},
	{`"\u0041\u00e9\uD83D\uDE00 ` + "\u00e9\u20ac\U0001f600" + `"`, true},
	{`[[[[[[[[]]]]]]]]`, true},
	{`{"same":1,"sane":2,"Same":3,"":4}`, true},
	{``, false},
	{` `, false},
	{`{"a":1,"a":2}`, false},
	{`{"x":{"a":1,"b":{"a":1},"a":2}}`, false},
	{`{"a":1,}`, false},
	{`{,}`, false},
	{`{"a"}`, false},
	{`{"a":}`, false},
	{`{"a":1 "b":2}`, false},
	{`{"a":1]`, false},
	{`[1,]`, false},
	{`[,1]`, false},
	{`[1 2]`, false},
	{`[1}`, false},
	{`[`, false},
	{`{"a":[`, false},
	{`{} {}`, false},
	{`01`, false},
	{`-`, false},
	{`-01`, false},
	{`1.`, false},
	{`.5`, false},
	{`1e`, false},
	{`1e+`, false},
	{`+1`, false},
	{`1x`, false},
	{`tru`, false},
	{`truex`, false},
	{`nul`, false},
	{`NaN`, false},
	{`"`, false},
	{`"abc`, false},
	{`"\`, false},
	{`"\x"`, false},
	{`"\u12"`, false},
	{`"\u12g4"`, false},
	{`"\uD83D"`, false},
	{`"\uD83D\n"`, false},
	{`"\uD83D\uD83D"`, false},
	{`"\uDE00"`, false},
	{"\"12345678\x00\"", false},
	{"\"1234567\n\"", false},
	{"\"12345678\xff\"", false},
	{"\"\xc0\x80\"", false},
	{"\"\xed\xa0\x80\"", false},
	{"\xef\xbb\xbf{}", false},
	{"{}\x00", false},
	{"\f{}", false},
	{`{"` + "a\n" + `":1}`, false},
	{strings.Repeat("[", 200) + strings.Repeat("]", 200), false}, // valid, beyond a limit
	{`{"\u0061":1}`, false}, // valid, left to the second reading
}

func TestOnePass(t *testing.T) {
	for _, tt := range values {
		if got := wire01.InOnePass([]byte(tt.text)); got != tt.good {
			t.Errorf("%q: %v", tt.text, got)
		}
		if tt.good && !jsontext.Value(tt.text).IsValid() {
			t.Errorf("%q is no JSON", tt.text)
		}
	}
}

// FuzzOnePass holds: the first reading takes only what is JSON, and says of a
// message what two passes say.
func FuzzOnePass(f *testing.F) {
	seed(f)
	for _, v := range values {
		f.Add([]byte(v.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if wire01.InOnePass(data) && !jsontext.Value(data).IsValid() {
			t.Errorf("taken: %q", data)
		}
		samePasses(t, data)
	})
}

func samePasses(t *testing.T, data []byte) {
	t.Helper()
	one, bad := wire01.DecodeRequest(data, fuzzLimits)
	two, bad2 := wire01.DecodeRequestInTwoPasses(data, fuzzLimits)
	if !reflect.DeepEqual(one, two) || !reflect.DeepEqual(bad, bad2) {
		t.Errorf("%q\n%+v, %v\n%+v, %v", data, one, bad, two, bad2)
	}
	var r wire01.RequestReader
	if _, bad := r.Read([]byte(oddRequest), wire01.Limits{}); bad != nil {
		t.Error(bad)
	}
	if again, bad3 := r.Read(data, fuzzLimits); !reflect.DeepEqual(one, again) || !reflect.DeepEqual(bad, bad3) {
		t.Errorf("%q\n%+v, %v\nby a reader %+v, %v", data, one, bad, again, bad3)
	}
	effects, fail := wire01.DecodeResponse(data, "e-1", ahp.DenyOnly(), fuzzLimits)
	if effects2, bad2 := wire01.DecodeResponseInTwoPasses(data, "e-1", ahp.DenyOnly(), fuzzLimits); bad2 == nil {
		if fail == nil && !reflect.DeepEqual(effects, effects2) {
			t.Errorf("%q\n%+v\n%+v", data, effects, effects2)
		}
	} else if fail == nil || fail.Class != bad2.Class || fail.Pointer != bad2.Pointer {
		t.Errorf("%q: %v, in two passes %v", data, fail, bad2)
	}
}

// TestOnePassOfEdits changes every byte of good messages in several ways.
func TestOnePassOfEdits(t *testing.T) {
	for _, text := range []string{validRequest, oddRequest, validObserve, noEffects, denied} {
		for i := range len(text) {
			for _, c := range []string{"", `"`, `\`, "{", "}", "[", "]", ",", ":", "0", "x", " ", "\n", "\x80"} {
				samePasses(t, []byte(text[:i]+c+text[i+1:]))
				samePasses(t, []byte(text[:i]+c+text[i:]))
			}
			samePasses(t, []byte(text[:i]))
		}
	}
}

// TestOnePassIsTaken holds that the usual message is read in one pass, whatever
// comes first in it.
func TestOnePassIsTaken(t *testing.T) {
	var m map[string]any
	if err := json.Unmarshal([]byte(validRequest), &m); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{validRequest, validObserve, noEffects, denied, string(sorted)} {
		if !wire01.InOnePass([]byte(text)) {
			t.Errorf("not in one pass: %s", text)
		}
	}
}
