// Package facts turns an event into typed facts: what a tool call will do to
// which commands, files, hosts, secrets and servers. Policies are written over
// these facts and never look into a command string.
//
// The same fact comes out of every road to it: a file is a [File] whether a
// shell command, an edit tool, a patch or an MCP file server touches it.
package facts

import "github.com/holdpoint/holdpoint/shell"

// Certainty says how sure a fact is.
type Certainty string

// The certainties. The zero value is not a valid one.
const (
	Certain  Certainty = "certain"  // the input says so
	Possible Certainty = "possible" // it depends on something that the input does not show
)

// A Span is a range of bytes in the text that a fact was read from: the command
// line of a shell tool, or the input member that Pointer names. Both ends are
// byte offsets; an empty span at 0 means that the fact has no place in the text.
type Span struct {
	Pointer string // JSON pointer into tool.input, for example /command
	Start   int
	End     int
}

// Facts is everything that is known about one event. It is built once by
// [Extract] and not changed afterwards, so it may be shared.
type Facts struct {
	Event   Event
	Session Session
	Tool    *Tool  // nil for session events
	Shell   *Shell // nil when no command line is involved
	MCP     *MCP   // nil when the tool is no MCP tool
	Files   []File
	URLs    []URL
	Secrets []Secret
	Hazards []Hazard

	// FoldCase says that paths are compared without case.
	FoldCase bool

	// Undecidable says that part of what would run is not in the input:
	// a dynamic command, an unresolved path, an opaque target or program.
	Undecidable bool

	// Breach names the analysis bound that was reached, or is empty. An event
	// with a breach is refused whatever the failure policy says.
	Breach string
}

// Event is what the facts say of the event itself.
type Event struct {
	ID     string
	Source string
	Type   string
	Time   string
}

// Session is what the facts say of the agent session.
type Session struct {
	ID        string
	CWD       string
	Roots     []string // workspace roots, cleaned; never /, home or a system folder
	Model     string
	AgentID   string
	AgentType string
	Home      string // the user's home folder; "" when it is not known
}

// Tool is what the facts say of the tool call.
type Tool struct {
	Name   string
	Kind   string
	CallID string
	Input  any // the decoded input: map[string]any, []any, string, float64, bool and nil; a number beyond float64 is its text
}

// Shell is the command line of a shell tool, analysed.
type Shell struct {
	Text    string // the command line; never logged
	Dialect string // bash, sh, zsh, powershell, cmd
	Pointer string // JSON pointer to the text in the input; "" when the text was put together
	Assumed bool   // the payload does not say which shell will run the text
	Result  *shell.Result
}

// MCP names the server and the tool of an MCP call.
type MCP struct {
	Server string // "" when only a name that cannot be split is known
	Tool   string
	Known  bool // the server's identity is given by the runtime, not inferred from a name
}

// FileOp is what happens to a file.
type FileOp string

// The file operations.
const (
	FileRead   FileOp = "read"
	FileWrite  FileOp = "write" // create, change, replace, append
	FileDelete FileOp = "delete"
	FileMode   FileOp = "mode" // permissions or ownership
	FileExec   FileOp = "exec"
	FileList   FileOp = "list" // names and metadata only
)

// Zone says where a path lies.
type Zone string

// The zones.
const (
	ZoneWorkspace Zone = "workspace" // inside a workspace root
	ZoneRoot      Zone = "root"      // a workspace root itself, or a folder above one
	ZoneScratch   Zone = "scratch"   // the temp folder
	ZoneDevice    Zone = "device"
	ZoneOutside   Zone = "outside"
	ZoneUnknown   Zone = "unknown" // the path could not be resolved
)

// File is one file or folder that the operation touches.
type File struct {
	Path      string // absolute and cleaned where it could be resolved, else as written
	Op        FileOp
	Zone      Zone
	Recursive bool
	Glob      bool   // Path is a pattern
	Via       string // shell, tool, patch, mcp
	Program   string // the command that touches it, for shell facts
	Certainty Certainty
	Span      Span

	// Command is the command that touches it, inside Facts.Shell.Result; nil for
	// other tools. Allow-lists of command shapes look at it.
	Command *shell.Command
}

// URL is one network address that the operation talks to.
type URL struct {
	Raw       string // as written, credentials replaced
	Scheme    string
	Host      string // lower case, without brackets; IDN in ASCII form
	Port      int    // the scheme's own when none is given, 0 when unknown
	Path      string
	UserInfo  bool   // the URL carries credentials
	Class     string // public, loopback, private, link-local, metadata, unknown
	Use       string // fetch, upload, connect, listen
	Certainty Certainty
	Span      Span

	Command *shell.Command // as in [File]
}

// Secret is one secret value found in the input. The value itself is in no fact.
type Secret struct {
	Kind     string // the detector's rule, for example github-pat
	Redacted string // a few leading characters and a length
	Span     Span
}

// Hazard is one named danger of the taxonomy, computed from the other facts.
// There is one for each thing that is in danger: a command that deletes two trees
// gives two, since an allow-list may exempt one of them only.
type Hazard struct {
	Code      string // for example fs.delete_recursive
	Certainty Certainty
	Detail    string // one short line for people; holds no secret value
	Span      Span

	// What the hazard is about, so that an allow-list can exempt it without
	// turning its rule off. Empty and nil where there is no such thing.
	Path    string // the file, as in [File]
	Host    string // the peer, as in [URL]
	Command *shell.Command
}
