package facts

import (
	"reflect"
	"testing"
)

// FuzzDecodeFlat holds that what the short decoder reads, the general one reads as
// the same.
func FuzzDecodeFlat(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { } `, `{"command":"ls -la"}`, `{"command":"a\n\"b\"\\c\/\t\b\f\r","timeout":120000,"ok":true,"no":false,"nil":null}`,
		`{"a":1,"a":2}`, `{"a":-0}`, `{"a":-12}`, `{"a":01}`, `{"a":1.5}`, `{"a":1e9}`, `{"a":123456789012345}`, `{"a":1234567890123456}`, `{"a":-}`, `{"a":"\u0041"}`, "{\"a\":\"\xff\"}",
		"{\"a\":\"\\n\xff\"}", `{"é":"ü"}`, `{"a":{"b":1}}`, `{"a":[1]}`, `{"a":1}{`, `{"a":1},`, `{"a":1,}`, `{"a" : 1 , "b":"x"}`, "{\"a\":\"\x01\"}", "{\"a\":\"\x7f\"}", `{"a":"`, `{"a":"\`, `{"a":tru}`, `{"a":truex}`, `[]`, `null`, `"x"`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := decodeFlat(raw)
		if !ok {
			return
		}
		want, err := decodeTree(raw)
		if err != nil || !reflect.DeepEqual(any(got), want) {
			t.Fatalf("%q is read as %#v, want %#v, %v", raw, got, want, err)
		}
	})
}

// The inputs that agents send most are read by the short decoder.
func TestDecodeFlatTakesPlainInput(t *testing.T) {
	for _, s := range []string{
		`{"command":"git commit -m \"a: b\"","description":"Commit"}`, `{"file_path":"/a/b.go","offset":10,"limit":200}`, `{"command":"ls","timeout":120000,"run_in_background":false}`,
	} {
		if _, ok := decodeFlat([]byte(s)); !ok {
			t.Errorf("%s is left to the general decoder", s)
		}
	}
}
