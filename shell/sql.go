package shell

import (
	"strings"
)

// database is psql, mysql, redis-cli and their kin.
func (x *inv) database() value {
	f, m, p := x.f, x.f.m, x.p
	if x.spec == nil {
		return x.unknownProgram()
	}
	at := x.cmd + 1
	out := x.runSpec()
	code := false
	for i := range p.flags {
		fl := &p.flags[i]
		if fl.role == "sql" && fl.has {
			code = true
			x.origin(fl.val)
		}
		if fl.role == "sqlfile" {
			code = true
		}
	}
	pos := p.pos
	switch x.name {
	case "redis-cli", "valkey-cli", "keydb-cli", "iredis":
		if len(pos) > 0 {
			words := make([]string, 0, len(pos))
			for _, v := range pos {
				words = append(words, v.text())
			}
			if pos[0].openEnded() {
				x.undecidedOperand(pos[0], ScriptUnknown)
			}
			x.redis(strings.Join(words, " "))
		} else if f.hasIn && x.in.known() {
			for l := range strings.SplitSeq(x.in.s, "\n") {
				x.redis(l)
			}
		} else if x.fromFile() {
			m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span)
		}
		return out
	case "mongosh", "mongo":
		for i := range p.flags {
			if p.flags[i].name == "--eval" {
				x.mongo(p.flags[i].val)
				code = true
			}
		}
		for _, v := range pos {
			if strings.HasSuffix(v.s, ".js") {
				x.execFile(v)
			}
		}
		if !code && x.fromFile() {
			m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span)
		} else if !code && f.hasIn && x.in.s != "" {
			x.mongo(x.in)
		}
		return out
	case "sqlite3", "sqlite", "duckdb", "litecli", "libsql":
		if len(pos) > 0 {
			pth := f.resolve(pos[0])
			if pth.Place == PlaceOutside {
				f.readFile(pos[0], x.cmd, false)
				if !p.given("-readonly") && changesSQL(pos[1:]) {
					x.writes(pos[0], value{s: unknownText, t: tFile})
				}
			}
		}
		for _, v := range pos[min(1, len(pos)):] {
			code = true
			x.sqlite(v)
		}
		if !code && x.fromFile() && !x.in.openEnded() {
			m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span)
		} else if !code && f.hasIn && (x.in.s != "" || x.in.t != 0) {
			x.sqlite(x.in)
		}
		return out
	case "dropdb":
	case "dolt", "turso", "clickhouse", "bq", "cockroach", "influx", "surreal":
	}
	if !code && f.hasIn && (x.in.s != "" || x.in.t != 0) {
		if x.in.known() || !x.in.opaque() {
			x.sql(x.in)
		} else if x.fromFile() {
			m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span)
		}
	}
	_ = at
	return out
}

// sqlFile judges a file of SQL statements.
func (x *inv) sqlFile(v value) {
	f, m := x.f, x.f.m
	var c value
	switch {
	case v.s == "-" || v.s == "/dev/stdin":
		c = x.in
	case strings.HasPrefix(v.s, "/dev/fd/proc"):
		c = m.files[v.s]
	default:
		p := f.resolve(v)
		f.emit(Action{Kind: FileExec, Path: p, Span: v.span, Command: x.cmd + 1})
		known, ok := m.files[p.Abs]
		if !ok {
			m.undecided(ScriptUnknown, v.s, true, x.cmd, x.span)
			return
		}
		c = known
	}
	if c.opaque() {
		m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span)
		return
	}
	c.span = v.span
	x.sql(c)
}

// memoryDatabase reports whether a client of databases in files is given none.
func (x *inv) memoryDatabase() bool {
	switch {
	case len(x.p.pos) > 0:
		s := x.p.pos[0].s
		return s == ":memory:" || s == "" && x.p.pos[0].t == 0 && (x.name == "sqlite3" || x.name == "duckdb")
	case x.name == "duckdb":
		return true
	}
	return false
}

