package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithValue evaluates $((…)) as text.
func (f *frame) arithValue(x syntax.ArithmExpr) value {
	if n, ok := f.arith(x); ok {
		return lit(strconv.Itoa(n))
	}
	// A number, whichever.
	return unknownVal(0)
}

// arith evaluates an arithmetic expression; substitutions in it are run.
func (f *frame) arith(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case nil:
		return 0, false
	case *syntax.Word:
		v := f.one(x)
		if !v.known() {
			return 0, false
		}
		return f.number(v.s, 0)
	case *syntax.ParenArithm:
		return f.arith(x.X)
	case *syntax.UnaryArithm:
		n, ok := f.arith(x.X)
		switch x.Op {
		case syntax.Minus:
			return -n, ok
		case syntax.Plus:
			return n, ok
		case syntax.Not:
			if n == 0 {
				return 1, ok
			}
			return 0, ok
		case syntax.BitNegation:
			return ^n, ok
		case syntax.Inc, syntax.Dec:
			if w, isWord := x.X.(*syntax.Word); isWord && ok {
				d := 1
				if x.Op == syntax.Dec {
					d = -1
				}
				f.set(w.Lit(), lit(strconv.Itoa(n+d)))
				if !x.Post {
					n += d
				}
			}
			return n, ok
		}
		return 0, false
	case *syntax.BinaryArithm:
		if x.Op == syntax.Assgn {
			n, ok := f.arith(x.Y)
			if w, isWord := x.X.(*syntax.Word); isWord {
				if ok {
					f.set(w.Lit(), lit(strconv.Itoa(n)))
				} else {
					f.set(w.Lit(), unknownVal(0))
				}
			}
			return n, ok
		}
		a, ok1 := f.arith(x.X)
		b, ok2 := f.arith(x.Y)
		if !ok1 || !ok2 {
			return 0, false
		}
		return binary(x.Op, a, b)
	}
	return 0, false
}

func (f *frame) number(s string, depth int) (int, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, true
	}
	if base, digits, ok := strings.Cut(s, "#"); ok {
		b, err := strconv.Atoi(base)
		if err != nil || b < 2 || b > 36 {
			return 0, false
		}
		n, err := strconv.ParseInt(digits, b, 64)
		return int(n), err == nil
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return int(n), true
	}
	if v, ok := f.lookup(s); ok && v.known() && depth < 4 {
		return f.number(v.s, depth+1)
	}
	return 0, false
}

func binary(op syntax.BinAritOperator, a, b int) (int, bool) {
	bit := func(t bool) (int, bool) {
		if t {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo:
		if b == 0 {
			return 0, false
		}
		return a / b, true
	case syntax.Rem:
		if b == 0 {
			return 0, false
		}
		return a % b, true
	case syntax.Pow:
		if b < 0 || b > 62 {
			return 0, false
		}
		n := 1
		for range b {
			n *= a
		}
		return n, true
	case syntax.And:
		return a & b, true
	case syntax.Or:
		return a | b, true
	case syntax.Xor:
		return a ^ b, true
	case syntax.Shl:
		return a << (uint(b) & 63), true
	case syntax.Shr:
		return a >> (uint(b) & 63), true
	case syntax.Lss:
		return bit(a < b)
	case syntax.Gtr:
		return bit(a > b)
	case syntax.Leq:
		return bit(a <= b)
	case syntax.Geq:
		return bit(a >= b)
	case syntax.Eql:
		return bit(a == b)
	case syntax.Neq:
		return bit(a != b)
	case syntax.AndArit:
		return bit(a != 0 && b != 0)
	case syntax.OrArit:
		return bit(a != 0 || b != 0)
	case syntax.Comma:
		return b, true
	}
	return 0, false
}
