package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
)

// A HookProblem is something in a valid registration that the gateway does not carry
// out. [Open] refuses it: what is quietly left out would weaken what the document says.
type HookProblem struct {
	Backend  int    // index in [Options.Hooks]
	Pointer  string // JSON pointer below that backend, such as /authentication/type
	Found    string
	Expected string
}

// At is the JSON pointer from the top of a document that holds the backends.
func (p HookProblem) At() string { return fmt.Sprintf("/hooks/%d%s", p.Backend, p.Pointer) }

// HookProblems lists what of o.Hooks the gateway does not carry out, in the order of
// the document. It reads Hooks, Revision and Secrets only. The harness checks the rest,
// which a document's codec has checked as well.
func (o *Options) HookProblems() []HookProblem {
	var list []HookProblem
	for i := range o.Hooks {
		b := &o.Hooks[i]
		bad := func(pointer, found, expected string) { list = append(list, HookProblem{i, pointer, found, expected}) }
		if b.ID == PolicyID {
			bad("/id", "the id of the gateway's own policy", "another one: the policy goes first by itself")
		}
		if b.OAuth != nil {
			bad("/authentication/type", "oauth, which is not supported yet", "bearer")
		}
		// The harness would say this of its own options, which the user does not see.
		if b.Auth != nil && b.Auth.TokenRef != "" && o.Secrets == "" {
			bad("/authentication/tokenRef", "the name of a secret, and no folder of secrets", "a folder of secrets (--secrets-dir), or tokenEnv")
		}
		if o.revision() != ahp.VersionDraft {
			continue
		}
		for j := range b.Subscriptions {
			s, at := &b.Subscriptions[j], fmt.Sprintf("/subscriptions/%d", j)
			if s.Upload != nil {
				bad(at+"/upload", "an upload, which is not supported yet", "none; select metadata or omit for attachments")
			}
			if events := notHeldBack(s); len(events) > 0 {
				bad(at+"/failurePolicy", "fail-closed at "+strings.Join(events, ", ")+", where a hook of an agent holds nothing back",
					string(ahp.FailOpen)+", in a subscription of its own")
			}
		}
	}
	return list
}

// notHeldBack are the events for which a subscription wants a refusal that no hook can
// carry out (AHP draft section 21.3).
func notHeldBack(s *ahp.Subscription) (events []string) {
	if s.Mode != ahp.ModeIntercept || s.FailurePolicy != ahp.FailClosed {
		return nil
	}
	manifest := AgentManifest(false)
	for i := range manifest.Events {
		if t := manifest.Events[i].Event; s.Covers(t) && t.Interceptable(ahp.VersionDraft) && !slices.Contains(withheld, t) {
			events = append(events, string(t))
		}
	}
	return events
}

// checkHooks are the problems of o.Hooks as one error.
func (o *Options) checkHooks() error {
	var errs []error
	for _, p := range o.HookProblems() {
		errs = append(errs, fmt.Errorf("hooks: %s (%.200q): found %s, expected %s", p.At(), o.Hooks[p.Backend].ID, p.Found, p.Expected))
	}
	return errors.Join(errs...)
}

// revision is the one of the chain: without hooks the newest, which can say the most.
func (o *Options) revision() ahp.Version {
	if len(o.Hooks) == 0 {
		return cmp.Or(o.Revision, ahp.VersionDraft)
	}
	return cmp.Or(o.Revision, ahp.Version01)
}
