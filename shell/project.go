package shell

import (
	"strings"
)

// project is make, npm and other programs that run what the project defines.
func (x *inv) project() value {
	f, m := x.f, x.f.m
	if x.spec == nil {
		if s := m.specFor(x.name); s != nil {
			x.parse(s)
		}
	}
	if x.spec == nil {
		return x.unknownProgram()
	}
	before := len(m.res.Actions)
	out := x.runSpec()
	p := x.p
	told := false // what the target's name promises
	for i := before; i < len(m.res.Actions); i++ {
		switch m.res.Actions[i].Kind {
		case PkgPublish, InfraDestroy, DataDestroy:
			told = true
		}
	}
	target := func(name string) {
		m.undecided(TargetOpaque, x.name+" "+name, riskyTarget(name) && !told, x.cmd, x.span)
	}
	sub := strings.Join(p.sub, " ")
	switch x.name {
	case "make", "gmake", "just", "task", "ninja", "mage", "invoke", "inv", "fab", "gulp", "grunt", "jake", "doit", "scons", "waf", "ant", "lein", "rake", "earthly", "dagger", "cap", "mina", "fastlane", "moon":
		if p.given("-n", "--dry-run", "--just-print", "--recon", "-q", "--list", "-l", "--summary", "-T", "--tasks", "--dump", "--evaluate", "-P", "--show", "-t_") {
			return out
		}
		if x.name == "rake" {
			return x.rake(p.pos)
		}
		for _, v := range p.pos {
			if sh, ok := strings.CutPrefix(v.s, "SHELL="); ok && sh != "" {
				f.run(v.with(sh), ViaScript, nil)
			}
		}
		if (x.name == "make" || x.name == "gmake") && x.make() {
			return out
		}
		n := 0
		for _, v := range p.pos {
			if isAssign(v.s) {
				if k, dir, _ := strings.Cut(v.s, "="); (k == "PREFIX" || k == "prefix" || k == "DESTDIR") && x.hasArg("install") {
					x.writes(v.with(expandTilde(f, dir)), value{s: unknownText, t: tFile})
				}
				continue
			}
			n++
			if !v.known() {
				m.undecided(CommandDynamic, x.name, true, x.cmd, x.span)
				continue
			}
			target(v.s)
		}
		if x.name == "make" {
			for i := range p.flags {
				if p.flags[i].name == "--eval" {
					if j := strings.IndexByte(p.flags[i].val.s, '\t'); j >= 0 {
						f.run(p.flags[i].val.with(p.flags[i].val.s[j+1:]), ViaScript, nil)
					} else if j := strings.Index(p.flags[i].val.s, "$(shell "); j >= 0 {
						body, _ := balanced(p.flags[i].val.s, j+1)
						f.run(p.flags[i].val.with(strings.TrimPrefix(body, "shell ")), ViaScript, nil)
					} else if j := strings.IndexByte(p.flags[i].val.s, ';'); j >= 0 {
						f.run(p.flags[i].val.with(p.flags[i].val.s[j+1:]), ViaScript, nil)
					}
				}
			}
		}
		if n == 0 {
			target("(default)")
		}
	case "npm", "pnpm", "yarn", "yarnpkg", "bun":
		switch sub {
		case "run", "run-script", "start", "exec", "":
			x.bindsAll()
		}
		x.packageManager(sub)
	case "npx", "pnpx", "bunx", "uvx", "pipx":
		pos := p.pos
		if x.name == "pipx" && sub != "run" {
			return out
		}
		if fl := p.flag("-c"); fl != nil && x.name == "npx" {
			f.run(fl.val, ViaScript, nil)
			return out
		}
		if len(pos) > 0 {
			x.runPackage(pos)
		}
	case "uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "bundler", "composer", "corepack", "mix", "rush":
		if (sub == "run" || sub == "exec" || sub == "tool run" || sub == "x") && len(p.pos) > 0 {
			if sub == "tool run" {
				x.runPackage(p.pos)
				return out
			}
			g := f.under(x.name)
			name := p.pos[0].s
			if strings.HasSuffix(name, ".py") {
				y := &inv{f: g, args: append([]value{lit("python")}, p.pos...), span: x.span, noFunc: true}
				return y.dispatch()
			}
			if handler(baseName(name)) == nil && !m.knows(baseName(name)) && strings.IndexByte(name, '/') < 0 && x.name != "mix" {
				m.undecided(TargetOpaque, x.name+" run "+name, riskyTarget(name), x.cmd, x.span)
			}
			y := &inv{f: g, args: p.pos, span: x.span, noFunc: true}
			return y.dispatch()
		}
		if x.name == "corepack" && len(p.pos) > 0 && (p.pos[0].s == "npm" || p.pos[0].s == "pnpm" || p.pos[0].s == "yarn") {
			y := &inv{f: f.under(x.name), args: p.pos, span: x.span, noFunc: true}
			return y.dispatch()
		}
		if x.name == "mix" && len(p.pos) > 0 {
			if p.pos[0].s == "run" {
				for _, v := range p.pos[1:] {
					if strings.HasSuffix(v.s, ".exs") {
						x.execFile(v)
					}
				}
			}
			x.ormTask(p.pos[0].s, p.pos)
		}
		if x.name == "composer" && (sub == "run-script" || sub == "run" || sub == "") && len(p.pos) > 0 {
			target(p.pos[0].s)
		}
	case "lerna", "nx", "turbo", "gradle", "gradlew", "mvn", "mvnw", "sbt", "bazel", "tox", "nox", "act", "cargo", "go", "dotnet", "npm-run-all", "run-s", "run-p", "wp", "drush":
		switch x.name {
		case "nx", "turbo", "lerna", "gradle", "gradlew", "npm-run-all", "run-s", "run-p":
			for _, v := range p.pos {
				if v.s == "run" || v.s == "exec" {
					continue
				}
				name := v.s
				if i := strings.LastIndexByte(name, ':'); i >= 0 && x.name != "run-s" && x.name != "run-p" {
					name = name[i+1:]
				}
				if x.name == "gradle" || x.name == "gradlew" {
					if name == "clean" {
						continue
					}
					if strings.HasPrefix(name, "flyway") || strings.HasPrefix(name, "liquibase") {
						continue
					}
				}
				target(name)
			}
		case "sbt", "lein":
			for _, v := range p.pos {
				if name := v.s; name != "clean" { // its own, of build products
					target(name[strings.LastIndexByte(name, '/')+1:])
				}
			}
		case "go":
			if sub == "run" {
				x.bindsAll()
				x.ownBinary(p.pos)
			}
		case "cargo":
			switch {
			case sub == "run":
				x.bindsAll()
				if b := p.flag("--bin", "--example"); b != nil {
					x.ownBinary([]value{b.val})
				}
				x.ownBinary(p.pos)
			case sub == "new" || sub == "init":
				for _, v := range p.pos {
					x.writes(v, value{s: unknownText, t: tFile})
				}
			case sub == "" && len(p.pos) > 1:
				x.ownBinary(p.pos) // xtask and other aliases of the project
			}
		case "dotnet":
			for i, a := range x.args {
				if i > 0 && a.s == "--" && len(x.args) > 1 && x.args[1].s == "run" {
					x.ownBinary(x.args[i+1:])
				}
			}
		}
	case "cmake":
		if len(x.args) > 2 && x.args[1].s == "-E" {
			x.cmakeTool(x.args[2:])
		}
		if fl := p.flag("--prefix"); fl != nil && x.hasArg("--install") {
			x.writes(fl.val, value{s: unknownText, t: tFile})
		}
	case "flask":
		if len(p.sub) == 0 && len(p.pos) > 0 && (p.pos[0].s != "db" || len(p.pos) < 2) {
			target(p.pos[0].s)
		}
	case "zig":
		if len(p.pos) > 1 && p.pos[0].s == "build" {
			target(p.pos[1].s)
		}
	case "rails", "django-admin", "manage.py", "artisan", "symfony", "bin/rails", "bin/console":
		if len(p.sub) > 0 {
			break
		}
		if len(p.pos) > 0 {
			x.ormTask(p.pos[0].s, p.pos)
		}
	case "ansible":
		if fl := p.flag("-a"); fl != nil {
			mod := "command"
			if mf := p.flag("-m"); mf != nil {
				mod = baseName(strings.ReplaceAll(mf.val.s, ".", "/"))
			}
			if mod == "shell" || mod == "command" || mod == "raw" || mod == "script" {
				f.run(fl.val, ViaRemote, nil)
			} else if (mod == "service" || mod == "systemd" || mod == "systemd_service" || mod == "win_service") && !x.dry && (strings.Contains(fl.val.s, "state=stopped") || strings.Contains(fl.val.s, "enabled=no") || strings.Contains(fl.val.s, "enabled=false")) {
				f.emit(Action{Kind: ServiceStop, Name: "on the hosts of " + plain(joinValues(p.pos, " ").s), Span: x.span, Command: x.cmd + 1})
			} else if mod == "file" && strings.Contains(fl.val.s, "state=absent") {
				for kv := range strings.FieldsSeq(fl.val.s) {
					if pth, ok := strings.CutPrefix(kv, "path="); ok {
						x.deletes(fl.val.with(pth), true)
					}
				}
			}
		}
		if mf := p.flag("-m"); mf != nil && !x.dry && baseName(strings.ReplaceAll(mf.val.s, ".", "/")) == "reboot" {
			f.emit(Action{Kind: MachineStop, Span: x.span, Command: x.cmd + 1})
		}
		if p.given("-b") {
			f.emit(Action{Kind: PrivElevate, Name: "become", Span: x.span, Command: x.cmd + 1})
		}
	case "heroku", "fly", "flyctl":
		if sub == "run" || sub == "ssh console" || sub == "console" {
			if fl := p.flag("-C"); fl != nil {
				f.run(fl.val, ViaRemote, nil)
			} else if len(p.pos) > 0 && strings.Contains(p.pos[0].s, " ") {
				f.run(p.pos[0], ViaRemote, nil)
			} else if len(p.pos) > 0 {
				return x.inContainer("an app", p.pos, f.fork())
			}
		}
	}
	return out
}

