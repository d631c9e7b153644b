//go:build !unix

package gateway_test

import "os"

// Without pipes in the file system a folder stands for one.
func mkfifo(name string) error { return os.Mkdir(name, 0o700) }
