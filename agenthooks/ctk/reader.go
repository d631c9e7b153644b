package ctk

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// reader takes a JSON tree apart by a closed grammar. It collects every fault
// with file and JSON pointer, so that one look shows all of them.
type reader struct {
	file string
	errs []error
}

// maxErrors bounds what one file can say about itself.
const maxErrors = 50

func (r *reader) fail(ptr, format string, args ...any) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %s", r.file, root(ptr), fmt.Sprintf(format, args...)))
	}
}

func root(ptr string) string {
	if ptr == "" {
		return "/"
	}
	return ptr
}

func (r *reader) err() error { return errors.Join(r.errs...) }

// A field reads one member.
type field func(v any, ptr string)

// anyOther is the name under which fields of [reader.object] take the members that
// no other field takes: where the public schema leaves an object open, a vector may
// hold notes of its own. Assertions and scripts are never open, or a misspelled one
// would pass by asserting nothing.
const anyOther = "*"

// note takes a member that means nothing here.
func note(any, string) {}

// object reads an object that holds no other members than fields.
func (r *reader) object(v any, ptr string, fields map[string]field, required ...string) bool {
	o, ok := v.(map[string]any)
	if !ok {
		r.fail(ptr, "found %s, expected an object", kind(v))
		return false
	}
	for _, name := range required {
		if _, ok := o[name]; !ok {
			r.fail(ptr, "member %q is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		at := ptr + "/" + escape(name)
		read := fields[name]
		if read == nil {
			read = fields[anyOther]
		}
		if read != nil {
			read(o[name], at)
		} else {
			r.fail(at, "found an unknown member, expected one of %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
	}
	return true
}

func escape(name string) string {
	if len(name) > 80 {
		name = strings.ToValidUTF8(name[:80], "") + "…"
	}
	return strings.NewReplacer("~", "~0", "/", "~1", "\n", " ").Replace(name)
}

// array reads each item.
func (r *reader) array(v any, ptr string, item field) bool {
	a, ok := v.([]any)
	if !ok {
		r.fail(ptr, "found %s, expected an array", kind(v))
		return false
	}
	for i, e := range a {
		item(e, ptr+"/"+strconv.Itoa(i))
	}
	return true
}

func (r *reader) str(v any, ptr string) string {
	s, ok := v.(string)
	if !ok {
		r.fail(ptr, "found %s, expected a string", kind(v))
	}
	return s
}

func (r *reader) boolean(v any, ptr string) bool {
	b, ok := v.(bool)
	if !ok {
		r.fail(ptr, "found %s, expected a bool", kind(v))
	}
	return b
}

func (r *reader) strings(v any, ptr string) []string {
	out := []string{}
	r.array(v, ptr, func(v any, ptr string) { out = append(out, r.str(v, ptr)) })
	return out
}

// one reads a string out of a closed set.
func one[T ~string](r *reader, v any, ptr string, set ...T) T {
	s, ok := v.(string)
	if !ok {
		r.fail(ptr, "found %s, expected a string", kind(v))
	} else if !slices.Contains(set, T(s)) {
		names := make([]string, len(set))
		for i, e := range set {
			names[i] = string(e)
		}
		r.fail(ptr, "found another string, expected one of %s", strings.Join(names, ", "))
	}
	return T(s)
}

// predicates reads an object of dotted paths.
func (r *reader) predicates(v any, ptr string) []predicate {
	o, ok := v.(map[string]any)
	if !ok {
		r.fail(ptr, "found %s, expected an object", kind(v))
	}
	var out []predicate
	for _, text := range slices.Sorted(maps.Keys(o)) {
		out = append(out, predicate{text, r.path(text, ptr+"/"+escape(text)), o[text]})
	}
	return out
}

func (r *reader) path(text, ptr string) []step {
	path, err := parsePath(text)
	if err != nil {
		r.fail(ptr, "%v", err)
	}
	return path
}

func (r *reader) paths(v any, ptr string) []predicate {
	var out []predicate
	r.array(v, ptr, func(v any, ptr string) {
		text := r.str(v, ptr)
		out = append(out, predicate{text: text, path: r.path(text, ptr)})
	})
	return out
}
