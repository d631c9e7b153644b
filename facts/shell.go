package facts

import (
	"github.com/holdpoint/holdpoint/shell"
)

// shellFacts adds to f what the command line r says of files and addresses.
// It runs once per command line, after f.Shell is set and before hazards.
func shellFacts(f *Facts, r *shell.Result, o Options) {
	pointer := ""
	if f.Shell != nil {
		pointer = f.Shell.Pointer
	}
	for i := range r.Actions {
		a := &r.Actions[i]
		if a.Dry {
			continue
		}
		span := Span{Pointer: pointer, Start: a.Span.Start, End: a.Span.End}
		certainty := Possible
		if a.Certainty == shell.Certain {
			certainty = Certain
		}
		if op, ok := fileOps[a.Kind]; ok {
			if a.Path.Place == shell.PlaceNull || a.Path.Abs == "" {
				continue
			}
			if a.Kind == shell.FileRead && a.Quiet {
				op = FileList
			}
			fl := File{
				Path: a.Path.Abs, Op: op, Zone: zoneOf(a.Path.Place), Recursive: a.Recursive, Glob: a.Path.Glob, Via: "shell",
				Certainty: certainty, Span: span,
			}
			if a.Path.Unresolved && a.Path.Place == shell.PlaceUnknown {
				fl.Zone = ZoneUnknown
			}
			if a.Command >= 0 && a.Command < len(r.Commands) {
				fl.Program = r.Commands[a.Command].Program
			}
			f.Files = append(f.Files, fl)
			continue
		}
		use, ok := urlUses[a.Kind]
		if !ok {
			continue
		}
		text := a.URL
		if text == "" {
			text = a.Host
		}
		if text == "" {
			continue
		}
		for _, u := range ParseURL(text, use) {
			u.Certainty, u.Span = certainty, span
			f.URLs = append(f.URLs, u)
		}
	}
}

var fileOps = map[shell.Kind]FileOp{
	shell.FileRead: FileRead, shell.FileWrite: FileWrite, shell.FileDelete: FileDelete, shell.FileMeta: FileList,
	shell.FileMode: FileMode, shell.FileOwner: FileMode, shell.FileWipe: FileWrite, shell.FileExec: FileExec,
}

var urlUses = map[shell.Kind]string{
	shell.NetFetch: "fetch", shell.NetUpload: "upload", shell.NetConnect: "connect", shell.NetListen: "listen",
}
