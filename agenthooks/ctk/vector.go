package ctk

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// A Capability is something that a host may declare and a vector may need
// (AH 13.1).
type Capability string

// The closed set of capabilities.
const (
	ModelCalls        Capability = "model_calls"
	ToolCalls         Capability = "tool_calls"
	ParallelToolCalls Capability = "parallel_tool_calls"
	Streaming         Capability = "streaming"
	MultiTurn         Capability = "multi_turn"
	Int64JSON         Capability = "int64_json"         // integers beyond 2^53 survive the host's JSON
	BigIntJSON        Capability = "bigint_json"        // integers beyond 64 bits survive too
	BufferedOutput    Capability = "buffered_output"    // a declaration; no vector needs it
	IncrementalOutput Capability = "incremental_output" // buffered_output: false, release gated by verdicts
)

var capabilities = []Capability{ModelCalls, ToolCalls, ParallelToolCalls, Streaming, MultiTurn, Int64JSON, BigIntJSON, BufferedOutput, IncrementalOutput}

// An Outcome is how a run ended.
type Outcome string

// The three outcomes.
const (
	Completed Outcome = "completed"
	Blocked   Outcome = "blocked" // a verdict ended it
	Errored   Outcome = "error"   // the host itself failed
)

// A Vector is one test case: what to set up, what the interceptors and the
// resolver say, and what to expect. A Vector is read-only and may be shared.
type Vector struct {
	File         string // where it came from, for messages
	ID           string
	Title        string
	Clause       string // of the contract
	Part         string // group in the report; "" for none
	Capabilities []Capability
	Setup        Setup

	scripts  [][]rule
	approval []approvalRule
	expect   expect
}

// A Setup is what a host needs to know of a vector. It holds nothing of what is
// expected.
type Setup struct {
	Vector       string // id
	Mode         agenthooks.Mode
	Composition  agenthooks.Composition
	Identity     *string // name of the provider: jcs-sha256, ctk-fault (fails on every call), nil for none
	Interceptors int     // to register at every point, in order
	Resolver     bool    // whether to register one
	Redact       []string
	Scenario     Scenario
	Extension    *Extension // nil for vectors of the public grammar

	// Script plays the interceptors and the resolver. The host calls it at
	// each point, from any goroutine.
	Script Callbacks
}

// An Extension is what the public grammar cannot say. Only vectors whose id
// begins with HP- have one.
type Extension struct {
	Turns      []Input  // requests after the first, in the same session
	Namespaces []string // under which each interceptor's labels come back; "" for never
	Buffered   bool     // streams are assembled before post_model_call
	Parallel   int      // tool calls of one response that run at once
}

// A Scenario is the world of a vector: no real I/O happens in it.
type Scenario struct {
	Input Input
	Tools []ToolSpec
	Model []Respond // the nth dispatched model call gets the nth
}

// An Input is a request that enters the session.
type Input struct {
	Role    string
	Content jsontext.Value
}

// A ToolSpec is a mock tool. The first behaviour whose WhenArgs is absent or
// equal to the arguments answers; none is an error of the vector.
type ToolSpec struct {
	Name     string
	Schema   jsontext.Value // informative; nil when absent
	Behavior []Behavior
}

// A Behavior is one answer of a mock tool.
type Behavior struct {
	WhenArgs jsontext.Value // an object; nil matches all
	Return   jsontext.Value
	IsError  bool
}

// A Respond is one scripted model response.
type Respond struct {
	Content      jsontext.Value
	ToolCalls    []agenthooks.ToolCall
	FinishReason string
	Stream       []string // the pieces of Content; nil when it comes whole
	Truncated    bool     // the stream dies within the last piece
}

// Find answers a call of the tool as its behaviours say.
func (t *ToolSpec) Find(args jsontext.Value) (Behavior, bool) {
	got, err := parse(args)
	if err != nil {
		return Behavior{}, false
	}
	for _, b := range t.Behavior {
		if b.WhenArgs == nil {
			return b, true
		}
		if want, err := parse(b.WhenArgs); err == nil && equal(got, want) {
			return b, true
		}
	}
	return Behavior{}, false
}

// rule is one line of an interceptor's script.
type rule struct {
	at    agenthooks.Point
	match []predicate
	ret   jsontext.Value // nil for a fault
	fault fault
}

type fault string

const (
	raise     fault = "raise"
	malformed fault = "malformed_verdict"
	mutate    fault = "mutate"
)

// approvalRule is one line of the resolver's script.
type approvalRule struct {
	match      []predicate
	outcome    string         // "" for a fault
	verdict    jsontext.Value // nil when absent
	override   *string
	recomputed bool
}

