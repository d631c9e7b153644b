// Package shell tells what a command line will do, without running it.
//
// [Analyze] takes the text that a shell would get and gives back the commands
// that would run, what they would do to files, processes, the network,
// repositories and infrastructure, and what the text does not tell. It follows
// quoting, variables, substitutions, functions, wrappers, here-documents and
// scripts inside scripts. It judges nothing: which action is a hazard is for
// the callers to say.
//
// What programs mean is data: programs.txt describes each program's
// subcommands, options and operands, calls.txt what calls in Python, Node, Perl,
// Ruby and PHP one-liners do. Both are read on first need.
package shell
