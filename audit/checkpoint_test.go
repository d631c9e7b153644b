package audit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

func newKey(t *testing.T) *audit.Key {
	t.Helper()
	k, err := audit.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCheckpointText(t *testing.T) {
	key, other := newKey(t), newKey(t)
	var tree audit.Tree
	tree.Append(audit.LeafHash([]byte("x")), nil)
	made, err := key.Sign(&tree, time.Date(2026, 5, 6, 7, 8, 9, 10, time.FixedZone("", 3600)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := audit.ParseCheckpoint(made.Note, other.Verifier(), key.Verifier(), key.Verifier())
	if err != nil || got != made {
		t.Errorf("got %+v, %v\nwant %+v", got, err, made)
	}
	lines := strings.Split(made.Note, "\n")
	if lines[0] != key.Origin() || lines[1] != "1" || lines[3] != "time 2026-05-06T06:08:09Z" || lines[4] != "" {
		t.Errorf("got %q", made.Note)
	}
	for name, keys := range map[string][]string{"another key": {other.Verifier()}, "no key": nil} {
		if _, err := audit.ParseCheckpoint(made.Note, keys...); err == nil || !strings.Contains(err.Error(), "not signed by a key that is trusted") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := audit.ParseCheckpoint(made.Note, "garbage"); !errors.Is(err, audit.ErrKey) {
		t.Errorf("got %v", err)
	}
	for _, edit := range [][2]string{
		{"\n1\n", "\n01\n"},
		{"\n1\n", "\n-1\n"},
		{"\n1\n", "\n2\n"},
		{"time 2026", "time 2027"},
		{"time ", "date "},
		{"09Z", "09.0Z"},
		{key.Origin() + "\n", other.Origin() + "\n"},
		{"09Z\n", "09Z\nmore\n"},
	} {
		text := strings.Replace(made.Note, edit[0], edit[1], 1)
		if text == made.Note {
			t.Fatalf("%q changes nothing", edit)
		}
		if c, err := audit.ParseCheckpoint(text, key.Verifier()); err == nil {
			t.Errorf("%q: accepted as %+v", edit, c)
		}
	}
}

func TestParseKey(t *testing.T) {
	// Many, for base64 may hold the separator of the fields.
	for range 50 {
		key := newKey(t)
		again, err := audit.ParseKey("  " + key.Secret() + "\n")
		if err != nil || again.Verifier() != key.Verifier() || again.Origin() != key.Origin() {
			t.Fatalf("%v", err)
		}
	}
	secret := newKey(t).Secret()
	for _, text := range []string{"", "x", secret[:len(secret)-5], "PRIVATE+KEY+a+b+c", strings.Replace(secret, "PRIVATE", "PUBLIC", 1)} {
		_, err := audit.ParseKey(text)
		if !errors.Is(err, audit.ErrKey) {
			t.Errorf("got %v", err)
		}
		if err != nil && len(text) > 20 && strings.Contains(err.Error(), text[len(text)-20:]) {
			t.Errorf("the error tells the key: %v", err)
		}
	}
}
