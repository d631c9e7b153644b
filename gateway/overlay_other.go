//go:build !unix

package gateway

import "os"

const openNonblock = 0

// identify tells one state of an open file from another.
func identify(_ *os.File, st os.FileInfo) (fileID, error) {
	return fileID{size: st.Size(), modified: st.ModTime()}, nil
}
