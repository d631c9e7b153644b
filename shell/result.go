package shell

// Dialect names the language of a command line. The zero value means unknown.
type Dialect string

// The dialects that [Analyze] takes.
const (
	Unknown    Dialect = ""
	Bash       Dialect = "bash"
	Sh         Dialect = "sh"
	Zsh        Dialect = "zsh"
	PowerShell Dialect = "powershell"
	Cmd        Dialect = "cmd"
)

// Certainty says how sure a fact is. The zero value is the weaker one, so a
// fact that nobody graded is never taken for more than it is.
type Certainty string

const (
	// Possible is a fact that depends on something that the text does not say.
	Possible Certainty = ""
	// Certain is what happens whenever the text is run and reaches that command.
	Certain Certainty = "certain"
)

// Span is a byte range of the analyzed text, Start inclusive and End exclusive.
// Facts that come from text inside text (an eval, a decoded script) carry the
// span of the outermost word that brought them in.
type Span struct{ Start, End int }

// Result is everything that [Analyze] found. It is a plain value that nothing
// else refers to; readers may share it.
type Result struct {
	Dialect Dialect
	// Assumed is set when the caller did not name the dialect.
	Assumed bool
	// Commands lists every command that would run, in the order it was met.
	Commands []Command
	// Actions lists what these commands would do.
	Actions []Action
	// Pipes lists the data flows between commands that a rule may care about.
	Pipes []Pipe
	// Undecided lists what the text does not tell.
	Undecided []Undecided
	// Breaches lists the bounds that were hit. With a breach the other lists
	// are incomplete, and the text must not be treated as understood.
	Breaches []Breach
	// Malformed is set when the shell would reject the text, or a part of it,
	// after running what came before.
	Malformed *Malformed
}

// Command is one program start, or a builtin, as the shell would see it after
// expansion.
type Command struct {
	// Program is the resolved base name (`rm` for `/bin/rm` or `\rm`), or ""
	// when it is not decidable.
	Program string
	// Path is the program as written after expansion, when it had a slash.
	Path string
	// Sub is the chain of subcommands, outermost first (`remote`, `add`).
	Sub []string
	// Flags holds the options in one form each: no cluster, no abbreviation
	// (`-rf` gives -r and -f, `--forc` gives --force), without their values.
	Flags []string
	Args  []Arg
	// Wrappers lists the programs this one was started through (`sudo`, `env`).
	Wrappers []string
	// Via lists the constructs it was found in, outermost first.
	Via []Via
	// Env lists assignments in front of the command.
	Env []Assignment
	// Dynamic is set when the program name depends on values the text does not
	// hold.
	Dynamic bool
	// Disguised is set when the name or an option was written so that a reader
	// would not see it: escapes, globs, invisible or look-alike characters.
	Disguised bool
	// Host names the machine or container that runs it; "" is this machine.
	Host string
	Span Span
}

// Arg is one argument after expansion.
type Arg struct {
	// Value is the text; parts that are not known are written as `…`, glob
	// characters as themselves.
	Value string
	// Known is set when Value is exactly what the program would get.
	Known bool
	// Glob is set when the shell would match Value as a pattern.
	Glob bool
	// Vars names the variables in it whose values the text does not hold.
	Vars []string
	Span Span
}

// Assignment is `NAME=value` in front of a command.
type Assignment struct {
	Name  string
	Value Arg
}

// Via is a construct that carries one command inside another text.
type Via string

// The constructs that Via names.
const (
	ViaSubst     Via = "subst"     // $(…) or `…`
	ViaProcSubst Via = "procsubst" // <(…) or >(…)
	ViaEval      Via = "eval"
	ViaScript    Via = "script"  // sh -c and other text given as an argument
	ViaStdin     Via = "stdin"   // a script read from a pipe or a here-document
	ViaFile      Via = "file"    // a script written and run in the same text
	ViaFunction  Via = "func"    // a function or alias defined in the text
	ViaTrap      Via = "trap"    // trap
	ViaFind      Via = "find"    // find -exec and its like
	ViaXargs     Via = "xargs"   // xargs, parallel
	ViaRemote    Via = "remote"  // ssh, docker exec, kubectl exec
	ViaWrapper   Via = "wrapper" // sudo, env, timeout, …
	ViaCode      Via = "code"    // a program in another language started it
	ViaConfig    Via = "config"  // an alias or hook given to a tool (git -c …)
	ViaLater     Via = "later"   // at, crontab, systemd-run: runs later
)

// Kind says what an [Action] does. Kinds are stable names that rules may use.
type Kind string

// The kinds about files.
const (
	FileRead   Kind = "file.read"   // content comes into a program or its output
	FileWrite  Kind = "file.write"  // created, changed, or replaced
	FileDelete Kind = "file.delete" // removed; Recursive says a whole tree
	FileMeta   Kind = "file.meta"   // name or attributes only
	FileMode   Kind = "file.mode"   // Mode holds the new mode
	FileOwner  Kind = "file.owner"  // owner or group
	FileWipe   Kind = "file.wipe"   // raw or irrecoverable overwriting
	FileExec   Kind = "file.exec"   // run as a program
	FileLink   Kind = "file.link"   // Path is the new link, Name its target
)

