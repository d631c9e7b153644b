package shell

import (
	"slices"
	"strings"
)

// buildWord reports what else than to run a script some of these programs do: to
// build and test the project.
func buildWord(prog string, args []value) bool {
	word := args[0].s
	switch prog {
	case "swift":
		return slices.Contains([]string{"build", "test", "run", "package"}, word)
	case "nim":
		return slices.Contains([]string{"c", "cpp", "cc", "js", "check", "doc", "r", "compile"}, word)
	case "R":
		return word == "CMD" && len(args) > 1 && slices.Contains([]string{"check", "build", "INSTALL", "Rd2pdf", "config"}, args[1].s)
	}
	return false
}

// pythonModule is python -m NAME.
func (x *inv) pythonModule(name string, rest []value) value {
	f, m := x.f, x.f.m
	at := x.cmd + 1
	text := joinValues(rest, " ").s
	switch name {
	case "http.server", "SimpleHTTPServer", "CGIHTTPServer", "pyftpdlib", "smtpd":
		bind := ""
		for i, a := range rest {
			if (a.s == "--bind" || a.s == "-b" || a.s == "-i") && i+1 < len(rest) {
				bind = rest[i+1].s
			}
			if v, ok := strings.CutPrefix(a.s, "--bind="); ok {
				bind = v
			}
		}
		if bind == "" || !loopback(bind) || bind == "0.0.0.0" {
			f.emit(Action{Kind: NetListen, Span: x.span, Command: at})
		}
		return unknownVal(tCmd)
	case "json.tool", "base64", "zipfile", "tarfile", "gzip":
		if name == "base64" && len(rest) > 0 && rest[0].s == "-d" {
			out := value{s: unknownText, t: x.in.t | tDecoded}
			if s, ok := decode64(x.in.s); ok && x.in.known() && x.in.s != "" {
				out.s = s
			}
			return out
		}
		for _, a := range rest {
			if !strings.HasPrefix(a.s, "-") {
				f.readFile(a, x.cmd, false)
			}
		}
		return value{s: unknownText, t: x.in.t | tCmd, src: x.in.src}
	case "venv", "virtualenv":
		if len(rest) > 0 {
			x.writes(rest[len(rest)-1], value{})
		}
		return value{}
	case "pip", "twine", "pytest", "build", "pipx", "poetry", "uv", "ruff", "mypy", "black", "pre_commit", "git_filter_repo", "coverage", "django", "flask", "uvicorn", "alembic", "celery", "invoke", "nox", "tox", "unittest", "pylint", "flake8", "isort", "keyring", "awscli", "gunicorn", "hatch", "pdm", "flit", "ansible", "ansible.cli.playbook", "streamlit", "jupyter", "notebook", "pipenv", "dotenv", "compileall", "ensurepip", "site", "timeit", "cProfile", "pdb", "trace", "doctest", "py_compile", "webbrowser", "sphinx", "mkdocs", "pyright", "bandit":
		prog := map[string]string{"pre_commit": "pre-commit", "git_filter_repo": "git-filter-repo", "django": "django-admin", "awscli": "aws"}[name]
		if prog == "" {
			prog = name
		}
		switch name {
		case "cProfile", "pdb", "trace", "doctest":
			for _, a := range rest {
				if !strings.HasPrefix(a.s, "-") {
					x.execFile(a)
					break
				}
			}
			return unknownVal(tCmd)
		}
		if handler(prog) != nil || f.m.knows(prog) {
			y := &inv{f: f.under(x.name), args: append([]value{lit(prog)}, rest...), span: x.span, noFunc: true}
			return y.dispatch()
		}
		m.undecided(TargetOpaque, "python -m "+name, false, x.cmd, x.span)
		return unknownVal(tCmd)
	}
	_ = text
	m.undecided(TargetOpaque, "python -m "+plain(name), !strings.HasPrefix(name, "py") && strings.ContainsAny(name, "_.") && riskyTarget(name), x.cmd, x.span)
	return unknownVal(tCmd)
}
