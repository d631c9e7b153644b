package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// The policies. The OPA rule and the script rules say less than ours: they look
// for a pattern in the text, and see neither quotes nor scripts nor wrappers.
const (
	oneRule = `version: 1
packs: []
rules:
  - name: no-force-push
    when: runs("git push --force ...")
    effect: deny
    severity: high
    code: com.example.no_force_push
    reason: Force pushes rewrite what others have.
    hint: Push to a new branch.
`
	defaultRules = "version: 1\npacks: [default]\n"
	secretRules  = `version: 1
packs: [default]
rules:
  - name: no-secrets
    when: size(secrets) > 0
    effect: deny
    reason: The input holds a secret.
`
	regoModule = `package holdpoint

default decision := {"effect": "none"}

decision := {
	"effect": "deny",
	"code": "com.example.no_force_push",
	"reason": "Force pushes rewrite what others have. Push to a new branch.",
} if {
	input.event.tool.kind == "shell"
	regex.match(` + "`" + forcePush + "`" + `, input.event.tool.input.command)
}
`
	forcePush = `\bgit\s+push\s+(\S+\s+)*(--force|-f)\b`
	pyHook    = `import json, re, sys
event = json.load(sys.stdin)
if event["tool_name"] == "Bash" and re.search(r"` + forcePush + `", event["tool_input"]["command"]):
    json.dump({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "Force pushes rewrite what others have."}}, sys.stdout)
    sys.exit(2)
`
	nodeHook = `const event = JSON.parse(require("fs").readFileSync(0, "utf8"));
if (event.tool_name === "Bash" && new RegExp(String.raw` + "`" + forcePush + "`" + `).test(event.tool_input.command)) {
  process.stdout.write(JSON.stringify({hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "deny",
    permissionDecisionReason: "Force pushes rewrite what others have."}}));
  process.exitCode = 2;
}
`
)

// The commands that are decided. Each event is filled up to 1 KB with its
// description, as agents send one.
const (
	denied   = "git push --force origin feature/parser-recovery"
	harmless = "go test -count=1 -run 'TestParser|TestRecover' ./internal/parser"
	chained  = `cd /home/dev/repo && git add -A && git commit -m "parser: recover after a stray brace" && git push origin HEAD`
)

const idMark = "0192f3aa-77c1-7d10-9a51-000000000000"

// A frame is a request that is sent again and again under new ids: a server
// would answer a repeated one from its memory.
type frame struct {
	text []byte
	at   []int // where the last digits of ids lie
	n    uint64
}

func bashEvent(command string) *ahp.Event {
	return toolEvent("Bash", ahp.KindShell, map[string]any{"command": command, "timeout": 120000, "description": ""})
}

func toolEvent(name string, kind ahp.ToolKind, input map[string]any) *ahp.Event {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return &ahp.Event{
		ID: idMark, Source: "urn:example:bench", Type: ahp.ToolBefore, Time: "2026-11-30T03:40:56.123Z",
		Session: ahp.Session{
			ID: "4ca8a499-000b-41e2-b3b6-ab79fad24796", CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"},
			Model: "example-model-1", Agent: &ahp.Agent{ID: "main"},
		},
		Tool: &ahp.Tool{CallID: "toolu_01A09q90qw90lq917835lq9", Name: name, Kind: kind, Input: b},
	}
}

// kilobyte is the request about command, of 1 KB.
func kilobyte(command string) (*frame, *ahp.Event, error) {
	ev := bashEvent(command)
	text, err := wire01.AppendIntercept(nil, ev, ahp.DenyOnly(), nil)
	if err != nil {
		return nil, nil, err
	}
	const words = "Publish the recovery work of the parser so that the build can pick it up; "
	pad := strings.Repeat(words, 20)[:1024-len(text)]
	ev.Tool.Input = bytes.Replace(ev.Tool.Input, []byte(`"description":""`), []byte(`"description":"`+pad+`"`), 1)
	f, err := frameOf(ev)
	return f, ev, err
}

func frameOf(ev *ahp.Event) (*frame, error) {
	text, err := wire01.AppendIntercept(nil, ev, ahp.DenyOnly(), nil)
	if err != nil {
		return nil, err
	}
	f := newFrame(append(text, '\n'))
	if f.at == nil {
		return nil, errors.New("no id in the frame")
	}
	return f, nil
}

func newFrame(text []byte) *frame {
	f := &frame{text: text}
	for i := 0; ; {
		j := bytes.Index(text[i:], []byte(idMark))
		if j < 0 {
			return f
		}
		i += j + len(idMark)
		f.at = append(f.at, i-12)
	}
}

// next gives the frame a new id and returns it; it is valid until the next call.
func (f *frame) next() []byte {
	f.n++
	n := f.n
	var digits [12]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = '0' + byte(n%10)
		n /= 10
	}
	for _, at := range f.at {
		copy(f.text[at:], digits[:])
	}
	return f.text
}

// clone is a copy with ids of its own, for lane.
func (f *frame) clone(lane int) *frame {
	return &frame{text: bytes.Clone(f.text), at: f.at, n: f.n + uint64(lane+1)*1_000_000_000}
}

// opaInput is the event as OPA gets it.
func opaInput(ev *ahp.Event) ([]byte, error) {
	text, err := wire01.AppendIntercept(nil, ev, ahp.DenyOnly(), nil)
	if err != nil {
		return nil, err
	}
	var m struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	return m.Params, nil
}

// hookPayload is what Claude Code sends to a hook, of about 1 KB.
func hookPayload(command string) ([]byte, error) {
	m := map[string]any{
		"session_id": "4ca8a499-000b-41e2-b3b6-ab79fad24796", "transcript_path": "/home/dev/.claude/projects/-home-dev-repo/4ca8a499.jsonl",
		"cwd": "/home/dev/repo", "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
		"tool_input": map[string]any{"command": command, "description": ""}, "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	m["tool_input"].(map[string]any)["description"] = strings.Repeat("Publish the recovery work; ", 40)[:1024-len(b)]
	return json.Marshal(m)
}

// manyRules gives n rules of the kinds that policies are made of: on a hazard, a
// tool, a program, a file.
func manyRules(n int, codes []string) string {
	var b strings.Builder
	b.WriteString("version: 1\npacks: []\nrules:\n")
	for i := range n {
		var when string
		switch i % 4 {
		case 0:
			when = fmt.Sprintf("hazard(%q) && session.cwd.startsWith('/srv/team%d')", codes[i/4%len(codes)], i)
		case 1:
			when = fmt.Sprintf("tool.name == 'mcp__server%d__write' && mcp.known", i)
		case 2:
			when = fmt.Sprintf("runs('tool%d deploy ...')", i)
		default:
			when = fmt.Sprintf("touches('write', '~/.config/app%d/**')", i)
		}
		fmt.Fprintf(&b, "  - name: r%d\n    when: %q\n    effect: deny\n    reason: The rule says no.\n", i, when)
	}
	return b.String()
}