var (
	publicID  = regexp.MustCompile(`^AH-CTK-[0-9]{3}(-[a-z0-9-]+)?$`)
	ownID     = regexp.MustCompile(`^HP-CTK-[0-9]{3}(-[a-z0-9-]+)?$`)
	redactRef = regexp.MustCompile(`^\$target(\.|\[|$)`)
	targetRef = regexp.MustCompile(`^\$(target|policy_target)(\.|\[|$)`)
)

var points = []agenthooks.Point{
	agenthooks.AgentStartup, agenthooks.Input, agenthooks.PreModelCall, agenthooks.PostModelCall,
	agenthooks.PreToolCall, agenthooks.PostToolCall, agenthooks.Output, agenthooks.AgentShutdown,
}

const faultProvider = "ctk-fault"

// ParseVector reads one vector. File names it in messages. The grammar is
// closed: a member or a value that the kit does not know is an error, because
// an assertion that nobody checks would pass (AH 13.2). Only where the public schema
// leaves the parts of a scenario open are further members taken, and mean nothing.
func ParseVector(file string, text []byte) (*Vector, error) {
	tree, err := parse(text)
	if err != nil {
		r := &reader{file: file}
		r.fail("", "%v", err)
		return nil, r.err()
	}
	r := &reader{file: file}
	v := r.vector(tree)
	if err := r.err(); err != nil {
		return nil, err
	}
	return v, nil
}

func (r *reader) vector(tree any) *Vector {
	jcs := agenthooks.DefaultIdentity
	v := &Vector{File: r.file}
	s := &v.Setup
	s.Mode, s.Identity = agenthooks.Enforce, &jcs
	s.Composition.Profile = agenthooks.FirstDeny
	top, _ := tree.(map[string]any)
	id, _ := top["id"].(string)
	extended := ownID.MatchString(id)
	fields := map[string]field{
		"id": func(x any, ptr string) {
			if v.ID = r.str(x, ptr); !publicID.MatchString(v.ID) && !extended {
				r.fail(ptr, "found another form, expected AH-CTK-NNN-slug")
			}
		},
		"title":       func(x any, ptr string) { v.Title = r.str(x, ptr) },
		"spec_clause": func(x any, ptr string) { v.Clause = r.str(x, ptr) },
		"part":        func(x any, ptr string) { v.Part = r.str(x, ptr) },
		"mode":        func(x any, ptr string) { s.Mode = one(r, x, ptr, agenthooks.Enforce, agenthooks.EvaluateOnly) },
		"capabilities": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) {
				v.Capabilities = append(v.Capabilities, one(r, x, ptr, capabilities...))
			})
		},
		"composition": func(x any, ptr string) { s.Composition = r.composition(x, ptr) },
		"identity_provider": func(x any, ptr string) {
			s.Identity = nil
			if x != nil {
				name := one(r, x, ptr, agenthooks.DefaultIdentity, faultProvider)
				s.Identity = &name
			}
		},
		"scenario": func(x any, ptr string) { s.Scenario = r.scenario(x, ptr) },
		"interceptor_script": func(x any, ptr string) {
			v.scripts = [][]rule{r.script(x, ptr)}
		},
		"interceptor_scripts": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) { v.scripts = append(v.scripts, r.script(x, ptr)) })
		},
		"approval_script": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) { v.approval = append(v.approval, r.approvalRule(x, ptr)) })
		},
		"redact_for_approval": func(x any, ptr string) {
			s.Redact = r.strings(x, ptr)
			for _, p := range s.Redact {
				if !redactRef.MatchString(p) {
					r.fail(ptr, "found a path of another root, expected $target…")
				}
			}
		},
		"expect": func(x any, ptr string) { v.expect = r.expect(x, ptr) },
	}
	if extended {
		fields["extension"] = func(x any, ptr string) { s.Extension = r.extension(x, ptr) }
	}
	if !r.object(tree, "", fields, "id", "title", "spec_clause", "scenario", "expect") {
		return v
	}
	_, single := top["interceptor_script"]
	_, several := top["interceptor_scripts"]
	if single == several {
		r.fail("", "expected exactly one of interceptor_script and interceptor_scripts")
	}
	s.Vector, s.Interceptors, s.Resolver = v.ID, len(v.scripts), len(v.approval) > 0
	if e := s.Extension; e != nil && len(e.Namespaces) > s.Interceptors {
		r.fail("/extension/namespaces", "found %d, expected at most one per interceptor", len(e.Namespaces))
	}
	return v
}

