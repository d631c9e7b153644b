package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdStatus runs a program and demands one exit code:
//
//	status CODE [-stdin FILE] PROGRAM ARG...
//
// exec can only tell zero from the rest, and here the code is the answer.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE [-stdin FILE] PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	args = args[1:]
	stdin := ""
	if args[0] == "-stdin" {
		stdin, args = args[1], args[2:]
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Path = lookPath(ts, args[0])
	cmd.Err = nil
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{
		"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"),
		"XDG_CONFIG_HOME=" + ts.Getenv("XDG_CONFIG_HOME"), "XDG_STATE_HOME=" + ts.Getenv("XDG_STATE_HOME"),
		"HOLDPOINT_TOKEN=" + ts.Getenv("HOLDPOINT_TOKEN"), "CLAUDE_PROJECT_DIR=" + ts.Getenv("CLAUDE_PROJECT_DIR"),
	}
	if stdin != "" {
		f, err := os.Open(ts.MkAbs(stdin))
		ts.Check(err)
		defer f.Close()
		cmd.Stdin = f
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	_, _ = ts.Stdout().Write([]byte(stdout.String()))
	_, _ = ts.Stderr().Write([]byte(stderr.String()))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, stdout.String(), stderr.String())
	}
}

func lookPath(ts *testscript.TestScript, name string) string {
	if strings.ContainsRune(name, '/') {
		return ts.MkAbs(name)
	}
	for _, dir := range strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		path := dir + "/" + name
		if fi, err := os.Stat(path); err == nil && !fi.IsDir() {
			return path
		}
	}
	ts.Fatalf("%s: not found", name)
	return ""
}

// cmdWaitFor waits until something is at each path.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(30 * time.Second)
	for _, name := range args {
		for {
			_, err := os.Lstat(ts.MkAbs(name))
			if (err == nil) != neg {
				break
			}
			if time.Now().After(deadline) {
				ts.Fatalf("waited for %s in vain", name)
			}
			time.Sleep(10 * time.Millisecond) // a poll
		}
	}
}
