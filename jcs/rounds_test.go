package jcs_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/jcs"
)

func TestRounds(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false, ``: false, `{"a":0.1}`: false, `[1e-1,1.50,-2E+5]`: false, `9007199254740991`: false,
		`"0.12345678901234567890"`: false, `{"0.12345678901234567890":"\"1.00000000000000000001"}`: false,
		`0.000000000000000000001`: false, `0.0e-999`: false, `12345678901234.5`: false,
		`0.1000000000000000055`: true, `[1,{"a":1.0000000000000000001}]`: true, `1e-999`: true, `-4e-320`: true,
		`1234567890123456e1`: true, `1e999`: true,
	} {
		if got := jcs.Rounds([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
