package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/policy"
)

func TestLoadProblems(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // line:column: and part of the message
	}{
		{"empty", "", "1:1: file is empty"},
		{"no version", "rules: []\n", `1:1: key "version" is missing`},
		{"other version", "version: 2\n", `1:10: found "2", want the number 1`},
		{"version as text", "version: \"1\"\n", `1:10: found "1", want the number 1`},
		{"unknown key", "version: 1\nruels: []\n", `2:1: unknown key "ruels"; did you mean "rules"?`},
		{"unknown rule key", rules("  - nam: x\n    when: 'true'\n    effect: deny\n    reason: r\n"), `3:5: unknown key "nam"; did you mean "name"?`},
		{"key twice", "version: 1\nversion: 1\n", `key "version" is there twice`},
		{"effect", rules(rule("a", "true", "dney")), `5:13: found "dney", want one of deny, ask, modify, message, inject, flag; did you mean "deny"?`},
		{"no allow effect", rules(rule("a", "true", "allow")), `5:13: found "allow", want one of deny, ask, modify, message, inject, flag`},
		{"name", rules(rule("a/b", "true", "deny")), `3:11: "a/b" is no name`},
		{"reserved", rules(rule("holdpoint.x", "true", "deny")), `3:11: names that start with`},
		{"duplicate", rules(rule("a", "true", "deny") + rule("a", "true", "deny")), `7:11: rule "a" is already defined`},
		{"when empty", rules("  - name: x\n    when: ''\n    effect: deny\n    reason: r\n"), `4:11: text is empty`},
		{"when number", rules("  - name: x\n    when: 1\n    effect: deny\n    reason: r\n"), `4:11: found a number, want a text`},
		{"severity", rules(rule("a", "true", "deny") + "    severity: hihg\n"), `7:15: found "hihg"`},
		{"code", rules(rule("a", "true", "deny") + "    code: nodots\n"), `7:11: "nodots" is no reverse-DNS name`},
		{"enabled", rules(rule("a", "true", "deny") + "    enabled: maybe\n"), `7:14: found a text, want true or false`},
		{"alias", "version: 1\nrules: &a []\nlists: *a\n", `anchors are not supported`},
		{"tag", "version: !!int 1\n", `tags are not supported`},
		{"two documents", "version: 1\n---\nversion: 1\n", `second document`},
		{"condition as tag", rules("  - name: x\n    when: !shell.malformed\n    effect: deny\n    reason: r\n"), `quote a text that starts with !`},
		{"tab", "version: 1\nrules:\n\t- name: x\n", `not well-formed YAML: a tab, indent with spaces`},
		{"cel name once", rules("  - name: x\n    when: fils.exists(f, true)\n    effect: deny\n    reason: r\n"), "4:11: undeclared reference to 'fils' (did you mean 'files'?)\n"},
		{"broken yaml", "version: 1\n  rules: [\n", `not well-formed YAML`},
		{"root is a list", "- 1\n", `1:1: found a list, want a mapping`},
		{"bad override", "version: 1\noverride: {git.force_puhs: {enabled: false}}\npacks: [default]\n", `did you mean "git.force_push"?`},
		{"unknown pack", "version: 1\npacks: [defalt]\n", `2:9: no pack "defalt", want one of default; did you mean "default"?`},
		{"list name", "version: 1\nlists: {Prod: [a]}\n", `"Prod" is no list name`},
		{"allow path", "version: 1\nallow: {paths: [a/../b]}\n", "2:17: path pattern \"a/../b\": `..` is not allowed"},
		{"allow host", "version: 1\nallow: {hosts: ['http://x']}\n", `2:17: host pattern`},
		{"allow command", "version: 1\nallow: {commands: ['a | b']}\n", `2:20: command shape`},
		{"cel plain", rules("  - name: x\n    when: tool.nam == \"a\"\n    effect: deny\n    reason: r\n"), "4:15: undefined field 'nam'; did you mean name?"},
		{"cel quoted", rules("  - name: x\n    when: 'tool.nam == \"a\"'\n    effect: deny\n    reason: r\n"), "4:16: undefined field 'nam'"},
		{"cel literal", rules("  - name: x\n    when: |\n      tool.name == \"a\" ||\n        tool.nam == \"b\"\n    effect: deny\n    reason: r\n"), "6:13: undefined field 'nam'; did you mean name?\n        tool.nam == \"b\"\n            ^"},
		{"cel folded", rules("  - name: x\n    when: >\n      tool.name == \"a\" ||\n      tool.nam == \"b\"\n    effect: deny\n    reason: r\n"), "4:11: undefined field 'nam'; did you mean name?\ntool.name == \"a\" || tool.nam == \"b\"\n                        ^"},
		{"not utf-8", "version: 1\nname: \xff\n", "file is not UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tryLoad(folder(t, "p.yaml", tt.text), policy.Options{})
			wantErr(t, err, tt.want)
			if probs := policy.Lint("p.yaml", []byte(tt.text), policy.Options{Engine: engine()}); len(probs) == 0 || !strings.Contains(probs[0].Error(), tt.want) {
				t.Errorf("Lint: got %v, want %q", probs, tt.want)
			}
		})
	}
}

