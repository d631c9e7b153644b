package harness_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
)

// holds reports whether a string value of v holds text.
func holds(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		for _, x := range v {
			if holds(x, text) {
				return true
			}
		}
	case map[string]any:
		for _, x := range v {
			if holds(x, text) {
				return true
			}
		}
	}
	return false
}

// FuzzScrub: what is scrubbed is JSON still, holds no hidden text as a value, and is
// untouched when there was none.
func FuzzScrub(f *testing.F) {
	for _, s := range []string{
		`{"a":"x secret-text y","b":[1.50,"secret-text"],"secret-text":{"c":null}}`, `"secret-text"`, `[]`, `{"n":1e400,"s":"secret\u002dtext"}`,
		`{"a":{"b":{"c":["plain"]}}}`, `[true,false,null,-0]`,
	} {
		f.Add(s, "secret-text")
	}
	f.Fuzz(func(t *testing.T, s, text string) {
		if len(s) > 1<<16 || len(text) < 8 || !jsontext.Value(s).IsValid() {
			return
		}
		out, changed := harness.Scrub(ahp.Raw(s), text)
		var before, after any
		if json.Unmarshal([]byte(s), &before) != nil {
			return // numbers that encoding/json does not take
		}
		if err := json.Unmarshal(out, &after); err != nil || !jsontext.Value(out).IsValid() {
			t.Fatalf("%q became %q: %v", s, out, err)
		}
		if holds(after, text) {
			t.Fatalf("%q is in %q", text, out)
		}
		if held := holds(before, text); changed != held || !held && string(out) != s {
			t.Fatalf("%q: held %v, changed %v: %q", s, held, changed, out)
		}
	})
}
