// Package backend turns a [Handler] into an AHP backend of revision 0.1, draft or
// both: an HTTP endpoint, a stdio server, or a function in the same process.
//
// A handler decides about events; the package does the protocol around it. It
// decodes strictly, answers the defined errors in the defined order, never
// answers a notification, gives a repeated request the answer that the first one
// got, bounds size, number and time of requests, and keeps a panic, an error text
// or a stray print of the handler away from the peer.
package backend
