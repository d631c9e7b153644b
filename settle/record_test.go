package settle_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "settlement-record.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t interface{ Fatalf(string, ...any) }, s *jsonschema.Schema, line []byte) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatalf("not JSON: %v\n%s", err, line)
	}
	if err := s.Validate(v); err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
}

// settled runs steps and returns the settlement with its hops.
func settled(steps ...settle.Step) settle.Settlement {
	c := settle.Start(ahp.DenyOnly())
	var hops []settle.Hop
	for i, s := range steps {
		var v settle.Verdict
		c, v = c.Apply(s)
		h := settle.Hop{Backend: s.Backend, Mode: ahp.ModeIntercept, Answer: v.Answer, Policy: v.Policy, StartNs: int64(i), TookNs: 7, Attempts: 1}
		if v.Failure != nil {
			h.Class, h.FailureCode = v.Failure.Class, v.Failure.Code
		}
		hops = append(hops, h)
	}
	s := c.Settlement()
	s.Hops = hops
	return s
}

var began = time.Date(2027, 2, 3, 4, 5, 6, 789, time.UTC)

const recordID = "01890000-0000-7000-8000-000000000001"

func TestRecordGolden(t *testing.T) {
	open := settle.Step{Backend: "net.acme.dlp", Policy: ahp.FailOpen, Failure: &ahp.Failure{Class: ahp.FailHTTPStatus, Code: 503}}
	tests := []struct {
		name  string
		steps []settle.Step
	}{
		{"none", []settle.Step{{Backend: "net.acme.guard", Policy: ahp.FailClosed}}},
		{"explicit", []settle.Step{open, {Backend: "net.acme.guard", Policy: ahp.FailOpen, Effects: deny("Use a branch.\nThen ask \u202efor review.", "net.acme.git.force")}}},
		{"synthetic", []settle.Step{{Backend: "net.acme.guard", Policy: ahp.FailClosed, Failure: failure(ahp.FailDeadline)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := settled(tt.steps...)
			e := shellEvent(`{"cmd":"git push --force MARKER"}`)
			r := s.Record(e, recordID, began, 1500*time.Microsecond, settle.Identity(e), settle.Details{
				PolicyDigest: "sha256:00", Rules: []string{"git.force"}, Hazards: []string{"git-force-push"},
				Facts: []string{"shell.commands"}, RootSource: "agent", Client: "holdpoint-hook 0.1.0", Adapter: "claude-code",
			})
			got := append(r.MarshalAppend(nil), '\n')
			path := filepath.Join("testdata", "record-"+tt.name+".json")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got  %swant %s", got, want)
			}
			validate(t, schema(t), got)
			if bytes.Contains(got, []byte("MARKER")) {
				t.Error("payload or cause is in the record")
			}
		})
	}
}

// MarshalAppend is written by hand; the struct tags are the other description of
// the same form, and the schema the third.
func TestRecordEncodings(t *testing.T) {
	s := schema(t)
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.Rune()), rapid.Just("\xff\x00\u2028\"\\"))
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(genStep), 0, 4).Draw(t, "steps")
		st := settled(steps...)
		e := shellEvent(`{}`)
		e.ID, e.Session.ID, e.Tool.Name, e.Tool.CallID = "x"+text.Draw(t, "id"), "y"+text.Draw(t, "session"), "z"+text.Draw(t, "tool"), "c"+text.Draw(t, "call")
		if rapid.Bool().Draw(t, "no tool") {
			e.Tool, e.Type = nil, ahp.SessionStart
		}
		r := st.Record(e, recordID, began, time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "elapsed")), settle.Identity(e), settle.Details{
			Rules: rapid.SliceOf(text).Draw(t, "rules"), Facts: rapid.SliceOf(text).Draw(t, "facts"), RootSource: text.Draw(t, "root"),
		})
		line := r.MarshalAppend([]byte("prefix"))[len("prefix"):]
		validate(t, s, line)
		if bytes.ContainsAny(line, "\n\r") {
			t.Fatalf("not one line: %q", line)
		}
		type plain settle.Record
		tagged, err := stdjson.Marshal((*plain)(&r))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if stdjson.Unmarshal(line, &a) != nil || stdjson.Unmarshal(tagged, &b) != nil {
			t.Fatalf("not JSON: %s %s", line, tagged)
		}
		if b.(map[string]any)["hops"] == nil {
			b.(map[string]any)["hops"] = []any{}
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("by hand %s\nby tags %s", line, tagged)
		}
		back, err := settle.ParseRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		if again := back.MarshalAppend(nil); !bytes.Equal(again, line) {
			t.Fatalf("read and written again:\n%s\n%s", line, again)
		}
	})
}

