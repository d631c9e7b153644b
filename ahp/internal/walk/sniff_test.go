package walk_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

func TestSniff(t *testing.T) {
	for _, tt := range []struct {
		frame, id string
		method    bool
	}{
		{`{"id":"a","method":"x","params":{"b":`, `"a"`, true},
		{`{"id":-7,"params":{}`, `-7`, false},
		{`{"method":"x","params":{`, ``, true},
		{`{"id":"","method":1}`, ``, false},
		{`{"id":1.5}`, ``, false},
		{`{"id":null}`, ``, false},
		{`{"params":{"id":"a"},`, ``, false},
		{`["id"]`, ``, false},
		{``, ``, false},
	} {
		if id, method := walk.Sniff([]byte(tt.frame)); string(id) != tt.id || method != tt.method {
			t.Errorf("%s: got id %s, method %v", tt.frame, id, method)
		}
	}
}
