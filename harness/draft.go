package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
)

// draft is what a harness knows of a registration of revision draft.
type draft struct {
	subs    []*sub
	routes  map[ahp.EventType]*route
	keys    map[string]int // lenses that show the same, by what they show
	lineage lineage
}

// A sub is one subscription. Calls are tracked by it, not by its backend (D-CHAIN-5).
type sub struct {
	ahp.Subscription
	b    *backend
	to   Receiver
	lens lens
}

// A route says what the host covers of one event type, and whom to ask and to tell, in
// match order: hooks in order, then subscriptions in order.
type route struct {
	caps      ahp.Capabilities
	intercept bool // the host can intercept it
	asks      []*sub
	watch     []*sub
	filtered  bool // some subscription has filters
}

func newDraft() *draft {
	return &draft{routes: map[ahp.EventType]*route{}, keys: map[string]int{}}
}

// subscriptionName is the local name of a subscription.
func subscriptionName(backend string, s *ahp.Subscription, position int) string {
	if s.ID != "" {
		return s.ID
	}
	return backend + "/" + strconv.Itoa(position)
}

// add takes a subscription in.
func (d *draft) add(h *Harness, b *backend, s ahp.Subscription, position int) {
	x := &sub{Subscription: s, b: b}
	x.to = Receiver{Backend: b.id, Subscription: subscriptionName(b.id, &s, position), Mode: s.Mode}
	if slices.Contains(h.opts.Disabled, x.to.Subscription) {
		return
	}
	x.lens = lens{
		content: ahp.ContentSelection{Default: s.Content.Default, Categories: slices.Clone(s.Content.Categories)},
		native:  s.IncludeNative && h.opts.ShowNative,
		minimal: h.opts.MinimalSession && !b.local,
	}
	look := fmt.Sprint(x.lens.native, x.lens.minimal)
	if may := h.opts.MayShow; may != nil {
		x.lens.may = func(p *ahp.Part) bool { return may(x.to, p) }
		look += x.to.Subscription + "\x00" // the host may tell any two apart
	}
	look += contentKey(&x.lens.content)
	key, ok := d.keys[look]
	if !ok {
		key = len(d.keys)
		d.keys[look] = key
	}
	x.lens.key = key
	d.subs = append(d.subs, x)
}

// contentKey is equal for selections that select alike.
func contentKey(c *ahp.ContentSelection) string {
	all := slices.Clone(c.Categories)
	slices.SortFunc(all, func(a, b ahp.CategorySelection) int { return strings.Compare(a.Category, b.Category) })
	var b strings.Builder
	b.WriteString(string(c.Default))
	for _, x := range all {
		if x.Selection != c.Default {
			fmt.Fprintf(&b, " %q=%s", x.Category, x.Selection)
		}
	}
	return b.String()
}

// route finds for each event that the host covers whom it concerns. A wildcard
// selects what is covered (D-SUB-2), and a type that several selectors match is
// delivered once (D-SUB-3).
func (d *draft) route(h *Harness) {
	m := h.opts.Manifest
	for i := range m.Events {
		e := &m.Events[i]
		r := &route{intercept: m.Covers(e.Event, ahp.ModeIntercept)}
		if e.Capabilities != nil {
			r.caps = cloneCaps(*e.Capabilities)
			r.caps.Unknown = nil
		}
		for _, s := range d.subs {
			switch {
			case !s.Covers(e.Event):
				continue
			case s.Mode == ahp.ModeIntercept && r.intercept:
				r.asks = append(r.asks, s)
			case s.Mode == ahp.ModeObserve && m.Covers(e.Event, ahp.ModeObserve):
				r.watch = append(r.watch, s)
			default:
				continue
			}
			r.filtered = r.filtered || s.Filters != nil
		}
		d.routes[e.Event] = r
	}
}

// match drops the subscriptions whose filters leave a tool out. Filters are hints: a
// call whose kind is missing, or says nothing of what the tool does, is dropped for
// nobody (D-SUB-4, D-TOOL-1).
func (r *route) match(all []*sub, ev *ahp.Event) []*sub {
	if !r.filtered || ev.Tool == nil || !ev.Tool.Kind.Known() || ev.Tool.Kind == ahp.KindOther || ev.Tool.Kind == ahp.KindMCP {
		return all
	}
	out := make([]*sub, 0, len(all))
	for _, s := range all {
		if s.Filters == nil || s.Filters.ToolKinds == nil || slices.Contains(s.Filters.ToolKinds, ev.Tool.Kind) {
			out = append(out, s)
		}
	}
	return out
}

// admit says why nobody is asked about c's event, or "". An event that the manifest
// does not list is refused: no selector could name it, so silence about it is no
// consent.
func (d *draft) admit(c *Call) (ahp.FailureClass, error) {
	if !c.ev.Type.In(ahp.VersionDraft) {
		return ahp.FailEvent, ErrEvent
	}
	c.d.route = d.routes[c.ev.Type]
	if c.d.route == nil {
		return ahp.FailEvent, fmt.Errorf("%w: the manifest does not list %s", ErrEvent, c.ev.Type)
	}
	if err := d.lineage.admit(&c.ev); err != nil {
		return ahp.FailEvent, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	return "", nil
}
