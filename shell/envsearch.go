package shell

import "strings"

// envWalks are the ways in which script languages go through the whole environment.
var envWalks = [...]string{
	"environ.items", "in os.environ", "in environ", "Object.entries(process.env", "in process.env", "Object.entries(Deno.env", "Object.entries(Bun.env", "Deno.env.toObject",
	"ENV.select", "ENV.each", "ENV.filter", "ENV.find_all", "ENV.map", "ENV.to_h", "ENV.reject", "ENV.grep", "keys %ENV", "each %ENV", "keys(%ENV", "getenv() as",
}

// envSearch judges a program that goes through the environment, looks for something
// in the names, and shows what it finds.
func (x *inv) envSearch(toks []token, text string) {
	walks, values := false, strings.Contains(text, "process.env[") || strings.Contains(text, "environ[")
	for _, w := range envWalks {
		walks = walks || strings.Contains(text, w)
	}
	walks = walks || values && strings.Contains(text, "Object.keys(process.env")
	shows := len(x.args) > 1 && strings.HasPrefix(x.args[1].s, "-p")
	for _, w := range [...]string{"print", "console.", "puts", "say ", "echo", "write(", "p ENV"} {
		shows = shows || strings.Contains(text, w)
	}
	if !walks || !shows {
		return
	}
	for i := range toks {
		if k := toks[i].kind; k == tokStr || k == tokRegex {
			x.f.emit(Action{Kind: EnvFilter, Name: toks[i].s, Span: x.span, Command: x.cmd + 1})
		}
	}
}

// jqEnv tells the variables that a program of jq shows: env.NAME and $ENV.NAME.
func (x *inv) jqEnv() {
	for _, a := range x.args[1:] {
		s := a.s
		for _, ref := range [...]string{"env.", "$ENV."} {
			i := strings.Index(s, ref)
			if i < 0 || ref[0] == 'e' && i > 0 && (s[i-1] == '.' || s[i-1] == '_' || isLetter(s[i-1])) {
				continue // a member of the input
			}
			name := s[i+len(ref):]
			end := 0
			for end < len(name) && (name[end] == '_' || isLetter(name[end]) || name[end] >= '0' && name[end] <= '9') {
				end++
			}
			if end > 0 {
				x.f.emit(Action{Kind: EnvPrint, Name: name[:end], Span: x.span, Command: x.cmd + 1})
			}
		}
	}
}
