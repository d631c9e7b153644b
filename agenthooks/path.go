package agenthooks

import "strconv"

// A PathError says why a transform cannot be applied. It holds nothing of the
// path or the target.
type PathError struct {
	Reason string // [ReasonTransformInvalid] or [ReasonTransformTargetForbidden]
	Rule   string // what was broken
}

// Error is Reason and Rule.
func (e *PathError) Error() string { return e.Reason + ": " + e.Rule }

// segment is one step of a path; index is -1 for a member.
type segment struct {
	name  string
	index int64
}

type path []segment

// CheckPath reports whether path has the root and the grammar of a transform
// path (AH-5.2-1, AH-5.2-2). The error is a [*PathError].
func CheckPath(path string) error {
	if _, err := parsePath(path); err != nil {
		return err
	}
	return nil
}

func parsePath(s string) (path, *PathError) {
	rest, ok := cutRoot(s)
	if !ok {
		return nil, &PathError{ReasonTransformTargetForbidden, "path does not start at $target"}
	}
	bad := &PathError{ReasonTransformInvalid, "path breaks the grammar"}
	var out path
	for rest != "" {
		switch {
		case rest[0] == '.':
			n := nameLen(rest[1:])
			if n == 0 {
				return nil, bad
			}
			out = append(out, segment{rest[1 : 1+n], -1})
			rest = rest[1+n:]
		case len(rest) > 1 && rest[0] == '[' && rest[1] == '"':
			n := nameLen(rest[2:])
			end := 2 + n
			if n == 0 || len(rest) < end+2 || rest[end] != '"' || rest[end+1] != ']' {
				return nil, bad
			}
			out = append(out, segment{rest[2:end], -1})
			rest = rest[end+2:]
		case rest[0] == '[':
			n := 1
			for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
				n++
			}
			if n == 1 || n >= len(rest) || rest[n] != ']' {
				return nil, bad
			}
			// 63 bits on every platform, so that a path means the same everywhere.
			// Leading zeros are fine and may be many.
			i, err := strconv.ParseUint(rest[1:n], 10, 63)
			if err != nil {
				return nil, bad
			}
			out = append(out, segment{"", int64(i)})
			rest = rest[n+1:]
		default:
			return nil, bad
		}
	}
	return out, nil
}

func cutRoot(s string) (string, bool) {
	for _, root := range []string{"$target", "$policy_target"} {
		if len(s) >= len(root) && s[:len(root)] == root {
			return s[len(root):], true
		}
	}
	return "", false
}

func nameLen(s string) int {
	n := 0
	for n < len(s) {
		switch c := s[n]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			n++
		default:
			return n
		}
	}
	return n
}
