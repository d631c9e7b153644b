package native_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/native"
)

// A view is a file system that holds what it lists.
type view struct {
	there []string
	links map[string]string
}

func (v view) Exists(path string) bool { return slices.Contains(v.there, path) }

func (v view) Resolve(path string) (string, error) {
	if to, ok := v.links[path]; ok {
		if to == "" {
			return "", errors.New("loop")
		}
		return to, nil
	}
	return path, nil
}

func TestFindRoots(t *testing.T) {
	const home = "/home/dev"
	repo := view{there: []string{"/home/dev/repo/.git", "/home/dev/.git", "/.git", "/etc/.git", "/home/dev/hgrepo/.hg", "/usr/src/linux/.git"}}
	tests := []struct {
		name  string
		named []string
		cwd   string
		view  view
		want  []string
		how   native.RootSource
	}{
		{"named by the agent", []string{"/home/dev/repo"}, "/home/dev/other", repo, []string{"/home/dev/repo"}, native.RootAgent},
		{"several named, one unusable", []string{"/", "/srv/a/../b/", "/srv/c"}, "", repo, []string{"/srv/b", "/srv/c"}, native.RootAgent},
		{"home is named", []string{home}, "/home/dev/repo/sub", repo, []string{"/home/dev/repo"}, native.RootRepository},
		{"above home is named", []string{"/home"}, "", repo, nil, native.RootNone},
		{"relative is named", []string{"repo"}, "", repo, nil, native.RootNone},
		{"raised to the repository", nil, "/home/dev/repo/a/b", repo, []string{"/home/dev/repo"}, native.RootRepository},
		{"the repository itself", nil, "/home/dev/repo/", repo, []string{"/home/dev/repo"}, native.RootRepository},
		{"another system's repository", nil, "/home/dev/hgrepo/x", repo, []string{"/home/dev/hgrepo"}, native.RootRepository},
		{"a home under version control is no root", nil, "/home/dev/notes/x", repo, []string{"/home/dev/notes/x"}, native.RootFirstCWD},
		{"no repository", nil, "/srv/data", view{}, []string{"/srv/data"}, native.RootFirstCWD},
		{"at home", nil, home, repo, nil, native.RootNone},
		{"at the root folder", nil, "/", repo, nil, native.RootNone},
		{"in a system folder", nil, "/etc/nginx", repo, nil, native.RootNone},
		{"in a system folder with work", nil, "/usr/src/linux/fs", repo, []string{"/usr/src/linux"}, native.RootRepository},
		{"the temporary folder", nil, "/tmp", repo, nil, native.RootNone},
		{"below the temporary folder", nil, "/tmp/x", view{}, []string{"/tmp/x"}, native.RootFirstCWD},
		{"a link to the root folder", []string{"/srv/all"}, "", view{links: map[string]string{"/srv/all": "/"}}, nil, native.RootNone},
		{"a link to home", []string{"/srv/h"}, "", view{links: map[string]string{"/srv/h": home}}, nil, native.RootNone},
		{"home behind a link", []string{"/data/home/dev"}, "", view{links: map[string]string{home: "/data/home/dev"}}, nil, native.RootNone},
		{"cannot be resolved", nil, "/srv/gone", view{links: map[string]string{"/srv/gone": ""}}, []string{"/srv/gone"}, native.RootFirstCWD},
		{"a name that only begins like home", nil, "/home/developer", view{}, []string{"/home/developer"}, native.RootFirstCWD},
		{"empty", nil, "", repo, nil, native.RootNone},
		{"a zero byte", nil, "/srv/\x00", repo, nil, native.RootNone},
		{"dots to the root folder", nil, "/srv/../..", repo, nil, native.RootNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, how := native.FindRoots(tt.named, tt.cwd, home, tt.view)
			if !slices.Equal(got, tt.want) || how != tt.how {
				t.Errorf("got %q %s, want %q %s", got, how, tt.want, tt.how)
			}
		})
	}
	if got, how := native.FindRoots(nil, "/home/dev", "", view{}); how != native.RootFirstCWD {
		t.Errorf("with home unknown: got %q %s", got, how)
	}
}

func TestFindRootsOnDisk(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "repo", "a", "b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	// A linked worktree has a file there.
	if err := os.WriteFile(filepath.Join(dir, "repo", ".git"), []byte("gitdir: x"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, how := native.FindRoots(nil, sub, "/home/nobody", native.OS{})
	if !slices.Equal(got, []string{filepath.Join(dir, "repo")}) || how != native.RootRepository {
		t.Errorf("got %q %s", got, how)
	}
	link := filepath.Join(dir, "all")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	if got, how := native.FindRoots([]string{link}, link, "/home/nobody", native.OS{}); how != native.RootNone {
		t.Errorf("a link to the root folder is a root: %q %s", got, how)
	}
}
