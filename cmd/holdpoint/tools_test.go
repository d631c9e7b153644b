package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/internal/schematest"
)

// backends builds the example backend and the misbehaving one beside the
// programs.
var backends = sync.OnceValue(func() error {
	build := exec.Command("go", "build", "-o", programs+string(filepath.Separator),
		"github.com/holdpoint/holdpoint/examples/backend", "github.com/holdpoint/holdpoint/internal/badbackend")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return &buildError{string(out)}
	}
	return nil
})

type buildError struct{ text string }

func (e *buildError) Error() string { return e.text }

// The tools run as real programs over real files, backends and gateways.
func TestTools(t *testing.T) {
	if err := backends(); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "tools"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", programs+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, &buildError{"unknown condition " + cond}
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   cmdStatus,
			"waitfor":  cmdWaitFor,
			"waittext": cmdWaitText,
			"bigfile":  cmdBigFile,
			"schema":   cmdSchema(t),
			"flip":     cmdFlip,
		},
	})
}

// cmdBigFile makes a file of so many bytes of a JSON text that goes on and on.
//
//	bigfile NAME BYTES
func cmdBigFile(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = f.WriteString(`{"jsonrpc":"2.0","x":"`)
	ts.Check(err)
	block := bytes.Repeat([]byte("x"), 1<<20)
	for left := n; left > 0; left -= len(block) {
		_, err = f.Write(block[:min(left, len(block))])
		ts.Check(err)
	}
	ts.Check(f.Close())
}

// cmdSchema checks the last output against a schema.
//
//	schema [-lines] NAME
func cmdSchema(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		docs := []string{ts.ReadFile("stdout")}
		if args[0] == "-lines" {
			docs, args = strings.Split(strings.TrimSpace(docs[0]), "\n"), args[1:]
		}
		for _, doc := range docs {
			schematest.Validate(t, args[0], []byte(doc))
		}
	}
}

// cmdFlip changes one character of a text in a file.
//
//	flip FILE OLD NEW
func cmdFlip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	if !bytes.Contains(b, []byte(args[1])) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(name, bytes.ReplaceAll(b, []byte(args[1]), []byte(args[2])), 0o600))
}

// Each fixture of the corpus through the command: valid is 0, invalid is 1.
func TestLintFixtures(t *testing.T) {
	var manifest struct {
		Cases []struct {
			Path  string `json:"path"`
			Valid bool   `json:"expectedValid"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(corpus.File(t, "ahp-0.1/fixtures/manifest.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Cases) != 14 {
		t.Fatalf("%d fixtures, want 14", len(manifest.Cases))
	}
	dir := corpus.Dir(t, "ahp-0.1/fixtures")
	for _, c := range manifest.Cases {
		name := strings.TrimPrefix(c.Path, "fixtures/0.1.0-draft.1/")
		t.Run(name, func(t *testing.T) {
			want := exitFailed
			if c.Valid {
				want = exitOK
			}
			kind := "message"
			if strings.HasPrefix(name, "registration/") {
				kind = "registration"
			}
			for _, args := range [][]string{{"lint"}, {"lint", "--kind", kind}} {
				var out, errs strings.Builder
				if code := run(t.Context(), append(args, filepath.Join(dir, name)), strings.NewReader(""), &out, &errs); code != want {
					t.Errorf("%q: exit code %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
				}
				if !c.Valid && !strings.Contains(out.String(), ": error: ") {
					t.Errorf("%q names no error: %s", args, out.String())
				}
			}
			var out strings.Builder
			run(t.Context(), []string{"lint", "--json", filepath.Join(dir, name)}, strings.NewReader(""), &out, &out)
			schematest.Validate(t, "lint", []byte(out.String()))
			var rep lintReport
			if err := json.Unmarshal([]byte(out.String()), &rep); err != nil {
				t.Fatal(err)
			}
			if len(rep.Files) != 1 || string(rep.Files[0].Kind) != kind {
				t.Errorf("guessed %+v, want %s", rep.Files, kind)
			}
			for _, p := range rep.Files[0].Problems {
				if p.Line < 1 || p.Column < 1 || p.Found == "" || p.Expected == "" {
					t.Errorf("problem without place, found or expected: %+v", p)
				}
			}
		})
	}
}
