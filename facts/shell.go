package facts

import (
	"github.com/holdpoint/holdpoint/shell"
)

// shellFacts adds to f what the command line r says of files and addresses.
// It runs once per command line, after f.Shell is set and before hazards.
func shellFacts(f *Facts, r *shell.Result, _ Options) {
	for i := range r.Actions {
		a := &r.Actions[i]
		if a.Dry {
			continue
		}
		if op, ok := fileOps[a.Kind]; ok {
			f.Files = append(f.Files, shellFile(r, a, op))
			if a.Path.Unresolved {
				f.Undecidable = true
			}
		}
		if use, ok := netUses[a.Kind]; ok {
			f.URLs = append(f.URLs, shellURLs(r, a, use)...)
		}
	}
}

var fileOps = map[shell.Kind]FileOp{
	shell.FileRead: FileRead, shell.FileWrite: FileWrite, shell.FileDelete: FileDelete, shell.FileMeta: FileList,
	shell.FileMode: FileMode, shell.FileOwner: FileMode, shell.FileWipe: FileWrite, shell.FileExec: FileExec, shell.FileLink: FileWrite,
}

var netUses = map[shell.Kind]string{
	shell.NetFetch: UseFetch, shell.NetUpload: UseUpload, shell.NetConnect: UseConnect, shell.NetListen: UseListen,
	shell.NetShell: UseConnect,
}

// command returns the command behind an action.
func command(r *shell.Result, a *shell.Action) *shell.Command {
	if a.Command < 0 || a.Command >= len(r.Commands) {
		return nil
	}
	return &r.Commands[a.Command]
}

func shellFile(r *shell.Result, a *shell.Action, op FileOp) File {
	x := File{
		Path: a.Path.Abs, Op: op, Zone: zoneOf(a.Path.Place), Recursive: a.Recursive, Glob: a.Path.Glob, Via: "shell",
		Certainty: certainty(a.Certainty), Span: Span{Start: a.Span.Start, End: a.Span.End}, Command: command(r, a),
	}
	if x.Path == "" {
		x.Path = a.Path.Raw
	}
	if a.Quiet && op == FileRead {
		x.Op = FileList // what was read does not come out
	}
	if a.Path.Unresolved {
		x.Zone = ZoneUnknown
	}
	if x.Command != nil {
		x.Program = x.Command.Program
	}
	return x
}

func shellURLs(r *shell.Result, a *shell.Action, use string) []URL {
	text := a.URL
	if text == "" {
		text = a.Host
	}
	urls := ParseURL(text, use)
	if urls == nil && text != "" {
		urls = []URL{{Raw: RedactURL(text), Class: ClassUnknown, Use: use}}
	}
	for i := range urls {
		urls[i].Certainty = certainty(a.Certainty)
		urls[i].Span = Span{Start: a.Span.Start, End: a.Span.End}
		urls[i].Command = command(r, a)
	}
	return urls
}

func certainty(c shell.Certainty) Certainty {
	if c == shell.Certain {
		return Certain
	}
	return Possible
}
