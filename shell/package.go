package shell

import (
	"encoding/json"
	"strings"
)

// packageScript gives a script that the same text put into package.json.
func (x *inv) packageScript(name string) (value, bool) {
	m := x.f.m
	if v, ok := m.scripts[name]; ok {
		return v, true
	}
	v, ok := m.files[join(x.f.cwd, "package.json")]
	if !ok || !v.known() {
		return value{}, false
	}
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(v.s), &pkg) != nil {
		return value{}, false
	}
	s, ok := pkg.Scripts[name]
	return v.with(s), ok
}

func (x *inv) setScript(name string, v value) {
	m := x.f.m
	if m.scripts == nil {
		m.scripts = map[string]value{}
	}
	if len(m.scripts) < 64 {
		m.scripts[name] = v
	}
}

func (x *inv) packageManager(sub string) {
	f, m, p := x.f, x.f.m, x.p
	pos := p.pos
	switch sub {
	case "workspace", "workspaces", "workspaces foreach":
		if sub == "workspace" {
			pos = pos[min(1, len(pos)):]
		}
		if len(pos) > 0 {
			y := &inv{f: f.under(x.name), args: append([]value{lit(x.name)}, pos...), span: x.span, noFunc: true}
			y.dispatch()
		}
	case "run", "run-script", "rum", "urn":
		if len(pos) == 0 {
			return
		}
		if !pos[0].known() {
			m.undecided(CommandDynamic, x.name, true, x.cmd, x.span)
			return
		}
		if v, ok := x.packageScript(pos[0].s); ok {
			v.span = x.span
			f.run(v, ViaFile, nil)
			return
		}
		m.undecided(TargetOpaque, x.name+" run "+pos[0].s, riskyTarget(pos[0].s), x.cmd, x.span)
	case "pkg set":
		for _, v := range pos {
			if k, code, ok := strings.Cut(v.s, "="); ok && strings.HasPrefix(k, "scripts.") {
				x.setScript(strings.TrimPrefix(k, "scripts."), v.with(code))
			}
		}
	case "set-script":
		if len(pos) > 1 {
			x.setScript(pos[0].s, pos[1])
		}
	case "exec", "x", "dlx":
		if fl := p.flag("-c"); fl != nil {
			f.run(fl.val, ViaScript, nil)
			return
		}
		if len(pos) > 0 {
			x.runPackage(pos)
		}
	case "start", "stop", "restart", "test", "t", "tst", "install-test", "it":
		if v, ok := x.packageScript(sub); ok {
			v.span = x.span
			f.run(v, ViaFile, nil)
			return
		}
		m.undecided(TargetOpaque, x.name+" "+sub, false, x.cmd, x.span)
	case "":
		// yarn and pnpm run scripts by bare name.
		if len(pos) > 0 && (x.name == "yarn" || x.name == "pnpm" || x.name == "bun") {
			name := pos[0].s
			if v, ok := x.packageScript(name); ok {
				v.span = x.span
				f.run(v, ViaFile, nil)
				return
			}
			if projectTool(name) {
				args := pos
				for i, a := range x.args {
					if i > 0 && a.s == name {
						args = x.args[i:]
						break
					}
				}
				y := &inv{f: f.under(x.name), args: args, span: x.span, noFunc: true}
				y.dispatch()
				return
			}
			m.undecided(TargetOpaque, x.name+" "+plain(name), riskyTarget(name), x.cmd, x.span)
		}
	case "install", "i", "ci", "add":
		for _, name := range [...]string{"preinstall", "install", "postinstall", "prepare"} {
			if v, ok := x.packageScript(name); ok {
				v.span = x.span
				f.run(v, ViaFile, nil)
			}
		}
	case "uninstall", "remove", "rm", "un", "r", "unlink":
		for _, v := range pos {
			switch v.s {
			case "husky", "lefthook", "pre-commit", "simple-git-hooks", "@evilmartians/lefthook":
				f.emit(Action{Kind: HookBypass, Detail: "the hook tool is removed", Span: x.span, Command: x.cmd + 1})
			}
		}
	case "config get":
		for _, v := range pos {
			if l := strings.ToLower(v.s); strings.Contains(l, "_auth") || strings.Contains(l, "_password") || strings.HasSuffix(l, "token") {
				f.emit(Action{Kind: SecretReveal, Name: "a registry credential", Span: x.span, Command: x.cmd + 1})
			}
		}
	case "config set":
		for _, v := range pos {
			k, val, ok := strings.Cut(v.s, "=")
			if !ok && len(pos) > 1 {
				k, val = pos[0].s, pos[1].s
			}
			l := strings.ToLower(k)
			if (strings.Contains(l, "_auth") || strings.Contains(l, "token") || strings.Contains(l, "_password")) && looksSecret(val) {
				f.emit(Action{Kind: SecretLiteral, Span: x.span, Command: x.cmd + 1})
			}
			if !ok {
				break // the name and its value are two words
			}
		}
	}
}

