package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/shell"
)

// Extract turns ev into facts. It looks at no file content, opens no connection
// and runs nothing; with [Options.FS] it follows links. It is safe for
// concurrent use.
//
// An event that cannot be understood within the bounds is not an error: its
// [Facts.Breach] is set, and the event must be refused. An error means that the
// input is not the object that it must be, or that the secret finder failed.
func Extract(ctx context.Context, ev *ahp.Event, o Options) (*Facts, error) {
	x := &extractor{ctx: ctx, o: o, limits: o.Limits.complete()}
	f := &x.facts
	f.Event = Event{ID: ev.ID, Source: ev.Source, Type: string(ev.Type), Time: ev.Time}
	f.Session = Session{ID: ev.Session.ID, CWD: ev.Session.CWD, Model: ev.Session.Model, Home: o.Home}
	f.FoldCase = o.CaseInsensitive
	x.f = f
	if a := ev.Session.Agent; a != nil {
		f.Session.AgentID, f.Session.AgentType = a.ID, a.Type
	}
	f.Session.Roots = sessionRoots(&ev.Session, &x.o, x.roots[:0])
	if ev.Tool == nil {
		return f, nil
	}
	f.Tool = &x.toolFact
	f.Tool.Name, f.Tool.Kind, f.Tool.CallID = ev.Tool.Name, string(ev.Tool.Kind), ev.Tool.CallID
	if len(ev.Tool.Input) > 0 {
		var err error
		if f.Tool.Input, err = decodeAny(ev.Tool.Input); err != nil {
			// The library's text quotes the input; it must not travel.
			return nil, inputFailure(errors.New("not well-formed JSON"))
		}
	}
	input, ok := f.Tool.Input.(map[string]any)
	if !ok && f.Tool.Input != nil {
		return nil, inputFailure(fmt.Errorf("found %s, want an object", jsonKind(f.Tool.Input)))
	}
	if err := x.tool(ev.Tool, input); err != nil {
		return nil, err
	}
	if x.o.Secrets != nil {
		if err := x.secrets(input); err != nil {
			return nil, err
		}
	}
	f.Hazards = hazards(f, &x.o)
	// Whoever keeps the facts keeps neither the call nor its finders.
	x.ctx, x.o = nil, Options{}
	return f, nil
}

// extractor is one [Extract]. The facts are in it, so that most events cost one
// piece of memory.
type extractor struct {
	facts     Facts
	toolFact  Tool
	shellFact Shell
	roots     [2]string

	ctx    context.Context
	o      Options
	limits Limits
	f      *Facts
	folder string // the folder that the tool runs in

	argBytes int // that were added to commands, see withArgs
}

func (x *extractor) breach(bound string) { x.f.Breach = cmp.Or(x.f.Breach, bound) }

