package shell

// psv is a value of PowerShell: the objects that flow through a pipeline, as far
// as they are known.
type psv struct {
	items []value
	arr   bool
	typ   string // the .NET type of an object, lower case; with [ in front the type itself
	fn    *psBlock
	hash  map[string]psv
}

func psText(s string) psv { return psv{items: []value{lit(s)}} }

func psOf(v value) psv { return psv{items: []value{v}} }

func psUnknown(t taint) psv { return psOf(unknownVal(t)) }

// one gives the value as one text.
func (v psv) one() value {
	switch len(v.items) {
	case 0:
		if v.fn != nil {
			return lit(v.fn.text)
		}
		return value{}
	case 1:
		return v.items[0]
	}
	out := v.items[0]
	for _, x := range v.items[1:] {
		out.s += " "
		out.add(x)
		if len(out.s) > 1<<16 {
			out.s = unknownText
			break
		}
	}
	return out
}

func (v psv) text() string { return v.one().s }

func (v psv) empty() bool {
	return len(v.items) == 0 && v.fn == nil && v.hash == nil && v.typ == ""
}

func (v psv) taint() (t taint) {
	for _, x := range v.items {
		t |= x.t
	}
	for _, x := range v.hash {
		t |= x.taint()
	}
	return t
}

const psMaxItems = 512

func (v *psv) append(o psv) {
	if len(v.items)+len(o.items) <= psMaxItems {
		v.items = append(v.items, o.items...)
	}
	if o.fn != nil {
		v.fn = o.fn
	}
	if o.hash != nil {
		v.hash = o.hash
	}
	if o.typ != "" {
		v.typ = o.typ
	}
	if len(v.items) > 1 {
		v.arr = true
	}
}
