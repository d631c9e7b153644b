package ctk_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/agenthooks/ctk"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

func public(tb testing.TB) []*ctk.Vector {
	tb.Helper()
	vs, err := ctk.Load(corpus.Dir(tb, "agent-hooks/vectors"))
	if err != nil {
		tb.Fatal(err)
	}
	if len(vs) < 38 {
		tb.Fatalf("only %d vectors", len(vs))
	}
	return vs
}

func conform(tb testing.TB, h ctk.Host, vs []*ctk.Vector) *ctk.Report {
	tb.Helper()
	r, err := ctk.Conform(tb.Context(), h, vs, ctk.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func want(t *testing.T, v *ctk.VectorResult, status ctk.Status) {
	t.Helper()
	if v.Status != status {
		t.Errorf("%s: %s, want %s: %s %q", v.ID, v.Status, status, v.Detail, v.Failures)
	}
}

// TestPublicVectors runs the public corpus on the reference host: all pass and
// none is skipped.
func TestPublicVectors(t *testing.T) {
	r := conform(t, ctk.Reference(), public(t))
	for _, v := range r.Results {
		t.Run(v.ID, func(t *testing.T) { want(t, &v, ctk.Pass) })
	}
}

var ruleID = regexp.MustCompile(`AH-[0-9.]+a?-[0-9]+[a-z]?`)

// TestRules runs the kit's own vectors on the reference host, once under each
// rule that a vector names in its clause.
func TestRules(t *testing.T) {
	vs := ctk.Builtin()
	if len(vs) < 60 {
		t.Fatalf("only %d vectors", len(vs))
	}
	r := conform(t, ctk.Reference(), vs)
	for i, v := range r.Results {
		rules := ruleID.FindAllString(vs[i].Clause, -1)
		if len(rules) == 0 {
			t.Errorf("%s names no rule", v.ID)
		}
		for _, rule := range rules {
			t.Run(rule+"/"+v.ID, func(t *testing.T) { want(t, &v, ctk.Pass) })
		}
	}
}

// TestOwnVectorsFitTheSchema holds the kit's own vectors of the public grammar
// against the schema of that grammar.
func TestOwnVectorsFitTheSchema(t *testing.T) {
	dir := corpus.Dir(t, "agent-hooks")
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(lookahead)
	for _, name := range []string{"schema/interception-point.schema.json", "schema/verdict.schema.json", "vectors.schema.json"} {
		add(t, c, filepath.Join(dir, name))
	}
	s, err := c.Compile("https://responsibleai.github.io/agent-hooks/schema/v0.1/conformance/vectors.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("vectors/AH-CTK-*.json")
	if len(files) < 55 {
		t.Fatalf("only %d files", len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func add(t *testing.T, c *jsonschema.Compiler, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	id := doc.(map[string]any)["$id"].(string)
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
}

// lookahead is the one pattern of the schemas that Go's regular expressions
// cannot say.
func lookahead(s string) (jsonschema.Regexp, error) {
	if s == "^(?!host_error:).*" {
		return notReserved{}, nil
	}
	return regexp.Compile(s)
}

type notReserved struct{}

func (notReserved) MatchString(s string) bool { return !strings.HasPrefix(s, "host_error:") }
func (notReserved) String() string            { return "not host_error:" }

// TestGrammarCoverage: each member and each value of a closed set of the
// grammar is used by one of the kit's own vectors or of the public ones.
func TestGrammarCoverage(t *testing.T) {
	var all strings.Builder
	for _, pattern := range []string{"vectors/*.json", filepath.Join(corpus.Dir(t, "agent-hooks/vectors"), "*.json")} {
		files, _ := filepath.Glob(pattern)
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(bytes.ReplaceAll(text, []byte(" "), nil))
		}
	}
	text := all.String()
	for _, name := range []string{
		"id", "title", "spec_clause", "part", "mode", "capabilities", "composition", "identity_provider", "scenario",
		"interceptor_script", "interceptor_scripts", "approval_script", "redact_for_approval", "expect",
		"profile", "on_approval", "on_disagreement", "on_transform_conflict",
		"input", "tools", "model_script", "respond", "stream", "stream_truncated", "schema", "behavior", "when_args", "is_error",
		"at", "match", "return", "fault", "resolve", "outcome", "verdict", "identity_override", "echo_recomputed",
		"interceptions", "context", "context_must_validate", "context_must_contain", "context_must_not_contain",
		"sequence_strict", "interceptions_absent", "tool_invocations", "tool_not_invoked", "final_output", "released_output",
		"persisted_must_not_contain", "run_outcome", "run_outcome_by_posture", "posture", "outcomes", "identities_equal",
		"records", "assert", "absent", "present",
	} {
		if !strings.Contains(text, `"`+name+`":`) {
			t.Errorf("no vector uses %s", name)
		}
	}
	for _, value := range []string{
		`"fault":"raise"`, `"fault":"malformed_verdict"`, `"fault":"mutate"`, `"mode":"evaluate_only"`,
		`"role":"system"`, `"role":"external"`, `"on_approval":"stop"`, `"on_approval":"resume"`, `"on_disagreement":"deny"`,
		`"on_disagreement":"approval"`, `"on_transform_conflict":"approval"`, `"on_transform_conflict":"deny"`,
		`"outcome":"unresolved"`, `"outcome":"reject"`, `"identity_provider":null`, `"identity_provider":"ctk-fault"`,
		`"context_must_validate":false`, `"echo_recomputed":true`, `"interceptor_scripts":[]`, `"stream_truncated":true`, `"identities_equal":false`,
	} {
		if !strings.Contains(text, value) {
			t.Errorf("no vector uses %s", value)
		}
	}
}

// TestPostures: the declared posture, not what happened, selects the outcome.
func TestPostures(t *testing.T) {
	vs := append(public(t), ctk.Builtin()...)
	r := conform(t, ctk.Terminating(), vs)
	for _, v := range r.Results {
		want(t, &v, ctk.Pass)
	}
	byPosture := 0
	for _, v := range vs {
		if v.HasPostures() {
			byPosture++
		}
	}
	if byPosture < 15 {
		t.Errorf("only %d vectors differ by posture", byPosture)
	}
	if got := r.Claim().Statements; !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "terminate") }) {
		t.Errorf("the claim does not state the posture: %q", got)
	}
}
