package ctk

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
)

// Bounds of a corpus: what a folder of vectors may hold.
const (
	maxVectorBytes = 4 << 20
	maxVectors     = 2000
)

// ErrEmpty reports a corpus without vectors. Running none would pass
// (AH 13.2b).
var ErrEmpty = errors.New("no vectors: expected files named AH-CTK-*.json")

// Load reads the vectors AH-CTK-*.json and HP-CTK-*.json in the folder dir, in
// the order of their names. A corpus is taken whole or not at all: the error
// lists every fault with file and JSON pointer.
func Load(dir string) ([]*Vector, error) { return LoadFS(os.DirFS(dir)) }

// LoadFS is [Load] for the root of fsys.
func LoadFS(fsys fs.FS) ([]*Vector, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var (
		out  []*Vector
		errs []error
		ids  = map[string]string{}
	)
	for _, e := range entries {
		public, _ := path.Match("AH-CTK-*.json", e.Name())
		own, _ := path.Match("HP-CTK-*.json", e.Name())
		if !public && !own || e.IsDir() {
			continue
		}
		if len(out) == maxVectors {
			return nil, fmt.Errorf("more than %d vectors", maxVectors)
		}
		text, err := readFile(fsys, e.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		v, err := ParseVector(e.Name(), text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other, twice := ids[v.ID]; twice {
			errs = append(errs, fmt.Errorf("%s: /id: %s has the same", e.Name(), other))
		}
		ids[v.ID] = e.Name()
		out = append(out, v)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, ErrEmpty
	}
	return out, nil
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxVectorBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxVectorBytes {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxVectorBytes)
	}
	return text, nil
}

//go:embed vectors/*.json
var own embed.FS

// Builtin returns the kit's own vectors: those of the public grammar say what
// the public corpus leaves out, and those named HP-CTK need the [Extension].
var Builtin = sync.OnceValue(func() []*Vector {
	sub, err := fs.Sub(own, "vectors")
	if err != nil {
		panic(err)
	}
	vs, err := LoadFS(sub)
	if err != nil {
		panic(err) // they are in the program; a test reads them all
	}
	return vs
})
