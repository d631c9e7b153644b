package shell

import "strings"

// huge notices text or memory of gigabytes.
func (c *coder) huge(a, b cval) {
	for _, p := range [][2]cval{{a, b}, {b, a}} {
		if n, ok := c.number(p[1]); ok && n >= 4e9 && !p[0].isNum {
			c.emit(Action{Kind: Exhaust, Detail: "memory without bound"})
		}
	}
}

// allocates notices a call that takes gigabytes of memory at once.
func (c *coder) allocates(name string, args []cval) {
	if len(args) == 0 {
		return
	}
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "bytearray", "bytes", "alloc", "allocUnsafe", "Array", "repeat":
	case "range", "xrange":
		// It takes no room by itself; a list of it does.
		if !c.mentions("list") && !c.mentions("sorted") {
			return
		}
	default:
		return
	}
	if n, ok := c.number(args[len(args)-1]); ok && n >= 4e9 {
		c.emit(Action{Kind: Exhaust, Detail: "memory without bound"})
	}
}

// growsForEver reports a loop that always goes on, only to make something larger:
// nothing in the program leaves it or waits.
func growsForEver(toks []token) bool {
	endless, grows, _ := endlessLoop(toks)
	return endless && grows
}

// printsForEver reports whether it prints without an end.
func printsForEver(toks []token) bool {
	endless, _, prints := endlessLoop(toks)
	return endless && prints
}

// endlessLoop reports whether a program has a loop that nothing ends or slows, and
// whether it has what makes data grow and what prints.
func endlessLoop(toks []token) (endless, grows, prints bool) {
	for i, t := range toks {
		if t.kind != tokIdent {
			grows = grows || t.kind == tokOp && (t.s == "+=" || t.s == "<<" || t.s == "*=")
			continue
		}
		switch t.s {
		case "while", "until", "loop":
			j := i + 1
			for j < len(toks) && toks[j].s == "(" {
				j++
			}
			if j < len(toks) {
				switch s := toks[j].s; {
				case t.s == "while" && (s == "True" || s == "true" || s == "1"), t.s == "until" && s == "false", t.s == "loop" && (s == "do" || s == "{"):
					endless = true
				}
			}
		case "for":
			// for (;;)
			endless = endless || i+3 < len(toks) && toks[i+1].s == "(" && toks[i+2].s == ";" && toks[i+3].s == ";"
		case "print", "puts", "console.log", "log", "say", "echo", "printf", "write":
			prints = true
		case "append", "push", "extend", "concat", "unshift", "alloc", "bytearray", "malloc":
			grows = true
		case "break", "return", "exit", "quit", "sleep", "input", "raw_input", "gets", "recv", "read", "readline", "readlines", "accept", "wait", "await", "poll", "select", "get", "next", "last", "die", "raise", "throw", "process", "yield":
			return false, false, false
		}
	}
	return endless, grows, prints
}
