package ctk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdpoint/holdpoint/agenthooks/ctk"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

const smallest = `{"id":"AH-CTK-001","title":"t","spec_clause":"1","scenario":{"input":{"content":"hi","role":"user"}},` +
	`"interceptor_script":[],"expect":{"interceptions":[],"sequence_strict":false,"run_outcome":"completed"}}`

// edit replaces the first old in the smallest vector.
func edit(old, with string) string { return strings.Replace(smallest, old, with, 1) }

// TestRefused: a corpus that is not understood whole is refused, with file and
// pointer. None of these may ever be passed over.
func TestRefused(t *testing.T) {
	rule := func(r string) string { return edit(`"interceptor_script":[]`, `"interceptor_script":[`+r+`]`) }
	ret := func(v string) string { return rule(`{"at":"input","return":` + v + `}`) }
	resolve := func(r string) string {
		return edit(`"expect"`, `"approval_script":[{"resolve":`+r+`}],"expect"`)
	}
	expect := func(e string) string { return edit(`"sequence_strict":false`, e) }
	tests := []struct{ name, text, want string }{
		{"empty", ``, "/: found nothing"},
		{"not JSON", `{"id":`, "/: 1:"},
		{"two values", smallest + smallest, "behind the JSON value"},
		{"duplicate member", edit(`"title":"t"`, `"title":"t","title":"u"`), "duplicate"},
		{"lone surrogate", edit(`"t"`, `"\ud800"`), "surrogate"},
		{"not an object", `[]`, "/: found an array, expected an object"},
		{"unknown member", edit(`"title"`, `"titel":"x","title"`), "/titel: found an unknown member"},
		{"missing expect", `{"id":"AH-CTK-001","title":"t","spec_clause":"1","scenario":{"input":{"content":"hi","role":"user"}},"interceptor_script":[]}`, `member "expect" is missing`},
		{"no script", edit(`"interceptor_script":[],`, ``), "exactly one of interceptor_script"},
		{"two scripts", edit(`"interceptor_script":[]`, `"interceptor_script":[],"interceptor_scripts":[]`), "exactly one of interceptor_script"},
		{"id", edit(`AH-CTK-001`, `AH-CTK-1`), "/id: found another form"},
		{"extension in a public id", edit(`"title"`, `"extension":{},"title"`), "/extension: found an unknown member"},
		{"mode", edit(`"title"`, `"mode":"observe","title"`), "/mode: found another string, expected one of enforce, evaluate_only"},
		{"capability", edit(`"title"`, `"capabilities":["flight"],"title"`), "/capabilities/0"},
		{"profile", edit(`"title"`, `"composition":{"profile":"quorum"},"title"`), "/composition/profile"},
		{"knob", edit(`"title"`, `"composition":{"profile":"sequential/run_all","on_approval":"go"},"title"`), "/composition/on_approval"},
		{"composition without profile", edit(`"title"`, `"composition":{},"title"`), `/composition: member "profile" is missing`},
		{"provider", edit(`"title"`, `"identity_provider":"md5","title"`), "/identity_provider"},
		{"redaction path", edit(`"title"`, `"redact_for_approval":["$snapshot.x"],"title"`), "/redact_for_approval: found a path of another root"},
		{"role", edit(`"role":"user"`, `"role":"robot"`), "/scenario/input/role"},
		{"tool without behaviour", edit(`"scenario":{`, `"scenario":{"tools":[{"name":"a"}],`), `/scenario/tools/0: member "behavior"`},
		{"tool twice", edit(`"scenario":{`, `"scenario":{"tools":[{"name":"a","behavior":[]},{"name":"a","behavior":[]}],`), "/scenario/tools/1/name"},
		{"behaviour without return", edit(`"scenario":{`, `"scenario":{"tools":[{"name":"a","behavior":[{"is_error":true}]}],`), `/scenario/tools/0/behavior/0: member "return"`},
		{"when_args", edit(`"scenario":{`, `"scenario":{"tools":[{"name":"a","behavior":[{"return":1,"when_args":[]}]}],`), "/when_args: found an array"},
		{"respond", edit(`"scenario":{`, `"scenario":{"model_script":[{"respond":{"content":"x"}}],`), `member "tool_calls" is missing`},
		{"pieces", edit(`"scenario":{`, `"scenario":{"model_script":[{"respond":{"content":"ab","tool_calls":[],"finish_reason":"stop","stream":["a"]}}],`), "/stream: the pieces do not make the content"},
		{"no piece", edit(`"scenario":{`, `"scenario":{"model_script":[{"respond":{"content":"","tool_calls":[],"finish_reason":"stop","stream":[]}}],`), "/stream: found no piece"},
		{"point", rule(`{"at":"observe","return":{"decision":"allow"}}`), "/interceptor_script/0/at"},
		{"neither return nor fault", rule(`{"at":"input"}`), "exactly one of return and fault"},
		{"return and fault", rule(`{"at":"input","return":{"decision":"allow"},"fault":"raise"}`), "exactly one of return and fault"},
		{"fault", rule(`{"at":"input","fault":"explode"}`), "/fault"},
		{"match path", rule(`{"at":"input","match":{"a[x]":1},"fault":"raise"}`), `/match/a[x]: path "a[x]"`},
		{"rule member", rule(`{"at":"input","fault":"raise","times":1}`), "/times: found an unknown member"},
		{"decision", ret(`{"decision":"warn"}`), "/return/decision"},
		{"verdict member", ret(`{"decision":"allow","resaon":"x"}`), "/return/resaon: found an unknown member"},
		{"reserved reason", ret(`{"decision":"deny","reason":"host_error:x"}`), "/return/reason: found the reserved prefix"},
		{"reserved warning", ret(`{"decision":"allow","warnings":[{"reason":"host_error:x"}]}`), "/return/warnings/0/reason"},
		{"approval on allow", ret(`{"decision":"allow","approval":{}}`), "expected it on a deny only"},
		{"transform missing", ret(`{"decision":"transform"}`), "exactly when decision is transform"},
		{"transform on deny", ret(`{"decision":"deny","transform":{"path":"$target"}}`), "exactly when decision is transform"},
		{"transform path", ret(`{"decision":"transform","transform":{"path":"$snapshot"}}`), "/transform/path"},
		{"evidence", ret(`{"decision":"allow","evidence":{"verification_pointers":{"a":1}}}`), "/verification_pointers/a"},
		{"labels", ret(`{"decision":"allow","result_labels":[1]}`), "/result_labels/0"},
		{"outcome and fault", resolve(`{"outcome":"approve","fault":"raise"}`), "exactly one of outcome and fault"},
		{"neither outcome nor fault", resolve(`{}`), "exactly one of outcome and fault"},
		{"resolve member", resolve(`{"outcome":"approve","verdikt":{}}`), "/verdikt"},
		{"unknown assertion", expect(`"warnings_equal":true`), "/expect/warnings_equal: found an unknown member"},
		{"unknown context assertion", edit(`"interceptions":[]`, `"interceptions":[{"interception_point":"input","context_may_contain":[]}]`), "/expect/interceptions/0/context_may_contain"},
		{"unknown record assertion", expect(`"records":[{"interception_point":"input","equals":{}}]`), "/expect/records/0/equals"},
		{"record path", expect(`"records":[{"interception_point":"input","absent":["verdicts[-1]"]}]`), "/expect/records/0/absent/0"},
		{"run_outcome", edit(`"completed"`, `"suspended"`), "/expect/run_outcome"},
		{"posture", expect(`"run_outcome_by_posture":{"posture":"mood","outcomes":{"continue":"completed","terminate":"blocked"}}`), "/run_outcome_by_posture/posture"},
		{"postures disagree", expect(`"run_outcome_by_posture":{"posture":"tool_seam_host_error","outcomes":{"continue":"blocked","terminate":"blocked"}}`), "differs from run_outcome"},
		{"a posture is missing", expect(`"run_outcome_by_posture":{"posture":"tool_seam_host_error","outcomes":{"continue":"completed"}}`), `member "terminate" is missing`},
		{"strict", expect(`"sequence_strict":"yes"`), "/expect/sequence_strict: found a string, expected a bool"},
	}
	if _, err := ctk.ParseVector("v.json", []byte(smallest)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ctk.LoadFS(fstest.MapFS{"AH-CTK-001.json": {Data: []byte(tt.text)}, "AH-CTK-002.json": {Data: []byte(edit("001", "002"))}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "AH-CTK-001.json: ") {
				t.Errorf("error %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestEmptyCorpus(t *testing.T) {
	dir := t.TempDir()
	if _, err := ctk.Load(dir); !errors.Is(err, ctk.ErrEmpty) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "readme.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ctk.Load(dir); !errors.Is(err, ctk.ErrEmpty) {
		t.Errorf("a folder with other files: %v", err)
	}
	if _, err := ctk.Load(filepath.Join(dir, "nosuch")); err == nil {
		t.Error("a folder that is not there was read")
	}
	if _, err := ctk.Conform(t.Context(), ctk.Reference(), nil, ctk.Options{}); !errors.Is(err, ctk.ErrEmpty) {
		t.Errorf("no vectors: %v", err)
	}
	two := fstest.MapFS{"AH-CTK-001.json": {Data: []byte(smallest)}, "AH-CTK-001-b.json": {Data: []byte(smallest)}}
	if _, err := ctk.LoadFS(two); err == nil || !strings.Contains(err.Error(), "has the same") {
		t.Errorf("one id twice: %v", err)
	}
	big := fstest.MapFS{"AH-CTK-001.json": {Data: []byte(smallest + strings.Repeat(" ", 5<<20))}}
	if _, err := ctk.LoadFS(big); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a large file: %v", err)
	}
}

func FuzzParseVector(f *testing.F) {
	f.Add([]byte(smallest))
	f.Add([]byte(`{"id":"HP-CTK-001","extension":{"turns":[{}],"parallel":9}}`))
	files, _ := filepath.Glob("vectors/*.json")
	for _, name := range files[:min(12, len(files))] {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ctk.ParseVector("fuzz.json", text)
		if err != nil {
			if len(err.Error()) > 64<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		// What is taken can be run: it passes, fails or is skipped.
		r, err := ctk.Conform(t.Context(), ctk.Reference(), []*ctk.Vector{v}, ctk.Options{})
		if err != nil || len(r.Results) != 1 || r.Results[0].Status == "" {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestGolden holds the golden file, the erratum against its corrected value.
func TestGolden(t *testing.T) {
	text := corpus.File(t, "agent-hooks/golden/identity.json")
	res, err := ctk.Golden("identity.json", text)
	if err != nil || len(res) < 12 {
		t.Fatalf("%d fixtures, %v", len(res), err)
	}
	corrected := 0
	for _, r := range res {
		want(t, &r, ctk.Pass)
		if strings.Contains(r.Detail, "9.999999999999996e+22") {
			corrected++
		}
	}
	if corrected != 1 {
		t.Errorf("%d fixtures were held against corrected values, want 1", corrected)
	}
	for _, old := range []string{`\"amount\"`, `sha256:`, `host_error:context_invalid`} {
		if !strings.Contains(string(text), old) {
			continue
		}
		broken := strings.ReplaceAll(string(text), old, "x")
		res, err := ctk.Golden("identity.json", []byte(broken))
		failed := err != nil
		for _, r := range res {
			failed = failed || r.Status == ctk.Fail
		}
		if !failed {
			t.Errorf("a file without %s passes", old)
		}
	}
	for _, text := range []string{``, `{}`, `{"spec":"agent-hooks/0.1","fixtures":[]}`, `{"spec":"agent-hooks/9.9","fixtures":[]}`, `{"spec":"agent-hooks/0.1","fixtures":[{"id":"x","ctx":{},"expect":{}}]}`} {
		if _, err := ctk.Golden("g.json", []byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// TestOpenPlaces: where the public schema leaves an object open, a vector may hold
// members of its own, which mean nothing.
func TestOpenPlaces(t *testing.T) {
	text := edit(`"scenario":{"input":{"content":"hi","role":"user"}`, `"scenario":{"input":{"content":"hi","role":"user","note":1},
		"tools":[{"name":"a","description":"d","behavior":[{"return":1,"note":"x"}]}],
		"model_script":[{"note":0,"respond":{"content":"x","finish_reason":"stop","usage":{},
			"tool_calls":[{"id":"c","name":"a","args":{},"index":0}]}}]`)
	if _, err := ctk.ParseVector("v.json", []byte(text)); err != nil {
		t.Error(err)
	}
}
