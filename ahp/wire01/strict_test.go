package wire01_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// strict holds the codec's verdict on a text against that of jsontext, which is strict
// in the same way but for limits: what is not JSON is refused as that, whatever it
// seems to say, and what is JSON is not.
func strict(t *testing.T, data []byte, l wire01.Limits) {
	t.Helper()
	valid := jsontext.Value(data).IsValid()
	check := func(by string, err error) {
		t.Helper()
		var e *wire01.Error
		if errors.As(err, &e); e == nil {
			if err != nil || !valid {
				t.Errorf("%s: %v, valid is %v: %q", by, err, valid, data)
			}
			return
		}
		limit := strings.HasSuffix(e.Expected, "within the limit")
		if parse := e.Code == ahp.CodeParse; parse && valid || !parse && !valid && !limit {
			t.Errorf("%s: %d (%v), valid is %v: %q", by, e.Code, e, valid, data)
		}
	}
	_, err := wire01.Decode(data, l)
	check("Decode", err)
	_, err = wire01.DecodeEvent(data, l)
	check("DecodeEvent", err)
	m, bad := wire01.DecodeRequest(data, l)
	if bad != nil {
		check("DecodeRequest", bad)
	} else {
		check("DecodeRequest", nil)
	}
	if _, f := wire01.DecodeResponse(data, "e-1", ahp.DenyOnly(), l); f == nil {
		check("DecodeResponse", nil)
	} else if f.Err != nil {
		check("DecodeResponse", f.Err)
	}
	// Memory that was used before changes nothing.
	var r wire01.RequestReader
	if _, bad := r.Read([]byte(oddRequest), wire01.Limits{}); bad != nil {
		t.Error(bad)
	}
	if again, bad2 := r.Read(data, l); !reflect.DeepEqual(m, again) || !reflect.DeepEqual(bad, bad2) {
		t.Errorf("%q\n%+v, %v\nby a reader %+v, %v", data, m, bad, again, bad2)
	}
}

// edits calls do with the text cut at each of its bytes, with another one there, and
// with one more.
func edits(text string, do func(data []byte)) {
	others := [...]string{"", `"`, `\`, "]", ",", "0", "\n", "\x80", "x"}
	for i := range len(text) {
		do([]byte(text[:i]))
		do([]byte(text[:i] + others[i%len(others)] + text[i+1:]))
		do([]byte(text[:i] + others[(i*4+1)%len(others)] + text[i:]))
	}
}

func TestStrict(t *testing.T) {
	for _, text := range []string{validRequest, oddRequest, validObserve, noEffects, denied} {
		edits(text, func(data []byte) { strict(t, data, wire01.Limits{}) })
	}
}

func TestStrictRegistration(t *testing.T) {
	for _, text := range []string{validReg, stdioReg} {
		edits(text, func(data []byte) {
			_, _, err := wire01.ParseRegistration("r.json", data, wire01.RegOptions{})
			if err == nil && !jsontext.Value(data).IsValid() {
				t.Errorf("taken: %q", data)
			}
		})
	}
}

// FuzzStrict holds the same of any text, within limits that it can break.
func FuzzStrict(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		strict(t, data, fuzzLimits)
	})
}

// TestRawValues holds that a raw value which is not one value is not written, even
// where the whole would be JSON.
func TestRawValues(t *testing.T) {
	ev, err := wire01.DecodeEvent([]byte(validEvent), wire01.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for raw, good := range map[string]bool{
		`1`: true, ` {"a":[1,"]}\"",{}],"b\\":""} `: true, `"\\"`: true, `[ ]`: true,
		``: false, ` `: false, `1,"y":2`: false, `{},"y":{}`: false, `"a","y":"b"`: false, `}`: false, `[}`: false, `{"a":1`: false,
		`"`: false, `"\"`: false, `1 2`: false, `:1`: false, `01`: false, `tru`: false, `{"a":1,"a":2}`: false,
		`1},"y":{`: false, // the end of the session, and another object
	} {
		x := *ev
		x.Session.Unknown = ahp.Members{{Name: "x", Value: ahp.Raw(raw)}}
		if _, err := wire01.AppendObserve(nil, &x); (err == nil) != good {
			t.Errorf("%q: %v", raw, err)
		}
	}
	for _, two := range [][2]string{{`{"a":[`, `]}`}, {`"a`, `b"`}, {`{`, `}`}, {`[{}`, `]`}} {
		x := *ev
		x.Unknown = ahp.Members{{Name: "x", Value: ahp.Raw(two[0])}, {Name: "z", Value: ahp.Raw(two[1])}}
		if _, err := wire01.AppendObserve(nil, &x); err == nil {
			t.Errorf("%q", two)
		}
	}
}
