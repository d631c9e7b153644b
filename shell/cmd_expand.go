package shell

import (
	"strconv"
	"strings"
)

// expand replaces variables.
func (c *cmdRun) expand(s string) value {
	v := value{}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		ch := s[i]
		if ch != '%' && ch != '!' {
			b.WriteByte(ch)
			continue
		}
		if ch == '%' {
			// Loop variables and arguments.
			j := i + 1
			if j < len(s) && s[j] == '%' {
				j++
			}
			mods := j
			if j < len(s) && s[j] == '~' {
				for j++; j < len(s) && strings.IndexByte("fdpnxsatz", s[j]|0x20) >= 0 && j+1 < len(s) && (isLetter(s[j+1]) || s[j+1] >= '0' && s[j+1] <= '9'); j++ {
				}
			}
			if j < len(s) {
				if lv, ok := c.vars["%"+s[j:j+1]]; ok && isLetter(s[j]) && !c.named(s, i) {
					if strings.Contains(s[mods:j], "~") {
						lv.s = strings.Trim(lv.s, `"`)
					}
					b.WriteString(lv.s)
					v.t |= lv.t
					v.vars = append(v.vars, lv.vars...)
					v.src = append(v.src, lv.src...)
					i = j
					continue
				}
				if s[j] >= '0' && s[j] <= '9' || s[j] == '*' {
					if s[j] == '0' && strings.Contains(s[mods:j], "d") {
						b.WriteString(winShow(c.f.cwd) + `\`)
					} else if s[j] != '0' || mods == j {
						b.WriteString(unknownText)
					}
					i = j
					continue
				}
			}
			if i+1 < len(s) && s[i+1] == '%' {
				b.WriteByte('%')
				i++
				continue
			}
		}
		end := strings.IndexByte(s[i+1:], ch)
		if end <= 0 || strings.ContainsAny(s[i+1:i+1+end], "\n\"&|") {
			b.WriteByte(ch)
			continue
		}
		body := s[i+1 : i+1+end]
		if ch == '!' && strings.ContainsAny(body, " \t") {
			b.WriteByte(ch)
			continue
		}
		name, edit, _ := strings.Cut(body, ":")
		x := c.lookup(name)
		if edit != "" {
			x = cmdEdit(x, edit)
		}
		b.WriteString(x.s)
		v.t |= x.t
		v.vars = append(v.vars, x.vars...)
		v.src = append(v.src, x.src...)
		i += 1 + end
		if b.Len() > 1<<16 {
			return unknownVal(v.t)
		}
	}
	v.s = b.String()
	return v
}

// named reports whether a percent sign begins a variable in two signs rather than
// one of a loop.
func (c *cmdRun) named(s string, i int) bool {
	end := strings.IndexByte(s[i+1:], '%')
	if end <= 0 {
		return false
	}
	name, _, _ := strings.Cut(s[i+1:i+1+end], ":")
	if len(name) < 2 || strings.ContainsAny(name, " \\/.\"") {
		return false
	}
	_, set := c.vars[strings.ToLower(name)]
	if !set {
		_, set = c.m.winEnv(name)
	}
	return set
}

func (c *cmdRun) lookup(name string) value {
	if v, ok := c.vars[strings.ToLower(name)]; ok {
		v.t |= tVar
		return v
	}
	switch strings.ToUpper(name) {
	case "CD":
		return lit(winShow(c.f.cwd))
	case "RANDOM", "DATE", "TIME", "ERRORLEVEL", "CMDCMDLINE", "NUMBER_OF_PROCESSORS":
		return value{s: "0"}
	}
	if s, ok := c.m.winEnv(name); ok {
		return value{s: s, t: tVar}
	}
	return value{s: unknownText, vars: []string{strings.ToUpper(name)}}
}

// cmdEdit is %NAME:~a,b% and %NAME:x=y%.
func cmdEdit(v value, edit string) value {
	if !v.known() {
		return v
	}
	if rest, ok := strings.CutPrefix(edit, "~"); ok {
		a, b, two := strings.Cut(rest, ",")
		from, err := strconv.Atoi(a)
		if err != nil {
			return unknownVal(v.t)
		}
		n := len(v.s)
		if from < 0 {
			from += n
		}
		from = max(0, min(from, n))
		end := n
		if two {
			k, err := strconv.Atoi(b)
			if err != nil {
				return unknownVal(v.t)
			}
			end = from + k
			if k < 0 {
				end = n + k
			}
			end = max(from, min(end, n))
		}
		v.s = v.s[from:end]
		v.t |= tGlued
		return v
	}
	if from, to, ok := strings.Cut(edit, "="); ok && from != "" {
		if strings.Count(v.s, from)*len(to) > maxText {
			return unknownVal(v.t)
		}
		v.s = strings.ReplaceAll(v.s, from, to)
	}
	return v
}
