package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RootSource says how workspace roots were found. It belongs in the record.
type RootSource string

// The root sources.
const (
	RootAgent      RootSource = "agent"      // the agent named them
	RootRepository RootSource = "repository" // the session's first cwd, raised to its repository
	RootFirstCWD   RootSource = "first_cwd"  // the session's first cwd, which is in no repository
	RootNone       RootSource = "none"       // nothing usable: no roots
)

// A FileView answers the two questions about the file system that [FindRoots]
// has. Both may be asked about paths that are not there.
type FileView interface {
	// Exists reports whether something is at path, a broken link included.
	Exists(path string) bool
	// Resolve returns path without symbolic links.
	Resolve(path string) (string, error)
}

// OS is the [FileView] of the machine itself.
type OS struct{}

// Exists implements [FileView].
func (OS) Exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// Resolve implements [FileView].
func (OS) Resolve(path string) (string, error) { return filepath.EvalSymlinks(path) }

// maxRootLevels bounds the walk from a folder up to its repository.
const maxRootLevels = 64

// repositoryMarks are what lies in a repository's top folder. A linked worktree
// of git has a file there.
var repositoryMarks = []string{".git", ".hg", ".jj", ".svn"}

// FindRoots returns the workspace roots of a session and how they were found:
// those of named that are usable; else firstCWD, the session's first working
// directory, raised to its repository's top folder; else firstCWD itself; else
// none. A root is an absolute clean path. The root folder, home, whatever contains
// home, and system folders are never one, also not through a symbolic link: they
// would make a whole machine the agent's workspace. For the same reason the walk
// up stops below them. home may be empty when it is not known.
//
// It is a pure function of its arguments and of what view says; who remembers a
// session's first working directory is the caller's business.
func FindRoots(named []string, firstCWD, home string, view FileView) ([]string, RootSource) {
	var roots []string
	for _, n := range named {
		if r, ok := usable(n, home, view); ok {
			roots = append(roots, r)
		}
	}
	if roots != nil {
		return roots, RootAgent
	}
	cwd, ok := usable(firstCWD, home, view)
	if !ok {
		return nil, RootNone
	}
	dir := cwd
	for range maxRootLevels {
		for _, mark := range repositoryMarks {
			if view.Exists(filepath.Join(dir, mark)) {
				return []string{dir}, RootRepository
			}
		}
		up, ok := usable(filepath.Dir(dir), home, view)
		if !ok || up == dir {
			break
		}
		dir = up
	}
	return []string{cwd}, RootFirstCWD
}

func usable(path, home string, view FileView) (string, bool) {
	if path == "" || !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
		return "", false
	}
	path = filepath.Clean(path)
	if forbidden(path, home) {
		return "", false
	}
	// A path that cannot be resolved is judged by its text: it may be gone.
	if real, err := view.Resolve(path); err == nil && forbidden(filepath.Clean(real), home) {
		return "", false
	}
	if home != "" {
		if real, err := view.Resolve(home); err == nil && within(filepath.Clean(real), path) {
			return "", false
		}
	}
	return path, true
}

// Trees hold the system with everything below; only the folders themselves are
// forbidden in the second list.
var (
	systemTrees = []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys",
		"/usr", "/var/lib", "/var/log", "/var/run", "/run", "/System", "/Library", "/private/etc", "/cores",
	}
	systemFolders = []string{
		"/", "/home", "/Users", "/root", "/opt", "/srv", "/mnt", "/media", "/tmp", "/var", "/var/tmp", "/snap",
		"/private", "/private/tmp", "/private/var", "/Volumes", "/Applications", "/Network",
	}
	// Below these people do keep work.
	exceptTrees = []string{"/usr/local/src", "/usr/src", "/run/media", "/run/user", "/dev/shm"}
)

func forbidden(path, home string) bool {
	if home != "" && within(filepath.Clean(home), path) {
		return true
	}
	slash := filepath.ToSlash(path)
	if volume := filepath.VolumeName(path); volume != "" {
		slash = slash[len(volume):]
		if strings.EqualFold(slash, "/windows") || strings.EqualFold(slash, "/users") {
			return true
		}
	}
	if slices.Contains(systemFolders, slash) {
		return true
	}
	for _, e := range exceptTrees {
		if slash != e && within(slash, e) {
			return false
		}
	}
	for _, t := range systemTrees {
		if within(slash, t) {
			return true
		}
	}
	return false
}

// within reports whether path is dir or below it; both are clean.
func within(path, dir string) bool {
	if path == dir {
		return true
	}
	if !strings.HasSuffix(dir, "/") && !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.HasPrefix(path, dir)
}
