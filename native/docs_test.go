package native_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/claude"
	"github.com/holdpoint/holdpoint/native/codex"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/agents.md")

// The tables of docs/agents.md are written from the offers, so they cannot drift.
func TestDocsAreGenerated(t *testing.T) {
	path := filepath.Join("..", "docs", "agents.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const start, end = "<!-- offers: generated, do not edit -->\n", "<!-- end of offers -->"
	i, j := strings.Index(string(b), start), strings.Index(string(b), end)
	if i < 0 || j < i {
		t.Fatal("docs/agents.md has no part for the offers")
	}
	want := string(b[:i]) + start + "\n" + table("Claude Code", "2.1.332", claude.Offers()) + "\n" +
		table("Codex", "0.171.0", codex.Offers(false)) + "\n" + string(b[j:])
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatal("docs/agents.md is out of date; run go test ./native -run Docs -update")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func table(name, version string, offers map[string]native.Offer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s %s\n\n| its event | AHP event | what it does there | known from |\n| --- | --- | --- | --- |\n", name, version)
	order := ahp.DraftEvents()
	events := slices.SortedFunc(maps.Keys(offers), func(a, b string) int {
		x, y := slices.Index(order, offers[a].Event), slices.Index(order, offers[b].Event)
		if x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	for _, e := range events {
		o := offers[e]
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", e, o.Event, does(&o.Capabilities), o.Source)
	}
	return b.String()
}

func does(c *ahp.Capabilities) string {
	if len(c.Effects) == 0 {
		return "observed"
	}
	var list []string
	for _, e := range c.Effects {
		switch e {
		case ahp.EffectFlow:
			if c.Flow.Stop {
				list = append(list, "stop")
			}
			if c.Flow.Continue {
				list = append(list, "continue")
			}
		case ahp.EffectInject:
			for _, d := range c.Inject {
				list = append(list, "inject "+strings.ReplaceAll(string(d), "_", " "))
			}
		default:
			list = append(list, string(e))
		}
	}
	return strings.Join(list, ", ")
}
