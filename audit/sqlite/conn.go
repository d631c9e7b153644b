package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"modernc.org/sqlite"
)

// conn is the writer's connection. It uses the driver without database/sql:
// one goroutine owns it, and the pool's bookkeeping would cost about as much as
// the statements. It is never given a context that can end, so that no
// transaction is torn.
type conn struct {
	driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue // of the statement that runs
}

func openConn(dsn string) (*conn, error) {
	c, err := (&sqlite.Driver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, stmts: map[string]driver.Stmt{}}, nil
}

// stmt prepares query once and keeps it.
func (c *conn) stmt(query string) (driver.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) exec(query string, args ...any) error {
	s, err := c.stmt(query)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), c.named(args))
	clear(c.args) // they may hold much
	return err
}

// script runs statements that are needed once.
func (c *conn) script(query string) error {
	_, err := c.Conn.(driver.ExecerContext).ExecContext(context.Background(), query, nil)
	return err
}

// query runs query to its end and gives each row to each; the row's slice is
// used again.
func (c *conn) query(each func(row []driver.Value), query string, args ...any) (err error) {
	s, err := c.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.named(args))
	clear(c.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(row)
	}
}

// number returns the integer in the first column of the last row, and whether
// there was a row with one.
func (c *conn) number(query string, args ...any) (n int64, ok bool, err error) {
	err = c.query(func(row []driver.Value) {
		if v, isInt := row[0].(int64); isInt {
			n, ok = v, true
		}
	}, query, args...)
	return n, ok, err
}

// mustNumber is number where a row is certain.
func (c *conn) mustNumber(query string) (int64, error) {
	n, ok, err := c.number(query)
	if err == nil && !ok {
		err = fmt.Errorf("no result of %q", query)
	}
	return n, err
}

// text returns the text in the first column of the last row, "" without one.
func (c *conn) text(query string, args ...any) (s string, err error) {
	err = c.query(func(row []driver.Value) { s, _ = row[0].(string) }, query, args...)
	return s, err
}

// transact runs do in one transaction.
func (c *conn) transact(do func() error) error {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		// After some failures, a full disk among them, SQLite has rolled back
		// by itself and this fails. The cause is what counts.
		_ = c.exec("ROLLBACK")
	}
	return err
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.Close())...)
}

// named numbers args. What it returns holds until the next statement.
func (c *conn) named(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}
