package policy

import (
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

// A FactType is one type of facts that conditions can use. The types are
// declared once, here: engines check conditions against them and read values
// through them, and the reference in docs/policy.md is written from them.
type FactType struct {
	Name   string
	Doc    string
	Fields []FactField
}

// A FactField is one field of a [FactType].
type FactField struct {
	Name string
	// Type is string, bool, int, dyn, the name of a fact type, or list(T).
	Type string
	Doc  string
	// Get returns the field of a value of the type: a string, bool, int, any
	// (for dyn), pointer to the Go value behind a fact type, []string for
	// list(string), or a [FactList] for a list of a fact type. A field of text is
	// "" where the fact has none.
	Get func(v any) any
}

// A FactRoot is one name that a condition starts from.
type FactRoot struct {
	Name string
	Type string
	Doc  string
	Get  func(f *facts.Facts) any
}

// A FactList is a read-only list of pointers to the values behind a fact type.
type FactList interface {
	Len() int
	At(i int) any
}

type sliceList[T any] []T

func (l sliceList[T]) Len() int     { return len(l) }
func (l sliceList[T]) At(i int) any { return &l[i] }

// FactRoots returns the names that a condition may use, in the order of the
// documentation. Beside them there is `lists`, whose fields are the named lists
// of the policy.
func FactRoots() []FactRoot { return factRoots }

// FactTypes returns the declared types, in the order of the documentation.
func FactTypes() []FactType { return factTypes }

// The facts of an event without a tool, a command line or a server: every field
// is empty, so that a condition over them is false rather than an error.
var (
	noTool  = &facts.Tool{}
	noShell = &facts.Shell{Result: &shell.Result{}}
	noMCP   = &facts.MCP{}
)

// toolFacts joins the tool with what is known of the whole input.
type toolFacts struct {
	*facts.Tool
	undecidable bool
}

var factRoots = []FactRoot{
	{"event", "Event", "The event itself.", func(f *facts.Facts) any { return &f.Event }},
	{"session", "Session", "The agent session that it belongs to.", func(f *facts.Facts) any { return &f.Session }},
	{"tool", "Tool", "The tool call. Its fields are empty on session events.", func(f *facts.Facts) any {
		if f.Tool == nil {
			return &toolFacts{Tool: noTool}
		}
		return &toolFacts{Tool: f.Tool, undecidable: f.Undecidable}
	}},
	{"shell", "Shell", "The command line, where the tool has one.", func(f *facts.Facts) any {
		if f.Shell == nil || f.Shell.Result == nil {
			return noShell
		}
		return f.Shell
	}},
	{"files", "list(File)", "Every file and folder that the call touches, by whatever road.", func(f *facts.Facts) any { return sliceList[facts.File](f.Files) }},
	{"urls", "list(URL)", "Every network address that the call talks to.", func(f *facts.Facts) any { return sliceList[facts.URL](f.URLs) }},
	{"secrets", "list(Secret)", "Secret values in the input. A rule that reads them makes the detector look.", func(f *facts.Facts) any { return sliceList[facts.Secret](f.Secrets) }},
	{"hazards", "list(Hazard)", "The named dangers that were computed from the other facts.", func(f *facts.Facts) any { return sliceList[facts.Hazard](f.Hazards) }},
	{"mcp", "MCP", "The server and the tool of an MCP call. Its fields are empty elsewhere.", func(f *facts.Facts) any {
		if f.MCP == nil {
			return noMCP
		}
		return f.MCP
	}},
}

func field[T any](name, typ, doc string, get func(v *T) any) FactField {
	return FactField{Name: name, Type: typ, Doc: doc, Get: func(v any) any { return get(v.(*T)) }}
}

var factTypes = []FactType{
	{"Event", "The event itself.", []FactField{
		field("id", "string", "Unique id; equal on every retry.", func(v *facts.Event) any { return v.ID }),
		field("source", "string", "URI of the harness that sent it.", func(v *facts.Event) any { return v.Source }),
		field("type", "string", "`tool.before`, `tool.after`, `tool.error`, `session.start` or `session.end`.", func(v *facts.Event) any { return v.Type }),
		field("time", "string", "When it was made, RFC 3339.", func(v *facts.Event) any { return v.Time }),
	}},
	{"Session", "An agent session.", []FactField{
		field("id", "string", "The session's id.", func(v *facts.Session) any { return v.ID }),
		field("cwd", "string", "The working folder when the event was made.", func(v *facts.Session) any { return v.CWD }),
		field("roots", "list(string)", "The workspace roots.", func(v *facts.Session) any { return v.Roots }),
		field("model", "string", "The model, as the harness names it.", func(v *facts.Session) any { return v.Model }),
		field("agent_id", "string", "The subagent's id; empty in the main agent.", func(v *facts.Session) any { return v.AgentID }),
		field("agent_type", "string", "The subagent's type.", func(v *facts.Session) any { return v.AgentType }),
		field("home", "string", "The user's home folder.", func(v *facts.Session) any { return v.Home }),
	}},
	{"Tool", "A tool call.", []FactField{
		field("name", "string", "The tool's name, exactly as the harness shows it.", func(v *toolFacts) any { return v.Name }),
		field("kind", "string", "`shell`, `file_read`, `file_write`, `file_edit`, `search`, `fetch`, `task`, `mcp` or `other`.", func(v *toolFacts) any { return v.Kind }),
		field("call_id", "string", "The same in all events of one call.", func(v *toolFacts) any { return v.CallID }),
		field("input", "dyn", "The input as it was sent. Its fields are not typed: guard each with `has(…)`, or the rule fails when one is absent.", func(v *toolFacts) any { return v.Input }),
		field("undecidable", "bool", "Part of what would run is not in the input.", func(v *toolFacts) any { return v.undecidable }),
	}},
	{"Shell", "A command line, analysed. Its text is no fact: rules look at what it does.", []FactField{
		field("dialect", "string", "`bash`, `sh`, `zsh`, `powershell` or `cmd`; empty when there is no command line.", func(v *facts.Shell) any { return v.Dialect }),
		field("assumed", "bool", "The payload does not say which shell will run it.", func(v *facts.Shell) any { return v.Assumed }),
		field("commands", "list(Command)", "Every program that would start, in the order of the text.", func(v *facts.Shell) any { return sliceList[shell.Command](v.Result.Commands) }),
		field("actions", "list(Action)", "What these programs would do.", func(v *facts.Shell) any { return sliceList[shell.Action](v.Result.Actions) }),
		field("undecided", "list(Undecided)", "What the text does not tell.", func(v *facts.Shell) any { return sliceList[shell.Undecided](v.Result.Undecided) }),
		field("malformed", "bool", "The shell would reject the text, or a part of it.", func(v *facts.Shell) any { return v.Result.Malformed != nil }),
	}},
	{"Command", "One program start, after quoting and expansion.", []FactField{
		field("program", "string", "Base name, `rm` for `/bin/rm`; empty when it is not decidable.", func(v *shell.Command) any { return v.Program }),
		field("path", "string", "The program as written, when it had a slash.", func(v *shell.Command) any { return v.Path }),
		field("sub", "list(string)", "The chain of subcommands: `[\"remote\", \"add\"]`.", func(v *shell.Command) any { return v.Sub }),
		field("flags", "list(string)", "The options, one form each, without values: `-rf` gives `-r` and `-f`.", func(v *shell.Command) any { return v.Flags }),
		field("args", "list(string)", "All arguments after expansion; parts that are not known are written `…`.", func(v *shell.Command) any { return argValues(v) }),
		field("wrappers", "list(string)", "The programs that it is started through: `[\"sudo\", \"env\"]`.", func(v *shell.Command) any { return v.Wrappers }),
		field("via", "list(string)", "The constructs that it was found in: `subst`, `eval`, `script`, `stdin`, `remote`, ….", func(v *shell.Command) any { return names(v.Via) }),
		field("env", "list(string)", "Names of the variables that are set for it.", func(v *shell.Command) any { return envNames(v) }),
		field("dynamic", "bool", "Which program runs depends on values that the text does not hold.", func(v *shell.Command) any { return v.Dynamic }),
		field("disguised", "bool", "Its name or an option was written so that a reader would not see it.", func(v *shell.Command) any { return v.Disguised }),
		field("host", "string", "The machine or container that runs it; empty for this machine.", func(v *shell.Command) any { return v.Host }),
	}},
	{"Action", "One thing that a command would do.", []FactField{
		field("kind", "string", "For example `file.delete`, `net.upload`, `push.force`, `proc.kill`.", func(v *shell.Action) any { return string(v.Kind) }),
		field("path", "string", "The file, absolute where it could be resolved.", func(v *shell.Action) any { return shellPath(&v.Path) }),
		field("place", "string", "Where the file lies: `workspace`, `root`, `above`, `temp`, `temproot`, `null`, `device`, `outside`, or empty.", func(v *shell.Action) any { return string(v.Path.Place) }),
		field("url", "string", "The address, for network actions; credentials are replaced.", func(v *shell.Action) any { return facts.RedactURL(v.URL) }),
		field("host", "string", "The peer.", func(v *shell.Action) any { return v.Host }),
		field("name", "string", "What else it acts on: a variable, a service, a process, a key.", func(v *shell.Action) any { return v.Name }),
		field("detail", "string", "A short word for people.", func(v *shell.Action) any { return v.Detail }),
		field("mode", "string", "The new mode, for `file.mode`.", func(v *shell.Action) any { return v.Mode }),
		field("recursive", "bool", "The whole tree below path is meant.", func(v *shell.Action) any { return v.Recursive }),
		field("broad", "bool", "More is hit than one named thing.", func(v *shell.Action) any { return v.Broad }),
		field("dry", "bool", "A dry run: nothing happens.", func(v *shell.Action) any { return v.Dry }),
		field("certainty", "string", "`certain` or `possible`.", func(v *shell.Action) any { return certaintyName(v.Certainty) }),
	}},
	{"Undecided", "A hole in what the text tells.", []FactField{
		field("reason", "string", "`command.dynamic`, `path.unresolved`, `script.unknown`, `code.inline`, `target.opaque`, `option.unknown` or `text.malformed`.", func(v *shell.Undecided) any { return string(v.Reason) }),
		field("detail", "string", "A short word for people, such as the target's name.", func(v *shell.Undecided) any { return v.Detail }),
		field("material", "bool", "The hole may hide a hazard. Routine project runs are not material.", func(v *shell.Undecided) any { return v.Material }),
	}},
	{"File", "One file or folder that the call touches.", []FactField{
		field("path", "string", "Absolute and cleaned where it could be resolved, else as written.", func(v *facts.File) any { return v.Path }),
		field("op", "string", "`read`, `write`, `delete`, `mode`, `exec` or `list`.", func(v *facts.File) any { return string(v.Op) }),
		field("zone", "string", "`workspace`, `root` (a workspace root or a folder above one), `scratch`, `device`, `outside` or `unknown`.", func(v *facts.File) any { return string(v.Zone) }),
		field("recursive", "bool", "The whole tree below path is meant.", func(v *facts.File) any { return v.Recursive }),
		field("pattern", "bool", "path is a pattern.", func(v *facts.File) any { return v.Glob }),
		field("via", "string", "`shell`, `tool`, `patch` or `mcp`.", func(v *facts.File) any { return v.Via }),
		field("program", "string", "The command that touches it, for a command line.", func(v *facts.File) any { return v.Program }),
		field("certainty", "string", "`certain` or `possible`.", func(v *facts.File) any { return string(v.Certainty) }),
	}},
	{"URL", "One network address that the call talks to.", []FactField{
		field("url", "string", "As written; credentials are replaced.", func(v *facts.URL) any { return v.Raw }),
		field("scheme", "string", "Lower case; empty when none was given.", func(v *facts.URL) any { return v.Scheme }),
		field("host", "string", "Lower case, without brackets, IDN in ASCII form, numeric forms as the address that they mean.", func(v *facts.URL) any { return v.Host }),
		field("port", "int", "The scheme's own when none is given; 0 when unknown.", func(v *facts.URL) any { return v.Port }),
		field("path", "string", "The path, decoded once.", func(v *facts.URL) any { return v.Path }),
		field("userinfo", "bool", "It carries credentials.", func(v *facts.URL) any { return v.UserInfo }),
		field("class", "string", "`public`, `loopback`, `private`, `link-local`, `metadata` or `unknown`.", func(v *facts.URL) any { return v.Class }),
		field("use", "string", "`fetch`, `upload`, `connect` or `listen`.", func(v *facts.URL) any { return v.Use }),
		field("certainty", "string", "`certain` or `possible`.", func(v *facts.URL) any { return string(v.Certainty) }),
	}},
	{"Secret", "One secret value in the input. The value itself is in no fact.", []FactField{
		field("kind", "string", "The detector's rule, for example `github-pat`.", func(v *facts.Secret) any { return v.Kind }),
		field("redacted", "string", "A few leading characters and the length.", func(v *facts.Secret) any { return v.Redacted }),
		field("pointer", "string", "JSON pointer to the string that holds it.", func(v *facts.Secret) any { return v.Span.Pointer }),
	}},
	{"Hazard", "One named danger.", []FactField{
		field("code", "string", "For example `fs.delete_recursive`; docs/hazards.md has the list.", func(v *facts.Hazard) any { return v.Code }),
		field("certainty", "string", "`certain` or `possible`.", func(v *facts.Hazard) any { return string(v.Certainty) }),
		field("detail", "string", "One short line for people.", func(v *facts.Hazard) any { return v.Detail }),
		field("path", "string", "The file that it is about, or empty.", func(v *facts.Hazard) any { return v.Path }),
		field("host", "string", "The peer that it is about, or empty.", func(v *facts.Hazard) any { return v.Host }),
	}},
	{"MCP", "The server and the tool of an MCP call.", []FactField{
		field("server", "string", "The server's name; empty when it is not known.", func(v *facts.MCP) any { return v.Server }),
		field("tool", "string", "The tool's name on that server.", func(v *facts.MCP) any { return v.Tool }),
		field("known", "bool", "The runtime gave the server's identity; it was not inferred from a name.", func(v *facts.MCP) any { return v.Known }),
	}},
}

func argValues(c *shell.Command) []string {
	out := make([]string, len(c.Args))
	for i := range c.Args {
		out[i] = c.Args[i].Value
	}
	return out
}

func envNames(c *shell.Command) []string {
	out := make([]string, len(c.Env))
	for i := range c.Env {
		out[i] = c.Env[i].Name
	}
	return out
}

func names[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

func shellPath(p *shell.Path) string {
	if p.Abs != "" {
		return p.Abs
	}
	return p.Raw
}

func certaintyName(c shell.Certainty) string {
	if c == shell.Certain {
		return string(facts.Certain)
	}
	return string(facts.Possible)
}
