//go:build !linux && !darwin

package hookwire

import "errors"

// ErrSpool reports that this system has no spool.
var ErrSpool = errors.New("hookwire: no spool on this system")

// AppendSpool fails with [ErrSpool].
func AppendSpool(string, *Fallback) error { return ErrSpool }
