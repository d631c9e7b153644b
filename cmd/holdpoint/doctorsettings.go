package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"mvdan.cc/sh/v3/syntax"

	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
)

// A settingsScope says whose a settings file is. What a project holds comes with
// the repository, so nothing in it is run.
type settingsScope string

const (
	scopeManaged settingsScope = "managed"
	scopeUser    settingsScope = "user"
	scopeProject settingsScope = "project"
)

// An agentFile is one settings file of an agent.
type agentFile struct {
	path  string
	scope settingsScope
}

// agentFiles lists where an agent reads hooks from (NA-CC-01, NA-CC-02,
// NA-CX-01), the strongest first.
func agentFiles(agent, home, cwd string, env func(string) string) []agentFile {
	project := cwd
	if ws := gateway.FindWorkspace(cwd, home); len(ws.Roots) > 0 {
		project = ws.Roots[0]
	}
	if agent == hookwire.AgentCodex {
		user := env("CODEX_HOME")
		if user == "" {
			user = filepath.Join(home, ".codex")
		}
		return once([]agentFile{
			{"/etc/codex/requirements.toml", scopeManaged},
			{filepath.Join(user, "hooks.json"), scopeUser},
			{filepath.Join(user, "config.toml"), scopeUser},
			{filepath.Join(project, ".codex", "hooks.json"), scopeProject},
			{filepath.Join(project, ".codex", "config.toml"), scopeProject},
		})
	}
	managed := "/etc/claude-code/managed-settings.json"
	switch runtime.GOOS {
	case "darwin":
		managed = "/Library/Application Support/ClaudeCode/managed-settings.json"
	case "windows":
		managed = `C:\Program Files\ClaudeCode\managed-settings.json`
	}
	user := env("CLAUDE_CONFIG_DIR")
	if user == "" {
		user = filepath.Join(home, ".claude")
	}
	return once([]agentFile{
		{managed, scopeManaged},
		{filepath.Join(user, "settings.json"), scopeUser},
		{filepath.Join(project, ".claude", "settings.json"), scopeProject},
		{filepath.Join(project, ".claude", "settings.local.json"), scopeProject},
	})
}

// once drops files that stand there already: in the home folder the user's
// settings are the project's too.
func once(files []agentFile) []agentFile {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f agentFile) bool {
		again := seen[f.path]
		seen[f.path] = true
		return again
	})
}

// agentSettings is the part of a settings file that is about hooks. JSON and TOML
// have the same members.
type agentSettings struct {
	Hooks           map[string]json.RawMessage `json:"hooks"`
	DisableAllHooks bool                       `json:"disableAllHooks"`
	Features        struct {
		Hooks      *bool `json:"hooks"`
		CodexHooks *bool `json:"codex_hooks"`
	} `json:"features"`
}

type hookGroup struct {
	Matcher string `json:"matcher"`
	Hooks   []struct {
		Type      string   `json:"type"`
		Command   string   `json:"command"`
		Args      []string `json:"args"`
		If        string   `json:"if"`
		Async     bool     `json:"async"`
		Timeout   float64  `json:"timeout"` // seconds
		OnFailure string   `json:"onFailure"`
	} `json:"hooks"`
}

const maxSettingsBytes = 4 << 20

// readSettings reads a settings file of an agent. A file that is not there is
// [fs.ErrNotExist].
func (f *agentFile) read() (*agentSettings, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, withoutName(err)
	}
	defer file.Close()
	if fi, err := file.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, errors.New("no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSettingsBytes+1))
	if err != nil {
		return nil, withoutName(err)
	}
	if len(text) > maxSettingsBytes {
		return nil, fmt.Errorf("more than %d bytes", maxSettingsBytes)
	}
	if strings.HasSuffix(f.path, ".toml") {
		var v map[string]any
		if err := toml.Unmarshal(text, &v); err != nil {
			if de, ok := errors.AsType[*toml.DecodeError](err); ok {
				line, column := de.Position()
				return nil, fmt.Errorf("%d:%d: no valid TOML", line, column)
			}
			return nil, errors.New("no valid TOML")
		}
		delete(v, "projects") // not about hooks, and may hold anything
		if text, err = json.Marshal(map[string]any{"hooks": v["hooks"], "features": v["features"]}); err != nil {
			return nil, errors.New("no valid TOML")
		}
	}
	s := &agentSettings{}
	if err := json.Unmarshal(text, s); err != nil {
		if syn, ok := errors.AsType[*json.SyntaxError](err); ok {
			head := string(text[:min(int(syn.Offset), len(text))])
			return nil, fmt.Errorf("%d:%d: no valid JSON", 1+strings.Count(head, "\n"), len(head)-strings.LastIndexByte(head, '\n'))
		}
		return nil, errors.New("hooks have not the form that the agent reads")
	}
	return s, nil
}

// An install is one place where an agent starts the hook client.
type install struct {
	file      agentFile
	event     string // the agent's event that it is registered for
	matcher   string
	timeout   time.Duration // the agent's; zero when it is not said
	onFailure string
	skipped   string // why the agent never runs it, or not for every call

	client  string   // the program, as it is written
	args    []string // its arguments; nil when they are not all literal
	guarded bool     // a client that does not run is a refusal
}