func (r *reader) composition(v any, ptr string) (c agenthooks.Composition) {
	r.object(v, ptr, map[string]field{
		"profile": func(x any, ptr string) {
			c.Profile = one(r, x, ptr, profileSet...)
		},
		"on_approval": func(x any, ptr string) { c.OnApproval = one(r, x, ptr, agenthooks.Stop, agenthooks.Resume) },
		"on_disagreement": func(x any, ptr string) {
			c.OnDisagreement = one(r, x, ptr, agenthooks.DenyIt, agenthooks.Consult)
		},
		"on_transform_conflict": func(x any, ptr string) {
			c.OnTransformConflict = one(r, x, ptr, agenthooks.DenyIt, agenthooks.Consult)
		},
	}, "profile")
	return c
}

func (r *reader) extension(v any, ptr string) *Extension {
	e := &Extension{}
	r.object(v, ptr, map[string]field{
		"turns": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) { e.Turns = append(e.Turns, r.input(x, ptr)) })
		},
		"namespaces": func(x any, ptr string) { e.Namespaces = r.strings(x, ptr) },
		"buffered":   func(x any, ptr string) { e.Buffered = r.boolean(x, ptr) },
		"parallel": func(x any, ptr string) {
			n, ok := x.(number)
			if !ok || len(n) != 1 || n < "1" || n > "8" {
				r.fail(ptr, "found %s, expected a number from 1 to 8", kind(x))
				return
			}
			e.Parallel = int(n[0] - '0')
		},
	})
	return e
}

func (r *reader) input(v any, ptr string) (in Input) {
	r.object(v, ptr, map[string]field{
		"content": func(x any, _ string) { in.Content = textOf(x) },
		"role":    func(x any, ptr string) { in.Role = one(r, x, ptr, "user", "system", "external") },
		anyOther:  note,
	}, "content", "role")
	return in
}

func (r *reader) scenario(v any, ptr string) (s Scenario) {
	r.object(v, ptr, map[string]field{
		"input": func(x any, ptr string) { s.Input = r.input(x, ptr) },
		"tools": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) {
				t := r.tool(x, ptr)
				if slices.ContainsFunc(s.Tools, func(o ToolSpec) bool { return o.Name == t.Name }) {
					r.fail(ptr+"/name", "found a name that another tool has, expected a new one")
				}
				s.Tools = append(s.Tools, t)
			})
		},
		"model_script": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) {
				r.object(x, ptr, map[string]field{
					"respond": func(x any, ptr string) { s.Model = append(s.Model, r.respond(x, ptr)) },
					anyOther:  note,
				}, "respond")
			})
		},
	}, "input")
	return s
}

func (r *reader) tool(v any, ptr string) (t ToolSpec) {
	r.object(v, ptr, map[string]field{
		"name":   func(x any, ptr string) { t.Name = r.str(x, ptr) },
		"schema": func(x any, ptr string) { t.Schema = r.opaque(x, ptr) },
		"behavior": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) {
				var b Behavior
				r.object(x, ptr, map[string]field{
					"when_args": func(x any, ptr string) { b.WhenArgs = r.opaque(x, ptr) },
					"return":    func(x any, _ string) { b.Return = textOf(x) },
					"is_error":  func(x any, ptr string) { b.IsError = r.boolean(x, ptr) },
					anyOther:    note,
				}, "return")
				t.Behavior = append(t.Behavior, b)
			})
		},
		anyOther: note,
	}, "name", "behavior")
	return t
}

// opaque is an object whose members are the business of others.
func (r *reader) opaque(v any, ptr string) jsontext.Value {
	if _, ok := v.(map[string]any); !ok {
		r.fail(ptr, "found %s, expected an object", kind(v))
	}
	return textOf(v)
}

func (r *reader) respond(v any, ptr string) (m Respond) {
	var content any
	ok := r.object(v, ptr, map[string]field{
		"content": func(x any, _ string) { content = x; m.Content = textOf(x) },
		"tool_calls": func(x any, ptr string) {
			m.ToolCalls = []agenthooks.ToolCall{}
			r.array(x, ptr, func(x any, ptr string) {
				var c agenthooks.ToolCall
				r.object(x, ptr, map[string]field{
					"id":     func(x any, ptr string) { c.ID = r.str(x, ptr) },
					"name":   func(x any, ptr string) { c.Name = r.str(x, ptr) },
					"args":   func(x any, ptr string) { c.Args = r.opaque(x, ptr) },
					anyOther: note,
				}, "id", "name", "args")
				m.ToolCalls = append(m.ToolCalls, c)
			})
		},
		"finish_reason": func(x any, ptr string) { m.FinishReason = r.str(x, ptr) },
		"stream": func(x any, ptr string) {
			if m.Stream = r.strings(x, ptr); len(m.Stream) == 0 {
				r.fail(ptr, "found no piece, expected at least one")
			}
		},
		"stream_truncated": func(x any, ptr string) { m.Truncated = r.boolean(x, ptr) },
		anyOther:           note,
	}, "content", "tool_calls", "finish_reason")
	if ok && m.Stream != nil && !m.Truncated && content != strings.Join(m.Stream, "") {
		r.fail(ptr+"/stream", "the pieces do not make the content")
	}
	return m
}

