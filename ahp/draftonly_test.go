package ahp_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
)

// What revision 0.1 has a place for. Each other member must be known to DraftOnly, one
// that is added tomorrow too.
var (
	event01   = []string{"ID", "Source", "Type", "Time", "Session", "Tool", "Outcome", "Native", "Extensions", "HasExtensions", "Unknown"}
	session01 = []string{"ID", "CWD", "WorkspaceRoots", "Model", "Agent", "Unknown"}
	tool01    = []string{"CallID", "Name", "Kind", "Input", "Output", "Error", "MCP", "Unknown"}
	caps01    = []string{"Effects", "Unknown"}
)

func TestDraftOnly(t *testing.T) {
	var n int
	check := func(prefix string, known []string, typ reflect.Type, of func(field int, v reflect.Value) string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			want := prefix + f.Name
			if slices.Contains(known, f.Name) {
				want = ""
			}
			n++
			if got := of(i, filled(t, f.Type)); got != want {
				t.Errorf("with %s%s alone: %q, want %q", prefix, f.Name, got, want)
			}
		}
	}
	check("", event01, reflect.TypeFor[ahp.Event](), func(i int, v reflect.Value) string {
		var e ahp.Event
		reflect.ValueOf(&e).Elem().Field(i).Set(v)
		return e.DraftOnly()
	})
	check("Session.", session01, reflect.TypeFor[ahp.Session](), func(i int, v reflect.Value) string {
		var e ahp.Event
		reflect.ValueOf(&e.Session).Elem().Field(i).Set(v)
		return e.DraftOnly()
	})
	check("Tool.", tool01, reflect.TypeFor[ahp.Tool](), func(i int, v reflect.Value) string {
		e := ahp.Event{Tool: new(ahp.Tool)}
		reflect.ValueOf(e.Tool).Elem().Field(i).Set(v)
		return e.DraftOnly()
	})
	check("", caps01, reflect.TypeFor[ahp.Capabilities](), func(i int, v reflect.Value) string {
		var c ahp.Capabilities
		reflect.ValueOf(&c).Elem().Field(i).Set(v)
		return c.DraftOnly()
	})
	if n < 40 {
		t.Errorf("%d members looked at", n)
	}
}

// filled returns a value that says that the member is there, and nothing more: an
// empty list is not an absent one.
func filled(t *testing.T, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(typ, 0, 0))
	case reflect.Struct: // its members are looked at one by one
	case reflect.Interface:
		v.Set(reflect.ValueOf(&ahp.TurnStartBody{}))
	default:
		t.Fatalf("a member of kind %v", typ.Kind())
	}
	return v
}
