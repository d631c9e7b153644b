package jcs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/jcs"
)

func FuzzCanonicalize(f *testing.F) {
	for _, s := range []string{
		`{"b":[1.0,-0,1e21],"a":"\ud83c\udf0d"}`, `{"a":1,"a":2}`, `"\ud800"`, `9007199254740993.0`, `[[[[]]]]`, "\"\xff\"", `{"\u0061":{},"b":[]}`,
		`1e400`, `{} x`, "{\"\uE000\":1,\"\U00010000\":2}", `-`, `"\`, `[1,`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out, err := jcs.Canonicalize(nil, in, jcs.Options{})
		if !bytes.Equal(in, before) {
			t.Fatal("input changed")
		}
		if cerr := jcs.Check(in, jcs.Options{}); (cerr == nil) != (err == nil) {
			t.Fatalf("Canonicalize: %v, Check: %v", err, cerr)
		}
		if err != nil {
			var e *jcs.Error
			if !errors.As(err, &e) || e.What() == "" || e.Offset < 0 || e.Offset > int64(len(in)) {
				t.Fatalf("bad error %#v", err)
			}
			return
		}
		if !utf8.Valid(out) || !json.Valid(out) || !json.Valid(in) {
			t.Fatalf("%q is not JSON", out)
		}
		again, err := jcs.Canonicalize(nil, out, jcs.Options{})
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not a fixed point: %q then %q, %v", out, again, err)
		}
	})
}
