package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/audit"
)

// Verify implements audit.Reader. It reads one snapshot of the file; entries
// that come meanwhile are not part of it, and the WAL grows until it is done.
func (r *reader) Verify(ctx context.Context, trust audit.Trust) (audit.Report, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return audit.Report{}, err
	}
	defer leave()
	report, err := r.verify(ctx, trust)
	return report, failed(ctx, err)
}

func (r *reader) verify(ctx context.Context, trust audit.Trust) (_ audit.Report, err error) {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return audit.Report{}, err
	}
	defer func() {
		// Nothing was written: an error of the end of reading says nothing.
		_ = tx.Rollback()
	}()
	s := snapshot{tx: tx, verifier: r.verifier}
	var count int64
	if err := tx.QueryRowContext(ctx, "SELECT ifnull(max(id) + 1, 0) FROM node WHERE id >= 0").Scan(&count); err != nil {
		return audit.Report{}, err
	}
	whole := false
	if s.size, whole = audit.TreeSize(count); !whole {
		// Nodes were added or cut off at the end. What is whole is checked;
		// the rest cannot belong to an entry.
		for !whole && count > 0 {
			count--
			s.size, whole = audit.TreeSize(count)
		}
		s.torn = true
	}
	damage, err := s.damage(ctx)
	if err != nil {
		return audit.Report{}, err
	}
	report, err := audit.Check(ctx, &s, trust)
	if err != nil {
		return audit.Report{}, err
	}
	if s.torn {
		report.Problems = append(report.Problems, audit.Problem{
			Kind: audit.BadNode, From: audit.ID(s.size), To: audit.ID(s.size) + 1,
			Detail: "the tree ends in the middle of an entry",
		})
	}
	report.Problems = append(report.Problems, damage...)
	return report, nil
}

// snapshot is an audit.Source in one read transaction.
type snapshot struct {
	tx       *sql.Tx
	verifier string
	size     int64
	torn     bool
}

func (s *snapshot) Size() int64      { return s.size }
func (s *snapshot) Verifier() string { return s.verifier }

func (s *snapshot) Rows(ctx context.Context, from, to audit.ID) (_ []audit.Row, err error) {
	rows, err := s.tx.QueryContext(ctx, "SELECT "+entryColumns+" FROM entry WHERE id >= ? AND id < ? ORDER BY id", int64(from), int64(to))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []audit.Row
	for rows.Next() {
		rec, bad, err := scanEntry(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, audit.Row{Record: rec, Err: bad})
	}
	return out, rows.Err()
}

func (s *snapshot) Nodes(ctx context.Context, from, to int64) (_ []audit.Node, err error) {
	rows, err := s.tx.QueryContext(ctx, "SELECT id, hash FROM node WHERE id >= ? AND id < ? ORDER BY id", from, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []audit.Node
	for rows.Next() {
		var n audit.Node
		var hash []byte
		if err := rows.Scan(&n.Index, &hash); err != nil {
			return nil, err
		}
		if len(hash) == len(n.Hash) {
			n.Hash = audit.Hash(hash)
			out = append(out, n) // one of another length counts as missing
		}
	}
	return out, rows.Err()
}

func (s *snapshot) Strays(ctx context.Context, limit int) (_ []audit.ID, err error) {
	rows, err := s.tx.QueryContext(ctx, "SELECT id FROM entry WHERE id < 0 OR id >= ? ORDER BY id LIMIT ?", s.size, limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []audit.ID
	for rows.Next() {
		var id audit.ID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

func (s *snapshot) Heads(ctx context.Context) ([]string, error) {
	return s.texts(ctx, "SELECT note FROM head ORDER BY bucket")
}

// damage asks whether the definitions are ours, and SQLite whether tables and
// indexes agree: an index that leaves a row out would hide it from queries.
func (s *snapshot) damage(ctx context.Context) ([]audit.Problem, error) {
	var out []audit.Problem
	problem := func(detail string) {
		out = append(out, audit.Problem{Kind: audit.BadStore, To: audit.ID(s.size), Detail: detail})
	}
	defined, err := s.texts(ctx, definitions)
	if err != nil {
		return nil, err
	}
	if err := checkDefinitions(defined); err != nil {
		problem(err.Error())
	}
	found, err := s.texts(ctx, "PRAGMA integrity_check(10)")
	if err != nil {
		return nil, err
	}
	for _, text := range found {
		if text != "ok" {
			problem(fmt.Sprintf("integrity check: %.200q", text))
		}
	}
	return out, nil
}

// texts returns a query's only column.
func (s *snapshot) texts(ctx context.Context, query string) (_ []string, err error) {
	rows, err := s.tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}
