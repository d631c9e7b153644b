//go:build !linux

package sqlite_test

const steps = 40
