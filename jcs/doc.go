// Package jcs turns JSON text into its one canonical form (RFC 8785) and into
// digests of that form.
//
// The canonical form treats each number as an IEEE 754 double. Text that a
// double cannot carry would be rounded in silence, and then two different
// inputs would share one digest. So the package refuses such text before it
// canonicalises: integers beyond ±(2^53-1), numbers that overflow, invalid
// UTF-8, lone surrogates, duplicate names, data behind the value, and input
// that is too large or too deep. An [Error] says where and how to fix it, and
// never quotes a value.
//
// [Canonicalize] writes the form, [Digest] hashes it, [Check] only looks, and
// [RawDigest] is the identity of bytes that have no canonical form. All
// functions may be called concurrently.
package jcs
