package wiredraft_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// TestStrict cuts good messages at every byte, puts another there, and one more, and
// holds the verdict against that of jsontext, which is strict in the same way: what is
// not JSON is refused as that, whatever it seems to say, and what is JSON is not.
func TestStrict(t *testing.T) {
	caps := ahp.Bounds(ahp.ToolBefore)
	others := [...]string{"", `"`, `\`, "]", ",", "0", "\n", "\x80", "x"}
	check := func(data []byte) {
		valid := jsontext.Value(data).IsValid()
		verdict := func(by string, err error) {
			var e *wiredraft.Error
			if errors.As(err, &e); e == nil {
				if err != nil || !valid {
					t.Errorf("%s: %v, valid is %v: %q", by, err, valid, data)
				}
				return
			}
			if (e.Code == ahp.CodeParse) == valid {
				t.Errorf("%s: %d (%v), valid is %v: %q", by, e.Code, e, valid, data)
			}
		}
		_, err := wiredraft.Decode(data, wiredraft.Limits{})
		verdict("Decode", err)
		_, err = wiredraft.DecodeEvent(data, wiredraft.Limits{})
		verdict("DecodeEvent", err)
		if _, bad := wiredraft.DecodeRequest(data, wiredraft.Limits{}); bad != nil {
			verdict("DecodeRequest", bad)
		} else {
			verdict("DecodeRequest", nil)
		}
		if _, f := wiredraft.DecodeResponse(data, "e-1", ahp.ToolBefore, &caps, wiredraft.Limits{}); f == nil {
			verdict("DecodeResponse", nil)
		} else if f.Err != nil {
			verdict("DecodeResponse", f.Err)
		}
	}
	for _, text := range []string{
		validRequest,
		edit(t, strings.TrimSuffix(validRequest, "}"), `,"method":"hooks/intercept"`, "") + `,"method":"hooks/intercept"}`,
		`{"jsonrpc":"2.0","id":"e-1","result":{"protocolVersion":"draft","effects":[` +
			`{"type":"modify","target":"input","operation":"merge","value":{"cmd":"ls \u00e9"}},{"type":"message","text":"changed"}]}}`,
	} {
		for i := range len(text) {
			check([]byte(text[:i]))
			check([]byte(text[:i] + others[i%len(others)] + text[i+1:]))
			check([]byte(text[:i] + others[(i*4+1)%len(others)] + text[i:]))
		}
	}
}
