package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// strictBound bounds the look at one secret at load.
const strictBound = 5 * time.Second

// checkManifest reports what is wrong with the host's manifest.
func checkManifest(m *ahp.Manifest) []error {
	if m == nil {
		return []error{errors.New("options: manifest: required for revision draft")}
	}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("options: manifest: "+format, args...))
	}
	seen := map[ahp.EventType]bool{}
	for i := range m.Events {
		e := &m.Events[i]
		at := fmt.Sprintf("/events/%d (%.100q)", i, e.Event)
		switch {
		case !e.Event.In(ahp.VersionDraft):
			bad("%s: no event type of revision draft", at)
			continue
		case seen[e.Event]:
			bad("%s: stands there twice", at)
		}
		seen[e.Event] = true
		if len(e.Modes) == 0 {
			bad("%s/modes: empty", at)
		}
		for _, mode := range e.Modes {
			if mode != ahp.ModeIntercept && mode != ahp.ModeObserve {
				bad("%s/modes: neither intercept nor observe", at)
			}
		}
		switch {
		case !slices.Contains(e.Modes, ahp.ModeIntercept):
			if e.Capabilities != nil && len(e.Capabilities.Effects) > 0 {
				bad("%s/capabilities: effects without mode intercept", at)
			}
		case !e.Event.Interceptable(ahp.VersionDraft):
			bad("%s/modes: %s cannot be intercepted", at, e.Event)
		case e.Capabilities == nil:
			bad("%s/capabilities: required with mode intercept", at)
		default:
			if err := e.Capabilities.Within(e.Event); err != nil {
				bad("%s/capabilities: %w", at, err) // D-CAP-8
			}
			if e.Event == ahp.ToolBefore && !e.Capabilities.Allows(ahp.EffectDeny) {
				bad("%s/capabilities: a host that cannot deny cannot intercept tool.before", at) // AHP-CAP-002
			}
		}
	}
	if slices.Contains(m.ManagedPolicy.Scopes, ahp.ScopeManaged) && m.ManagedPolicy.Disableable {
		bad("/managedPolicy: disableable with scope managed")
	}
	if len(errs) == 0 {
		// The codec knows the rest: it is what discovery and session.start would say.
		if _, err := wiredraft.AppendCapabilitiesResult(nil, ahp.Raw("1"), m); err != nil {
			bad("%w", err)
		}
	}
	return errs
}

// checkDraft reports everything that is wrong with a registration of revision draft,
// each with its place (D-REG-1), and what would need parts that are not there: a
// harness that quietly left them out would weaken what the document says.
func checkDraft(reg *ahp.Registration, o Options) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(reg.Hooks) == 0 {
		bad("registration: /hooks: empty, expected at least one backend") // AHP-REG-001
	}
	ids, names := map[string]int{}, map[string]string{}
	disabled := map[string]bool{}
	for _, d := range o.Disabled {
		disabled[d] = true
	}
	for i := range reg.Hooks {
		b := &reg.Hooks[i]
		at := fmt.Sprintf("registration: /hooks/%d (%.200q)", i, b.ID)
		in := func(format string, args ...any) { bad(at+": "+format, args...) }
		if !ahp.ReverseDNS(b.ID) {
			in("/id: not a reverse-DNS name")
		}
		if first, ok := ids[b.ID]; ok {
			in("/id: stands at /hooks/%d already", first) // D-REG-3
		} else {
			ids[b.ID] = i
		}
		checkTransportDraft(b, o, in)
		if len(b.Subscriptions) == 0 {
			in("/subscriptions: empty, expected at least one")
		}
		for j := range b.Subscriptions {
			s := &b.Subscriptions[j]
			here := fmt.Sprintf("/subscriptions/%d", j)
			name := subscriptionName(b.ID, s, j)
			if first, ok := names[name]; ok {
				in("%s/id: stands at %s already", here, first)
			} else {
				names[name] = fmt.Sprintf("/hooks/%d%s", i, here)
			}
			checkSubscriptionDraft(s, o, func(format string, args ...any) { in(here+format, args...) })
			if disabled[name] && s.Disableable != nil && !*s.Disableable {
				in("%s/disableable: configuration turned it off, which it does not allow", here) // D-SUB-6
			}
			delete(disabled, name)
		}
	}
	for _, d := range o.Disabled {
		if disabled[d] {
			bad("options: disabled: %.100q names no subscription", d)
		}
	}
	return errors.Join(errs...)
}

func checkTransportDraft(b *ahp.Backend, o Options, bad func(string, ...any)) {
	if o.Carriers[b.ID] == nil {
		auth := b.Auth
		b := *b
		b.Auth = nil // 0.1's check knows the environment only
		checkTransport(&b, o, bad)
		b.Auth = auth
	}
	if _, isHTTP := b.Transport.(*ahp.HTTPTransport); !isHTTP && (b.Auth != nil || b.OAuth != nil) {
		bad("/authentication: allowed with http only") // D-IO-7
	}
	if b.OAuth != nil {
		bad("/authentication: oauth is not supported yet; use bearer")
	}
	a := b.Auth
	if a == nil {
		return
	}
	switch {
	case (a.TokenEnv == "") == (a.TokenRef == ""):
		bad("/authentication: expected exactly one of tokenEnv and tokenRef")
	case a.TokenEnv != "" && !variable(a.TokenEnv):
		bad("/authentication/tokenEnv: not the name of an environment variable")
	case a.TokenRef != "" && o.Secret == nil && o.Transport.Secret == nil:
		bad("/authentication/tokenRef: the options have nothing that resolves it")
	case o.StrictSecrets && !resolves(a, o): // D-SUB-9
		bad("/authentication: the token does not resolve")
	}
}

