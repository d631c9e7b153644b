package shell

import (
	"strings"
)

// runDialect judges text in the dialect of the options.
func (m *machine) runDialect(text string) {
	switch m.opts.Dialect {
	case PowerShell:
		m.runPowerShell(text)
	case Cmd:
		m.runCmdExe(text)
	default:
		m.runPOSIX(text)
	}
	m.drainAll()
	m.finishAdded()
	if m.win {
		m.finishWindows()
	}
}

// runUnknown judges text whose shell nobody named: in every dialect that may run
// it there, and all that any of them would do counts. Elsewhere than on Windows
// that is bash alone, unless the text can only be meant for PowerShell.
func (m *machine) runUnknown(text string) *Result {
	dialects := []Dialect{Bash}
	ps := powerShellText(text)
	switch {
	case m.win && ps:
		dialects = []Dialect{PowerShell, Bash}
	case m.win:
		dialects = []Dialect{Bash, PowerShell}
		if cmdText(text) {
			dialects = []Dialect{Cmd, PowerShell, Bash}
		}
	case ps:
		dialects = []Dialect{Bash, PowerShell}
	}
	var out *Result
	for _, d := range dialects {
		o := m.opts
		o.Dialect = d
		o.Roots = m.given.roots
		o.TempDirs = m.given.tempDirs
		o.CaseInsensitive = m.given.caseInsensitive
		n := begin(m.ctx, &o)
		n.runDialect(text)
		r := n.finish()
		n.end()
		r.Dialect = d
		if out == nil {
			out = r
		} else {
			out = stricter(out, r)
		}
	}
	out.Assumed = true
	return out
}

// stricter gives all that either result says. Holes count only in the first one
// that could be read: a text read in the wrong language is full of them.
func stricter(a, b *Result) *Result {
	if a.Malformed != nil && b.Malformed == nil {
		a, b = b, a
	}
	shift := len(a.Commands)
	a.Commands = append(a.Commands, b.Commands...)
	for _, act := range b.Actions {
		if act.Command >= 0 {
			act.Command += shift
		}
		act.Certainty = Possible
		a.Actions = append(a.Actions, act)
	}
	for _, p := range b.Pipes {
		if p.From >= 0 {
			p.From += shift
		}
		if p.To >= 0 {
			p.To += shift
		}
		a.Pipes = append(a.Pipes, p)
	}
	a.Breaches = append(a.Breaches, b.Breaches...)
	return a
}

// powerShellText reports text that holds what only PowerShell has: one of its
// commands, a variable of the environment, a .NET type.
func powerShellText(text string) bool {
	low := strings.ToLower(text)
	if strings.Contains(low, "$env:") || strings.Contains(low, "[system.") || strings.Contains(low, "]::") || strings.Contains(low, "-erroraction") || strings.Contains(low, "| iex") || strings.Contains(low, "|iex") {
		return true
	}
	for i := 0; i < len(low); i++ {
		if low[i] != '-' || i == 0 || !isLetter(low[i-1]) || i+1 >= len(low) || !isLetter(low[i+1]) {
			continue
		}
		from, to := i, i+1
		for from > 0 && isLetter(low[from-1]) {
			from--
		}
		for to < len(low) && isLetter(low[to]) {
			to++
		}
		if from > 0 && strings.IndexByte(" \t\n;|&({", low[from-1]) < 0 {
			continue
		}
		if _, ok := cmdlets()[low[from:to]]; ok {
			return true
		}
	}
	return false
}

// cmdText reports text that looks like that of cmd.exe.
func cmdText(text string) bool {
	w := strings.ToLower(strings.TrimLeft(text, " \t@("))
	if i := strings.IndexAny(w, " \t\n/"); i >= 0 {
		w = w[:i]
	}
	w = strings.ReplaceAll(w, "^", "")
	if cmdInternal[w] || w == "if" || w == "for" {
		return true
	}
	if i := strings.IndexByte(text, '%'); i >= 0 {
		if j := strings.IndexByte(text[i+1:], '%'); j > 1 && !strings.ContainsAny(text[i+1:i+1+j], " \t\n") {
			return true
		}
	}
	return strings.Contains(text, "^")
}
