package audit_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

func fullEntry() audit.Entry {
	return audit.Entry{
		Version: 7, Kind: audit.AgentHooks, Time: time.Unix(1_700_000_000, 5).UTC(), Key: "k",
		Session: "s", Agent: "a", Event: "e", Tool: "ü", Operation: "sha256:00", Decision: "deny",
		Rules: []string{"r1", "r2"}, Hazards: []string{"h"}, Flags: []string{"failed-open"},
		Data: []byte("\x00data"),
	}
}

// What is accepted as a leaf is a valid entry that gives the same bytes again.
func FuzzParseLeaf(f *testing.F) {
	full, small := fullEntry(), audit.Entry{Version: 1, Kind: "x"}
	f.Add(full.Leaf())
	f.Add(small.Leaf())
	f.Add(full.Leaf()[:30])
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := audit.ParseLeaf(b)
		if err != nil {
			return
		}
		if err := e.Validate(); err != nil {
			t.Errorf("accepted an invalid entry: %v", err)
		}
		if !bytes.Equal(e.Leaf(), b) {
			t.Errorf("got  %q\nfrom %q", e.Leaf(), b)
		}
	})
}

func TestLeaf(t *testing.T) {
	full := fullEntry()
	leaf := full.Leaf()
	if _, err := audit.ParseLeaf(leaf); err != nil {
		t.Errorf("its own: %v", err)
	}
	for n := range leaf {
		if _, err := audit.ParseLeaf(leaf[:n]); err == nil {
			t.Errorf("accepted the first %d bytes", n)
		}
	}
	if _, err := audit.ParseLeaf(append(leaf, 0)); err == nil {
		t.Error("accepted a byte too many")
	}
	// A field's end cannot move into the next.
	a, b := full, full
	a.Session, a.Agent = "ab", "c"
	b.Session, b.Agent = "a", "bc"
	if bytes.Equal(a.Leaf(), b.Leaf()) {
		t.Error("two entries give one leaf")
	}
}

// After Fit the columns are within the limits whatever came in, different ones
// stay different, and a second Fit changes nothing.
func FuzzFit(f *testing.F) {
	f.Add("plain", "other")
	f.Add(strings.Repeat("ü", 200), "\x1b[31m\u202e")
	f.Add("a\n", "a\r")
	f.Add("\xff", "\xfe")
	f.Fuzz(func(t *testing.T, a, b string) {
		ea := audit.Entry{Version: 1, Kind: "x", Session: a, Tool: b, Rules: []string{a, b, ""}}.Fit()
		if err := ea.Validate(); err != nil {
			t.Errorf("%q, %q: %v", a, b, err)
		}
		if (ea.Session == ea.Tool) != (a == b) {
			t.Errorf("%q and %q became %q and %q", a, b, ea.Session, ea.Tool)
		}
		if again := ea.Fit(); string(again.Leaf()) != string(ea.Leaf()) {
			t.Errorf("a second Fit changed %q to %q", ea.Session, again.Session)
		}
		filter := audit.Filter{Session: a, Rule: b}.Fit()
		if err := filter.Validate(); err != nil || filter.Session != ea.Session {
			t.Errorf("filter: %q, %v", filter.Session, err)
		}
	})
}

// What is accepted as a checkpoint is one that the key signed: here, only the
// texts of two known ones.
func FuzzParseCheckpoint(f *testing.F) {
	key, err := audit.NewKey()
	if err != nil {
		f.Fatal(err)
	}
	var tree audit.Tree
	valid := map[string]bool{}
	for range 2 {
		c, err := key.Sign(&tree, time.Unix(1_700_000_000, 0))
		if err != nil {
			f.Fatal(err)
		}
		valid[c.Note] = true
		f.Add(c.Note, key.Verifier())
		f.Add(strings.Replace(c.Note, "\n0\n", "\n1\n", 1), key.Verifier())
		tree.Append(audit.LeafHash(nil), nil)
	}
	f.Add("", "")
	f.Add("x\n\n\u2014 x AAAA\n", "x+1+AAAA")
	f.Fuzz(func(t *testing.T, text, other string) {
		if c, err := audit.ParseCheckpoint(text, key.Verifier()); err == nil && !valid[c.Note] {
			// Other signatures may stand beside ours; the signed text may not differ.
			body, _, _ := strings.Cut(text, "\n\n")
			known := false
			for note := range valid {
				known = known || strings.HasPrefix(note, body+"\n\n")
			}
			if !known {
				t.Errorf("accepted %q", text)
			}
		}
		_, _ = audit.ParseCheckpoint(text, other)
		if k, err := audit.ParseKey(text); err == nil && k.Secret() != strings.TrimSpace(text) {
			t.Errorf("key %q became %q", text, k.Secret())
		}
	})
}

// Of a spool no byte is lost, and however much of it is there when it is read,
// the same lines are found at the same offsets: the keys depend on that.
func FuzzSpoolLines(f *testing.F) {
	f.Add([]byte(spoolLine(1)+"half"+spoolLine(2)), 300)
	f.Add([]byte("\n\na\n"), 1)
	f.Add(bytes.Repeat([]byte("x"), 5000), 4100)
	f.Add([]byte(strings.Repeat("x", 4096)+spoolLine(1)), 4360)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole, size := splitSpool(b, true)
		if size != len(b) {
			t.Errorf("took %d of %d bytes", size, len(b))
		}
		for at, line := range whole {
			if !bytes.HasPrefix(b[at:], line.Data) {
				t.Errorf("at %d: %q is not what is there", at, line.Data)
			}
			if !line.Torn && (len(line.Data) != audit.SpoolLineBytes-1 || bytes.IndexByte(line.Data, '\n') >= 0 || b[at+len(line.Data)] != '\n') {
				t.Errorf("at %d: not a whole line: %q", at, line.Data)
			}
		}
		early, _ := splitSpool(b[:max(0, min(cut, len(b)))], false)
		for at, line := range early {
			if then, ok := whole[at]; !ok || !bytes.Equal(then.Data, line.Data) || then.Torn != line.Torn {
				t.Errorf("at %d: first %q, then %q", at, line.Data, then.Data)
			}
		}
	})
}

// splitSpool returns the lines by offset, and how many bytes they take.
func splitSpool(b []byte, last bool) (map[int]audit.SpoolLine, int) {
	lines, at := map[int]audit.SpoolLine{}, 0
	for {
		line, size, ok := audit.NextSpoolLine(b[at:], last)
		if !ok {
			return lines, at
		}
		lines[at] = line
		at += size
	}
}
