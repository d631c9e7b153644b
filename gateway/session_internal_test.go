package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/native"
)

func TestTheFirstDirectoryOfASessionCounts(t *testing.T) {
	s := newSessions("/home/ada")
	first := s.workspace("s", nil, "/home/ada/one")
	if got := s.workspace("s", nil, "/home/ada/two"); !slices.Equal(got.Roots, first.Roots) {
		t.Errorf("after a change of directory: %q, want %q", got.Roots, first.Roots)
	}
	if got := s.workspace("other", nil, "/home/ada/two"); got.Roots[0] != "/home/ada/two" {
		t.Errorf("another session: %q", got.Roots)
	}
	s.forget("s")
	if got := s.workspace("s", nil, "/home/ada/two"); got.Roots[0] != "/home/ada/two" {
		t.Errorf("after its end: %q", got.Roots)
	}
}

func TestNamedRootsWinAndAreNotRemembered(t *testing.T) {
	s := newSessions("/home/ada")
	if got := s.workspace("s", []string{"/srv/x"}, "/home/ada/one"); got.From != native.RootAgent || !slices.Equal(got.Roots, []string{"/srv/x"}) {
		t.Errorf("named: %q from %s", got.Roots, got.From)
	}
	if got := s.workspace("s", []string{"/", "/home/ada"}, "/home/ada/one"); got.From != native.RootFirstCWD || !slices.Equal(got.Roots, []string{"/home/ada/one"}) {
		t.Errorf("named badly: %q from %s", got.Roots, got.From)
	}
}

func TestASessionIsRaisedToItsRepository(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	if err := os.MkdirAll(filepath.Join(repo, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := newSessions("/home/ada").workspace("s", nil, filepath.Join(repo, "a", "b"))
	if got.From != native.RootRepository || !slices.Equal(got.Roots, []string{repo}) {
		t.Errorf("got %q from %s, want %q", got.Roots, got.From, repo)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	s := newSessions("/home/ada")
	for i := range maxSessions + 100 {
		s.workspace(fmt.Sprint(i), nil, "/home/ada/one")
	}
	if s.len() != maxSessions || len(s.byKey) != maxSessions {
		t.Errorf("%d remembered, %d indexed, want %d", s.len(), len(s.byKey), maxSessions)
	}
}

// What a session did is remembered also where its agent names the roots each time, and
// says nothing of where it works.
func TestSessionsRememberWithoutAPlace(t *testing.T) {
	s := newSessions("/home/ada")
	s.workspace("s", []string{"/srv/x"}, "/home/ada/one")
	s.step("s", "t", 1)
	s.ask("s", "first")
	if s.steps("s", "t") != 1 || !s.asked("s", "first") || s.asked("s", "other") || s.asked("r", "first") {
		t.Errorf("%d steps, asked %v", s.steps("s", "t"), s.asked("s", "first"))
	}
	if got := s.workspace("s", nil, "/home/ada/one"); got.From != native.RootFirstCWD || !slices.Equal(got.Roots, []string{"/home/ada/one"}) {
		t.Errorf("placed: %q from %s", got.Roots, got.From)
	}
	for i := range maxAsks {
		s.ask("s", fmt.Sprint(i))
		s.ask("s", fmt.Sprint(i))
	}
	if s.asked("s", "first") || !s.asked("s", "0") || !s.asked("s", fmt.Sprint(maxAsks-1)) {
		t.Error("not the last calls are remembered")
	}
}
