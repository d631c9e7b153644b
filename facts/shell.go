package facts

import "github.com/holdpoint/holdpoint/shell"

// shellFacts adds to f what the command line r says of files and addresses.
// It runs once per command line, after f.Shell is set and before hazards.
func shellFacts(f *Facts, r *shell.Result, o Options) {
	_, _, _ = f, r, o
}
