package transport_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/transport"
)

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		r := transport.NewRing(size)
		var all string
		for _, p := range rapid.SliceOf(rapid.StringN(0, 30, 90)).Draw(t, "pieces") {
			if n, err := r.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, len(p), err)
			}
			all += p
			if got, want := string(r.Bytes()), all[max(0, len(all)-size):]; got != want {
				t.Fatalf("kept %q, want %q", got, want)
			}
		}
	})
}

func TestAnswerID(t *testing.T) {
	tests := []struct {
		in, id string
		ok     bool
	}{
		{`{"jsonrpc":"2.0","id":"a","result":{}}`, "a", true},
		{`{"result":{"id":"inner","effects":[{"id":"x"}]},"id":"a"}`, "a", true},
		{`{"id":"a\u0062"}`, "ab", true},
		{` { "id" : "a" } `, "a", true},
		{`{"result":{}}`, "", false},
		{`{"id":7}`, "", false},
		{`{"id":null}`, "", false},
		{`[{"id":"a"}]`, "", false},
		{`{"result":"` + strings.Repeat("[", 10), "", false},
		{``, "", false},
		{`garbage "id":"a"`, "", false},
	}
	for _, tt := range tests {
		if id, ok := transport.AnswerID([]byte(tt.in)); id != tt.id || ok != tt.ok {
			t.Errorf("%s: %q, %v; want %q, %v", tt.in, id, ok, tt.id, tt.ok)
		}
	}
}

// Where the standard library finds a valid object with a string id, so do we,
// and the same one; a text that is not JSON up to its id has none.
func FuzzAnswerID(f *testing.F) {
	for _, s := range []string{`{"id":"a"}`, `{"result":{"id":"b"},"id":"a"}`, `{"id":1}`, `[]`, `{"id":"\ud800"}`, "{\"id\":\"\xff\"}", `{"a":{"b":[1,2,{}]},"id":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		id, ok := transport.AnswerID(line)
		var m map[string]json.RawMessage
		if json.Unmarshal(line, &m) != nil {
			return
		}
		var want string
		raw, has := m["id"]
		if has && json.Unmarshal(raw, &want) == nil && raw[0] == '"' {
			if ok && id != want && !strings.Contains(want, "\ufffd") {
				if strings.Count(string(line), `id`) < 2 {
					t.Errorf("%q: id %q, want %q", line, id, want)
				}
			}
		} else if ok && !has {
			t.Errorf("%q: an id from nowhere: %q", line, id)
		}
	})
}