// memoryOnly reports that all statements of the command are on a database that is
// gone when the program ends, and that none reaches out of it.
func (x *inv) memoryOnly() bool {
	if x.p == nil || !x.memoryDatabase() || x.f.hasIn && x.in.s != "" && !x.in.known() {
		return false
	}
	reaches := func(s string) bool {
		low := strings.ToLower(s)
		for _, w := range []string{"attach", "load_extension", "writefile", "readfile", "edit(", "fsdir", "vacuum", "copy", "export", "install"} {
			if strings.Contains(low, w) {
				return true
			}
		}
		// A command of the program itself starts with a dot.
		for l := range strings.Lines(s) {
			if strings.HasPrefix(strings.TrimSpace(l), ".") {
				return true
			}
		}
		return !clean(s)
	}
	for _, a := range x.args[1:] {
		if reaches(a.s) {
			return false
		}
	}
	return !reaches(x.in.s)
}

func (x *inv) sqlite(v value) {
	f := x.f
	if x.memoryOnly() {
		return
	}
	for l := range strings.SplitSeq(v.s, "\n") {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, ".") {
			w := strings.Fields(l)
			switch w[0] {
			case ".shell", ".system":
				f.run(v.with(strings.TrimSpace(l[len(w[0]):])), ViaCode, nil)
			case ".output", ".once", ".backup", ".save", ".clone", ".log":
				if len(w) > 1 && w[len(w)-1] != "stdout" && !strings.HasPrefix(w[len(w)-1], "|") {
					x.writes(v.with(strings.Trim(w[len(w)-1], `'"`)), value{s: unknownText, t: tFile})
				}
			case ".read":
				if len(w) > 1 {
					x.execFile(v.with(w[1]))
				}
			}
		}
	}
	x.sql(v)
}

// changesSQL reports whether the first word of a statement is one that changes a
// database.
func changesSQL(stmts []value) bool {
	for _, v := range stmts {
		for s := range strings.SplitSeq(v.s, ";") {
			if w := strings.Fields(s); len(w) > 0 {
				switch strings.ToUpper(w[0]) {
				case "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "VACUUM":
					return true
				}
			}
		}
	}
	return false
}

// fromFile reports whether a program's input is the content of a file that the text
// does not show.
func (x *inv) fromFile() bool {
	return x.f.hasIn && x.in.opaque() && (x.in.t&(tFile|tNet|tDecoded) != 0 || x.in.openEnded())
}

// sql judges statements.
func (x *inv) sql(v value) {
	f := x.f
	if s := strings.TrimLeft(v.s, " \t\n;("); s != "" && s[0] == markUnknown && v.t&(tNet|tPeer|tDecoded) == 0 && !x.dry && !x.memoryOnly() {
		f.m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span) // which statement
	}
	if what := destructiveSQL(v.text()); what != "" && (x.name != "duckdb" || !x.memoryOnly()) {
		f.emit(Action{Kind: DataDestroy, Name: what, Dry: x.dry, Span: v.span, Command: x.cmd + 1})
	}
	// psql's \! and COPY … TO PROGRAM start a shell.
	s := v.text()
	for l := range strings.SplitSeq(s, "\n") {
		t := strings.TrimSpace(l)
		for _, esc := range []string{`\!`, `system `, `\! `} {
			if after, ok := strings.CutPrefix(t, esc); ok {
				f.run(v.with(strings.TrimSpace(after)), ViaCode, nil)
				break
			}
		}
		if rest, ok := strings.CutPrefix(t, `\i `); ok {
			x.execFile(v.with(strings.TrimSpace(rest)))
		}
	}
	u := strings.ToUpper(s)
	if i := strings.Index(u, "PROGRAM "); i >= 0 && strings.Contains(u[:i], "COPY") {
		if j := strings.IndexByte(s[i:], '\''); j >= 0 {
			body, _, _ := strings.Cut(s[i+j+1:], "'")
			f.run(v.with(body), ViaCode, nil)
		}
	}
}

// sqlTokens splits SQL into words without comments; strings become one token
// with their quote in front.
func sqlTokens(s string) []string {
	var out []string
	i := 0
	for i < len(s) && len(out) < 20_000 {
		c := s[i]
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(s[i:], "--"):
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case strings.HasPrefix(s[i:], "/*"):
			end := strings.Index(s[i+2:], "*/")
			body := ""
			if end < 0 {
				body = s[i+2:]
				i = len(s)
			} else {
				body = s[i+2 : i+2+end]
				i += end + 4
			}
			// MySQL runs what stands in /*! … */.
			if strings.HasPrefix(body, "!") {
				out = append(out, sqlTokens(strings.TrimLeft(body[1:], "0123456789"))...)
			}
		case c == '\'' || c == '"' || c == '`':
			start := i
			i++
			for i < len(s) && s[i] != c {
				if s[i] == '\\' && c == '\'' {
					i++
				}
				i++
			}
			i++
			out = append(out, s[start:min(i, len(s))])
		case identChar(c) || c == markUnknown || c == '$':
			start := i
			for i < len(s) && (identChar(s[i]) || s[i] == '.' || s[i] == markUnknown || s[i] == '$') {
				i++
			}
			out = append(out, s[start:i])
		default:
			out = append(out, s[i:i+1])
			i++
		}
	}
	return out
}

