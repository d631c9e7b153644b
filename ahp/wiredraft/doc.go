// Package wiredraft is the codec of AHP revision draft: it reads and writes the
// revision's messages, events, manifests and its registration document, and refuses
// what the revision cannot say.
//
// Decoding is strict: invalid UTF-8, lone surrogates, a name twice in one object
// (D-AMB-27), data after the value, and anything over a [Limits] is a failure with a
// class, a JSON pointer and an offset. Objects that the revision closes refuse
// members that it does not define (D-ENV-8, D-AMB-17); at open places such members
// are kept, token for token, and written back (AHP-CORE-003). Names of events,
// effects, targets, operations and enum values that it does not define are refused
// (D-ENV-9).
//
// # Encoding
//
// An encoder checks what it writes and refuses what the decoder would refuse: it
// never writes a message that its own revision calls invalid. A message is one line
// with a fixed order of members. Values of type [ahp.Raw] are copied and not encoded
// again; only line breaks between their tokens are dropped. Known strings are written
// plainly, whatever escapes they arrived with. Two strings of a session that may be
// sent empty, and its agent's type, are kept as members of Unknown under their own
// name when they are, since the model's empty string means absent.
//
// Texts of errors hold no value of a message: they say where, what sort of thing was
// found, and what was expected. All functions are safe for concurrent use, and what
// they return shares no memory with their input.
package wiredraft
