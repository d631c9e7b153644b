package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs is the folder of the real programs, built once: scripts find
// holdpoint and holdpoint-hook there.
var programs string

func TestMain(m *testing.M) {
	// Fuzzing runs this in every worker process, and needs no program.
	if flag.Parse(); flag.Lookup("test.fuzz").Value.String() != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "hp-bin-")
	if err != nil {
		panic(err)
	}
	programs = dir
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator),
		"github.com/holdpoint/holdpoint/cmd/holdpoint", "github.com/holdpoint/holdpoint/cmd/holdpoint-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", programs+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("BIN", programs)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":     cmdStatus,
			"waitfor":    cmdWaitFor,
			"waitstatus": cmdWaitStatus,
			"waittext":   cmdWaitText,
		},
	})
}
