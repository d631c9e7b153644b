package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

const (
	// applicationID marks the file as an audit log ("HPAU").
	applicationID = 0x48504155
	schemaVersion = 1
)

// The rows of entry are what was appended; a leaf is computed from them, so
// that no column can be changed unseen. node holds the tree's hashes, numbered
// as tlog.StoredHashIndex does. head holds signed heads, the newest for each
// 1024 entries.
const schema = `
CREATE TABLE entry (
	id        INTEGER PRIMARY KEY,
	time      INTEGER NOT NULL,
	version   INTEGER NOT NULL,
	kind      TEXT NOT NULL,
	key       TEXT NOT NULL,
	session   TEXT NOT NULL,
	agent     TEXT NOT NULL,
	event     TEXT NOT NULL,
	tool      TEXT NOT NULL,
	operation TEXT NOT NULL,
	decision  TEXT NOT NULL,
	rules     TEXT NOT NULL,
	hazards   TEXT NOT NULL,
	flags     TEXT NOT NULL,
	data      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX entry_key ON entry (key) WHERE key <> '';
CREATE INDEX entry_session ON entry (session) WHERE session <> '';
CREATE INDEX entry_time ON entry (time);
CREATE TABLE node (id INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
CREATE TABLE head (bucket INTEGER PRIMARY KEY, size INTEGER NOT NULL, note TEXT NOT NULL) STRICT;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`

const headBucket = 1024

// definitions asks for everything that is defined, apart from SQLite's own.
const definitions = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"

// checkDefinitions refuses tables, indexes and triggers that are not ours: a
// trigger could drop new entries, an index hide old ones.
func checkDefinitions(got []string) error {
	var want []string
	for s := range strings.SplitSeq(schema, ";") {
		if s = strings.TrimSpace(s); s != "" {
			want = append(want, s)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%w: tables, indexes or triggers were changed", audit.ErrCorrupt)
	}
	return nil
}

const entryColumns = `id, time, version, kind, key, session, agent, event, tool, operation, decision, rules, hazards, flags, data`

// checkVersion judges what the file says of itself.
func checkVersion(application, version int64) error {
	switch {
	case application != applicationID:
		return fmt.Errorf("%w: %s is not an audit log", audit.ErrCorrupt, dbFile)
	case version > schemaVersion:
		return fmt.Errorf("%w: schema %d, this one knows up to %d", audit.ErrNewer, version, schemaVersion)
	case version < 1:
		return fmt.Errorf("%w: schema %d", audit.ErrCorrupt, version)
	}
	return nil
}

// readMeta checks the file's version and returns the verifier key that it
// states.
func readMeta(ctx context.Context, db *sql.DB) (verifier string, err error) {
	var application, version int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return "", err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return "", err
	}
	if err := checkVersion(application, version); err != nil {
		return "", err
	}
	err = db.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'verifier'").Scan(&verifier)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("%w: no verifier key", audit.ErrCorrupt)
	}
	return verifier, err
}

// joinCodes puts a list in one column so that instr finds a whole code. Codes
// hold no newline.
func joinCodes(codes []string) string {
	if len(codes) == 0 {
		return ""
	}
	return "\n" + strings.Join(codes, "\n") + "\n"
}

var errCodes = errors.New("malformed list of codes")

func splitCodes(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) < 3 || s[0] != '\n' || s[len(s)-1] != '\n' {
		return nil, errCodes
	}
	return strings.Split(s[1:len(s)-1], "\n"), nil
}

type scanner interface{ Scan(dest ...any) error }

// scanEntry reads one row of entryColumns. A row that SQLite can read but that
// no append could have written is reported in bad.
func scanEntry(row scanner) (r audit.Record, bad, err error) {
	var nanos int64
	var rules, hazards, flags string
	err = row.Scan(&r.ID, &nanos, &r.Version, &r.Kind, &r.Key, &r.Session, &r.Agent, &r.Event,
		&r.Tool, &r.Operation, &r.Decision, &rules, &hazards, &flags, &r.Data)
	if err != nil {
		return r, nil, err
	}
	r.Time = time.Unix(0, nanos).UTC()
	var errs [3]error
	r.Rules, errs[0] = splitCodes(rules)
	r.Hazards, errs[1] = splitCodes(hazards)
	r.Flags, errs[2] = splitCodes(flags)
	if err := errors.Join(errs[:]...); err != nil {
		return r, err, nil
	}
	return r, r.Validate(), nil
}