// cmakeTool is cmake -E, which has the commands of a shell under names of its own.
func (x *inv) cmakeTool(words []value) {
	name := map[string]string{
		"rm": "rm", "remove": "rm", "remove_directory": "rm -r", "copy": "cp", "copy_directory": "cp -r", "copy_if_different": "cp", "rename": "mv",
		"touch": "touch", "make_directory": "mkdir", "create_symlink": "ln -s", "create_hardlink": "ln", "cat": "cat", "env": "env", "time": "time", "tar": "tar",
	}[words[0].s]
	if name == "" {
		return
	}
	var args []value
	for w := range strings.FieldsSeq(name) {
		args = append(args, lit(w))
	}
	y := &inv{f: x.f.under(x.name), args: append(args, words[1:]...), span: x.span, noFunc: true}
	y.dispatch()
}

// ownBinary judges a program of the project that is built and run in one step, by
// what its name and its first words promise.
func (x *inv) ownBinary(words []value) {
	for i, v := range words {
		if i > 1 || strings.HasPrefix(v.s, "-") && i > 0 {
			return
		}
		if v.known() && strings.IndexByte(v.s, ' ') < 0 && riskyTarget(v.s) {
			x.f.m.undecided(TargetOpaque, x.name+" "+plain(v.s), true, x.cmd, x.span)
			return
		}
	}
}

