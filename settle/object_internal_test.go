package settle

import (
	"fmt"
	"testing"
)

// However the names come, many or one by one, they are looked for through an index,
// and a name that stands twice is found out in either form.
func TestManyMembersAreIndexed(t *testing.T) {
	parse := func(text string) object {
		o, err := cutObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, base := range []string{`{}`, `{"a":1,"b":2}`, `{"a":1,"a":2}`} {
		o := parse(base)
		for i := range 3 * few {
			v := parse(fmt.Sprintf(`{"k%d":%d}`, i%(2*few), i))
			if !o.merge(&v) {
				t.Fatalf("%s: k%d stands once", base, i)
			}
		}
		if o.index == nil || len(o.index) != len(o.members)-len(o.twice) || string(o.value("k1")) != fmt.Sprint(2*few+1) {
			t.Errorf("%s: %d members, index %v", base, len(o.members), o.index)
		}
		v := parse(`{"a":3}`)
		if twice := base == `{"a":1,"a":2}`; o.merge(&v) == twice || o.unique() == twice {
			t.Errorf("%s: a name that stands twice: %v", base, twice)
		}
		// A name that comes once more as another's value is still one.
		if v = parse(`{"\u006b1":"x"}`); !o.merge(&v) || string(o.value("k1")) != `"x"` {
			t.Errorf("%s: k1 is %s", base, o.value("k1"))
		}
	}
}
