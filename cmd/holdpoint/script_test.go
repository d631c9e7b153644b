package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
	got, stdout, stderr := runStatus(ts, args[1:])
	_, _ = ts.Stdout().Write([]byte(stdout))
	_, _ = ts.Stderr().Write([]byte(stderr))
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, stdout, stderr)
	}
}

func runStatus(ts *testscript.TestScript, args []string) (code int, stdout, stderr string) {
	stdin := ""
	if args[0] == "-stdin" {
		stdin, args = args[1], args[2:]
	}
	cmd := exec.Command(lookPath(ts, args[0]), args[1:]...)
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
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// cmdWaitStatus is cmdStatus again and again until the code is the one wanted.
func cmdWaitStatus(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		code, stdout, stderr := runStatus(ts, args[1:])
		if strconv.Itoa(code) == args[0] {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("exit code %d, waited for %s in vain\n%s%s", code, args[0], stdout, stderr)
		}
		time.Sleep(20 * time.Millisecond) // a poll
	}
}

// cmdWaitText waits until a file holds a text.
func cmdWaitText(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(b), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited for %q in %s in vain: %v\n%s", args[1], args[0], err, b)
		}
		time.Sleep(10 * time.Millisecond) // a poll
	}
}

func lookPath(ts *testscript.TestScript, name string) string {
	if strings.ContainsRune(name, '/') {
		return ts.MkAbs(name)
	}
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		path := dir + "/" + name
		if fi, err := os.Stat(path); err == nil && !fi.IsDir() {
			return path
		}
	}
	ts.Fatalf("%s: not found", name)
	return ""
}

// cmdWaitFor waits until something is at each path, which may be a pattern, or
// with ! until nothing is.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(30 * time.Second)
	for _, name := range args {
		for {
			found, err := filepath.Glob(ts.MkAbs(name))
			ts.Check(err)
			if (len(found) > 0) != neg {
				break
			}
			if time.Now().After(deadline) {
				ts.Fatalf("waited for %s in vain", name)
			}
			time.Sleep(10 * time.Millisecond) // a poll
		}
	}
}
