package harness

import "github.com/google/uuid"

// NewID returns a new id for an event or a record: a UUIDv7, unique over all
// that harnesses make and ordered by time within one process (V-EVT-1). It may
// be called concurrently.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
