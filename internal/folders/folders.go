// Package folders names the per-user folders that Holdpoint reads and writes,
// after the XDG base directory specification. It creates none of them.
package folders

import (
	"errors"
	"os"
	"path/filepath"
)

const name = "holdpoint"

// Config returns the folder of the user's configuration:
// $XDG_CONFIG_HOME/holdpoint, or ~/.config/holdpoint.
func Config() (string, error) { return base("XDG_CONFIG_HOME", ".config") }

// State returns the folder of what outlives a run (audit log, spool):
// $XDG_STATE_HOME/holdpoint, or ~/.local/state/holdpoint.
func State() (string, error) { return base("XDG_STATE_HOME", ".local", "state") }

// base follows the specification: a relative path in the variable is invalid and ignored.
func base(env string, fallback ...string) (string, error) {
	if dir := os.Getenv(env); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("no home folder is known: set HOME or " + env)
	}
	return filepath.Join(append(append([]string{home}, fallback...), name)...), nil
}