// destructiveSQL names the first statement that drops or empties data, or "".
func destructiveSQL(text string) string {
	toks := sqlTokens(text)
	start := 0
	for start < len(toks) {
		end := start
		for end < len(toks) && toks[end] != ";" {
			end++
		}
		if what := destructiveStatement(toks[start:end]); what != "" {
			return what
		}
		start = end + 1
	}
	return ""
}

func destructiveStatement(t []string) string {
	up := func(i int) string {
		if i < len(t) {
			return strings.ToUpper(t[i])
		}
		return ""
	}
	i := 0
	// BEGIN, WITH … AS (…), EXPLAIN ANALYZE and \c in front.
	for i < len(t) {
		switch up(i) {
		case "BEGIN", "START", "TRANSACTION", "BEGIN;":
			i++
			continue
		case "EXPLAIN":
			if up(i+1) == "ANALYZE" {
				i += 2
				continue
			}
			return ""
		case "WITH":
			depth := 0
			j := i + 1
			for j < len(t) {
				switch t[j] {
				case "(":
					depth++
					if w := up(j + 1); w == "DELETE" || w == "UPDATE" {
						k, d := j+1, 1
						for k < len(t) && d > 0 {
							if t[k] == "(" {
								d++
							}
							if t[k] == ")" {
								d--
							}
							k++
						}
						if s := destructiveStatement(t[j+1 : max(k-1, j+1)]); s != "" {
							return s
						}
					}
				case ")":
					depth--
				}
				if depth == 0 {
					switch up(j) {
					case "DELETE", "UPDATE", "SELECT", "INSERT":
						return destructiveStatement(t[j:])
					}
				}
				j++
			}
			return ""
		}
		break
	}
	switch up(i) {
	case "DROP":
		switch up(i + 1) {
		case "TABLE", "DATABASE", "SCHEMA", "KEYSPACE", "COLLECTION", "MATERIALIZED", "TABLESPACE", "OWNED", "EXTENSION_", "VIEW_", "DATASET", "BUCKET", "MEASUREMENT", "STREAM", "DICTIONARY_", "FOREIGN", "EXTERNAL", "SERIES", "CATALOG", "WAREHOUSE_", "TEMPORARY_", "USER_", "TYPE_":
			return "DROP " + up(i+1)
		}
	case "TRUNCATE":
		if up(i+1) != "(" {
			return "TRUNCATE"
		}
	case "ALTER":
		for j := i; j+1 < len(t); j++ {
			if up(j) == "DROP" && (up(j+1) == "COLUMN" || up(j+1) == "PARTITION") {
				return "DROP COLUMN"
			}
			if up(j) == "DELETE" && up(i+1) == "TABLE" && !effectiveWhere(t[j:]) {
				return "DELETE"
			}
		}
	case "DELETE":
		if !effectiveWhere(t[i:]) {
			return "DELETE without WHERE"
		}
	case "UPDATE":
		set := false
		for j := i; j < len(t); j++ {
			if up(j) == "SET" {
				set = true
			}
		}
		if set && !effectiveWhere(t[i:]) {
			return "UPDATE without WHERE"
		}
	case "MERGE_":
	case "DO", "CALL", "EXECUTE":
		for j := i; j < len(t); j++ {
			if s := strings.Trim(t[j], `'"$`); len(s) > 8 && strings.Contains(strings.ToUpper(s), "DROP ") {
				return destructiveSQL(s)
			}
		}
	}
	return ""
}

