//go:build !linux

package gateway

// trimStartup does nothing here.
func trimStartup() {}
