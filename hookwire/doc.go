// Package hookwire is the frame between the hook client that an agent starts
// for each event and the gateway that decides (design decision 12), and what
// both sides must agree on besides: where the socket is, which checks it must
// pass, and the spool in which the client notes what it decided alone.
//
// A request is
//
//	"HPH1"  length (4 bytes)  JSON header  length (4 bytes)  payload
//
// and an answer is
//
//	"HPH1"  status (1)  exit code (1)  server version (1)  zero (1)
//	length of stdout (4)  length of stderr (4)  stdout  stderr
//
// with all lengths big endian. One connection carries one request and one
// answer. The payload is the agent's own text; the client does not read it.
//
// # Versions
//
// The digit of the magic is the layout. It changes only when a reader of the old
// layout would misread the new one; in every layout an answer starts with "HPH",
// the digit and a status, so that a client of any layout can read
// [StatusVersion]. The header's version counts changes inside the layout: a new
// version may add header members and nothing else, and readers ignore members
// that they do not know. A server of version n serves clients of n-1, n and n+1
// and answers [StatusVersion] to others, for which the client applies its
// failure policy. Version 0 is the form before the version member existed.
//
// The package imports the light part of the standard library only: it is linked
// into the client, whose start-up every tool call pays. Its functions keep no
// state and may be called concurrently.
package hookwire