// The kinds about programs, processes and the machine.
const (
	EnvPrint      Kind = "env.print"    // prints variables; Name is one, "" is all
	EnvFilter     Kind = "env.filter"   // searches the environment; Name is the pattern
	EnvSend       Kind = "env.send"     // sends the environment away
	EnvSet        Kind = "env.set"      // Name is set, Detail its value; "" unset
	ProcKill      Kind = "proc.kill"    // Name is the target, Broad says more than one pid
	PrivElevate   Kind = "priv.elevate" // runs as, or gains the power of, another user
	ServiceStop   Kind = "service.stop" // Name is the service
	MachineStop   Kind = "machine.stop" // shutdown, reboot, sysrq
	FirewallOpen  Kind = "firewall.open"
	Persist       Kind = "persist"         // makes something run later; Name says through what
	Exhaust       Kind = "exhaust"         // uses a resource without bound
	AgentStart    Kind = "agent.unguarded" // another agent without its guard
	ConfigSet     Kind = "config.set"      // Name is the key, Detail its value
	SecretReveal  Kind = "secret.reveal"   // a vault, keychain or metadata read
	SecretLiteral Kind = "secret.literal"  // a credential in the text
	Disguise      Kind = "disguise"        // text hidden from a reader is run
	CodeOpaque    Kind = "code.opaque"     // project code runs
)

// The kinds about the network.
const (
	NetFetch   Kind = "net.fetch"
	NetUpload  Kind = "net.upload"
	NetListen  Kind = "net.listen"
	NetConnect Kind = "net.connect"
	NetShell   Kind = "net.shell" // a shell tied to a peer
	NetRun     Kind = "net.run"   // code that came from the network is run
)

// The kinds about repositories, packages, data and infrastructure.
const (
	PushForce      Kind = "push.force"
	PushLease      Kind = "push.lease"
	Push           Kind = "push"
	RefDelete      Kind = "ref.delete_remote"
	HistoryRewrite Kind = "history.rewrite"
	WorkDiscard    Kind = "work.discard"
	HookBypass     Kind = "hook.bypass"
	PkgPublish     Kind = "pkg.publish"
	DataDestroy    Kind = "data.destroy"
	InfraDestroy   Kind = "infra.destroy"
	Deploy         Kind = "deploy"
)

// Action is one thing that a command would do.
type Action struct {
	Kind Kind
	// Path is set for the file kinds.
	Path Path
	// URL, Host or Name carry the target of the other kinds.
	URL  string
	Host string
	Name string
	// Detail is a short word for people; it never holds a secret.
	Detail string
	// Mode is the mode operand of [FileMode].
	Mode string
	// Recursive says that the whole tree below Path is meant.
	Recursive bool
	// Broad says that more is hit than one named thing.
	Broad bool
	// Quiet says that what was read does not come out: only names, counts or
	// an exit status do.
	Quiet bool
	// Dry is set for a dry run: nothing happens.
	Dry bool
	// Added is set when only an entry that adds to a known program says so
	// ([ParseTightening]).
	Added     bool
	Certainty Certainty
	Span      Span
	// Command is the index in Result.Commands, or -1.
	Command int
}

// Place says where a path lies. The zero value means that it is not known.
type Place string

// The places of a path.
const (
	PlaceUnknown   Place = ""
	PlaceWorkspace Place = "workspace" // below a workspace root
	PlaceRoot      Place = "root"      // a workspace root itself, or all in it
	PlaceAbove     Place = "above"     // a folder that holds a workspace root
	PlaceTemp      Place = "temp"      // named, below a scratch folder
	PlaceTempRoot  Place = "temproot"  // a scratch folder itself
	PlaceNull      Place = "null"      // /dev/null and the standard streams
	PlaceDevice    Place = "device"    // any other device
	PlaceOutside   Place = "outside"
)

// Path is a file name after resolution.
type Path struct {
	// Raw is the name as the program gets it.
	Raw string
	// Abs is absolute and clean; parts that are not known are written as `…`.
	Abs   string
	Place Place
	// Rel is Abs relative to the workspace root that holds it, with slashes.
	Rel string
	// Glob is set when Abs is a pattern.
	Glob bool
	// Unresolved is set when a part of it is not known.
	Unresolved bool
	// Slash is set when the name ended in a slash: a link is followed.
	Slash bool
}

// Pipe is a data flow between two commands, by index in Result.Commands (-1
// where it is a file or the network).
type Pipe struct {
	From, To int
	// What says which kind of data flows: "network", "file", "decoded",
	// "command", "literal".
	What string
	Span Span
}

// Reason says what could not be decided.
type Reason string

// The reasons.
const (
	CommandDynamic Reason = "command.dynamic" // which program runs
	PathUnresolved Reason = "path.unresolved" // which file is meant
	ScriptUnknown  Reason = "script.unknown"  // a script that is not in the text
	CodeInline     Reason = "code.inline"     // inline code in a language not read
	TargetOpaque   Reason = "target.opaque"   // make, npm and other named targets
	OptionUnknown  Reason = "option.unknown"  // options that come from elsewhere
	TextMalformed  Reason = "text.malformed"  // the shell would reject it
)

// Undecided is a hole in what the text tells.
type Undecided struct {
	Reason Reason
	// Detail is a short word for people, such as the target's name.
	Detail string
	// Material says that the hole may hide a hazard. Routine project runs
	// (tests, builds) and reads of unknown files are not material.
	Material bool
	Command  int
	Span     Span
}

// Breach names a bound that was hit: "time", "bytes", "depth", "nodes",
// "expansion"; or "fault", when the analysis itself failed.
type Breach struct {
	Bound string
	Span  Span
}

// Malformed says where the shell would give up.
type Malformed struct {
	Offset  int
	Message string
}

// Material reports whether anything undecided may hide a hazard.
func (r *Result) Material() bool {
	for i := range r.Undecided {
		if r.Undecided[i].Material {
			return true
		}
	}
	return false
}
