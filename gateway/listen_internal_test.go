package gateway

import (
	"errors"
	"strings"
	"testing"
)

// A gateway that would refuse everybody does not start, and one that serves TCP only
// says so.
func TestCheckPeers(t *testing.T) {
	for _, tt := range []struct {
		known, tcp     bool
		warns, refuses bool
	}{
		{known: true},
		{known: true, tcp: true},
		{tcp: true, warns: true},
		{refuses: true},
	} {
		warning, err := checkPeers(tt.known, tt.tcp)
		if errors.Is(warning, errPeers) != tt.warns || errors.Is(err, errPeers) != tt.refuses {
			t.Errorf("%+v: %v, %v", tt, warning, err)
		}
		if err != nil && !strings.Contains(err.Error(), "--listen") {
			t.Errorf("%v names no way out", err)
		}
	}
}
