package facts

import (
	"github.com/holdpoint/holdpoint/shell"
)

// shellFacts adds to f what the command line r says of files and addresses.
// It runs once per command line, after f.Shell is set and before hazards.
func shellFacts(f *Facts, r *shell.Result) {
	pointer := ""
	if f.Shell != nil {
		pointer = f.Shell.Pointer
	}
	files := 0
	for i := range r.Actions {
		if fileOp(r.Actions[i].Kind) != "" {
			files++
		}
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
		if op := fileOp(a.Kind); op != "" {
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
			if f.Files == nil {
				f.Files = make([]File, 0, files)
			}
			f.Files = append(f.Files, fl)
			continue
		}
		use := urlUse(a.Kind)
		if use == "" {
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

func fileOp(k shell.Kind) FileOp {
	switch k {
	case shell.FileRead:
		return FileRead
	case shell.FileWrite, shell.FileWipe:
		return FileWrite
	case shell.FileDelete:
		return FileDelete
	case shell.FileMeta:
		return FileList
	case shell.FileMode, shell.FileOwner:
		return FileMode
	case shell.FileExec:
		return FileExec
	default:
		return ""
	}
}

func urlUse(k shell.Kind) string {
	switch k {
	case shell.NetFetch:
		return UseFetch
	case shell.NetUpload:
		return UseUpload
	case shell.NetConnect:
		return UseConnect
	case shell.NetListen:
		return UseListen
	default:
		return ""
	}
}