func TestRecordIsBounded(t *testing.T) {
	big := strings.Repeat("ä", 1<<20)
	e := shellEvent(`{"cmd":"` + big + `"}`)
	e.ID, e.Source, e.Session.ID, e.Session.Agent.ID, e.Tool.Name, e.Tool.CallID = big, big, big, big, big, big
	e.Type, e.Tool.Kind = ahp.EventType(big), ahp.ToolKind(big)
	many := make([]string, 100_000)
	for i := range many {
		many[i] = big
	}
	s := settled(settle.Step{Backend: "net.acme.a", Effects: deny(big, "")})
	r := s.Record(e, recordID, began, 1, "", settle.Details{Rules: many[:10_000], Facts: many, PolicyDigest: big, Client: big})
	line := r.MarshalAppend(nil)
	if limit := 12*settle.MaxNameBytes + 2*settle.MaxNames*(settle.MaxNameBytes+3) + settle.MaxReasonBytes + 2048; len(line) > limit {
		t.Errorf("%d bytes, want at most %d", len(line), limit)
	}
	if many[0] != big {
		t.Error("the caller's list was changed")
	}
	if len(s.Reason) > settle.MaxLineBytes || len(r.Reason) > settle.MaxReasonBytes || len(r.Reason) <= settle.MaxLineBytes {
		t.Errorf("reason of %d bytes for the agent and %d in the record", len(s.Reason), len(r.Reason))
	}
}

func TestParseRecordRefuses(t *testing.T) {
	var v *settle.VersionError
	if _, err := settle.ParseRecord([]byte(`{"version":2,"id":"x"}`)); !errors.As(err, &v) || v.Version != 2 {
		t.Errorf("version 2: %v", err)
	}
	for _, bad := range []string{``, `{}`, `[]`, `null`, `{"version":1,"version":1}`, `{"version":"1"}`, `{"version":1}x`} {
		if _, err := settle.ParseRecord([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestZeroSettlementIsRecordedAsRefusal(t *testing.T) {
	var s settle.Settlement
	r := s.Record(shellEvent(`{}`), recordID, began, 1, "", settle.Details{})
	if r.Outcome != settle.Denied || r.Decision != settle.DecisionSynthetic || r.Class != ahp.FailInternal {
		t.Errorf("%+v", r)
	}
	validate(t, schema(t), r.MarshalAppend(nil))
}

func FuzzParseRecord(f *testing.F) {
	files, err := filepath.Glob("testdata/record-*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, p := range files {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := settle.ParseRecord(data)
		if err != nil {
			return
		}
		line := r.MarshalAppend(nil)
		back, err := settle.ParseRecord(line)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, line)
		}
		if again := back.MarshalAppend(nil); !bytes.Equal(line, again) {
			t.Errorf("not stable:\n%s\n%s", line, again)
		}
	})
}

func TestNotes(t *testing.T) {
	var none *settle.Notes
	none.Add(settle.Details{Client: "x"}) // must not panic
	if got := none.Seal(); !reflect.DeepEqual(got, settle.Details{}) {
		t.Errorf("%+v", got)
	}
	if settle.NotesFrom(t.Context()) != nil {
		t.Error("notes from nowhere")
	}
	var n settle.Notes
	ctx := settle.WithNotes(t.Context(), &n)
	settle.NotesFrom(ctx).Add(settle.Details{Rules: []string{"a", "b"}, Client: "one"})
	settle.NotesFrom(ctx).Add(settle.Details{Rules: []string{"b", "c"}, Adapter: "x"})
	got := n.Seal()
	if !slices.Equal(got.Rules, []string{"a", "b", "c"}) || got.Client != "one" || got.Adapter != "x" {
		t.Errorf("%+v", got)
	}
	n.Add(settle.Details{Rules: []string{"late"}})
	if got := n.Seal(); got.Rules != nil {
		t.Errorf("a late note got in: %+v", got)
	}
	many := make([]string, 2*settle.MaxNames)
	for i := range many {
		many[i] = strings.Repeat("x", i)
	}
	var m settle.Notes
	m.Add(settle.Details{Facts: many})
	if got := len(m.Seal().Facts); got != settle.MaxNames {
		t.Errorf("%d names, want %d", got, settle.MaxNames)
	}
}

func BenchmarkMarshalAppend(b *testing.B) {
	s := settled(settle.Step{Backend: "net.acme.guard", Policy: ahp.FailClosed})
	e := shellEvent(`{"cmd":"ls"}`)
	r := s.Record(e, recordID, began, 1, settle.Identity(e), settle.Details{PolicyDigest: "sha256:00", Rules: []string{"a"}, Facts: []string{"shell.commands"}})
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = r.MarshalAppend(buf[:0])
	}
}

var _ json.Marshaler = (*settle.Record)(nil)
