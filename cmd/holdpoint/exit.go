package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// The exit codes of every subcommand. They are part of the interface: scripts
// tell "denied" from "could not say" by them.
const (
	exitOK     = 0  // done; for check: nothing against it
	exitFailed = 1  // it could not be done
	exitUsage  = 2  // the command line is wrong
	exitDenied = 10 // check: the operation is denied
	exitAsk    = 11 // check: the operation needs an approval
)

// An exitError ends the program with a code. A nil err prints nothing: the
// command has said all.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef makes an error about the command line.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// failed makes an error about the work. It keeps the code of an error that has one.
func failed(err error) error {
	var e *exitError
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &exitError{exitFailed, err}
}

// report prints err and returns its exit code. An error that no command made
// comes from the parser of the command line. Command is the one whose help tells
// more about a wrong command line.
func (a *app) report(err error, command string) int {
	if err == nil {
		return exitOK
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{exitUsage, err}
	}
	if e.err == nil || readerGone(e.err) {
		return e.code
	}
	for line := range strings.SplitSeq(strings.TrimRight(e.err.Error(), "\n"), "\n") {
		fmt.Fprintf(a.err, "holdpoint: %s\n", printable(line))
	}
	if e.code == exitUsage {
		fmt.Fprintf(a.err, "holdpoint: see '%s --help'\n", command)
	}
	return e.code
}

// readerGone reports whether nobody reads stdout any more, as behind | head: whoever
// closed it needs no word about it.
func readerGone(err error) bool {
	pe, ok := errors.AsType[*fs.PathError](err)
	return ok && pe.Path == os.Stdout.Name() && errors.Is(pe.Err, syscall.EPIPE)
}

// warn writes what the user should know although the work goes on.
func (a *app) warn(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(a.err, "holdpoint: %s\n", printable(line))
	}
}
