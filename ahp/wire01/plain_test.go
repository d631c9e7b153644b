package wire01_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// noExts is the end of a request with an empty extensions object, which the plain
// way does not write.
const noExts = `,"extensions":{}}}`

// TestPlainIntercept holds: the way for plain events writes what the encoder that
// reads its own output writes, and refuses what that refuses.
func TestPlainIntercept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{
			"x", "", "a b", "caf\u00e9", `say "no"`, `C:\tmp`, "two\nlines", "\xff", "\x7f", strings.Repeat("long ", 40),
		})
		often := func(good string) string {
			return rapid.OneOf(rapid.Just(good), rapid.Just(good), rapid.Just(good), text).Draw(t, "text")
		}
		raw := rapid.SampledFrom([]ahp.Raw{
			ahp.Raw(`{}`), ahp.Raw(`{"command":"ls -la","n":1.50}`), ahp.Raw(` {"a":[{"b":null}]} `), ahp.Raw(`{"a":"\u0041\n"}`),
			ahp.Raw("{\"a\":\n1}"), ahp.Raw(`{"a":1,"a":2}`), ahp.Raw(`{"a":1}}`), ahp.Raw(`{"a":1},"x":{}`), ahp.Raw(`[]`), ahp.Raw(`"{}"`),
			ahp.Raw(``), nil, ahp.Raw("{\"\xff\":1}"), ahp.Raw(strings.Repeat(`{"a":`, 124) + "1" + strings.Repeat("}", 124)),
			ahp.Raw(strings.Repeat(`{"a":`, 125) + "1" + strings.Repeat("}", 125)), ahp.Raw(`{"a":[` + strings.Repeat("1,", 100_000) + `1]}`),
		})
		ev := &ahp.Event{
			ID: often("e-1"), Source: often("https://example.com/h?x#y"), Time: often("2027-02-28T23:59:59.5+01:00"),
			Type:    rapid.SampledFrom([]ahp.EventType{ahp.ToolBefore, ahp.ToolBefore, ahp.ToolBefore, ahp.ToolAfter, "x"}).Draw(t, "type"),
			Session: ahp.Session{ID: often("s"), CWD: text.Draw(t, "cwd"), Model: text.Draw(t, "model")},
		}
		if rapid.Bool().Draw(t, "roots") {
			ev.Session.WorkspaceRoots = rapid.SliceOfN(text, 0, 3).Draw(t, "root")
		}
		if rapid.Bool().Draw(t, "agent") {
			ev.Session.Agent = &ahp.Agent{ID: often("main"), Type: text.Draw(t, "agent type")}
		}
		if rapid.IntRange(0, 9).Draw(t, "tool") > 0 {
			ev.Tool = &ahp.Tool{
				CallID: often("c"), Name: often("Bash"), Input: raw.Draw(t, "input"),
				Kind: rapid.SampledFrom([]ahp.ToolKind{ahp.KindShell, ahp.KindMCP, ahp.KindShell, "x"}).Draw(t, "kind"),
			}
			if rapid.Bool().Draw(t, "mcp") {
				ev.Tool.MCP = raw.Draw(t, "mcp facts")
			}
		}
		switch rapid.IntRange(0, 9).Draw(t, "odd") {
		case 0:
			ev.Unknown = ahp.Members{{Name: "x", Value: ahp.Raw(`1`)}}
		case 1:
			ev.HasExtensions = true
		case 2:
			ev.Outcome = ahp.OutcomeError
		case 3:
			ev.Native = &ahp.Native{Provider: "p", EventName: "e", Payload: ahp.Raw(`{}`)}
		}
		caps := rapid.SampledFrom([]ahp.Capabilities{
			ahp.DenyOnly(), ahp.DenyOnly(), {}, {Effects: []ahp.EffectType{"com.example.x", ahp.EffectDeny}}, {Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectDeny}},
		}).Draw(t, "capabilities")

		dst := []byte("before ")
		got, err := wire01.AppendIntercept(dst, ev, caps, nil)
		want, wantErr := wire01.AppendIntercept(dst, ev, caps, ahp.Members{}) // never plain
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%v, expected %v", err, wantErr)
		}
		if err == nil {
			cut, ok := bytes.CutSuffix(want, []byte(noExts))
			if want = append(cut, "}}"...); !ok || !bytes.Equal(got, want) {
				t.Fatalf("%s\nexpected\n%s", got, want)
			}
		} else if string(got) != "before " {
			t.Fatalf("left behind: %s", got)
		}
	})
}

// TestPlainResult holds the same of answers.
func TestPlainResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ahp.Raw(rapid.SampledFrom([]string{
			`"e-1"`, `""`, `"`, `"a"b"`, `"\u0041"`, `"é"`, "\"\xff\"", `0`, `7`, `-7`, `07`, `1.0`, `1.5`, `1e2`, `123456789012345678`, `1234567890123456789`,
			`null`, `true`, `{}`, ``, ` 1`, `"a" `, "\"a\n\"", `1,"x":2`, "nil",
		}).Draw(t, "id"))
		if string(id) == "nil" {
			id = nil
		}
		text := rapid.SampledFrom([]string{"", "Not on a Friday.", `say "no"`, "caf\u00e9", "\xff", "a\nb", "com.example.friday", "com", "\x7f"})
		var effects []ahp.Effect
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "effects") {
			d := &ahp.Deny{Reason: text.Draw(t, "reason"), Code: text.Draw(t, "code")}
			switch rapid.IntRange(0, 9).Draw(t, "odd") {
			case 0:
				d.HasExtensions = true
			case 1:
				d.Unknown = ahp.Members{{Name: "x", Value: ahp.Raw(`1`)}}
			case 2:
				d = nil
			}
			effects = append(effects, d)
		}
		dst := []byte("before ")
		got, err := wire01.AppendResult(dst, id, effects, nil)
		want, wantErr := wire01.AppendResult(dst, id, effects, ahp.Members{}) // never plain
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%v, expected %v", err, wantErr)
		}
		if err == nil {
			cut, ok := bytes.CutSuffix(want, []byte(noExts))
			if want = append(cut, "}}"...); !ok || !bytes.Equal(got, want) {
				t.Fatalf("%s\nexpected\n%s", got, want)
			}
		} else if string(got) != "before " {
			t.Fatalf("left behind: %s", got)
		}
	})
}
