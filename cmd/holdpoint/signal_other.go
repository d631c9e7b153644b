//go:build !unix

package main

// onHangup does nothing: this system has no such signal.
func onHangup(func()) (stop func()) { return func() {} }
