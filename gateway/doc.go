// Package gateway is the daemon: it decides for agents that ask through the hook
// client, serves its policy as an AHP backend, keeps the audit log, and reloads
// the policy when it changes.
//
// [Open] takes the lock, the sockets and the log, so that everything that can be
// wrong with them is an error before anything runs; [Gateway.Run] serves until
// its context ends and returns when all it started has ended.
package gateway