// projectTool reports whether yarn or pnpm, given this name, most likely run a
// tool of that name rather than a script.
func projectTool(name string) bool {
	switch name {
	case "prisma", "typeorm", "sequelize", "sequelize-cli", "knex", "drizzle-kit", "lerna", "changeset", "np", "semantic-release", "release-it", "husky", "lefthook", "rimraf", "wrangler", "vercel", "netlify", "firebase", "serverless", "sls", "cdk", "supabase", "vsce", "nx", "turbo", "localtunnel", "lt", "ngrok":
		return true
	}
	return false
}

// runPackage runs a package's program: one that is known by name is judged as
// itself, any other is code from the registry.
func (x *inv) runPackage(pos []value) {
	f, m := x.f, x.f.m
	name := pos[0].s
	if !pos[0].known() {
		m.undecided(CommandDynamic, x.name, true, x.cmd, x.span)
		return
	}
	bare := name
	if i := strings.LastIndexByte(bare, '@'); i > 0 {
		bare = bare[:i]
	}
	if i := strings.Index(bare, "=="); i > 0 {
		bare = bare[:i]
	}
	switch bare {
	case "localtunnel":
		bare = "lt"
	case "@railway/cli":
		bare = "railway"
	case "typeorm-ts-node-commonjs", "typeorm-ts-node-esm":
		bare = "typeorm"
	case "@changesets/cli":
		bare = "changeset"
	case "fkill-cli":
		bare = "fkill"
	case "@anthropic-ai/claude-code":
		bare = "claude"
	case "@openai/codex":
		bare = "codex"
	case "@google/gemini-cli":
		bare = "gemini"
	case "firebase-tools":
		bare = "firebase"
	case "@cloudflare/wrangler":
		bare = "wrangler"
	}
	if handler(bare) != nil || x.f.m.knows(bare) {
		y := &inv{f: f.under(x.name), args: append([]value{pos[0].with(bare)}, pos[1:]...), span: x.span, noFunc: true}
		y.dispatch()
		return
	}
	if strings.Contains(name, "://") || strings.HasPrefix(name, "git+") || strings.HasPrefix(name, "github:") || strings.HasPrefix(name, "gist:") {
		// Not even a registry stands between.
		f.emit(Action{Kind: NetRun, URL: plain(name), Span: x.span, Command: x.cmd + 1})
		return
	}
	if strings.HasPrefix(baseName(bare), "create-") {
		m.undecided(TargetOpaque, x.name+" "+bare, false, x.cmd, x.span) // makes a new project
		return
	}
	switch baseName(bare) {
	case "jest", "vitest", "eslint", "prettier", "tsc", "mocha", "ava", "c8", "nyc", "webpack", "vite", "rollup", "esbuild", "parcel", "tsup", "playwright", "cypress", "biome", "stylelint", "svelte-check", "vue-tsc", "astro", "next", "nuxt", "remix", "tailwindcss", "postcss", "babel", "swc", "lint-staged", "commitlint", "typedoc", "storybook", "ruff", "black", "mypy", "pytest", "isort", "flake8", "pyright", "oxlint", "knip", "depcheck", "npm-check-updates", "ncu", "ts-node", "tsx", "rimraf", "sort-package-json", "markdownlint", "markdownlint-cli", "publint", "attw", "size-limit", "bundlesize", "license-checker", "syncpack", "madge", "dependency-cruiser", "cspell", "tap", "karma", "jasmine", "wdio", "graphql-codegen", "openapi-typescript", "sass", "lessc", "terser", "svgo", "serve", "http-server", "sdks", "swagger-cli", "redocly", "spectral", "html-validate", "textlint", "remark", "remark-cli", "jscpd", "ts-prune", "npm-run-all", "tsc-alias":
		m.undecided(TargetOpaque, x.name+" "+bare, false, x.cmd, x.span)
		return
	}
	m.undecided(TargetOpaque, x.name+" "+bare, true, x.cmd, x.span)
}
