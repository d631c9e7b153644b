//go:build !linux

package gateway

// trimProgram does nothing here.
func trimProgram() {}
