package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CheckFolder reports why dir must not hold the policy of a gate: others can
// write it, one of its policy files or a folder above it; it belongs to someone
// else than this user or root; or it lies inside one of the workspace roots,
// where an agent can write (design, decision 11). Links are followed first. Nil
// means that nothing speaks against it. On Windows only the place is checked.
func CheckFolder(dir string, roots []string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("policy folder: %w", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return fmt.Errorf("policy folder: %w", err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("policy folder: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("policy folder %s: not a folder", dir)
	}
	if err := outsideRoots(dir, abs, real, roots); err != nil {
		return err
	}
	if err := ownedChain(real, dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return fmt.Errorf("policy folder: %w", err)
	}
	for _, e := range entries {
		if !policyFile(e.Name()) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		target, err := filepath.EvalSymlinks(filepath.Join(real, e.Name()))
		if err != nil {
			return fmt.Errorf("policy file: %w", err)
		}
		if err := outsideRoots(name, target, target, roots); err != nil {
			return err
		}
		if err := ownedFile(target, name); err != nil {
			return err
		}
		if filepath.Dir(target) != real {
			if err := ownedChain(filepath.Dir(target), name); err != nil {
				return err
			}
		}
	}
	return nil
}

func outsideRoots(shown, abs, real string, roots []string) error {
	for _, r := range roots {
		if r == "" {
			continue
		}
		root, err := filepath.Abs(r)
		if err != nil {
			return fmt.Errorf("workspace root: %w", err)
		}
		realRoot, err := filepath.EvalSymlinks(root)
		if err != nil {
			realRoot = root // a root that is not there holds nothing
		}
		if within(abs, root) || within(real, realRoot) || within(real, root) {
			return fmt.Errorf("policy %s: lies inside the workspace %s, where an agent could change it", shown, r)
		}
	}
	return nil
}

func within(name, folder string) bool {
	rel, err := filepath.Rel(folder, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
