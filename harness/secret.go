package harness

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// MaxSecretBytes bounds one secret file.
const MaxSecretBytes = 16 << 10

// Errors of [SecretDir]. They name no path and no value.
var (
	errSecretRef  = errors.New("the reference is no relative path inside the directory")
	errSecretFile = errors.New("the secret is no regular file that only its owner can read")
	errSecretSize = errors.New("the secret is empty or too long")
)

// SecretDir returns a provider for [Options.Secret] that reads files below the
// directory: a reference is a relative path with slashes, and the file's content
// without the line break at its end is the secret. A file is read at each use, so a
// rotated secret counts at once. It must be a regular file of this user's that nobody
// else can read (mode 0600 or less; not checked on Windows), of at most
// [MaxSecretBytes]; no link may lead out of the directory. The directory is opened at
// each use as well, and need not exist before. The provider may be called
// concurrently.
func SecretDir(dir string) func(ctx context.Context, ref string) (string, error) {
	return func(ctx context.Context, ref string) (string, error) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if !fs.ValidPath(ref) || ref == "." || !filepath.IsLocal(filepath.FromSlash(ref)) {
			return "", errSecretRef
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return "", errSecretFile
		}
		defer func() { _ = root.Close() }() // it was only read
		// Looked at before it is opened: opening a pipe would wait for its writer.
		before, err := root.Stat(filepath.FromSlash(ref))
		if err != nil || !private(before) {
			return "", errSecretFile
		}
		f, err := root.Open(filepath.FromSlash(ref))
		if err != nil {
			return "", errSecretFile
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil || !os.SameFile(before, info) || !private(info) {
			return "", errSecretFile
		}
		b, err := io.ReadAll(io.LimitReader(f, MaxSecretBytes+1))
		if err != nil {
			return "", errSecretFile
		}
		s := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		if s == "" || len(b) > MaxSecretBytes {
			return "", errSecretSize
		}
		return s, nil
	}
}

// private reports whether only this user can read the file.
func private(info fs.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 && ownedByUs(info)
}
