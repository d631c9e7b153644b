package walk_test

import (
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       bool
	}{
		{"a.jsonl", "{}", true},
		{"a.json", "{}\n{}\n", false},
		{"a", "{}\n{}\n", true},
		{"a", `{"a":1,"a":2}` + "\n{}", true},
		{"a", "{}\n \n", false},
		{"a", "{\n}\n", false},
		{"a", "", false},
	} {
		if got := walk.Lines(tt.name, []byte(tt.data)); got != tt.want {
			t.Errorf("%s %q: got %v", tt.name, tt.data, got)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		data string
		want []string
	}{
		{`{"a":{"b":1},"a":[2],"c":3}`, []string{"a", "a", "c"}},
		{`{"a":1,"b":x`, []string{"a", "b"}},
		{`["a"]`, nil},
		{``, nil},
	} {
		if got := slices.Collect(walk.Names([]byte(tt.data))); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.data, got, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	list := []walk.Problem{{Off: 7, Found: "b"}, {Off: 0, Found: "a"}, {Off: 7, Found: "b"}, {Off: 99, Found: "c"}}
	sorted := walk.Sorted(list)
	if list[0].Off != 7 {
		t.Error("the list itself was sorted")
	}
	var got []walk.Place
	for _, at := range walk.Places([]byte("\"é\"\n  x"), sorted) {
		got = append(got, at)
	}
	if want := []walk.Place{{1, 1}, {2, 3}, {2, 4}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