// resolves reports whether a token is there now. Its value goes nowhere.
func resolves(a *ahp.Bearer, o Options) bool {
	if a.TokenEnv != "" {
		lookup := o.Transport.LookupEnv
		if lookup == nil {
			lookup = lookupEnv
		}
		v, _ := lookup(a.TokenEnv)
		return v != ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), strictBound)
	defer cancel()
	secret := o.Transport.Secret
	if secret == nil {
		secret = o.Secret
	}
	v, err := secret(ctx, a.TokenRef)
	return err == nil && v != ""
}

func checkSubscriptionDraft(s *ahp.Subscription, o Options, bad func(string, ...any)) {
	if len(s.Events) == 0 {
		bad("/events: empty")
	}
	if s.Mode != ahp.ModeIntercept && s.Mode != ahp.ModeObserve {
		bad("/mode: neither intercept nor observe")
	} else {
		for i, e := range s.Events {
			if slices.Contains(s.Events[:i], e) {
				bad("/events/%d: %.100q stands there twice", i, e)
			}
			if err := selects(e, s.Mode, o.Manifest); err != nil {
				bad("/events/%d: %.100q %w", i, e, err)
			}
		}
	}
	switch s.Mode {
	case ahp.ModeIntercept:
		if s.Timeout <= 0 || s.Timeout%time.Millisecond != 0 {
			bad("/timeoutMs: %v, expected a positive number of whole milliseconds", s.Timeout) // D-FAIL-6
		} else if m := o.Manifest; m != nil {
			ms := s.Timeout.Milliseconds()
			if l := m.Limits.MinTimeoutMs; l != nil && ms < *l {
				bad("/timeoutMs: %d, the manifest's least is %d", ms, *l)
			}
			if l := m.Limits.MaxTimeoutMs; l != nil && ms > *l {
				bad("/timeoutMs: %d, the manifest's most is %d", ms, *l)
			}
		}
		if !s.FailurePolicy.Known() {
			bad("/failurePolicy: neither fail-open nor fail-closed; there is no default") // AHP-FAIL-001
		}
	case ahp.ModeObserve:
		if s.Timeout != 0 {
			bad("/timeoutMs: not allowed with observe") // D-FAIL-2
		}
		if s.FailurePolicy != "" {
			bad("/failurePolicy: not allowed with observe")
		}
	}
	if !s.Content.Default.Known() {
		bad("/content/default: required: body, metadata or omit") // D-SEL-1
	}
	for i, c := range s.Content.Categories {
		if c.Category == "" || c.Category == "default" || !c.Selection.Known() {
			bad("/content: entry %d is no selection of a category", i)
		}
	}
	if s.Upload != nil {
		bad("/upload: uploads are not supported yet; select metadata or omit for attachments")
	}
	scopes := o.Scopes
	if scopes == nil && o.Manifest != nil {
		scopes = o.Manifest.ManagedPolicy.Scopes
	}
	switch {
	case s.Scope == "":
	case !s.Scope.Known():
		bad("/scope: neither managed, project nor user")
	case !slices.Contains(scopes, s.Scope):
		bad("/scope: %s is not honored by this host", s.Scope) // D-SUB-5
	case s.Scope == ahp.ScopeManaged && (s.Disableable == nil || *s.Disableable):
		bad("/disableable: required, and false, with scope managed")
	}
	if f := s.Filters; f != nil {
		for i, k := range f.ToolKinds {
			if k == "" || slices.Contains(f.ToolKinds[:i], k) {
				bad("/filters/toolKinds/%d: empty, or there twice", i)
			}
		}
		for i, p := range f.Paths {
			if p == "" || slices.Contains(f.Paths[:i], p) {
				bad("/filters/paths/%d: empty, or there twice", i)
			}
		}
	}
}

// selects says what is wrong with one selector, held against what the host covers
// (D-REG-4, D-SUB-1, D-SUB-2, D-SUB-7).
func selects(e ahp.EventType, mode ahp.Mode, m *ahp.Manifest) error {
	if m == nil {
		return nil // said once already
	}
	if e.In(ahp.VersionDraft) {
		switch {
		case mode == ahp.ModeIntercept && !e.Interceptable(ahp.VersionDraft):
			return errors.New("cannot be intercepted")
		case !m.Covers(e, mode):
			return fmt.Errorf("is not covered with mode %s by this host", mode)
		}
		return nil
	}
	family, ok := strings.CutSuffix(string(e), "*")
	if !ok || family != "" && (strings.IndexByte(family, '.') != len(family)-1 || len(family) < 2) {
		return errors.New("is no event type of revision draft, and no family of them")
	}
	known := false
	for _, t := range ahp.DraftEvents() {
		if strings.HasPrefix(string(t), family) {
			known = true
			if m.Covers(t, mode) {
				return nil
			}
		}
	}
	if !known {
		return errors.New("names no family of event types")
	}
	return fmt.Errorf("selects nothing that this host covers with mode %s", mode)
}
