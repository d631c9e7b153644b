package jcs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/jcs"
)

// same compares with jsontext's canonicalizer, which knows nothing of the
// number domain: what it refuses we refuse, and what we accept comes out alike.
func same(t interface{ Fatalf(string, ...any) }, in, out []byte, err error) {
	v := jsontext.Value(bytes.Clone(in))
	if jerr := v.Canonicalize(); jerr != nil {
		if err == nil {
			t.Fatalf("%q was accepted as %q; jsontext: %v", in, out, jerr)
		}
		return
	}
	if err == nil && !bytes.Equal(v, out) {
		t.Fatalf("%q: got %q, jsontext %q", in, out, v)
	}
	var e *jcs.Error
	if err != nil && errors.As(err, &e) {
		switch e.Kind {
		case jcs.KindInteger, jcs.KindOverflow, jcs.KindDepth, jcs.KindSize:
		default:
			t.Fatalf("%q: %v, but jsontext accepts it as %q", in, err, v)
		}
	}
}

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
		same(t, in, out, err)
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
