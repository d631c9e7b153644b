package shell

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// cmdlets.txt says what PowerShell's commands do:
//
//	cmdlet NAME…        names and aliases in any case; the first is the one that
//	                    handlers and results use
//	params SPEC…        parameters: `NAME`, with `?` for a switch, `|ALIAS`, `=ROLE`,
//	                    and `N:` in front for one that may be given by place
//	                    (`*:` takes all that is left)
//	act KIND [TEXT] [if -NAME[:PATTERN|…]]  an action; a pattern is lower case
//	out WORD            file, names, item or list: what comes out
//	pass                what comes in comes out
//	quiet               nothing comes out
//
//go:embed cmdlets.txt
var cmdletsText string

type psParam struct {
	name    string
	aliases []string
	sw      bool
	role    string
	pos     int // from 1; 0 is by name only, -1 takes the rest
}

type psAct struct {
	kind   Kind
	detail string
	param  string
	pats   []string
}

type psSpec struct {
	name   string
	params []psParam
	acts   []psAct
	out    string
	pass   bool
	quiet  bool
}

var cmdlets = sync.OnceValue(func() map[string]*psSpec {
	t, err := parseCmdlets(cmdletsText)
	if err != nil {
		panic("shell: cmdlets.txt: " + err.Error()) // a mistake in our own table; its test finds it
	}
	return t
})

// parseCmdlets reads a table. The map's keys are lower case.
func parseCmdlets(text string) (map[string]*psSpec, error) {
	out := make(map[string]*psSpec, 600)
	var cur []*psSpec
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word[0] == '#' {
			continue
		}
		if word == "cmdlet" {
			cur = nil
			var main *psSpec
			for name := range strings.FieldsSeq(rest) {
				if main == nil || strings.Contains(name, "-") {
					main = &psSpec{name: strings.ToLower(name)}
					cur = append(cur, main)
				}
				key := strings.ToLower(name)
				if _, twice := out[key]; twice {
					return nil, fmt.Errorf("line %d: %q is there twice", n+1, name)
				}
				out[key] = main
			}
			continue
		}
		for _, s := range cur {
			if err := s.item(word, rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
		}
		if cur == nil {
			return nil, fmt.Errorf("line %d: %q stands outside of a cmdlet", n+1, word)
		}
	}
	return out, nil
}

var psRoles = map[string]bool{
	"": true, "delete": true, "write": true, "append": true, "content": true, "new": true, "read": true, "meta": true, "item": true, "list": true,
	"dir": true, "regwrite": true, "regdelete": true, "wtree": true, "acl": true, "upload": true, "service": true, "secret": true,
}

func (s *psSpec) item(word, rest string) error {
	switch word {
	case "params":
		for tok := range strings.FieldsSeq(rest) {
			p := psParam{}
			if i := strings.IndexByte(tok, ':'); i > 0 {
				p.pos = int(tok[0] - '0')
				if tok[0] == '*' {
					p.pos = -1
				}
				tok = tok[i+1:]
			}
			tok, p.role, _ = strings.Cut(tok, "=")
			if !psRoles[p.role] {
				return fmt.Errorf("unknown role %q", p.role)
			}
			if t, ok := strings.CutSuffix(tok, "?"); ok {
				tok, p.sw = t, true
			}
			names := strings.Split(strings.ToLower(tok), "|")
			p.name, p.aliases = names[0], names[1:]
			s.params = append(s.params, p)
		}
	case "act":
		body, cond, has := strings.Cut(rest, " if ")
		kind, detail, _ := strings.Cut(body, " ")
		a := psAct{kind: Kind(kind), detail: detail}
		if !tableKinds[a.kind] && a.kind != ConfigSet {
			return fmt.Errorf("unknown kind %q", kind)
		}
		if has {
			name, pats, _ := strings.Cut(strings.TrimPrefix(cond, "-"), ":")
			a.param = strings.ToLower(name)
			if pats != "" {
				a.pats = strings.Split(pats, "|")
			}
		}
		s.acts = append(s.acts, a)
	case "out":
		s.out = rest
	case "pass":
		s.pass = true
	case "quiet":
		s.quiet = true
	default:
		return fmt.Errorf("unknown item %q", word)
	}
	return nil
}

// psCommon are the parameters that every command takes: true for switches.
var psCommon = map[string]bool{
	"verbose": true, "vb": true, "debug": true, "db": true, "whatif": true, "wi": true, "confirm": true, "cf": true, "usetransaction": true,
	"erroraction": false, "ea": false, "warningaction": false, "wa": false, "informationaction": false, "infa": false, "errorvariable": false, "ev": false,
	"warningvariable": false, "wv": false, "outvariable": false, "ov": false, "outbuffer": false, "ob": false, "pipelinevariable": false, "pv": false,
	"progressaction": false, "proga": false, "informationvariable": false, "iv": false,
}

// find gives the parameter that name, perhaps cut short, stands for.
func (s *psSpec) find(name string) (canon string, sw, ok bool) {
	name = strings.ToLower(name)
	var hit *psParam
	n := 0
	if s != nil {
		for i := range s.params {
			p := &s.params[i]
			if p.name == name {
				return p.name, p.sw, true
			}
			if slices.Contains(p.aliases, name) {
				return p.name, p.sw, true
			}
			if strings.HasPrefix(p.name, name) {
				hit = p
				n++
			}
		}
	}
	if sw, ok := psCommon[name]; ok {
		return psCommonName(name), sw, true
	}
	if n > 0 {
		// Cut so short that it fits several, it is refused; the first counts.
		return hit.name, hit.sw, true
	}
	for c, sw := range psCommon {
		if len(name) >= 2 && strings.HasPrefix(c, name) && len(c) > 3 {
			return c, sw, true
		}
	}
	return name, false, false
}

func psCommonName(s string) string {
	switch s {
	case "wi":
		return "whatif"
	case "cf":
		return "confirm"
	case "ea":
		return "erroraction"
	}
	return s
}