func (r *reader) script(v any, ptr string) []rule {
	out := []rule{}
	r.array(v, ptr, func(x any, ptr string) {
		var one1 rule
		ok := r.object(x, ptr, map[string]field{
			"at":     func(x any, ptr string) { one1.at = one(r, x, ptr, points...) },
			"match":  func(x any, ptr string) { one1.match = r.predicates(x, ptr) },
			"return": func(x any, ptr string) { one1.ret = r.verdict(x, ptr) },
			"fault":  func(x any, ptr string) { one1.fault = one(r, x, ptr, raise, malformed, mutate) },
		}, "at")
		if ok && (one1.ret == nil) == (one1.fault == "") {
			r.fail(ptr, "expected exactly one of return and fault")
		}
		out = append(out, one1)
	})
	return out
}

func (r *reader) approvalRule(v any, ptr string) (a approvalRule) {
	r.object(v, ptr, map[string]field{
		"match": func(x any, ptr string) { a.match = r.predicates(x, ptr) },
		"resolve": func(x any, ptr string) {
			var f fault
			ok := r.object(x, ptr, map[string]field{
				"outcome":           func(x any, ptr string) { a.outcome = one(r, x, ptr, "approve", "reject", "unresolved") },
				"verdict":           func(x any, ptr string) { a.verdict = r.verdict(x, ptr) },
				"fault":             func(x any, ptr string) { f = one(r, x, ptr, raise) },
				"identity_override": func(x any, ptr string) { s := r.str(x, ptr); a.override = &s },
				"echo_recomputed":   func(x any, ptr string) { a.recomputed = r.boolean(x, ptr) },
			})
			if ok && (a.outcome == "") == (f == "") {
				r.fail(ptr, "expected exactly one of outcome and fault")
			}
		},
	}, "resolve")
	return a
}

// verdict checks the shape that the contract's schema gives a verdict and
// returns its text.
func (r *reader) verdict(v any, ptr string) jsontext.Value {
	text := func(reserved bool) field {
		return func(x any, ptr string) {
			if x == nil {
				return
			}
			if s := r.str(x, ptr); reserved && strings.HasPrefix(s, "host_error:") {
				r.fail(ptr, "found the reserved prefix host_error:, expected a reason of the interceptor's own")
			}
		}
	}
	var decision string
	ok := r.object(v, ptr, map[string]field{
		"decision": func(x any, ptr string) { decision = one(r, x, ptr, "allow", "deny", "transform") },
		"reason":   text(true),
		"message":  text(false),
		"warnings": func(x any, ptr string) {
			if x != nil {
				r.array(x, ptr, func(x any, ptr string) {
					r.object(x, ptr, map[string]field{"reason": text(true), "message": text(false)})
				})
			}
		},
		"approval": func(x any, ptr string) { r.opaque(x, ptr) },
		"transform": func(x any, ptr string) {
			r.object(x, ptr, map[string]field{
				"path": func(x any, ptr string) {
					if !targetRef.MatchString(r.str(x, ptr)) {
						r.fail(ptr, "found a path of another root, expected $target…")
					}
				},
				"value": func(any, string) {},
			}, "path")
		},
		"evidence": func(x any, ptr string) {
			r.object(x, ptr, map[string]field{
				"artefact": text(false),
				"verification_pointers": func(x any, ptr string) {
					o, _ := x.(map[string]any)
					r.opaque(x, ptr)
					for name, p := range o {
						r.str(p, ptr+"/"+escape(name))
					}
				},
			})
		},
		"result_labels": func(x any, ptr string) {
			if x != nil {
				r.strings(x, ptr)
			}
		},
	}, "decision")
	if o, _ := v.(map[string]any); ok {
		if _, has := o["transform"]; has != (decision == "transform") {
			r.fail(ptr, "expected a transform member exactly when decision is transform")
		}
		if _, has := o["approval"]; has && decision != "deny" {
			r.fail(ptr, "found an approval member, expected it on a deny only")
		}
	}
	return textOf(v)
}
