package wiredraft

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// subscription reads one subscription (AHP draft section 22.2). Ids are unique in the
// document.
func (r *registrar) subscription(ids map[string]bool) (s ahp.Subscription) {
	start := r.Pos()
	if r.Kind() != '{' {
		r.bad(r.Skip(), "an object that describes a subscription")
		return s
	}
	if v, ok := r.Ahead("mode"); ok {
		switch {
		case r.Is(v, string(ahp.ModeIntercept)):
			s.Mode = ahp.ModeIntercept
		case r.Is(v, string(ahp.ModeObserve)):
			s.Mode = ahp.ModeObserve
		}
	}
	var events, mode, timeout, policy, content bool
	scope, disableable := 0, 0
	r.Open()
	for r.More() {
		switch string(r.Name()) {
		case "id":
			v := r.Skip()
			switch {
			case v.Kind != '"' || v.Empty():
				r.bad(v, nonEmpty)
			case ids[string(r.Content(v))]:
				r.badName(v, "an id that no other subscription has")
			default:
				s.ID = r.Str(v)
				ids[s.ID] = true
			}
		case "events":
			events = true
			s.Events = r.events(s.Mode)
		case "mode":
			mode = true
			r.choose("intercept or observe", string(ahp.ModeIntercept), string(ahp.ModeObserve))
		case "timeoutMs":
			timeout = true
			if r.forbidden(s.Mode) {
				continue
			}
			s.Timeout = r.milliseconds()
		case "failurePolicy":
			policy = true
			if r.forbidden(s.Mode) {
				continue
			}
			s.FailurePolicy = ahp.FailurePolicy(r.choose("fail-open or fail-closed", string(ahp.FailOpen), string(ahp.FailClosed)))
		case "includeNative":
			s.IncludeNative = r.boolean()
		case "content":
			content = true
			r.selection(&s.Content)
		case "upload":
			s.Upload = r.upload()
		case "filters":
			s.Filters = r.filters()
		case "scope":
			scope = r.Pos()
			s.Scope = ahp.Scope(r.choose("managed, project or user", string(ahp.ScopeManaged), string(ahp.ScopeProject), string(ahp.ScopeUser)))
		case "disableable":
			disableable = r.Pos()
			v := r.boolean()
			s.Disableable = &v
		default:
			r.unread(&s.Unknown, "the members of a subscription", true)
		}
	}
	if r.Dead() {
		return s
	}
	if !events {
		r.lacks(start, "events", "an array of event selectors")
	}
	if !mode {
		r.lacks(start, "mode", "intercept or observe")
	}
	if !content {
		r.lacks(start, "content", "an object with default: there is no hidden selection")
	}
	if s.Mode == ahp.ModeIntercept && !timeout {
		r.lacks(start, "timeoutMs", "a positive integer: there is no default deadline")
	}
	if s.Mode == ahp.ModeIntercept && !policy {
		r.lacks(start, "failurePolicy", "fail-open or fail-closed: there is no default")
	}
	if s.Scope == ahp.ScopeManaged {
		switch {
		case disableable == 0:
			r.lacks(start, "disableable", "false: the scope is managed")
		case *s.Disableable:
			r.extra(disableable, "disableable", "true", "false: the scope is managed")
		}
	}
	if m := r.o.Manifest; m != nil && s.Scope != "" && !slices.Contains(m.ManagedPolicy.Scopes, s.Scope) { // D-SUB-5
		r.extra(scope, "scope", "a scope that the harness does not honor", "one of its manifest")
	}
	return s
}

// forbidden passes a member that an observe subscription may not have (D-FAIL-2).
func (r *registrar) forbidden(m ahp.Mode) bool {
	if m != ahp.ModeObserve {
		return false
	}
	r.bad(r.Skip(), "nothing: observation decides nothing")
	return true
}

// milliseconds reads a positive number of them.
func (r *registrar) milliseconds() time.Duration {
	v := r.Skip()
	if v.Kind == '0' {
		if n, fits, ok := walk.Integer(r.Text(v)); ok && fits && n >= 1 && n <= math.MaxInt64/int64(time.Millisecond) {
			return time.Duration(n) * time.Millisecond
		}
	}
	r.badName(v, "a positive integer: milliseconds")
	return 0
}

// events reads selectors: exact names, families and * (D-SUB-1).
func (r *registrar) events(m ahp.Mode) (list []ahp.EventType) {
	start, ok := r.array("an array of event selectors")
	if !ok {
		return nil
	}
	n := 0
	for r.More() {
		n++
		v := r.Skip()
		if v.Kind != '"' {
			r.badName(v, "an event selector")
			continue
		}
		t, ok := selector(string(r.Content(v)))
		switch {
		case !ok:
			r.badName(v, "an event type of revision draft, a whole family such as tool.*, or *")
		case slices.Contains(list, t):
			r.badName(v, "each selector once")
		default:
			list = append(list, t)
			if expected := r.selects(t, m); expected != "" {
				r.badName(v, expected)
			}
		}
	}
	if n == 0 && !r.Dead() {
		r.badAs(start, "an empty array", "at least one selector")
	}
	return list
}