// installs lists where the settings start the hook client.
func (f *agentFile) installs(s *agentSettings) ([]install, error) {
	var list []install
	events := make([]string, 0, len(s.Hooks))
	for event := range s.Hooks {
		events = append(events, event)
	}
	slices.Sort(events)
	var errs []error
	for _, event := range events {
		var groups []hookGroup
		if event == "state" || event == "managed_dir" {
			continue // Codex keeps these beside the events
		}
		if err := json.Unmarshal(s.Hooks[event], &groups); err != nil {
			errs = append(errs, fmt.Errorf("hooks of %s have not the form that the agent reads", event))
			continue
		}
		for _, g := range groups {
			for _, h := range g.Hooks {
				if h.Type != "command" {
					continue
				}
				in := install{
					file: *f, event: event, matcher: g.Matcher, onFailure: h.OnFailure,
					timeout: time.Duration(h.Timeout * float64(time.Second)),
				}
				switch {
				case h.Async:
					in.skipped = "it is asynchronous, so its verdict comes too late"
				case h.If != "":
					in.skipped = "its `if` keeps it from most calls"
				}
				if h.Args != nil {
					// The exec form: no shell, so no guard.
					if isClient(h.Command) {
						in.client, in.args = h.Command, h.Args
						list = append(list, in)
					}
					continue
				}
				if in.parse(h.Command, 0) {
					list = append(list, in)
				}
			}
		}
	}
	return list, errors.Join(errs...)
}

func isClient(program string) bool {
	base := program[strings.LastIndexAny(program, `/\`)+1:]
	return base == "holdpoint-hook" || base == "holdpoint-hook.exe"
}

// parse looks for the client in the text of a shell command, and for the guard
// around it. The text is read and never run.
func (in *install) parse(text string, depth int) bool {
	if depth > 2 {
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return strings.Contains(text, "holdpoint-hook") // there, but not understood: not guarded
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || found {
			return !found
		}
		words, literal := literalWords(call.Args)
		if len(words) > 1 && words[0] == "exec" {
			words = words[1:]
		}
		switch {
		case len(words) == 0:
		case isClient(words[0]):
			found, in.client = true, words[0]
			if literal {
				in.args = words[1:]
			}
		case len(words) > 2 && isShell(words[0]) && words[1] == "-c":
			inner := install{}
			if inner.parse(words[2], depth+1) {
				found, in.client, in.args = true, inner.client, inner.args
				in.guarded = inner.guarded && len(file.Stmts) == 1 && plainStmt(file.Stmts[0]) && file.Stmts[0].Cmd == syntax.Command(call)
			}
		}
		return true
	})
	if found && !in.guarded && len(file.Stmts) == 1 {
		in.guarded = guards(file.Stmts[0])
	}
	return found
}

func isShell(word string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, word[strings.LastIndexByte(word, '/')+1:])
}

func plainStmt(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && len(s.Redirs) == 0
}

// guards reports whether s is CLIENT || { …; exit 2; }: whatever keeps the client
// from its work ends in the code that refuses.
func guards(s *syntax.Stmt) bool {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || !plainStmt(s) || b.Op != syntax.OrStmt || !plainStmt(b.X) {
		return false
	}
	call, ok := b.X.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	words, _ := literalWords(call.Args)
	if len(words) == 0 || !isClient(words[0]) {
		return false
	}
	last := b.Y
	if block, ok := last.Cmd.(*syntax.Block); ok && len(block.Stmts) > 0 && plainStmt(last) {
		last = block.Stmts[len(block.Stmts)-1]
	}
	exit, ok := last.Cmd.(*syntax.CallExpr)
	if !ok || last.Negated || last.Background {
		return false
	}
	words, literal := literalWords(exit.Args)
	return literal && len(words) == 2 && words[0] == "exit" && words[1] == "2"
}

// literalWords returns the words up to the first that is not literal.
func literalWords(args []*syntax.Word) (words []string, all bool) {
	for _, w := range args {
		text, ok := literal(w.Parts)
		if !ok {
			return words, false
		}
		words = append(words, text)
	}
	return words, true
}

func literal(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, ok := literal(p.Parts)
			if !ok || p.Dollar {
				return "", false
			}
			b.WriteString(text)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// option returns the value of one of the client's options.
func (in *install) option(name string) string {
	for i, arg := range in.args {
		if v, ok := strings.CutPrefix(arg, name+"="); ok {
			return v
		}
		if arg == name && i+1 < len(in.args) {
			return in.args[i+1]
		}
	}
	return ""
}

// words returns the agent and the event of the client's command line.
func (in *install) words() (agent, event string) {
	var words []string
	for i := 0; i < len(in.args); i++ {
		arg := in.args[i]
		if strings.HasPrefix(arg, "-") {
			if !strings.Contains(arg, "=") {
				i++
			}
			continue
		}
		words = append(words, arg)
	}
	words = append(words, "", "")
	return words[0], words[1]
}

// notThere reports whether the error is that of a file that is absent.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
