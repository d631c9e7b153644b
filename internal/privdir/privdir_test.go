//go:build unix

package privdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdpoint/holdpoint/internal/privdir"
)

func TestMakeCreatesAPrivateFolderAndIsRepeatable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := privdir.Make(dir); err != nil {
			t.Fatal(err)
		}
	}
	fi, err := os.Stat(dir)
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v; want 0700", fi.Mode(), err)
	}
}

func TestCheckRefuses(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, path string)
	}{
		{"a link to a private folder", func(t *testing.T, path string) {
			target := t.TempDir()
			if err := errors.Join(os.Chmod(target, 0o700), os.Symlink(target, path)); err != nil {
				t.Fatal(err)
			}
		}},
		{"a dangling link", func(t *testing.T, path string) {
			if err := os.Symlink("nowhere", path); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a folder that others can enter", func(t *testing.T, path string) {
			if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o711)); err != nil {
				t.Fatal(err)
			}
		}},
		{"another user's folder", func(t *testing.T, path string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 12345, 12345)); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d")
			tt.make(t, path)
			if err := privdir.Make(path); !errors.Is(err, privdir.ErrUnsafe) {
				t.Errorf("Make = %v, want ErrUnsafe", err)
			}
		})
	}
}