// effectiveWhere reports whether a WHERE narrows anything: a comparison of
// constants, or of a thing with itself, does not.
func effectiveWhere(t []string) bool {
	w := -1
	depth := 0
	for i, s := range t {
		switch s {
		case "(":
			depth++
		case ")":
			depth--
		}
		if strings.EqualFold(s, "WHERE") && depth == 0 {
			w = i
			break
		}
		if strings.EqualFold(s, "LIMIT") && depth == 0 && i+1 < len(t) {
			return true
		}
	}
	if w < 0 {
		return false
	}
	// The condition is a chain of OR; it holds always when one part does.
	cond := t[w+1:]
	for i, s := range cond {
		u := strings.ToUpper(s)
		if u == "RETURNING" || u == "ORDER" || u == "LIMIT" {
			cond = cond[:i]
			break
		}
	}
	for len(cond) > 2 && cond[0] == "(" && cond[len(cond)-1] == ")" {
		cond = cond[1 : len(cond)-1]
	}
	if len(cond) == 0 {
		return false
	}
	var parts [][]string
	start := 0
	for i, s := range cond {
		if strings.EqualFold(s, "OR") {
			parts = append(parts, cond[start:i])
			start = i + 1
		}
	}
	parts = append(parts, cond[start:])
	for _, p := range parts {
		all := true
		begin := 0
		for i := 0; i <= len(p); i++ {
			if i == len(p) || strings.EqualFold(p[i], "AND") {
				if !alwaysTrue(p[begin:i]) {
					all = false
				}
				begin = i + 1
			}
		}
		if all {
			return false
		}
	}
	return true
}

func alwaysTrue(p []string) bool {
	if len(p) == 1 {
		u := strings.ToUpper(p[0])
		return u == "TRUE" || isNumber(u) && u != "0" || u == "'1'"
	}
	if len(p) == 2 && strings.EqualFold(p[0], "NOT") {
		return strings.EqualFold(p[1], "FALSE") || p[1] == "0"
	}
	if len(p) == 3 {
		a, op, b := p[0], p[1], p[2]
		konst := func(s string) bool { return isNumber(s) || strings.HasPrefix(s, "'") || strings.HasPrefix(s, `"`) }
		switch op {
		case "=":
			return strings.EqualFold(a, b)
		case ">", "<":
			return konst(a) && konst(b) && a != b
		}
	}
	if len(p) == 4 && konstTok(p[0]) && konstTok(p[3]) { // <>, !=, >=
		return p[1]+p[2] == "<>" && p[0] != p[3] || p[1]+p[2] == "!=" && p[0] != p[3] || p[1]+p[2] == ">=" || p[1]+p[2] == "<=" || p[1] == "=" && p[2] == "="
	}
	if len(p) == 4 && strings.EqualFold(p[1], "IS") && strings.EqualFold(p[2], "NOT") && strings.EqualFold(p[3], "NULL") {
		return strings.EqualFold(p[0], "id")
	}
	return false
}

func konstTok(s string) bool { return isNumber(s) || strings.HasPrefix(s, "'") }

func isNumber(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func (x *inv) redis(line string) {
	w := strings.Fields(strings.ToUpper(line))
	if len(w) == 0 {
		return
	}
	bad := ""
	switch w[0] {
	case "FLUSHALL", "FLUSHDB":
		bad = w[0]
	case "DEBUG", "SHUTDOWN":
		if w[0] == "SHUTDOWN" {
			x.f.emit(Action{Kind: ServiceStop, Name: "redis", Span: x.span, Command: x.cmd + 1})
		}
	case "EVAL":
		if strings.Contains(strings.Join(w, " "), "FLUSHALL") || strings.Contains(strings.Join(w, " "), "FLUSHDB") {
			bad = "FLUSHALL"
		}
	case "CONFIG":
		return
	}
	if bad != "" {
		x.f.emit(Action{Kind: DataDestroy, Name: bad, Span: x.span, Command: x.cmd + 1})
	}
}

// mongo judges a script of the MongoDB shell.
func (x *inv) mongo(v value) {
	f := x.f
	s := strings.Join(strings.Fields(v.text()), "")
	for _, bad := range []string{"dropDatabase(", ".drop(", ".deleteMany({})", ".remove({})", ".deleteMany()", ".remove()", ".dropCollection("} {
		if strings.Contains(s, bad) {
			f.emit(Action{Kind: DataDestroy, Name: strings.Trim(bad, ".(){}"), Span: v.span, Command: x.cmd + 1})
			return
		}
	}
	if strings.Contains(s, "updateMany({},") {
		f.emit(Action{Kind: DataDestroy, Name: "updateMany", Span: v.span, Command: x.cmd + 1})
	}
}