func TestLoadReportsEverything(t *testing.T) {
	dir := folder(t,
		"a.yaml", rules(rule("x", "tol.name == 'a'", "deny")+rule("y", "tool.kind == 'shel'", "dney")),
		"b.yaml", "version: 1\nfoo: 1\n")
	_, err := tryLoad(dir, policy.Options{})
	wantErr(t, err, "undeclared reference to 'tol'", `"shel" is no value of Tool.kind`, `found "dney"`, `unknown key "foo"`)
}

func TestLoadOrder(t *testing.T) {
	dir := folder(t,
		"20.yaml", rules(rule("c", "true", "deny")),
		"10.yml", rules(rule("b", "true", "deny")+rule("a", "true", "flag")),
		"x_test.yaml", "version: 1\ncases: []\n",
		"notes.txt", "not a policy")
	over := folder(t, "p.yaml", rules(rule("p", "true", "deny")))
	s := load(t, dir, policy.Options{Packs: []string{policy.DefaultPack}, Overlays: []string{over}})
	var got []string
	for _, r := range s.Rules()[:5] {
		got = append(got, r.Name)
	}
	if want := []string{"b", "a", "c", "p", "guard.tamper"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if o := s.Rules()[0].Origin; o.Layer != policy.LayerUser || o.Line != 3 || o.Column != 11 {
		t.Errorf("origin: got %+v", o)
	}
}

func TestProjectOverlayOnlyTightens(t *testing.T) {
	user := "version: 1\npacks: [default]\noverride:\n  net.listen: {enabled: false}\n  pkg.publish: {effect: flag}\n"
	tests := []struct {
		text, want string
	}{
		{"version: 1\nallow: {paths: ['/x']}\n", "may only tighten"},
		{"version: 1\npacks: []\n", "only the user's policy chooses packs"},
		{"version: 1\noverride: {net.upload: {enabled: false}}\n", "cannot switch a rule off"},
		{"version: 1\noverride: {net.upload: {effect: flag}}\n", "only become deny"},
		{"version: 1\noverride: {net.upload: {mode: shadow}}\n", "only become enforce"},
		{"version: 1\noverride: {net.upload: {allow: {hosts: [a.com]}}}\n", "may only tighten"},
		{"version: 1\noverride: {net.upload: {reason: fine}}\n", "may only tighten"},
		{"version: 1\nlists: {a: [b]}\noverride: {net.listen: {enabled: true}, pkg.publish: {effect: deny}}\n", ""},
	}
	for _, tt := range tests {
		s, err := tryLoad(folder(t, "u.yaml", user), policy.Options{Overlays: []string{folder(t, "o.yaml", tt.text)}})
		if tt.want != "" {
			wantErr(t, err, tt.want)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Rules() {
			if (r.Name == "net.listen" || r.Name == "pkg.publish") && (!r.Enabled || r.Effect != policy.EffectDeny) {
				t.Errorf("%s: got enabled %v, effect %s", r.Name, r.Enabled, r.Effect)
			}
		}
	}
	// The user's rules cannot be redefined, nor his lists.
	_, err := tryLoad(folder(t, "u.yaml", "version: 1\nlists: {a: [b]}\n"+"rules:\n"+rule("mine", "true", "deny")),
		policy.Options{Overlays: []string{folder(t, "o.yaml", "version: 1\nlists: {a: [c]}\nrules:\n"+rule("mine", "false", "deny"))}})
	wantErr(t, err, `rule "mine" is already defined`, `list "a" is already defined`)
}

func TestDigest(t *testing.T) {
	one := rules(rule("a", "true", "deny") + rule("b", "false", "flag"))
	base := load(t, folder(t, "a.yaml", one), policy.Options{}).Digest()
	if !strings.HasPrefix(base, "sha256:") || len(base) != 7+64 {
		t.Fatalf("digest %q", base)
	}
	same := []string{
		"z.yaml", "# other layout\n" + strings.ReplaceAll(one, "effect: deny", `effect: "deny"`),
	}
	if got := load(t, folder(t, same...), policy.Options{}).Digest(); got != base {
		t.Errorf("same content, other file: got %s, want %s", got, base)
	}
	if got := load(t, folder(t, "1.yaml", rules(rule("a", "true", "deny")), "2.yaml", rules(rule("b", "false", "flag"))), policy.Options{}).Digest(); got != base {
		t.Errorf("same rules in two files: got %s, want %s", got, base)
	}
	seen := map[string]string{base: "base"}
	for what, text := range map[string]string{
		"order":   rules(rule("b", "false", "flag") + rule("a", "true", "deny")),
		"when":    rules(rule("a", "true || false", "deny") + rule("b", "false", "flag")),
		"effect":  rules(rule("a", "true", "flag") + rule("b", "false", "flag")),
		"mode":    "mode: shadow\n" + one,
		"list":    "lists: {x: [y]}\n" + one,
		"allow":   "allow: {paths: [/x]}\n" + one,
		"enabled": one + "    enabled: false\n",
		"hint":    one + "    hint: h\n",
	} {
		got := load(t, folder(t, "a.yaml", text), policy.Options{}).Digest()
		if seen[got] != "" {
			t.Errorf("%s has the digest of %s", what, seen[got])
		}
		seen[got] = what
	}
}

func TestBounds(t *testing.T) {
	if _, err := tryLoad(folder(t, "a.yaml", "version: 1\nname: "+strings.Repeat("x", policy.MaxFileBytes)), policy.Options{}); err == nil {
		t.Error("a file over the limit was read")
	}
	if _, err := tryLoad(folder(t, "a.yaml", "version: 1\nrules: "+strings.Repeat("[", 5000)), policy.Options{}); err == nil {
		t.Error("a deep file was read")
	}
	deep := rules(rule("a", strings.Repeat("(", 400)+"true"+strings.Repeat(")", 400), "deny"))
	if _, err := tryLoad(folder(t, "a.yaml", deep), policy.Options{}); err == nil {
		t.Error("a deep condition was compiled")
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte(rules(rule("a", "hazard('git.force_push')", "deny"))))
	f.Add([]byte("version: 1\npacks: [default]\noverride: {net.upload: {allow: {hosts: [a.com]}}}\nlists: {a: [b]}\n"))
	f.Add([]byte("version: 1\nrules:\n  - name: x\n    when: |\n      files.exists(f, f.glob('**/{a,b}'))\n    effect: flag\n    reason: >\n      a\n      b\n"))
	f.Add([]byte("a: &b [*b]\n---\n"))
	f.Add([]byte(rules(value("a", "true", "modify", "merge", `{"a": tool.input.b}`) + "    on: [tool.before]\n" + value("b", "true", "inject", "text", "x") + "    deliverAt: now\n" + rule("c", "true", "ask"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		probs := policy.Lint("f.yaml", data, policy.Options{Engine: engine()})
		for _, p := range probs {
			if p.Message == "" || strings.ContainsAny(p.Message, "\n\x1b\x00") {
				t.Errorf("message %q", p.Message)
			}
		}
		// Lint and Load agree.
		_, err := tryLoad(folder(t, "f.yaml", string(data)), policy.Options{})
		if (err == nil) != (len(probs) == 0) {
			t.Errorf("load: %v, lint: %v", err, probs)
		}
	})
}
