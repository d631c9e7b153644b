package harness

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/transport"
)

// check reports everything that is wrong with a registration (V-REG-1). One
// that came from a document was checked by its codec; a program can build one
// that no document could say, and this is the last place that looks.
func check(reg *ahp.Registration, o Options) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if reg == nil {
		return errors.New("registration: none given")
	}
	if reg.Version != ahp.Version01 {
		bad("registration: /protocolVersion: %q, expected %q", reg.Version, ahp.Version01)
	}
	if len(reg.Hooks) == 0 {
		bad("registration: /hooks: empty, expected at least one backend") // AHP-REG-001
	}
	ids := map[string]int{}
	for i := range reg.Hooks {
		b := &reg.Hooks[i]
		at := fmt.Sprintf("registration: /hooks/%d (%.200q)", i, b.ID)
		if !ahp.ReverseDNS(b.ID) {
			bad("%s: /id: not a reverse-DNS name", at)
		}
		if first, ok := ids[b.ID]; ok {
			bad("%s: /id: stands at /hooks/%d already", at, first) // V-AMB-19
		} else {
			ids[b.ID] = i
		}
		checkTransport(b, o, func(format string, args ...any) { bad(at+": "+format, args...) })
		if len(b.Subscriptions) == 0 {
			bad("%s: /subscriptions: empty, expected at least one", at)
		}
		type pair struct {
			mode ahp.Mode
			typ  ahp.EventType
		}
		seen := map[pair]int{}
		for j := range b.Subscriptions {
			s := &b.Subscriptions[j]
			at := fmt.Sprintf("%s: /subscriptions/%d", at, j)
			checkSubscription(s, func(format string, args ...any) { bad(at+format, args...) })
			for _, e := range s.Events {
				if k, ok := seen[pair{s.Mode, e}]; ok && k != j {
					bad("%s/events: %s of %.100q stands in /subscriptions/%d already", at, s.Mode, e, k) // V-COMP-5
				} else if ok {
					bad("%s/events: %.100q stands there twice", at, e)
				} else {
					seen[pair{s.Mode, e}] = j
				}
			}
		}
	}
	return errors.Join(errs...)
}

func checkTransport(b *ahp.Backend, o Options, bad func(string, ...any)) {
	if b.Auth != nil && !variable(b.Auth.TokenEnv) {
		bad("/authentication/tokenEnv: not the name of an environment variable")
	}
	switch t := b.Transport.(type) {
	case *ahp.HTTPTransport:
		if t == nil {
			bad("/transport: nil")
		} else if _, err := transport.CheckURL(t.URL); err != nil {
			bad("/transport/%w", err)
		}
	case *ahp.StdioTransport:
		if t == nil {
			bad("/transport: nil")
			break
		}
		if t.Command == "" {
			bad("/transport/command: empty")
		}
		if t.Lifecycle != ahp.Persistent && t.Lifecycle != ahp.PerEvent {
			bad("/transport/lifecycle: neither persistent nor per_event")
		}
		if b.Auth != nil {
			bad("/authentication: not allowed with stdio")
		}
	case *ahp.LocalTransport:
		if o.Local[b.ID] == nil {
			bad("/transport: no local function under this id in the options")
		}
		if b.Auth != nil {
			bad("/authentication: not allowed with a local backend")
		}
	default:
		bad("/transport: missing")
	}
}

func checkSubscription(s *ahp.Subscription, bad func(string, ...any)) {
	if len(s.Events) == 0 {
		bad("/events: empty")
	}
	for _, e := range s.Events {
		if !e.Known() {
			bad("/events: %.100q is no event type of revision 0.1", e) // V-REG-2
		}
	}
	switch s.Mode {
	case ahp.ModeIntercept:
		for _, e := range s.Events {
			if e.Known() && e != ahp.ToolBefore {
				bad("/events: %s cannot be intercepted", e) // V-LIFE-7
			}
		}
		if s.Timeout <= 0 || s.Timeout%time.Millisecond != 0 {
			bad("/timeoutMs: %v, expected a positive number of whole milliseconds", s.Timeout) // V-DL-1
		}
		if !s.FailurePolicy.Known() {
			bad("/failurePolicy: neither fail-open nor fail-closed; there is no default") // AHP-FAIL-001
		}
	case ahp.ModeObserve:
		if s.Timeout != 0 {
			bad("/timeoutMs: not allowed with observe") // V-FAIL-2
		}
		if s.FailurePolicy != "" {
			bad("/failurePolicy: not allowed with observe")
		}
	default:
		bad("/mode: neither intercept nor observe")
	}
}

func variable(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
