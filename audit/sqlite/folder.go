package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdpoint/holdpoint/audit"
)

// makeDir makes dir for its owner alone, or checks the one that is there.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkDir(dir)
}

// checkDir refuses a folder that somebody else owns or can enter.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a folder (a symbolic link is not followed)", dir)
	}
	return checkOwner(dir, info)
}

// checkFiles refuses files of the log that others own or can read, and
// anything that is not a plain file. SQLite gives its -wal and -shm files the
// mode of the database.
func checkFiles(dir string) error {
	for _, name := range []string{dbFile, dbFile + "-wal", dbFile + "-shm", keyFile, lockFile} {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: not a plain file", path)
		}
		if err := checkOwner(path, info); err != nil {
			return err
		}
	}
	return nil
}

// makeFile makes an empty file for its owner alone if it is not there, before
// SQLite would make it with the mode of the umask.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// loadKey reads the log's key, or makes one if make is set and there is none.
func loadKey(dir string, mayMake bool) (*audit.Key, error) {
	path := filepath.Join(dir, keyFile)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		return audit.ParseKey(string(text))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", audit.ErrKey, err)
	case !mayMake:
		return nil, fmt.Errorf("%w: %s is missing, and the log was begun with it", audit.ErrKey, path)
	}
	key, err := audit.NewKey()
	if err != nil {
		return nil, err
	}
	// Whole or not at all: half a key would keep the log from opening again.
	tmp := path + ".new"
	if err := writeSynced(tmp, key.Secret()+"\n"); err != nil {
		return nil, err
	}
	if err := os.Rename(tmp, path); err != nil {
		return nil, err
	}
	return key, syncDir(dir)
}

func writeSynced(path, text string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