// selector reads one selector: an event type, or a family with "*" in the place of
// all but its first segment.
func selector(s string) (ahp.EventType, bool) {
	if sh := shapes[s]; sh != nil {
		return sh.typ, true
	}
	if s == "*" {
		return ahp.EventType(s), true
	}
	family, ok := strings.CutSuffix(s, ".*")
	if !ok || family == "" {
		return "", false
	}
	for i := range len(family) {
		if c := family[i]; (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return "", false
		}
	}
	return ahp.EventType(s), true
}

// selects says what belongs in the place of a selector that selects nothing, or what
// the harness does not advertise (D-REG-4, D-SUB-7); "" if it is fine.
func (r *registrar) selects(t ahp.EventType, m ahp.Mode) string {
	if m == "" {
		return ""
	}
	s := ahp.Subscription{Events: []ahp.EventType{t}, Mode: m}
	exact := shapes[string(t)] != nil
	if exact && m == ahp.ModeIntercept && !t.Interceptable(ahp.VersionDraft) {
		return "an event type that can be intercepted"
	}
	for _, e := range ahp.DraftEvents() {
		if s.Covers(e) && (r.o.Manifest == nil || r.o.Manifest.Covers(e, m)) {
			return ""
		}
	}
	switch {
	case exact && m == ahp.ModeIntercept:
		return "an event type that the harness lets be intercepted"
	case exact:
		return "an event type that the harness has"
	case m == ahp.ModeIntercept:
		return "a family with an event that can be intercepted"
	}
	return "a family with an event"
}

// selection reads a content selection (AHP draft section 5.3).
func (r *registrar) selection(c *ahp.ContentSelection) {
	start, ok := r.object("an object with default")
	if !ok {
		return
	}
	has := false
	for r.More() {
		isDefault := string(r.Name()) == "default"
		name := r.Str(r.NameVal())
		v := ahp.Selection(r.choose("body, metadata or omit", string(ahp.SelectBody), string(ahp.SelectMetadata), string(ahp.SelectOmit)))
		if isDefault {
			has, c.Default = true, v
			continue
		}
		c.Categories = append(c.Categories, ahp.CategorySelection{Category: name, Selection: v})
	}
	if !has {
		r.lacks(start, "default", "body, metadata or omit: there is no hidden selection")
	}
}

// upload reads where attachments go (AHP draft section 22.3).
func (r *registrar) upload() *ahp.Upload {
	start, ok := r.object("an object with endpoint, timeoutMs and maxBytes")
	if !ok {
		return nil
	}
	u := new(ahp.Upload)
	var endpoint, timeout, most bool
	for r.More() {
		switch string(r.Name()) {
		case "endpoint":
			endpoint = true
			v := r.Skip()
			if v.Kind != '"' {
				r.bad(v, "an https URL, or an http URL of loopback")
				continue
			}
			u.Endpoint = r.Str(v)
			found, expected := badURL(u.Endpoint, false)
			if found == "" && strings.HasPrefix(u.Endpoint, "http://") && !loopbackURL(u.Endpoint) {
				found, expected = "another spelling of a loopback host", "localhost, 127.x.x.x or [::1]"
			}
			if found != "" {
				r.badAs(v.Start, found, expected)
			}
		case "timeoutMs":
			timeout = true
			u.Timeout = r.milliseconds()
		case "maxBytes":
			most = true
			u.MaxBytes = r.count(0)
		case "auth":
			u.Auth, u.OAuth = r.authentication()
		default:
			r.unread(&u.Unknown, "endpoint, timeoutMs, maxBytes and auth", true)
		}
	}
	if !endpoint {
		r.lacks(start, "endpoint", "an https URL")
	}
	if !timeout {
		r.lacks(start, "timeoutMs", "a positive integer: milliseconds")
	}
	if !most {
		r.lacks(start, "maxBytes", "an integer from 0")
	}
	return u
}

// loopbackURL reports whether an http URL names loopback in one of the three ways
// that an upload endpoint may.
func loopbackURL(s string) bool {
	rest := strings.TrimPrefix(s, "http://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	host := rest
	if v6, ok := strings.CutPrefix(rest, "[::1]"); ok {
		host = "[::1]"
		rest = host + v6
	} else if i := strings.IndexByte(rest, ':'); i >= 0 {
		host = rest[:i]
	}
	if port, ok := strings.CutPrefix(rest[len(host):], ":"); ok {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
	}
	if host == "localhost" || host == "[::1]" {
		return true
	}
	return strings.HasPrefix(host, "127.") && uri.Loopback(host)
}

func (r *registrar) filters() *ahp.Filters {
	if _, ok := r.object("an object with toolKinds or paths"); !ok {
		return nil
	}
	const expected = "an array of strings that are not empty, each once"
	f := new(ahp.Filters)
	for r.More() {
		switch string(r.Name()) {
		case "toolKinds":
			f.ToolKinds = []ahp.ToolKind{}
			for _, s := range r.names(expected, 1, true) {
				f.ToolKinds = append(f.ToolKinds, ahp.ToolKind(s))
			}
		case "paths":
			f.Paths = r.names(expected, 1, true)
		default:
			r.unread(&f.Unknown, "toolKinds and paths", true)
		}
	}
	return f
}
