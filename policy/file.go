package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/shell"
)

// The layers of a policy.
const (
	LayerUser    = "user"
	LayerProject = "project"
	layerPack    = "pack:" // and the pack's name
)

// file is one policy file, read but not yet joined with the others.
type file struct {
	doc         *document
	layer       string
	name        string
	description string
	mode        Mode
	packs       []packRef // nil: not said
	packsSaid   bool
	lists       []namedList
	allow       Allow
	rules       []*ruleNode
	overrides   []override
	programs    *shell.Programs
	programsAt  *yaml.Node
}

type packRef struct {
	name string
	mode Mode
	at   *yaml.Node
	ptr  string
}

type namedList struct {
	name  string
	items []string
	at    *yaml.Node
	ptr   string
}

type ruleNode struct {
	rule  Rule
	when  *yaml.Node
	value *yaml.Node // the value expression; nil without
	at    *yaml.Node // the rule's name
	ptr   string
}

type override struct {
	rule     string
	at       *yaml.Node
	ptr      string
	enabled  *bool
	effect   *Effect
	mode     *Mode
	severity *Severity
	reason   *string
	hint     *string
	allow    *Allow
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	listPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,63}$`)
)

// The bounds on the parts of a file.
const (
	maxNameBytes   = 128
	maxWhenBytes   = 32 << 10
	maxHintBytes   = 1024
	maxTextBytes   = MaxInjectionBytes
	maxReasonInput = MaxReasonBytes
)

// parseFile reads one policy file. The problems are in the document.
func parseFile(name, layer string, data []byte) *file {
	d, root := parseYAML(name, data)
	f := &file{doc: d, layer: layer, mode: ModeEnforce}
	if root == nil {
		return f
	}
	members := map[string]member{
		"version": func(n *yaml.Node, ptr string) {
			if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Value != "1" {
				d.fail(n, ptr, "found %s, want the number 1", found(n))
			}
		},
		"name": func(n *yaml.Node, ptr string) { f.name, _ = d.ident(n, ptr) },
		"description": func(n *yaml.Node, ptr string) {
			f.description, _ = d.text(n, ptr, 4096)
		},
		"mode":  func(n *yaml.Node, ptr string) { f.setMode(n, ptr) },
		"packs": func(n *yaml.Node, ptr string) { f.parsePacks(n, ptr) },
		"lists": func(n *yaml.Node, ptr string) { f.parseLists(n, ptr) },
		"allow": func(n *yaml.Node, ptr string) {
			f.allow = d.allow(n, ptr)
			if layer == LayerProject {
				d.fail(n, ptr, "a project overlay may only tighten: allow is for the user's policy")
			}
		},
		"rules":    func(n *yaml.Node, ptr string) { f.parseRules(n, ptr) },
		"override": func(n *yaml.Node, ptr string) { f.parseOverrides(n, ptr) },
		"programs": func(n *yaml.Node, ptr string) { f.parsePrograms(n, ptr) },
	}
	d.object(root, "", members, "version")
	for _, r := range f.rules {
		if r.rule.Mode == "" {
			r.rule.Mode = f.mode
		}
	}
	return f
}

func found(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		return fmt.Sprintf("%q", n.Value)
	}
	return kindOf(n)
}

func (d *document) ident(n *yaml.Node, ptr string) (string, bool) {
	s, ok := d.text(n, ptr, maxNameBytes)
	if ok && !namePattern.MatchString(s) {
		d.fail(n, ptr, "%q is no name: want letters, digits, `.`, `_` and `-`, starting with a letter or digit", s)
		return "", false
	}
	return s, ok
}

func (f *file) setMode(n *yaml.Node, ptr string) {
	if m, ok := choice(f.doc, n, ptr, ModeEnforce, ModeShadow); ok {
		f.mode = m
	}
}

func (f *file) parsePacks(n *yaml.Node, ptr string) {
	d := f.doc
	f.packsSaid = true
	if f.layer != LayerUser {
		d.fail(n, ptr, "only the user's policy chooses packs")
		return
	}
	d.list(n, ptr, func(n *yaml.Node, ptr string) {
		ref := packRef{at: n, ptr: ptr, mode: ModeEnforce}
		if n.Kind == yaml.ScalarNode {
			ref.name, _ = d.ident(n, ptr)
		} else {
			d.object(n, ptr, map[string]member{
				"name": func(n *yaml.Node, ptr string) { ref.name, _ = d.ident(n, ptr) },
				"mode": func(n *yaml.Node, ptr string) {
					if m, ok := choice(d, n, ptr, ModeEnforce, ModeShadow); ok {
						ref.mode = m
					}
				},
			}, "name")
		}
		if ref.name != "" {
			f.packs = append(f.packs, ref)
		}
	})
}

func (f *file) parseLists(n *yaml.Node, ptr string) {
	d := f.doc
	d.entries(n, ptr, func(k, v *yaml.Node, ptr string) {
		if !listPattern.MatchString(k.Value) {
			d.fail(k, ptr, "%q is no list name: want lower-case letters, digits and `_`, starting with a letter", k.Value)
			return
		}
		f.lists = append(f.lists, namedList{name: k.Value, items: d.texts(v, ptr, maxPatternBytes, nil), at: k, ptr: ptr})
	})
}

func (d *document) allow(n *yaml.Node, ptr string) Allow {
	var a Allow
	d.object(n, ptr, map[string]member{
		"paths": func(n *yaml.Node, ptr string) {
			a.Paths = d.texts(n, ptr, maxPatternBytes, func(s string) error { _, err := CompilePath(s); return err })
		},
		"hosts": func(n *yaml.Node, ptr string) {
			a.Hosts = d.texts(n, ptr, maxPatternBytes, func(s string) error { _, err := CompileHost(s); return err })
		},
		"commands": func(n *yaml.Node, ptr string) {
			a.Commands = d.texts(n, ptr, maxPatternBytes, func(s string) error { _, err := CompileShape(s); return err })
		},
	})
	return a
}

func (f *file) parseRules(n *yaml.Node, ptr string) {
	f.doc.list(n, ptr, func(n *yaml.Node, ptr string) {
		if r := f.parseRule(n, ptr); r != nil {
			f.rules = append(f.rules, r)
		}
	})
}

func (f *file) parseRule(n *yaml.Node, ptr string) *ruleNode {
	d := f.doc
	r := &ruleNode{at: n, ptr: ptr, rule: Rule{Enabled: true, Severity: SeverityMedium}}
	before := d.faults
	var effect *yaml.Node
	var said []place // keys that only some effects have
	var on place
	expr := func(key string, to *string) member {
		return func(n *yaml.Node, ptr string) {
			if s, ok := d.text(n, ptr, maxWhenBytes); ok {
				*to, r.value = s, n
			}
			said = append(said, place{key, n, ptr})
		}
	}
	d.object(n, ptr, map[string]member{
		"name": func(n *yaml.Node, ptr string) {
			r.rule.Name, _ = d.ident(n, ptr)
			r.at = n
			if strings.HasPrefix(r.rule.Name, "holdpoint.") {
				d.fail(n, ptr, "names that start with `holdpoint.` are reserved")
			}
		},
		"when": func(n *yaml.Node, ptr string) {
			if s, ok := d.text(n, ptr, maxWhenBytes); ok {
				r.rule.When, r.when = s, n
			}
		},
		"effect":   func(n *yaml.Node, ptr string) { effect, r.rule.Effect = n, f.effect(n, ptr) },
		"merge":    expr("merge", &r.rule.Merge),
		"replace":  expr("replace", &r.rule.Replace),
		"textFrom": expr("textFrom", &r.rule.TextFrom),
		"text": func(n *yaml.Node, ptr string) {
			r.rule.Text, _ = d.text(n, ptr, maxTextBytes)
			said = append(said, place{"text", n, ptr})
		},
		"deliverAt": func(n *yaml.Node, ptr string) {
			r.rule.DeliverAt, _ = choice(d, n, ptr, ahp.DeliverNow, ahp.DeliverNextTurn)
			said = append(said, place{"deliverAt", n, ptr})
		},
		"on": func(n *yaml.Node, ptr string) {
			on = place{"on", n, ptr}
			d.list(n, ptr, func(n *yaml.Node, ptr string) {
				if t, ok := choice(d, n, ptr, interceptable...); ok {
					r.rule.On = append(r.rule.On, t)
				}
			})
			if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
				d.fail(n, ptr, "the list is empty: the rule would never be asked")
			}
		},
		"mode": func(n *yaml.Node, ptr string) { r.rule.Mode, _ = choice(d, n, ptr, ModeEnforce, ModeShadow) },
		"reason": func(n *yaml.Node, ptr string) {
			r.rule.Reason, _ = d.text(n, ptr, maxReasonInput)
		},
		"hint": func(n *yaml.Node, ptr string) { r.rule.Hint, _ = d.text(n, ptr, maxHintBytes) },
		"code": func(n *yaml.Node, ptr string) {
			s, ok := d.text(n, ptr, 256)
			if ok && !ahp.ReverseDNS(s) {
				d.fail(n, ptr, "%q is no reverse-DNS name such as com.example.no_prod", s)
				return
			}
			r.rule.Code = s
		},
		"severity": func(n *yaml.Node, ptr string) {
			r.rule.Severity, _ = choice(d, n, ptr, SeverityLow, SeverityMedium, SeverityHigh, SeverityCritical)
		},
		"enabled": func(n *yaml.Node, ptr string) { r.rule.Enabled, _ = d.boolean(n, ptr) },
		"allow":   func(n *yaml.Node, ptr string) { r.rule.Allow = d.allow(n, ptr) },
	}, "name", "when", "effect", "reason")
	if r.rule.Effect != "" {
		d.effectKeys(effect, ptr, r.rule.Effect, said)
		for _, t := range r.rule.On {
			if !r.rule.Effect.can(t) {
				d.fail(on.at, on.ptr, "effect %s does not exist at %s", r.rule.Effect, t)
			}
		}
	}
	if d.faults > before {
		// A rule whose condition can be read is still checked, so that one look
		// shows everything.
		if r.rule.Name == "" || r.when == nil {
			return nil
		}
	}
	r.rule.Origin = Origin{Layer: f.layer, File: d.file, Line: r.at.Line, Column: r.at.Column}
	return r
}

// effect reads the effect of a rule. What a project says may tighten only: it can
// neither change an input nor speak to the user or the model.
func (f *file) effect(n *yaml.Node, ptr string) Effect {
	e, ok := choice(f.doc, n, ptr, EffectDeny, EffectAsk, EffectModify, EffectMessage, EffectInject, EffectFlag)
	if ok && f.layer == LayerProject && e != EffectDeny && e != EffectAsk && e != EffectFlag {
		f.doc.fail(n, ptr, "a project overlay may only tighten: its rules deny, ask or flag")
	}
	return e
}

// interceptable lists the events that can be intercepted.
var interceptable = slices.DeleteFunc(ahp.DraftEvents(), func(t ahp.EventType) bool { return !t.Interceptable(ahp.VersionDraft) })

// A place is one key of a rule.
type place struct {
	key string
	at  *yaml.Node
	ptr string
}

// effectKeys checks the keys that belong to an effect: none is ignored, and none
// that is needed is guessed.
func (d *document) effectKeys(at *yaml.Node, ptr string, e Effect, said []place) {
	var oneOf, also []string
	switch e {
	case EffectModify:
		oneOf = []string{"merge", "replace"}
	case EffectMessage:
		oneOf = []string{"text", "textFrom"}
	case EffectInject:
		oneOf, also = []string{"text", "textFrom"}, []string{"deliverAt"}
	case EffectDeny, EffectAsk, EffectFlag, EffectNone:
	}
	first := ""
	for _, p := range said {
		switch {
		case slices.Contains(also, p.key):
			also = nil
		case !slices.Contains(oneOf, p.key):
			d.fail(p.at, p.ptr, "key %q does not go with effect %s", p.key, e)
		case first != "":
			d.fail(p.at, p.ptr, "found both %q and %q, want one", first, p.key)
		default:
			first = p.key
		}
	}
	if len(oneOf) > 0 && first == "" {
		d.fail(at, ptr, "effect %s needs the key %s", e, strings.Join(oneOf, " or "))
	}
	for _, key := range also {
		d.fail(at, ptr, "effect %s needs the key %s", e, key)
	}
}

func (f *file) parseOverrides(n *yaml.Node, ptr string) {
	d := f.doc
	if strings.HasPrefix(f.layer, layerPack) {
		d.fail(n, ptr, "a pack cannot override rules")
		return
	}
	d.entries(n, ptr, func(k, v *yaml.Node, ptr string) {
		o := override{rule: k.Value, at: k, ptr: ptr}
		loosens := func(n *yaml.Node, ptr, what string) {
			if f.layer == LayerProject {
				d.fail(n, ptr, "a project overlay may only tighten: %s", what)
			}
		}
		d.object(v, ptr, map[string]member{
			"enabled": func(n *yaml.Node, ptr string) {
				if b, ok := d.boolean(n, ptr); ok {
					o.enabled = &b
					if !b {
						loosens(n, ptr, "it cannot switch a rule off")
					}
				}
			},
			"effect": func(n *yaml.Node, ptr string) {
				// The others need more than a name.
				if e, ok := choice(d, n, ptr, EffectDeny, EffectAsk, EffectFlag); ok {
					o.effect = &e
					if e != EffectDeny {
						loosens(n, ptr, "the effect can only become deny")
					}
				}
			},
			"mode": func(n *yaml.Node, ptr string) {
				if m, ok := choice(d, n, ptr, ModeEnforce, ModeShadow); ok {
					o.mode = &m
					if m != ModeEnforce {
						loosens(n, ptr, "the mode can only become enforce")
					}
				}
			},
			"severity": func(n *yaml.Node, ptr string) {
				if s, ok := choice(d, n, ptr, SeverityLow, SeverityMedium, SeverityHigh, SeverityCritical); ok {
					o.severity = &s
					loosens(n, ptr, "the severity is the user's")
				}
			},
			"reason": func(n *yaml.Node, ptr string) {
				if s, ok := d.text(n, ptr, maxReasonInput); ok {
					o.reason = &s
					loosens(n, ptr, "the reason is the user's")
				}
			},
			"hint": func(n *yaml.Node, ptr string) {
				if s, ok := d.text(n, ptr, maxHintBytes); ok {
					o.hint = &s
					loosens(n, ptr, "the hint is the user's")
				}
			},
			"allow": func(n *yaml.Node, ptr string) {
				a := d.allow(n, ptr)
				o.allow = &a
				loosens(n, ptr, "allow is for the user's policy")
			},
		})
		f.overrides = append(f.overrides, o)
	})
}
