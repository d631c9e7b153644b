//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the user id of a file's owner, or -1.
func ownerOf(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
