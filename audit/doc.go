// Package audit keeps an append-only log of what was decided.
//
// An [Entry] is opaque to this package: bytes in a format that the caller
// names by a version, beside a few short columns to search by. Entries are the
// leaves of a Merkle tree (RFC 6962 hashing, golang.org/x/mod/sumdb/tlog). The
// log signs the head of that tree from time to time; a signed head is a
// [Checkpoint], a short text (a signed note) that anyone may keep elsewhere: in
// a mail, in syslog, on another machine. With a checkpoint that was kept
// elsewhere, Verify finds every change, loss, insertion and change of order
// among the entries before it, and says from which entry on it cannot know.
//
// What it does not do: whoever owns the state folder owns the signing key too,
// so he can rewrite everything after the newest checkpoint that somebody else
// holds. The signatures tell which log a checkpoint came from; the copy that is
// kept elsewhere is what protects.
//
// [Memory] is a log that lives as long as its process. The package
// audit/sqlite keeps one in a file. Both pass the suite in audit/storetest.
//
// The package imports nothing of this module, so that any part can record.
package audit
