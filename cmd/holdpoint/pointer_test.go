package main

import "testing"

func TestPlaceOf(t *testing.T) {
	const doc = "{\"hooks\": [\n  {\"id\": \"é\", \"a~b/c\": {\"type\":\"oauth\"}},\n  {\"id\":\n    7}\n]}"
	for _, tt := range []struct {
		pointer      string
		line, column int
	}{
		{"", 1, 1},
		{"/hooks", 1, 11},
		{"/hooks/0", 2, 3},
		{"/hooks/0/id", 2, 10},
		{"/hooks/0/a~0b~1c", 2, 24},
		{"/hooks/0/a~0b~1c/type", 2, 32},
		{"/hooks/1", 3, 3},
		{"/hooks/1/id", 4, 5},
		{"/hooks/1/absent/x", 3, 3}, // the last that is there
		{"/hooks/10", 1, 11},
		{"/absent", 1, 1},
	} {
		if line, column := placeOf([]byte(doc), tt.pointer); line != tt.line || column != tt.column {
			t.Errorf("%s: %d:%d, want %d:%d", tt.pointer, line, column, tt.line, tt.column)
		}
	}
	for _, text := range []string{"", "x", "{", `{"a"`} {
		if line, column := placeOf([]byte(text), "/a"); line != 1 || column != 1 {
			t.Errorf("%q: %d:%d", text, line, column)
		}
	}
}
