package ctk

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// ProtocolVersion is the version of the line protocol in docs/conform-host.md.
const ProtocolVersion = 1

// maxLineBytes bounds one line of either side.
const maxLineBytes = 16 << 20

// The messages of the line protocol. Kit to host: hello, setup, run, verdict,
// resolution, teardown. Host to kit: surface, ready, intercept, resolve,
// result, done, error.
const (
	typeHello      = "hello"
	typeSurface    = "surface"
	typeSetup      = "setup"
	typeReady      = "ready"
	typeRun        = "run"
	typeIntercept  = "intercept"
	typeVerdict    = "verdict"
	typeResolve    = "resolve"
	typeResolution = "resolution"
	typeResult     = "result"
	typeTeardown   = "teardown"
	typeDone       = "done"
	typeError      = "error"
)

type helloMessage struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
	Spec     string `json:"spec"`
}

type surfaceMessage struct {
	Type string `json:"type"`
	Surface
}

type plainMessage struct {
	Type string `json:"type"`
}

type errorMessage struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type setupMessage struct {
	Type         string                 `json:"type"`
	Vector       string                 `json:"vector"`
	Mode         agenthooks.Mode        `json:"mode"`
	Composition  agenthooks.Composition `json:"composition"`
	Identity     *string                `json:"identity_provider"`
	Interceptors int                    `json:"interceptors"`
	Resolver     bool                   `json:"resolver"`
	Redact       []string               `json:"redact_for_approval"`
	Scenario     jsontext.Value         `json:"scenario"`
	Extension    jsontext.Value         `json:"extension,omitzero"`
}

type interceptMessage struct {
	Type        string         `json:"type"`
	Call        int64          `json:"call"`
	Interceptor int            `json:"interceptor"`
	Context     jsontext.Value `json:"context"`
}

type resolveMessage struct {
	Type    string         `json:"type"`
	Call    int64          `json:"call"`
	Request jsontext.Value `json:"request"`
}

// An answerMessage is a verdict or a resolution. It has the answer or a fault;
// "mutate" stands beside a verdict.
type answerMessage struct {
	Type       string         `json:"type"`
	Call       int64          `json:"call"`
	Verdict    jsontext.Value `json:"verdict,omitzero"`
	Resolution jsontext.Value `json:"resolution,omitzero"`
	Fault      fault          `json:"fault,omitzero"`
}

type resultMessage struct {
	Type            string           `json:"type"`
	Outcome         Outcome          `json:"outcome"`
	FinalOutput     jsontext.Value   `json:"final_output"`
	ToolInvocations []Invocation     `json:"tool_invocations"`
	Error           string           `json:"error,omitzero"`
	Identities      []IdentityPair   `json:"identities"`
	Records         []jsontext.Value `json:"records"`
	ReleasedOutput  *string          `json:"released_output,omitzero"`
	Persisted       jsontext.Value   `json:"persisted,omitzero"`
}

func (m *resultMessage) record() (*RunRecord, error) {
	switch m.Outcome {
	case Completed, Blocked, Errored:
	default:
		return nil, errors.New("result: /outcome: expected one of completed, blocked, error")
	}
	for i, t := range m.ToolInvocations {
		if t.Args == nil {
			return nil, fmt.Errorf("result: /tool_invocations/%d/args: missing", i)
		}
	}
	return &RunRecord{
		Outcome: m.Outcome, FinalOutput: m.FinalOutput, ToolInvocations: m.ToolInvocations, Error: m.Error,
		Identities: m.Identities, Records: m.Records, ReleasedOutput: m.ReleasedOutput, Persisted: m.Persisted,
	}, nil
}

func resultOf(r *RunRecord) *resultMessage {
	final := r.FinalOutput
	if final == nil {
		final = jsontext.Value("null")
	}
	return &resultMessage{
		Type: typeResult, Outcome: r.Outcome, FinalOutput: final, ToolInvocations: orEmpty(r.ToolInvocations), Error: r.Error,
		Identities: orEmpty(r.Identities), Records: orEmpty(r.Records), ReleasedOutput: r.ReleasedOutput, Persisted: r.Persisted,
	}
}

// decodeMessage reads a line into m. Members that m lacks are errors: a typing
// mistake in a name must not pass for an absent value.
func decodeMessage(line []byte, m any) error {
	if err := json.Unmarshal(line, m, json.RejectUnknownMembers(true)); err != nil {
		var semantic *json.SemanticError
		if errors.As(err, &semantic) && semantic.JSONPointer != "" {
			at := plain(string(semantic.JSONPointer))
			if len(at) > 200 {
				at = at[:200] + "…"
			}
			if errors.Is(semantic, json.ErrUnknownName) {
				return fmt.Errorf("%s: unknown member", at)
			}
			return fmt.Errorf("%s: found a JSON value of another type (%v)", at, semantic.JSONKind)
		}
		return syntaxError(line, err)
	}
	return nil
}

// typeOf finds the type of a message before the rest of it is read.
func typeOf(line []byte) (string, error) {
	var m struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return "", syntaxError(line, err)
	}
	if m.Type == "" {
		return "", errors.New("found an object without type, expected a message")
	}
	return m.Type, nil
}

// scenarioJSON is the scenario as the vector grammar writes it.
func (s *Scenario) scenarioJSON() jsontext.Value {
	model := []any{}
	for _, m := range s.Model {
		calls := []any{}
		for _, c := range m.ToolCalls {
			calls = append(calls, map[string]any{"id": c.ID, "name": c.Name, "args": tree(c.Args)})
		}
		r := map[string]any{"content": tree(m.Content), "tool_calls": calls, "finish_reason": m.FinishReason}
		if m.Stream != nil {
			r["stream"] = list(m.Stream)
			r["stream_truncated"] = m.Truncated
		}
		model = append(model, map[string]any{"respond": r})
	}
	tools := []any{}
	for _, t := range s.Tools {
		behavior := []any{}
		for _, b := range t.Behavior {
			o := map[string]any{"return": tree(b.Return), "is_error": b.IsError}
			if b.WhenArgs != nil {
				o["when_args"] = tree(b.WhenArgs)
			}
			behavior = append(behavior, o)
		}
		o := map[string]any{"name": t.Name, "behavior": behavior}
		if t.Schema != nil {
			o["schema"] = tree(t.Schema)
		}
		tools = append(tools, o)
	}
	return textOf(map[string]any{"input": s.Input.tree(), "tools": tools, "model_script": model})
}

func (in Input) tree() any { return map[string]any{"role": in.Role, "content": tree(in.Content)} }

func (e *Extension) json() jsontext.Value {
	if e == nil {
		return nil
	}
	turns := []any{}
	for _, t := range e.Turns {
		turns = append(turns, t.tree())
	}
	o := map[string]any{"turns": turns, "namespaces": list(e.Namespaces), "buffered": e.Buffered}
	if e.Parallel > 0 {
		o["parallel"] = number(fmt.Sprint(e.Parallel))
	}
	return textOf(o)
}

func list(s []string) []any {
	out := []any{}
	for _, e := range s {
		out = append(out, e)
	}
	return out
}

// tree parses text that was made by this package.
func tree(text jsontext.Value) any {
	v, _ := parse(text)
	return v
}
