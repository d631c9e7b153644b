package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pure knows calls that only make values.
func (c *coder) pure(v cval, recv *cval, args []cval) (cval, bool) {
	arg := func(i int) cval {
		if i < len(args) {
			return args[i]
		}
		return cval{}
	}
	home := func() cval {
		h, _ := c.x.f.tilde("")
		return cval{v: lit(h), ok: h != unknownText}
	}
	switch v.name {
	case "os.path.expanduser", "expanduser", "File.expand_path", "os.path.expandvars":
		a := arg(0)
		if v.name == "os.path.expandvars" {
			a.v.s = c.x.f.expandText(a.v.s)
		}
		if a.ok && strings.HasPrefix(a.v.s, "~") {
			name, rest, _ := strings.Cut(a.v.s[1:], "/")
			dir, ok := c.x.f.tilde(name)
			if ok {
				a.v.s = dir
				if rest != "" {
					a.v.s += "/" + rest
				}
			}
		}
		return a, true
	case "os.path.join", "path.join", "path.resolve", "File.join", "join", "path.posix.join", "os.path.normpath", "os.path.abspath", "os.path.realpath", "path.normalize", "fs.realpathSync", "File.realpath", "catfile":
		if v.name == "join" && len(args) == 0 {
			return cval{}, false
		}
		r := arg(0)
		for _, a := range args[min(1, len(args)):] {
			r = cval{v: c.joinPath(r.v, a.v), ok: r.ok || a.ok}
			if !a.ok {
				r.v.s = strings.TrimSuffix(r.v.s, "/")
			}
		}
		if r.v.s == "" {
			r.v.s = unknownText
		}
		return r, true
	case "os.homedir", "homedir", "Dir.home", "Path.home", "pathlib.Path.home":
		h := home()
		if strings.HasSuffix(v.name, "Path.home") {
			h.name = "Path"
		}
		return h, true
	case "os.getcwd", "process.cwd", "Dir.pwd", "Path.cwd", "pathlib.Path.cwd", "getcwd", "Deno.cwd", "cwd":
		r := cval{v: lit(c.x.f.cwd), ok: c.x.f.cwd != unknownText}
		if strings.HasSuffix(v.name, "Path.cwd") {
			r.name = "Path"
		}
		return r, true
	case "os.tmpdir", "tempfile.gettempdir", "Dir.tmpdir", "tempfile.mkdtemp", "Dir.mktmpdir", "fs.mkdtempSync", "tempfile.mktemp", "tempfile.mkstemp", "Deno.makeTempDir":
		if strings.Contains(v.name, "mk") || strings.Contains(v.name, "make") {
			return text("/tmp/made-by-mktemp"), true
		}
		return text("/tmp"), true
	case "Path", "pathlib.Path", "PosixPath", "PurePath", "pathlib.PurePath", "Pathname", "Pathname.new":
		r := arg(0)
		for _, a := range args[min(1, len(args)):] {
			r.v = c.joinPath(r.v, a.v)
		}
		if len(args) == 0 {
			r = text(".")
		}
		r.name = "Path"
		return r, true
	case "os.environ.get", "os.getenv", "getenv", "ENV.fetch", "Deno.env.get", "os.environ.pop", "environ.get":
		r := c.envVar(arg(0).v.s)
		if !r.ok && len(args) > 1 && args[1].ok {
			d := args[1]
			d.v.vars = r.v.vars
			return d, true
		}
		return r, true
	case "String.fromCharCode", "String.fromCodePoint":
		var b strings.Builder
		for _, a := range args {
			for _, e := range append([]cval{a}, a.list...) {
				if n, ok := c.number(e); ok {
					b.WriteRune(rune(n))
				}
			}
		}
		r := text(b.String())
		r.v.t |= tDecoded
		return r, true
	case "chr":
		if n, ok := c.number(arg(0)); ok {
			r := text(string(rune(n)))
			r.v.t |= tDecoded
			return r, true
		}
		return cval{v: value{s: unknownText, t: tDecoded}}, true
	case "base64.b64decode", "b64decode", "atob", "Base64.decode64", "Base64.strict_decode64", "decode_base64", "MIME::Base64::decode_base64", "base64_decode", "base64.standard_b64decode", "base64.urlsafe_b64decode", "base64.decodebytes", "Base64.urlsafe_decode64", "base64.b32decode", "window.atob":
		a := arg(0)
		if a.ok {
			if s, ok := decode64(a.v.s); ok {
				r := text(s)
				r.v.t |= a.v.t | tDecoded
				return r, true
			}
		}
		return cval{v: value{s: unknownText, t: a.v.t | tDecoded}}, true
	case "bytes.fromhex", "binascii.unhexlify", "unhexlify", "hex2bin", "bytearray.fromhex", "codecs.decode":
		a := arg(0)
		if v.name == "codecs.decode" && strings.Contains(arg(1).v.s, "rot") {
			r := a
			r.v.s = rot13(a.v.s)
			r.v.t |= tDecoded
			return r, true
		}
		if a.ok {
			if s, ok := decodeHex(a.v.s); ok {
				r := text(s)
				r.v.t |= a.v.t | tDecoded
				return r, true
			}
			if s, ok := decode64(a.v.s); ok && strings.Contains(arg(1).v.s, "64") {
				r := text(s)
				r.v.t |= tDecoded
				return r, true
			}
		}
		return cval{v: value{s: unknownText, t: a.v.t | tDecoded}}, true
	case "str_rot13":
		a := arg(0)
		a.v.s = rot13(a.v.s)
		a.v.t |= tDecoded
		return a, true
	case "strrev", "reverse", "scalar":
		a := arg(0)
		if a.ok {
			a.v.s = reverse(a.v.s)
			a.v.t |= tDecoded
		}
		return a, true
	case "zlib.decompress", "gzip.decompress", "gzinflate", "marshal.loads", "zlib.inflateSync", "gunzipSync", "pickle.loads":
		return cval{v: value{s: unknownText, t: arg(0).taints() | tDecoded}}, true
	case "Buffer.from", "Buffer", "unpack", "pack":
		a := arg(0)
		enc := arg(1).v.s
		if v.name == "pack" && a.ok && (strings.HasPrefix(a.v.s, "H") || strings.HasPrefix(a.v.s, "C") || strings.HasPrefix(a.v.s, "W")) {
			if s, ok := decodeHex(arg(1).v.s); ok && strings.HasPrefix(a.v.s, "H") {
				r := text(s)
				r.v.t |= tDecoded
				return r, true
			}
			return cval{v: value{s: unknownText, t: tDecoded}}, true
		}
		if a.ok {
			switch enc {
			case "base64", "base64url":
				if s, ok := decode64(a.v.s); ok {
					r := text(s)
					r.v.t |= tDecoded
					return r, true
				}
			case "hex":
				if s, ok := decodeHex(a.v.s); ok {
					r := text(s)
					r.v.t |= tDecoded
					return r, true
				}
			}
		}
		return a, true
	case "str", "String", "repr", "bytes", "JSON.stringify", "json.dumps", "list", "sorted", "shlex.split", "shlex.quote", "Array.from", "tuple", "set", "dict", "json.loads", "JSON.parse", "Object.entries", "Object.keys", "util.inspect", "util.promisify", "promisify", "TextDecoder", "urllib.parse.urlencode", "urlencode", "encodeURIComponent", "querystring.stringify", "btoa", "base64.b64encode", "Base64.encode64", "b64encode", "Base64.strict_encode64", "FormData", "Blob", "io.BytesIO", "io.StringIO", "Promise.all", "iter", "map", "filter":
		a := arg(0)
		switch v.name {
		case "shlex.split":
			if a.ok {
				l := cval{isLst: true}
				for w := range strings.FieldsSeq(a.v.s) {
					l.list = append(l.list, text(strings.Trim(w, `'"`)))
				}
				return l, true
			}
		case "Object.keys":
			return cval{v: value{s: unknownText, t: tNames}}, true
		case "promisify", "util.promisify":
			return a, true
		case "base64.b64encode", "btoa", "Base64.encode64", "b64encode", "Base64.strict_encode64", "JSON.stringify", "json.dumps", "json.loads", "JSON.parse":
			r := cval{v: value{s: unknownText, t: a.taints(), src: a.sources(), vars: a.v.vars}}
			if a.name == "process.env" || a.name == "os.environ" {
				r.v.t |= tEnv
			}
			return r, true
		case "map":
			if a.name == "chr" && arg(1).isLst {
				l := cval{isLst: true}
				for _, e := range arg(1).list {
					if n, ok := c.number(e); ok {
						ch := text(string(rune(n)))
						ch.v.t |= tDecoded
						l.list = append(l.list, ch)
					}
				}
				return l, true
			}
			if a.name == "chr" {
				return cval{v: value{s: unknownText, t: tDecoded}}, true
			}
		case "dict", "filter", "Object.entries":
			if a.name == "os.environ" || a.name == "process.env" {
				a.v.t |= tEnv
			}
		}
		return a, true
	case "glob.glob", "glob", "Dir.glob", "Dir", "glob.iglob", "fs.readdirSync", "os.listdir", "Dir.entries", "Dir.children", "fs.readdir", "os.scandir", "fs.globSync":
		a := arg(0)
		if a.ok {
			a.v.s = activate(a.v.s)
			if strings.Contains(v.name, "readdir") || strings.Contains(v.name, "listdir") || strings.Contains(v.name, "entries") || strings.Contains(v.name, "children") || strings.Contains(v.name, "scandir") {
				a.v.s = string([]byte{markStar})
			}
		}
		return a, true
	case "sys.stdin.read", "STDIN.read", "gets", "input", "sys.stdin.buffer.read", "$stdin.read", "STDIN.gets", "fs.readFileSync(0)":
		if c.x.f.hasIn {
			r := cval{v: c.x.in, ok: c.x.in.known()}
			return r, true
		}
		return noVal, true
	case "len", "length", "size", "os.path.exists", "fs.existsSync", "File.exist?", "File.file?", "os.path.isfile", "os.path.isdir", "-e", "file_exists", "File.exists?", "File.directory?", "os.stat", "fs.statSync", "os.path.getsize", "fs.accessSync", "isinstance", "type", "bool", "os.access":
		return cval{v: value{s: unknownText, t: tNames}}, true
	case "int", "parseInt", "Number", "float", "BigInt":
		a := arg(0)
		a.isNum = true
		return a, true
	case "os.getpid", "process.pid":
		return cval{v: value{s: unknownText, t: tOwnPid}}, true
	case "getattr":
		if arg(1).v.has(tGlued) || arg(1).v.has(tDecoded) {
			c.x.f.disguise(c.x.span, "a name put together from pieces", c.x.cmd)
		}
		return c.member(arg(0), arg(1).v.s), true
	case "__import__", "importlib.import_module", "import_module":
		return named(arg(0).v.s), true
	case "super", "Promise.resolve":
		return arg(0), true
	}
	if recv == nil {
		return cval{}, false
	}
	i := strings.LastIndexByte(v.name, '.')
	m := v.name[i+1:]
	r := *recv
	switch m {
	case "decode", "toString", "strip", "trim", "encode", "chomp", "to_s", "text", "strip()", "rstrip", "lstrip", "flat", "unwrap", "body", "expanduser", "resolve", "absolute", "as_posix", "decode()", "read_all", "content", "json", "arrayBuffer", "then", "catch", "toLowerCase", "lower", "upper", "squeeze", "freeze", "dup", "clone", "to_path", "getvalue", "json()", "blob", "toArray", "to_a", "items", "values", "copy", "splitlines", "readlines", "readline", "getlines", "iter_content", "to_json", "inspect", "to_h", "entries", "toUpperCase", "slice_":
		if m == "expanduser" && strings.HasPrefix(r.v.s, "~") {
			h, _ := c.x.f.tilde("")
			r.v.s = h + r.v.s[1:]
			r.ok = true
		}
		if m == "decode" && arg(0).ok && strings.Contains(arg(0).v.s, "rot") {
			r.v.s = rot13(r.v.s)
			r.v.t |= tDecoded
		}
		if r.name == "os.environ" || r.name == "process.env" || r.name == "ENV" {
			r.v.t |= tEnv
		}
		if (m == "then" || m == "catch") && len(args) > 0 {
			return cval{v: value{s: unknownText, t: r.v.t | arg(0).taints()}, name: r.name}, true
		}
		return r, true
	case "read":
		if r.v.t != 0 || r.ok {
			return r, true
		}
	case "format", "concat":
		if r.ok && m == "concat" {
			for _, a := range args {
				r = c.concat(r, a)
			}
			return r, true
		}
		if r.ok {
			s := r.v.s
			for k, a := range args {
				s = strings.Replace(s, "{}", a.v.s, 1)
				s = strings.ReplaceAll(s, "{"+strconv.Itoa(k)+"}", a.v.s)
				r.v.t |= a.v.t
				r.v.vars = append(r.v.vars, a.v.vars...)
			}
			r.v.s = s
			return r, true
		}
	case "replace", "replaceAll", "gsub", "sub", "tr":
		if r.ok && arg(0).ok && arg(1).ok {
			if m == "tr" {
				r.v.s = translate(r.v.s, arg(0).v.s, arg(1).v.s, false)
			} else {
				r.v.s = strings.ReplaceAll(r.v.s, arg(0).v.s, arg(1).v.s)
			}
			r.v.t |= tGlued
			return r, true
		}
	case "join":
		if r.name == "Path" {
			return cval{v: c.joinPath(r.v, arg(0).v), ok: true, name: "Path"}, true
		}
		sep, l := r, arg(0)
		if recv.isLst {
			sep, l = arg(0), r
		}
		if l.isLst {
			out := cval{ok: true}
			for k, e := range l.list {
				if k > 0 {
					out.v.s += sep.v.s
				}
				out = c.concat(out, cval{v: e.v, ok: true})
			}
			if len(l.list) > 1 && sep.v.s == "" {
				out.v.t |= tGlued
			}
			return out, true
		}
		return l, true
	case "split":
		if r.ok {
			sep := arg(0).v.s
			l := cval{isLst: true}
			var parts []string
			if len(args) == 0 || sep == " " {
				parts = strings.Fields(r.v.s)
			} else {
				parts = strings.Split(r.v.s, sep)
			}
			for _, p := range parts {
				e := text(p)
				e.v.t = r.v.t
				l.list = append(l.list, e)
			}
			return l, true
		}
		return r, true
	case "reverse", "reversed":
		if r.ok {
			r.v.s = reverse(r.v.s)
			r.v.t |= tDecoded
			return r, true
		}
		if r.isLst {
			l := cval{isLst: true}
			for _, e := range slices.Backward(r.list) {

				e.v.t |= tDecoded
				l.list = append(l.list, e)
			}
			return l, true
		}
	case "unpack1", "unpack":
		if r.ok && strings.HasPrefix(arg(0).v.s, "m") {
			if s, ok := decode64(r.v.s); ok {
				t := text(s)
				t.v.t |= tDecoded
				return t, true
			}
		}
	case "pack":
		if r.isLst && len(r.list) > 0 && strings.HasPrefix(arg(0).v.s, "H") {
			if s, ok := decodeHex(r.list[0].v.s); ok {
				t := text(s)
				t.v.t |= tDecoded
				return t, true
			}
		}
		return cval{v: value{s: unknownText, t: tDecoded}}, true
	case "glob", "iterdir", "rglob", "walk":
		if r.name == "Path" {
			pat := "*"
			if arg(0).ok {
				pat = arg(0).v.s
			}
			r.v.s = strings.TrimSuffix(r.v.s, "/") + "/" + activate(pat)
			return r, true
		}
	case "joinpath", "with_name", "with_suffix":
		if r.name == "Path" {
			return cval{v: c.joinPath(r.v, arg(0).v), ok: true, name: "Path"}, true
		}
	case "exists", "is_file", "is_dir", "stat", "length", "size", "startswith", "endsWith", "endswith", "includes", "match":
		return cval{v: value{s: unknownText, t: tNames}}, true
	case "get":
		if recv.name == "os.environ" || recv.name == "process.env" || recv.name == "ENV" {
			return c.envVar(arg(0).v.s), true
		}
	case "each", "forEach", "map", "each_line", "filter", "select":
		return r, true
	case "parent", "dirname":
		if r.name == "Path" {
			return cval{v: r.v.with(path.Dir(r.v.s)), name: "Path", ok: r.ok}, true
		}
	}
	_ = utf8.RuneLen
	return cval{}, false
}

func rot13(s string) string {
	b := []byte(s)
	for i, ch := range b {
		switch {
		case ch >= 'a' && ch <= 'z':
			b[i] = 'a' + (ch-'a'+13)%26
		case ch >= 'A' && ch <= 'Z':
			b[i] = 'A' + (ch-'A'+13)%26
		}
	}
	return string(b)
}