// rake judges tasks by name.
func (x *inv) rake(pos []value) value {
	any := false
	for _, v := range pos {
		if isAssign(v.s) {
			continue
		}
		any = true
		x.ormTask(v.s, pos)
	}
	if !any {
		x.f.m.undecided(TargetOpaque, "rake", false, x.cmd, x.span)
	}
	return unknownVal(tCmd)
}

// ormTask judges a task of rails, django, laravel, ecto and the like by its name.
func (x *inv) ormTask(name string, pos []value) {
	f, m := x.f, x.f.m
	name = strings.SplitN(name, "[", 2)[0]
	dry := false
	for _, v := range x.args[1:] {
		if v.s == "--pretend" || v.s == "--dry-run" || v.s == "--check" || v.s == "-n" || v.s == "--plan" {
			dry = true
		}
	}
	switch name {
	case "hex.publish", "hex.retire":
		f.emit(Action{Kind: PkgPublish, Name: name, Dry: dry, Span: x.span, Command: x.cmd + 1})
		return
	case "db:drop", "db:reset", "db:drop:all", "db:migrate:reset", "db:schema:load", "db:setup", "db:purge", "db:truncate_all", "db:seed:replant", "db:structure:load", "db:drop:_unsafe",
		"migrate:fresh", "migrate:reset", "migrate:refresh", "db:wipe", "ecto.drop", "ecto.reset", "flush", "reset_db", "sqlflush_", "doctrine:database:drop", "doctrine:schema:drop", "doctrine:fixtures:load", "reset_schema", "db:mongoid:drop", "db:mongoid:purge", "db:environment:set_", "db:nuke", "schema:drop":
		// Those that load a schema do it with force: tables are dropped first.
		f.emit(Action{Kind: DataDestroy, Name: name, Dry: dry, Span: x.span, Command: x.cmd + 1})
		return
	case "migrate":
		if len(pos) > 1 && pos[len(pos)-1].s == "zero" {
			f.emit(Action{Kind: DataDestroy, Name: "migrate zero", Dry: dry, Span: x.span, Command: x.cmd + 1})
			return
		}
	case "runscript":
		m.undecided(TargetOpaque, x.name+" runscript", true, x.cmd, x.span)
		return
	case "runner", "r", "shell", "tinker", "dbshell":
		for i, v := range x.args[1:] {
			if (v.s == "-c" || v.s == "--execute") && i+2 < len(x.args) {
				lang := "python"
				if name == "tinker" {
					lang = "php"
				}
				x.inline(lang, x.args[i+2])
				return
			}
			if code, ok := strings.CutPrefix(v.s, "--execute="); ok && name == "tinker" {
				x.inline("php", v.with(code))
				return
			}
		}
		if name == "dbshell" && x.f.hasIn && x.in.s != "" {
			x.sql(x.in)
			return
		}
		if name == "runner" || name == "r" {
			for _, v := range pos[1:] {
				if strings.HasSuffix(v.s, ".rb") && strings.IndexByte(v.s, ' ') < 0 {
					x.execFile(v)
					return
				}
				if !strings.HasPrefix(v.s, "-") {
					x.inline("ruby", v)
					return
				}
			}
		}
		if name == "shell" && x.fromFile() {
			m.undecided(ScriptUnknown, x.name+" shell", true, x.cmd, x.span)
			return
		}
	case "server", "s", "serve", "runserver":
		for i, v := range x.args[1:] {
			if strings.HasPrefix(v.s, "0.0.0.0") || strings.HasPrefix(v.s, "0:") || (v.s == "-b" || v.s == "--host" || v.s == "--binding") && i+2 < len(x.args) && x.args[i+2].s == "0.0.0.0" || strings.HasSuffix(v.s, "=0.0.0.0") {
				f.emit(Action{Kind: NetListen, Span: x.span, Command: x.cmd + 1})
				return
			}
		}
	}
	risky := riskyTarget(name) && !dry
	switch name {
	case "db:migrate", "migrate", "ecto.migrate", "doctrine:migrations:migrate", "db:prepare", "db:create", "db:version":
		// Forward, on the database that one develops with, it is routine.
		risky = risky && x.namesProduction()
	}
	m.undecided(TargetOpaque, x.name+" "+plain(name), risky, x.cmd, x.span)
}
