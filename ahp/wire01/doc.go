// Package wire01 is the codec of AHP revision 0.1: it reads and writes the
// revision's messages and its registration document, and refuses what the
// revision cannot say.
//
// Decoding is strict (RFC 8259 within RFC 7493's strings): invalid UTF-8, lone
// surrogates, a name twice in one object (V-AMB-20), data after the value, and
// anything over a [Limits] is a failure with a class, a JSON pointer and an
// offset. Members that the protocol does not define are kept, token for token,
// and written back (AHP-CORE-003); event types, effect types and enum values it
// does not define are refused (V-UNK-1).
//
// # Re-encoding
//
// Encoding a decoded event changes no value token: numbers keep their digits
// and raw values their bytes (only line breaks between tokens are dropped, so
// that a message is one line). The model's string fields cannot tell a string
// that was sent with needless escapes, or an optional one that was sent empty,
// from its plain form. For these the decoder puts the text of the known member
// into the object's Unknown list as well, under its own name; the encoder writes
// that text in the place of the field as long as it still has the field's value,
// and drops it otherwise. A program that changes or clears a field needs to know
// nothing of this. Member names are written plainly, whatever escapes they
// arrived with; known members come first and in a fixed order.
//
// Texts of errors hold no value of a message: they say where, what sort of
// thing was found, and what was expected. All functions are safe for concurrent
// use, and what they return shares no memory with their input.
package wire01
