package facts

import (
	"github.com/holdpoint/holdpoint/shell"
)

// The hazard codes of the taxonomy. docs/hazards.md describes each.
const (
	GitForcePush      = "git.force_push"
	GitForcePushLease = "git.force_push_lease"
	GitHistoryRewrite = "git.history_rewrite"
	GitDiscardWork    = "git.discard_work"
	GitRemoteDelete   = "git.remote_branch_delete"
	GitHookBypass     = "git.hook_bypass"
	FSDeleteRecursive = "fs.delete_recursive"
	FSWriteOutside    = "fs.write_outside_workspace"
	FSPermissions     = "fs.permissions"
	FSDeviceWrite     = "fs.device_write"
	SecretsRead       = "secrets.read"
	SecretsLiteral    = "secrets.literal"
	NetUploadCode     = "net.upload"
	NetPipeToShell    = "net.pipe_to_shell"
	NetListenCode     = "net.listen"
	NetReverseShell   = "net.reverse_shell"
	ProcKillBroad     = "proc.kill_broad"
	PrivEscalate      = "priv.escalate"
	SysDisrupt        = "sys.disrupt"
	DBDestructive     = "db.destructive"
	InfraDestructive  = "infra.destructive"
	PkgPublishCode    = "pkg.publish"
	PersistenceCode   = "persistence"
	GuardTamper       = "guard.tamper"
	ObfuscationCode   = "obfuscation"
	ResourceExhaust   = "resource.exhaust"
)

// hazards computes the hazards of everything else in f, after those that are in it
// already. It runs last, once per event. Files and addresses of all tools are in
// f.Files and f.URLs by then.
func hazards(f *Facts, o *Options) []Hazard {
	h := &hazardFinder{f: f, o: o, out: f.Hazards}
	if f.Shell != nil && f.Shell.Result != nil {
		h.shell(f.Shell.Result, f.Shell.Text)
	}
	h.tools()
	h.secretLiterals()
	return h.out
}

// CommandHazards gives the hazards of one analyzed command line alone.
func CommandHazards(r *shell.Result, text string, o Options) []Hazard {
	return hazards(&Facts{Shell: &Shell{Text: text, Result: r}}, &o)
}

// maxHazards bounds the list; codes are never lost to it, only repetitions.
const maxHazards = 512

type hazardFinder struct {
	f    *Facts
	o    *Options
	out  []Hazard
	r    *shell.Result
	text string
}

// add records a hazard once for each code and file.
func (h *hazardFinder) add(code, detail string, a *shell.Action) {
	hz := Hazard{Code: code, Certainty: Certain, Detail: detail}
	if a != nil {
		hz.Path, hz.Host = a.Path.Abs, a.Host
		hz.Span = Span{Start: a.Span.Start, End: a.Span.End}
		if f := h.f.Shell; f != nil {
			hz.Span.Pointer = f.Pointer
		}
		if a.Certainty != shell.Certain {
			hz.Certainty = Possible
		}
		if h.r != nil && a.Command >= 0 && a.Command < len(h.r.Commands) {
			hz.Command = &h.r.Commands[a.Command]
		}
	}
	h.put(hz)
}

func (h *hazardFinder) put(hz Hazard) {
	first := true
	for i := range h.out {
		e := &h.out[i]
		if e.Code != hz.Code {
			continue
		}
		first = false
		if e.Path == hz.Path && e.Host == hz.Host && e.Command == hz.Command {
			if hz.Certainty == Certain {
				e.Certainty = Certain
			}
			return
		}
	}
	if len(h.out) >= maxHazards && !first {
		return
	}
	h.out = append(h.out, hz)
}

// shell judges the actions of a command line.
func (h *hazardFinder) shell(r *shell.Result, text string) {
	h.r, h.text = r, text
	for i := range r.Actions {
		a := &r.Actions[i]
		if a.Dry {
			continue
		}
		switch a.Kind {
		case shell.FileRead, shell.FileWrite, shell.FileDelete, shell.FileMode, shell.FileOwner, shell.FileWipe:
			h.file(a)
		default:
			h.action(a)
		}
	}
}

// tools judges what other tools do to files: the same rules on the same paths.
func (h *hazardFinder) tools() {
	for i := range h.f.Files {
		fl := &h.f.Files[i]
		if fl.Via == "shell" {
			continue
		}
		a := shell.Action{Recursive: fl.Recursive, Command: -1, Certainty: shell.Possible}
		if fl.Certainty == Certain {
			a.Certainty = shell.Certain
		}
		a.Path = h.place(fl.Path)
		a.Path.Glob = fl.Glob
		a.Path.Unresolved = fl.Zone == ZoneUnknown
		switch fl.Op {
		case FileRead:
			a.Kind = shell.FileRead
		case FileWrite:
			a.Kind = shell.FileWrite
		case FileDelete:
			a.Kind = shell.FileDelete
		case FileMode:
			a.Kind = shell.FileMode
		default:
			continue
		}
		n := len(h.out)
		h.file(&a)
		for j := n; j < len(h.out); j++ {
			h.out[j].Span = fl.Span
		}
	}
}

func (h *hazardFinder) place(path string) shell.Path {
	return shell.Resolve(path, shell.Options{
		CWD: h.f.Session.CWD, Roots: h.f.Session.Roots, Home: h.o.Home, TempDirs: h.o.TempDirs, CaseInsensitive: h.o.CaseInsensitive,
	})
}
