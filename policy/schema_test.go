package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/holdpoint/holdpoint/policy"
)

// The schema and the loader agree on every file whose fault a schema can see.
func TestSchemaAgreesWithLoader(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "policy.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := func(extra string) string { return rules(rule("a", "true", "deny") + extra) }
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name, text string
		ok         bool
	}{
		{"minimal", "version: 1\n", true},
		{"programs", "version: 1\nprograms: |\n  prog ship\n    flags --prod\n    act infra.destroy if --prod\n", true},
		{"programs are a list", "version: 1\nprograms: [ship]\n", false},
		{"programs empty", "version: 1\nprograms: ' '\n", false},
		{"programs too long", "version: 1\nprograms: |\n" + strings.Repeat("  #"+long(997)+"\n", 263), false},
		{"all keys", "version: 1\nname: team\ndescription: ours\nmode: shadow\npacks: [default]\nlists: {hosts: [a.com]}\nallow: {paths: [/x/**], hosts: [a.com], commands: [git push ...]}\noverride:\n  net.listen: {enabled: false, effect: flag, mode: shadow, severity: low, reason: r, hint: h, allow: {hosts: [a.com]}}\nrules:\n" + rule("a", "true", "flag") + "    mode: enforce\n    hint: h\n    code: com.example.a\n    severity: critical\n    enabled: false\n    allow: {commands: [git ...]}\n", true},
		{"pack with mode", "version: 1\npacks: [{name: default, mode: shadow}]\n", true},
		{"no packs", "version: 1\npacks: []\n", true},
		{"no rules", "version: 1\nrules: []\n", true},
		{"not a mapping", "[]\n", false},
		{"no version", "name: x\n", false},
		{"version 2", "version: 2\n", false},
		{"version text", "version: '1'\n", false},
		{"unknown key", "version: 1\nfoo: 1\n", false},
		{"bad name", "version: 1\nname: 'a b'\n", false},
		{"bad mode", "version: 1\nmode: audit\n", false},
		{"pack without name", "version: 1\npacks: [{mode: shadow}]\n", false},
		{"pack is a number", "version: 1\npacks: [1]\n", false},
		{"list name", "version: 1\nlists: {A: []}\n", false},
		{"list item", "version: 1\nlists: {a: [1]}\n", false},
		{"list item empty", "version: 1\nlists: {a: ['']}\n", false},
		{"list of lists", "version: 1\nlists: {a: [[b]]}\n", false},
		{"allow key", "version: 1\nallow: {files: []}\n", false},
		{"allow text", "version: 1\nallow: {paths: /x}\n", false},
		{"rules is a mapping", "version: 1\nrules: {}\n", false},
		{"rule", r(""), true},
		{"rule without when", "version: 1\nrules: [{name: a, effect: deny, reason: r}]\n", false},
		{"rule without reason", "version: 1\nrules: [{name: a, effect: deny, when: 'true'}]\n", false},
		{"reserved name", strings.Replace(r(""), "name: a", "name: holdpoint.a", 1), false},
		{"effect none", rules(rule("a", "true", "none")), false},
		{"when empty", strings.Replace(r(""), "'true'", "' '", 1), false},
		{"when boolean", strings.Replace(r(""), "'true'", "true", 1), false},
		{"code", r("    code: single\n"), false},
		{"severity", r("    severity: fatal\n"), false},
		{"enabled text", r("    enabled: 'yes'\n"), false},
		{"enabled yes", r("    enabled: yes\n"), false},
		{"hint empty", r("    hint: ''\n"), false},
		{"hint longest", r("    hint: " + long(1024) + "\n"), true},
		{"hint too long", r("    hint: " + long(1025) + "\n"), false},
		{"reason too long", strings.Replace(r(""), "because of a", long(2049), 1), false},
		{"null rules", "version: 1\nrules:\n", false},
		{"on", r("    on: [tool.before, turn.start]\n"), true},
		{"on nothing", r("    on: []\n"), false},
		{"on one text", r("    on: turn.start\n"), false},
		{"on what cannot be intercepted", r("    on: [turn.end]\n"), false},
		{"ask", rules(rule("a", "true", "ask")), true},
		{"modify by merge", rules(rule("a", "true", "modify") + "    merge: '{\"a\": 1}'\n"), true},
		{"modify by replace", rules(rule("a", "true", "modify") + "    replace: '{\"a\": 1}'\n"), true},
		{"modify without a value", rules(rule("a", "true", "modify")), false},
		{"modify by both", rules(rule("a", "true", "modify") + "    merge: '{}'\n    replace: '{}'\n"), false},
		{"merge of deny", r("    merge: '{}'\n"), false},
		{"merge is a mapping", rules(rule("a", "true", "modify") + "    merge: {a: 1}\n"), false},
		{"message", rules(rule("a", "true", "message") + "    text: hello\n"), true},
		{"message by expression", rules(rule("a", "true", "message") + "    textFrom: tool.name\n"), true},
		{"message by both", rules(rule("a", "true", "message") + "    text: hello\n    textFrom: tool.name\n"), false},
		{"message without text", rules(rule("a", "true", "message")), false},
		{"message with delivery", rules(rule("a", "true", "message") + "    text: hello\n    deliverAt: now\n"), false},
		{"inject", rules(rule("a", "true", "inject") + "    text: hello\n    deliverAt: next_turn\n"), true},
		{"inject without delivery", rules(rule("a", "true", "inject") + "    text: hello\n"), false},
		{"inject at another time", rules(rule("a", "true", "inject") + "    text: hello\n    deliverAt: later\n"), false},
		{"inject without text", rules(rule("a", "true", "inject") + "    deliverAt: now\n"), false},
		{"text of flag", rules(rule("a", "true", "flag") + "    text: hello\n"), false},
		{"override to ask", "version: 1\npacks: [default]\noverride: {net.listen: {effect: ask}}\n", true},
		{"override to modify", "version: 1\npacks: [default]\noverride: {net.listen: {effect: modify}}\n", false},
		{"override is a list", "version: 1\noverride: []\n", false},
		{"override key", "version: 1\npacks: [default]\noverride: {net.listen: {when: 'true'}}\n", false},
		{"override null", "version: 1\npacks: [default]\noverride: {net.listen: }\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var doc any
			if err := yaml.Unmarshal([]byte(tt.text), &doc); err != nil {
				t.Fatal(err)
			}
			schemaErr := schema.Validate(plain(doc))
			probs := policy.Lint("p.yaml", []byte(tt.text), policy.Options{Engine: engine(), Packs: []string{policy.DefaultPack}})
			if (schemaErr == nil) != tt.ok {
				t.Errorf("schema: got %v, want ok %v", schemaErr, tt.ok)
			}
			if (len(probs) == 0) != tt.ok {
				t.Errorf("loader: got %v, want ok %v", probs, tt.ok)
			}
		})
	}
	// The packs are files of the format too.
	for _, p := range policy.Packs() {
		fsys, err := policy.PackFiles(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join("packs", p.Name, p.Name+".yaml"))
		if err != nil {
			t.Fatal(err, fsys)
		}
		var doc any
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(plain(doc)); err != nil {
			t.Errorf("pack %s: %v", p.Name, err)
		}
	}
}

// plain turns what YAML gives into what JSON would give.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			m[k] = plain(e)
		}
		return m
	case map[any]any:
		m := map[string]any{}
		for k, e := range v {
			m[k.(string)] = plain(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = plain(e)
		}
		return l
	}
	return v
}
