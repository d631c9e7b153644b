package ahp_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
)

func TestReverseDNS(t *testing.T) {
	tests := []struct {
		in   string
		want bool
	}{
		{"com.foo", true},
		{"net.acme.change-no.no_ticket", true},
		{"A.b2", true},
		{"foo", false},
		{"", false},
		{".", false},
		{"com.", false},
		{".com", false},
		{"com..foo", false},
		{"com.2foo", false},
		{"com.-foo", false},
		{"com.fo o", false},
		{"com.füü", false},
		{"com.foo\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			if got := ahp.ReverseDNS(tt.in); got != tt.want {
				t.Errorf("ReverseDNS(%q) = %v, want %v", tt.in, got, tt.want)
			}
		})
	}
}

func TestFailureClassesAreDistinctAndOnlyTheEventEscapesPolicy(t *testing.T) {
	all := ahp.FailureClasses()
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	if got := slices.Compact(sorted); len(got) != len(all) {
		t.Errorf("%d distinct classes of %d", len(got), len(all))
	}
	for _, c := range all {
		if want := c != ahp.FailEvent; c.PolicyApplies() != want {
			t.Errorf("%s.PolicyApplies() = %v, want %v", c, c.PolicyApplies(), want)
		}
	}
}

func TestFailureKeepsItsCause(t *testing.T) {
	cause := errors.New("cause")
	f := &ahp.Failure{Class: ahp.FailHTTPStatus, Backend: "net.acme.guard", Code: 503, Pointer: "/result", Err: cause}
	if !errors.Is(f, cause) {
		t.Error("errors.Is does not find the cause")
	}
	if got, want := f.Error(), "net.acme.guard: http_status (503) at /result: cause"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Contains(ahp.GenericDenial, "cause") {
		t.Error("the generic denial names a cause")
	}
}

func TestCapabilities(t *testing.T) {
	if !ahp.DenyOnly().Allows(ahp.EffectDeny) {
		t.Error("deny is not allowed")
	}
	if ahp.DenyOnly().Allows("ask") {
		t.Error("ask is allowed")
	}
}

func TestErrorCodeNames(t *testing.T) {
	for _, c := range []ahp.ErrorCode{
		ahp.CodeUnsupportedVersion, ahp.CodeUnsupportedEvent, ahp.CodeUnavailable, ahp.CodeInternal,
		ahp.CodeParse, ahp.CodeInvalidRequest, ahp.CodeMethodNotFound, ahp.CodeInvalidParams,
	} {
		if c.Name() == "" {
			t.Errorf("code %d has no name", c)
		}
	}
	if got := ahp.ErrorCode(1).Name(); got != "" {
		t.Errorf("code 1 is called %q", got)
	}
}
