//go:build unix

package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdpoint/holdpoint/policy"
)

func TestCheckFolder(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, base string) (dir string, roots []string)
		want string
	}{
		{"own folder", func(t *testing.T, base string) (string, []string) {
			return mkdir(t, base, "policy", 0o700), []string{mkdir(t, base, "repo", 0o755)}
		}, ""},
		{"missing", func(_ *testing.T, base string) (string, []string) { return filepath.Join(base, "none"), nil }, "no such file"},
		{"group can write", func(t *testing.T, base string) (string, []string) { return mkdir(t, base, "policy", 0o770), nil }, "others can write"},
		{"folder above", func(t *testing.T, base string) (string, []string) {
			up := mkdir(t, base, "up", 0o777)
			return mkdir(t, up, "policy", 0o700), nil
		}, "others can write"},
		{"sticky above is taken", func(t *testing.T, base string) (string, []string) {
			up := mkdir(t, base, "up", 0o777|os.ModeSticky)
			return mkdir(t, up, "policy", 0o700), nil
		}, ""},
		{"sticky itself is not", func(t *testing.T, base string) (string, []string) {
			return mkdir(t, base, "policy", 0o777|os.ModeSticky), nil
		}, "others can write"},
		{"file others can write", func(t *testing.T, base string) (string, []string) {
			dir := mkdir(t, base, "policy", 0o700)
			write(t, filepath.Join(dir, "a.yaml"), 0o666)
			return dir, nil
		}, "others can write"},
		{"inside the workspace", func(t *testing.T, base string) (string, []string) {
			repo := mkdir(t, base, "repo", 0o755)
			return mkdir(t, repo, ".holdpoint", 0o700), []string{repo}
		}, "inside the workspace"},
		{"the workspace itself", func(t *testing.T, base string) (string, []string) {
			repo := mkdir(t, base, "repo", 0o755)
			return repo, []string{repo}
		}, "inside the workspace"},
		{"link into the workspace", func(t *testing.T, base string) (string, []string) {
			repo := mkdir(t, base, "repo", 0o755)
			return link(t, mkdir(t, repo, "p", 0o700), filepath.Join(base, "policy")), []string{repo}
		}, "inside the workspace"},
		{"link out of the workspace", func(t *testing.T, base string) (string, []string) {
			repo := mkdir(t, base, "repo", 0o755)
			return link(t, mkdir(t, base, "p", 0o700), filepath.Join(repo, "policy")), []string{repo}
		}, "inside the workspace"},
		{"workspace behind a link", func(t *testing.T, base string) (string, []string) {
			repo := mkdir(t, base, "repo", 0o755)
			return mkdir(t, repo, "p", 0o700), []string{link(t, repo, filepath.Join(base, "ws"))}
		}, "inside the workspace"},
		{"file that is a link into the workspace", func(t *testing.T, base string) (string, []string) {
			repo := mkdir(t, base, "repo", 0o755)
			write(t, filepath.Join(repo, "x"), 0o644)
			dir := mkdir(t, base, "policy", 0o700)
			link(t, filepath.Join(repo, "x"), filepath.Join(dir, "a.yaml"))
			return dir, []string{repo}
		}, "inside the workspace"},
		{"neighbour with the same prefix", func(t *testing.T, base string) (string, []string) {
			return mkdir(t, base, "repo-policy", 0o700), []string{mkdir(t, base, "repo", 0o755)}
		}, ""},
		{"not a folder", func(t *testing.T, base string) (string, []string) {
			write(t, filepath.Join(base, "f"), 0o600)
			return filepath.Join(base, "f"), nil
		}, "not a folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, roots := tt.make(t, t.TempDir())
			err := policy.CheckFolder(dir, roots)
			if tt.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			wantErr(t, err, tt.want)
			if _, err := policy.Load(dir, policy.Options{Engine: engine(), Roots: roots}); err == nil {
				t.Error("Load took the folder")
			}
		})
	}
}

func mkdir(t *testing.T, base, name string, mode os.FileMode) string {
	t.Helper()
	p := filepath.Join(base, name)
	if err := os.Mkdir(p, 0o700); err != nil {
		t.Fatal(err)
	}
	// Mkdir's mode goes through the umask.
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) string {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	return name
}