// sessionRoots returns the roots that can be trusted to be workspaces: those of
// the event, else those of the options, else the working folder.
func sessionRoots(s *ahp.Session, o *Options, out []string) []string {
	for _, list := range [...][]string{s.WorkspaceRoots, o.Roots, {s.CWD}} {
		for _, r := range list {
			if r = CleanRoot(r, o.Home); r != "" && !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
		if len(out) > 0 {
			return slices.Clip(out)
		}
	}
	return nil
}

// systemFolders hold more than one project, or the system itself.
var systemFolders = keySet("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/nix", "/opt",
	"/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin",
	"/usr/share", "/var", "/var/lib", "/var/log", "/var/tmp", "/applications", "/library", "/network", "/private", "/private/etc",
	"/private/tmp", "/private/var", "/system", "/users", "/volumes", "/data",
	"c:", "c:/windows", "c:/windows/system32", "c:/users", "c:/program files", "c:/program files (x86)", "c:/programdata")

// CleanRoot returns root cleaned, or "" when it cannot be a workspace root: it is
// not absolute, or it is the file system's root, a home, a folder above the home,
// or a system folder.
func CleanRoot(root, home string) string {
	if root == "" {
		return ""
	}
	win := windowsPath(root)
	r := root
	if win {
		r = strings.ReplaceAll(r, `\`, "/")
	} else if !strings.HasPrefix(r, "/") {
		return ""
	}
	r = path.Clean(r)
	low := strings.TrimSuffix(strings.ToLower(r), "/")
	if low == "" || systemFolders[low] || win && len(low) <= 2 {
		return ""
	}
	h := home
	if windowsPath(h) {
		h = strings.ReplaceAll(h, `\`, "/")
	}
	h = strings.TrimSuffix(h, "/")
	if h != "" && (strings.EqualFold(r, h) || len(h) > len(r) && strings.EqualFold(h[:len(r)], r) && h[len(r)] == '/') {
		return ""
	}
	// The home of someone else is no workspace either.
	if dir := path.Dir(low); dir == "/home" || dir == "/users" || dir == "c:/users" {
		return ""
	}
	if win {
		return strings.ReplaceAll(r, "/", `\`)
	}
	return r
}

func windowsPath(s string) bool {
	return len(s) >= 2 && s[1] == ':' && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z') || strings.HasPrefix(s, `\\`)
}

func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

// tool reads the input of one tool call.
func (x *extractor) tool(t *ahp.Tool, input map[string]any) error {
	name := t.Name
	via := "tool"
	if t.Kind == ahp.KindMCP || len(t.MCP) > 0 {
		x.mcp(t)
		if inner, ok := x.unwrapMCP(t.Name, input); ok {
			input = inner
			defer x.prefix("/arguments")
		}
		name, via = x.f.MCP.Tool, "mcp"
	}
	shape := shapeOf(name, t.Kind)
	if shape.idle {
		return nil
	}
	x.folder = x.f.Session.CWD
	switch shape.kind {
	case ahp.KindShell:
		x.shell(name, shape, input)
		return nil
	case ahp.KindTask:
		return nil
	case ahp.KindFileEdit, ahp.KindFileWrite:
		if x.patches(input) {
			return nil
		}
	case ahp.KindFileRead, ahp.KindSearch:
	case ahp.KindFetch, ahp.KindMCP, ahp.KindOther:
		x.fetch(shape, input)
	default:
		x.fetch(shape, input)
	}
	x.files(shape, via, input)
	return nil
}

// unwrapMCP reads the tool through which some agents make every MCP call: server,
// tool and arguments are in its input, the arguments often as text.
func (x *extractor) unwrapMCP(name string, input map[string]any) (map[string]any, bool) {
	if !strings.EqualFold(name, "use_mcp_tool") {
		return nil, false
	}
	server, _ := input["server_name"].(string)
	tool, _ := input["tool_name"].(string)
	x.f.MCP.Server, x.f.MCP.Tool, x.f.MCP.Known = server, tool, server != ""
	switch args := input["arguments"].(type) {
	case map[string]any:
		return args, true
	case string:
		if v, err := decodeAny([]byte(args)); err == nil {
			if inner, ok := v.(map[string]any); ok {
				return inner, true
			}
		}
		x.malformed("/arguments", args, "an object or the text of one")
	case nil:
	default:
		x.malformed("/arguments", args, "an object or the text of one")
	}
	return nil, false
}

// prefix moves the pointers of files and addresses below a member.
func (x *extractor) prefix(at string) {
	for i := range x.f.Files {
		x.f.Files[i].Span.Pointer = at + x.f.Files[i].Span.Pointer
	}
	for i := range x.f.URLs {
		x.f.URLs[i].Span.Pointer = at + x.f.URLs[i].Span.Pointer
	}
	if x.f.Shell != nil && x.f.Shell.Pointer != "" {
		x.f.Shell.Pointer = at + x.f.Shell.Pointer
	}
}

// mcp names the server and the tool. Revision 0.1 leaves the object open, so
// several forms are read.
func (x *extractor) mcp(t *ahp.Tool) {
	m := &MCP{}
	m.Server, m.Tool = splitMCP(t.Name)
	x.f.MCP = m
	if len(t.MCP) == 0 {
		return
	}
	v, err := decodeAny(t.MCP)
	obj, ok := v.(map[string]any)
	if err != nil || !ok {
		return
	}
	for _, k := range [...]string{"server", "serverName", "server_name", "serverId", "name"} {
		switch v := obj[k].(type) {
		case string:
			if v != "" {
				m.Server, m.Known = v, true
			}
		case map[string]any:
			for _, kk := range [...]string{"name", "id"} {
				if s, ok := v[kk].(string); ok && s != "" {
					m.Server, m.Known = s, true
					break
				}
			}
		}
		if m.Known {
			break
		}
	}
	for _, k := range [...]string{"tool", "toolName", "tool_name"} {
		if s, ok := obj[k].(string); ok && s != "" {
			m.Tool = s
			break
		}
	}
	if p, ok := obj["provenance"].(string); ok && p != "runtime" {
		m.Known = false
	}
}

func (x *extractor) shellOptions() shell.Options {
	return shell.Options{
		CWD: x.folder, Roots: x.f.Session.Roots, Home: x.o.Home, Env: x.o.Env, TempDirs: x.o.TempDirs,
		FS: x.o.FS, FSLimit: x.o.FSLimit, CaseInsensitive: x.o.CaseInsensitive, Programs: x.o.Programs, Limits: x.o.ShellLimits,
	}
}

// shell reads the command line of a shell tool.
func (x *extractor) shell(name string, shape toolShape, input map[string]any) {
	keys := commandKeys
	switch {
	case shape.stdin:
		keys = stdinKeys
	case shape.code != "":
		keys = codeKeys
	}
	commands := script{max: x.maxText()}
	pointer, dialect := "", shape.dialect
	var odd misfit
	var buf [8]string
	names := sortedInto(buf[:0], input)
	args := ""
	if !shape.stdin && shape.code == "" {
		args = x.arguments(names, input)
	}
	for _, k := range names {
		pk := plainKey(k)
		switch v := input[k].(type) {
		case string:
			switch {
			case keys[pk] && commands.empty():
				if v == "" || args == "" {
					commands.add(v)
					pointer = "/" + escapePointer(k)
					continue
				}
				commands.add(x.withArgs(v, args))
				pointer = ""
			case keys[pk]:
				commands.add(x.withArgs(v, args)) // two members that both hold code: judge both
				pointer = ""
			case folderKeys[pk] && v != "":
				x.folder = x.resolve(v).Abs
			case pk == "shell" && dialect == shell.Unknown:
				dialect = dialectOf(v)
			}
		case []any:
			if !keys[pk] {
				continue
			}
			if len(v) == 0 {
				x.f.Undecidable = true
				continue
			}
			words, ok := x.stringList(v)
			if !ok {
				x.unreadable("/"+escapePointer(k), v, "a list of texts")
				continue
			}
			line := quoteArgv(words)
			if pk == "commands" || slices.ContainsFunc(v, isObject) {
				line = strings.Join(words, "\n")
			}
			commands.add(x.withArgs(line, args))
			pointer = ""
		case map[string]any:
			if !keys[pk] {
				continue
			}
			lines, ok := x.commandLines(v)
			if !ok {
				x.unreadable("/"+escapePointer(k), v, "a text")
				continue
			}
			commands.add(strings.Join(lines, "\n"))
			pointer = ""
		default:
			if keys[pk] {
				odd.note("/"+escapePointer(k), v)
			}
		}
	}
	text := commands.text()
	switch {
	case strings.EqualFold(name, "use_aws"):
		text, pointer = awsLine(input), ""
		for _, k := range [...]string{"service_name", "operation_name"} {
			if _, ok := input[k].(string); !ok && input[k] != nil {
				odd.note("/"+k, input[k])
			}
		}
	case shape.code != "" && text != "":
		opt := " -c "
		if shape.code == "node" {
			opt = " -e "
		}
		text, pointer, dialect = shape.code+opt+quoteWord(text), "", shell.Bash
	}
	if text == "" {
		// A shell tool without a command that we can read may still run one.
		x.f.Undecidable = true
		if odd.set {
			x.unreadable(odd.pointer, odd.value, "a text")
		}
		return
	}
	if dialect == shell.Unknown {
		dialect = x.o.Dialect
	}
	o := x.shellOptions()
	o.Dialect = dialect
	r := shell.Analyze(x.ctx, text, o)
	x.shellFact = Shell{Text: text, Dialect: string(cmp.Or(r.Dialect, dialect)), Assumed: r.Assumed || dialect == shell.Unknown || shape.stdin, Result: r, Pointer: pointer}
	x.f.Shell = &x.shellFact
	if shape.stdin || r.Material() {
		x.f.Undecidable = true
	}
	if len(r.Breaches) > 0 {
		x.breach("shell." + r.Breaches[0].Bound)
	}
	shellFacts(x.f, r)
	x.bound()
}

// bound cuts what is over the limits. A cut list is incomplete, so it is a breach.
func (x *extractor) bound() {
	if len(x.f.Files) > x.limits.Files {
		x.f.Files = x.f.Files[:x.limits.Files]
		x.breach("facts.files")
	}
	if len(x.f.URLs) > x.limits.URLs {
		x.f.URLs = x.f.URLs[:x.limits.URLs]
		x.breach("facts.urls")
	}
}

func dialectOf(s string) shell.Dialect {
	s = strings.ToLower(s)
	if i := strings.LastIndexAny(s, `/\`); i >= 0 {
		s = s[i+1:]
	}
	switch strings.TrimSuffix(s, ".exe") {
	case "bash":
		return shell.Bash
	case "sh", "dash", "ash":
		return shell.Sh
	case "zsh":
		return shell.Zsh
	case "pwsh", "powershell":
		return shell.PowerShell
	case "cmd":
		return shell.Cmd
	}
	return shell.Unknown
}

// quoteArgv writes an argument vector as the command line that gives it.
func quoteArgv(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoteWord(w))
	}
	return b.String()
}

func quoteWord(w string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
	if w != "" && strings.Trim(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// awsLine writes the call of an AWS tool as the command line that does the same.
func awsLine(input map[string]any) string {
	service, _ := input["service_name"].(string)
	op, _ := input["operation_name"].(string)
	if service == "" || op == "" {
		return ""
	}
	words := []string{"aws", kebab(service), kebab(op)}
	if params, ok := input["parameters"].(map[string]any); ok {
		for _, k := range sortedKeys(params) {
			words = append(words, "--"+kebab(k))
			switch v := params[k].(type) {
			case string:
				if v != "" {
					words = append(words, v)
				}
			case float64:
				words = append(words, strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
	}
	return quoteArgv(words)
}

func kebab(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_':
			b.WriteByte('-')
		case r >= 'A' && r <= 'Z':
			if i > 0 && s[i-1] != '-' && s[i-1] != '_' && (s[i-1] < 'A' || s[i-1] > 'Z') {
				b.WriteByte('-')
			}
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// argKeys are the members that hold what is added to a command.
var argKeys = keySet("args", "arguments")

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

func sortedKeys(m map[string]any) []string { return sortedInto(nil, m) }

// sortedInto is sortedKeys with the memory to use.
func sortedInto(keys []string, m map[string]any) []string {
	keys = slices.Grow(keys, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func escapePointer(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}
