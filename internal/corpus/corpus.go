// Package corpus finds the shared test corpora. It is for tests only.
package corpus

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of the corpus name (a slash path such as
// "ahp-0.1/fixtures"). The root is the environment variable HOLDPOINT_CORPUS,
// or ../shared/corpus beside the module. Where the folder is absent the test is
// skipped by name; with HOLDPOINT_REQUIRE_CORPUS=1 it fails instead, so that a
// build that is meant to run a corpus cannot pass without it.
func Dir(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := locate(name)
	if err != nil {
		if os.Getenv("HOLDPOINT_REQUIRE_CORPUS") == "1" {
			tb.Fatalf("corpus %s: %v (HOLDPOINT_REQUIRE_CORPUS=1)", name, err)
		}
		tb.Skipf("corpus %s: %v", name, err)
	}
	return dir
}

// File reads one file of a corpus, under the rules of [Dir].
func File(tb testing.TB, name string) []byte {
	tb.Helper()
	path := Dir(tb, name)
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("corpus %s: %v", name, err)
	}
	return b
}

// Glob returns the files of the corpus name that match pattern, for the seeds of a fuzz
// target: it needs none, so where the folder is absent there are none. With
// HOLDPOINT_REQUIRE_CORPUS=1 it fails instead.
func Glob(tb testing.TB, name, pattern string) []string {
	tb.Helper()
	dir, err := locate(name)
	if err != nil {
		if os.Getenv("HOLDPOINT_REQUIRE_CORPUS") == "1" {
			tb.Fatalf("corpus %s: %v (HOLDPOINT_REQUIRE_CORPUS=1)", name, err)
		}
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		tb.Fatalf("corpus %s: %v", name, err)
	}
	return files
}

func locate(name string) (string, error) {
	root := os.Getenv("HOLDPOINT_CORPUS")
	if root == "" {
		mod, err := moduleRoot()
		if err != nil {
			return "", err
		}
		root = filepath.Join(mod, "..", "shared", "corpus")
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	return path, nil
}

// moduleRoot walks up to the module named github.com/holdpoint/holdpoint: the
// modules nested in it (bench, interop) resolve to the same corpus.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root := ""
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			root = dir
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	if root == "" {
		return "", errors.New("no go.mod above the working folder")
	}
	return root, nil
}
