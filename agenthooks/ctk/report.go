package ctk

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// A Status is how a vector came out.
type Status string

// The three statuses.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip" // the host does not declare what the vector needs
)

// A VectorResult is the result of one vector (AH-13.2-11).
type VectorResult struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Part     string   `json:"part"`
	Status   Status   `json:"status"`
	Detail   string   `json:"detail"`
	Failures []string `json:"failures"`
}

// A Report is what a host did with a set of vectors (AH 13.4).
type Report struct {
	Surface Surface
	Results []VectorResult // of the vectors
	Golden  []VectorResult // of [Golden], where it was run
}

func (r *Report) all() []VectorResult { return slices.Concat(r.Results, r.Golden) }

// A PartResult counts the results of one part.
type PartResult struct {
	Part    string `json:"part"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
}

func (p *PartResult) count(s Status) {
	switch s {
	case Pass:
		p.Passed++
	case Fail:
		p.Failed++
	case Skip:
		p.Skipped++
	}
}

// Unspecified is the part of vectors that name none.
const Unspecified = "unspecified"

// Total counts all results.
func (r *Report) Total() PartResult {
	t := PartResult{Part: "total"}
	for _, v := range r.all() {
		t.count(v.Status)
	}
	return t
}

// Parts counts the results by part, in the order of the parts' names.
func (r *Report) Parts() []PartResult {
	var out []PartResult
	for _, v := range r.all() {
		part := v.Part
		if part == "" {
			part = Unspecified
		}
		i := slices.IndexFunc(out, func(p PartResult) bool { return p.Part == part })
		if i < 0 {
			out, i = append(out, PartResult{Part: part}), len(out)
		}
		out[i].count(v.Status)
	}
	slices.SortFunc(out, func(a, b PartResult) int { return strings.Compare(a.Part, b.Part) })
	return out
}

// A Claim is the tuple that a conformance claim has to state (AH-13.4-3).
type Claim struct {
	Framework        string                   `json:"framework"`
	AdapterVersion   string                   `json:"adapter_version"`
	Spec             string                   `json:"spec"`
	Capabilities     []Capability             `json:"capabilities"`
	Profiles         []agenthooks.Composition `json:"profiles"`
	IdentityProvider *string                  `json:"identity_provider"`
	SDKLanguage      string                   `json:"sdk_language"`
	SDKVersion       string                   `json:"sdk_version"`
	Statements       []string                 `json:"statements"` // what has to be said with it
	Conformant       bool                     `json:"conformant"` // every vector that applies passes
}

// Claim returns what a claim on this report has to state. It is not a claim
// about the security of the host (AH-1.4-2).
func (r *Report) Claim() Claim {
	s := &r.Surface
	t := r.Total()
	c := Claim{
		Framework: s.Framework, AdapterVersion: s.AdapterVersion, Spec: agenthooks.SpecVersion,
		Capabilities: orEmpty(s.Capabilities), Profiles: orEmpty(s.Profiles), IdentityProvider: s.IdentityProvider,
		SDKLanguage: s.Language, SDKVersion: s.SDKVersion, Statements: []string{},
		Conformant: t.Failed == 0 && t.Passed > 0,
	}
	say := func(format string, args ...any) { c.Statements = append(c.Statements, fmt.Sprintf(format, args...)) }
	if p := s.posture(PostureToolSeam); p != "continue" {
		say("posture %s: %s, which is not the default", PostureToolSeam, p)
	}
	switch {
	case s.IdentityProvider == nil:
		say("no identity provider: records and approvals are not bound to contexts")
	case *s.IdentityProvider != agenthooks.DefaultIdentity && s.ContentDerived:
		say("identity provider %s is derived from the content of contexts", *s.IdentityProvider)
	case *s.IdentityProvider != agenthooks.DefaultIdentity:
		say("identity provider %s is not derived from the content of contexts", *s.IdentityProvider)
	}
	if !s.BufferedOutput {
		say("buffered_output: false: a deny at output cannot take back text that was streamed")
		switch {
		case !s.has(IncrementalOutput):
		case s.ExposureBound == "": // AH-12.1a-3
			say("incremental_output: verdicts gate release, but no exposure bound is declared, and a claim has to state it")
		default:
			say("incremental_output: verdicts gate release, with the exposure bound %q", s.ExposureBound)
		}
	}
	say("the result says that the host kept the contract under these vectors; it is no statement about security")
	return c
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// has reports whether the host declares c.
func (s *Surface) has(c Capability) bool { return slices.Contains(s.Capabilities, c) }

// supports reports whether the host declares the profile with its knob.
func (s *Surface) supports(want agenthooks.Composition) bool {
	if len(s.Profiles) == 0 {
		return true
	}
	return slices.ContainsFunc(s.Profiles, func(have agenthooks.Composition) bool {
		return effective(have) == effective(want)
	})
}

// effective is c with the one knob that its profile consults, filled in.
func effective(c agenthooks.Composition) agenthooks.Composition {
	out := agenthooks.Composition{Profile: c.Profile}
	fill := func(k, zero agenthooks.Knob) agenthooks.Knob {
		if k == "" {
			return zero
		}
		return k
	}
	switch c.Profile {
	case agenthooks.FirstDeny:
		out.OnApproval = fill(c.OnApproval, agenthooks.Stop)
	case agenthooks.RunAll:
	case agenthooks.Strictest:
		out.OnTransformConflict = fill(c.OnTransformConflict, agenthooks.DenyIt)
	case agenthooks.Unanimous:
		out.OnDisagreement = fill(c.OnDisagreement, agenthooks.DenyIt)
	}
	return out
}

// MarshalJSON writes the report of AH-13.4-2 with the claim.
func (r *Report) MarshalJSON() ([]byte, error) {
	s := r.Surface
	s.Capabilities, s.Profiles = orEmpty(s.Capabilities), orEmpty(s.Profiles)
	if s.Postures == nil {
		s.Postures = map[string]string{}
	}
	return json.Marshal(struct {
		Spec        string         `json:"spec"`
		CorpusCount int            `json:"corpus_count"`
		Surface     Surface        `json:"surface"`
		Claim       Claim          `json:"claim"`
		Total       PartResult     `json:"total"`
		Parts       []PartResult   `json:"parts"`
		Results     []VectorResult `json:"results"`
	}{agenthooks.SpecVersion, len(r.Results), s, r.Claim(), r.Total(), orEmpty(r.Parts()), orEmpty(r.all())},
		json.Deterministic(true), jsontext.Multiline(true))
}

// WriteText writes every vector with its status, by part.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, p := range r.Parts() {
		fmt.Fprintf(&b, "%s: %d passed, %d failed, %d skipped\n", plain(p.Part), p.Passed, p.Failed, p.Skipped)
		for _, v := range r.all() {
			if v.Part != p.Part && (v.Part != "" || p.Part != Unspecified) {
				continue
			}
			fmt.Fprintf(&b, "  %s %s", v.Status, plain(v.ID))
			if v.Status != Fail && v.Detail != "" {
				fmt.Fprintf(&b, ": %s", plain(v.Detail))
			}
			b.WriteByte('\n')
			for _, f := range v.Failures {
				fmt.Fprintf(&b, "       %s\n", plain(f))
			}
		}
	}
	c := r.Claim()
	fmt.Fprintf(&b, "\n%s %s, %s, %s %s\n", plain(c.Framework), plain(c.AdapterVersion), c.Spec, plain(c.SDKLanguage), plain(c.SDKVersion))
	for _, s := range c.Statements {
		fmt.Fprintf(&b, "- %s\n", plain(s))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the table of parts, what did not pass, and the claim.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	c := r.Claim()
	fmt.Fprintf(&b, "# Conformance report: %s %s\n\n", cell(c.Framework), cell(c.AdapterVersion))
	b.WriteString("| Part | Passed | Failed | Skipped |\n| --- | --- | --- | --- |\n")
	for _, p := range append(r.Parts(), r.Total()) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", cell(p.Part), p.Passed, p.Failed, p.Skipped)
	}
	for _, v := range r.all() {
		if v.Status == Fail {
			fmt.Fprintf(&b, "\n## %s: %s\n\n", cell(v.ID), cell(v.Title))
			for _, f := range v.Failures {
				fmt.Fprintf(&b, "- %s\n", cell(f))
			}
		}
	}
	b.WriteString("\n## Results\n\n| Vector | Part | Status | Detail |\n| --- | --- | --- | --- |\n")
	for _, v := range r.all() {
		part := v.Part
		if part == "" {
			part = Unspecified
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(v.ID), cell(part), v.Status, cell(v.Detail))
	}
	provider := "none"
	if c.IdentityProvider != nil {
		provider = *c.IdentityProvider
	}
	fmt.Fprintf(&b, "\n## Claim\n\n- framework: %s %s\n- contract: %s\n- SDK: %s %s\n- identity provider: %s\n- capabilities: %s\n- profiles: %s\n",
		cell(c.Framework), cell(c.AdapterVersion), c.Spec, cell(c.SDKLanguage), cell(c.SDKVersion), cell(provider),
		cell(join(c.Capabilities)), cell(profiles(c.Profiles)))
	for _, s := range c.Statements {
		fmt.Fprintf(&b, "- %s\n", cell(s))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func join(cs []Capability) string {
	var out []string
	for _, c := range cs {
		out = append(out, string(c))
	}
	return strings.Join(out, ", ")
}

func profiles(cs []agenthooks.Composition) string {
	var out []string
	for _, c := range cs {
		e := effective(c)
		knob := string(e.OnApproval + e.OnDisagreement + e.OnTransformConflict)
		out = append(out, strings.TrimSuffix(string(c.Profile)+" "+knob, " "))
	}
	return strings.Join(out, ", ")
}

// plain keeps what a host said on one line and harmless for a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // controls, line ends, marks that turn the direction of writing
			return ' '
		}
		return r
	}, s)
}

// cell is plain for a Markdown table.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(plain(s)) }
