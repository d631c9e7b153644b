package settle_test

import (
	"bytes"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// cut reads an object with the library's decoder: names as they mean, names and
// values as they stand, in order.
func cut(text string) (names []string, vals map[string]string, ok bool) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, nil, false
	}
	vals = map[string]string{}
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return nil, nil, false
		}
		name := tok.String()
		val, err := d.ReadValue()
		if err != nil {
			return nil, nil, false
		}
		names, vals[name] = append(names, name), string(val)
	}
	return names, vals, true
}

// meaning is a JSON value with numbers as exact fractions. Exponents that a fraction
// cannot hold in reasonable memory give ok false.
func meaning(text string) (v any, ok bool) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	ok = true
	var read func() any
	read = func() any {
		switch d.PeekKind() {
		case '{':
			_, _ = d.ReadToken()
			m := map[string]any{}
			for d.PeekKind() != '}' {
				k, err := d.ReadToken()
				if err != nil {
					ok = false
					return nil
				}
				name := k.String()
				m[name] = read()
				if !ok {
					return nil
				}
			}
			_, _ = d.ReadToken()
			return m
		case '[':
			_, _ = d.ReadToken()
			list := []any{}
			for d.PeekKind() != ']' {
				list = append(list, read())
				if !ok {
					return nil
				}
			}
			_, _ = d.ReadToken()
			return list
		case '0':
			raw, err := d.ReadValue()
			if i := bytes.IndexAny(raw, "eE"); err != nil || i >= 0 && len(raw)-i > 5 {
				ok = false
				return nil
			}
			r, _ := new(big.Rat).SetString(string(raw))
			return r.RatString() + " as a number"
		default:
			tok, err := d.ReadToken()
			if err != nil {
				ok = false
				return nil
			}
			if tok.Kind() == '"' {
				return "text " + tok.String()
			}
			return tok.String()
		}
	}
	return read(), ok
}

func FuzzMerge(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":{"x":1,"y":2}}`, `{"a":{"x":3},"b":null}`},
		{`{ "big" : 12345678901234567890 , "f":1.50,"s":"\u00e4\/" }`, `{"f":1.5}`},
		{`{"\u0061":1,"b":[{"c":"}]\\\""}]}`, `{"a":1.0}`},
		{`{"a":1,"a":2}`, `{}`},
		{`{}`, `{"a":"\ud800"}`},
		{`{"":0}`, `{"":-0.0e5}`},
		{`[]`, `{`},
		{`{"a":[1,"b":{`, `{"a":2}`},
		{`{"a" 1}`, `{}`},
		{`{"a":,}`, `{"a":1}`},
		{`{"a":"x`, `{"a":"y"}`},
		{`{a:1}`, `{"a":1}`},
		{`{"a":1`, `{"a":1}`},
		{``, `{}`},
		{`{"k":"\\"}`, ` {"k":"\\\\" , "l" : [ ] } `},
		{`{"n":1e5}`, `{"n":100000.0}`},
	} {
		f.Add(s[0], s[1], true)
		f.Add(s[0], s[1], false)
	}
	f.Fuzz(func(t *testing.T, base, value string, merges bool) {
		baseNames, baseVals, well := cut(base)
		well = well && jsontext.Value(base).IsValid()
		op := ahp.OpReplace
		if merges {
			op = ahp.OpMerge
		}
		ev := boundary(ahp.ToolBefore)
		ev.Tool.Input = ahp.Raw(base)
		b, v := say(settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{}), &ahp.Allow{}, object(ahp.TargetInput, op, value))
		valueNames, valueVals, good := cut(value)
		good = good && jsontext.Value(value).IsValid()
		if string(ev.Tool.Input) != base {
			t.Fatal("the event was changed")
		}
		if !well {
			return // no event of a codec's: an answer or a rejection, and an end to it
		}
		if taken := v.Answer != settle.AnswerFailure; taken != good {
			t.Fatalf("%q into %q: taken %v, well formed %v: %v", value, base, taken, good, v.Failure)
		}
		if !good {
			return
		}
		// What must come out: in place, then at the end.
		names, vals := valueNames, valueVals
		if merges {
			names, vals = baseNames, map[string]string{}
			for _, n := range baseNames {
				vals[n] = baseVals[n]
			}
			for _, n := range valueNames {
				if _, old := vals[n]; !old {
					names = append(names, n)
				}
				vals[n] = valueVals[n]
			}
		}
		got := input(b)
		gotNames, gotVals, valid := cut(got)
		if !valid || !jsontext.Value(got).IsValid() {
			t.Fatalf("%q is no object", got)
		}
		if v.Changed && (strings.Join(gotNames, "\x00") != strings.Join(names, "\x00") || !reflect.DeepEqual(gotVals, vals)) {
			t.Fatalf("%q %s %q: %q", base, op, value, got)
		}
		if !v.Changed && b.Event() != ev {
			t.Fatal("an unchanged event was copied")
		}
		// Changed or not is a question of values.
		before, ok := meaning(base)
		after := map[string]any{}
		for n, text := range vals {
			x, fine := meaning(text)
			after[n], ok = x, ok && fine
		}
		if ok && reflect.DeepEqual(before, any(after)) == v.Changed {
			t.Fatalf("%q %s %q: changed %v", base, op, value, v.Changed)
		}
	})
}

// TestMergesHaveNoMemory is a property: what a change makes of an input that was
// changed before is what it makes of the same text as it came, byte for byte, and it
// hangs on nothing that the effects before were made of.
func TestMergesHaveNoMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		genObject := func(least int, what string) string {
			var list []string
			for _, k := range rapid.SliceOfNDistinct(rapid.IntRange(0, 40), least, 40, rapid.ID[int]).Draw(t, what) {
				name := rapid.SampledFrom([]string{`"k%d"`, `"\u006b%d"`, `"k%d\n"`, `"ä\"%d"`, ` "%d" `}).Draw(t, "spelling")
				list = append(list, fmt.Sprintf(name, k)+":"+rapid.SampledFrom(values).Draw(t, "value"))
			}
			return "{" + strings.Join(list, rapid.SampledFrom([]string{",", " ,\n"}).Draw(t, "comma")) + "}"
		}
		open := func(text string) settle.Boundary {
			ev := boundary(ahp.ToolBefore)
			ev.Tool.Input = ahp.Raw(text)
			return settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{})
		}
		base := genObject(1, "base")
		if rapid.Bool().Draw(t, "long") { // of which the cut is kept
			base = `{"pad":"` + strings.Repeat("x", 2<<10) + `",` + base[1:]
		}
		b := open(base)
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			before := input(b)
			op := rapid.SampledFrom([]ahp.Operation{ahp.OpMerge, ahp.OpMerge, ahp.OpMerge, ahp.OpMerge, ahp.OpReplace}).Draw(t, "operation")
			raw := []byte(genObject(0, "change"))
			next, v := say(b, object(ahp.TargetInput, op, string(raw)), &ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpMerge, Value: ahp.Value{JSON: raw}})
			alone, w := say(open(before), object(ahp.TargetInput, op, string(raw)), object(ahp.TargetInput, ahp.OpMerge, string(raw)))
			for i := range raw {
				raw[i] = 'x' // as when a frame's memory is used again
			}
			if (v.Failure == nil) != (w.Failure == nil) || v.Changed != w.Changed {
				t.Fatalf("%s: %+v, and alone %+v", before, v, w)
			}
			if input(next) != input(alone) || input(b) != before {
				t.Fatalf("%s\nbecame %s\nand alone %s", before, input(next), input(alone))
			}
			b = next
		}
	})
}
