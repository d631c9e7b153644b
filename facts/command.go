package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/shell"
)

// arguments are what stands beside a command to be added to it: the servers of MCP
// that run programs often take them so.
func (x *extractor) arguments(names []string, input map[string]any) string {
	var args strings.Builder
	for _, k := range names {
		if argKeys[plainKey(k)] && !writeArgs(&args, input[k]) {
			x.f.Undecidable = true
		}
	}
	return args.String()
}

// withArgs adds arguments to a command. Many commands may share them: all that is added
// so is together no longer than one text may be.
func (x *extractor) withArgs(command, args string) string {
	if x.argBytes += len(args); x.argBytes > x.maxText() {
		x.breach("shell.bytes")
		return command
	}
	return command + args
}

// commandLines reads {"command": "…", "args": […]}: every member that holds a command,
// with the arguments. It reports false where one of them is there in another form.
func (x *extractor) commandLines(m map[string]any) (lines []string, ok bool) {
	var args strings.Builder
	for _, k := range sortedKeys(m) {
		switch pk := plainKey(k); {
		case argKeys[pk]:
			if !writeArgs(&args, m[k]) {
				return nil, false
			}
		case commandKeys[pk]:
			switch v := m[k].(type) {
			case nil:
			case string:
				lines = append(lines, v)
			default:
				return nil, false
			}
		}
	}
	for i := range lines {
		lines[i] = x.withArgs(lines[i], args.String())
	}
	return lines, len(lines) > 0
}

// writeArgs writes arguments as they stand behind a command: a list of words, or text of
// which a shell makes words. It reports false, and has written nothing, where v is
// neither.
func writeArgs(to *strings.Builder, v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		to.WriteByte(' ')
		to.WriteString(v)
		return true
	case []any:
		if slices.ContainsFunc(v, func(e any) bool { _, ok := e.(string); return !ok }) {
			return false
		}
		for _, e := range v {
			to.WriteByte(' ')
			to.WriteString(quoteWord(e.(string)))
		}
		return true
	}
	return false
}

func (x *extractor) stringList(list []any) ([]string, bool) {
	out := make([]string, 0, len(list))
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case map[string]any:
			lines, ok := x.commandLines(v)
			if !ok {
				return nil, false
			}
			out = append(out, lines...)
		default:
			return nil, false
		}
	}
	return out, len(out) > 0
}

// maxText is how long a text of a shell may be.
func (x *extractor) maxText() int { return cmp.Or(max(x.o.ShellLimits.Bytes, 0), shell.DefaultBytes) }

// A script is the text of several members together: all are judged. It is made once,
// since a call may have any number of them. To what is too long to be judged nothing is
// added.
type script struct {
	lines  []string
	n, max int // bytes of the text, and past how many nothing more is added
}

func (s *script) empty() bool { return s.n == 0 }

func (s *script) add(line string) {
	switch {
	case s.n == 0:
		s.lines = append(s.lines[:0], line)
		s.n = len(line)
	case s.n <= s.max:
		s.lines = append(s.lines, line)
		s.n += 1 + len(line)
	}
}

func (s *script) text() string { return strings.Join(s.lines, "\n") }
