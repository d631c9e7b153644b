// Package schematest validates JSON that we write against the schemas in
// docs/schemas. It is for tests only.
package schematest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate fails the test unless doc is one JSON value that fits the schema
// docs/schemas/NAME.schema.json.
func Validate(tb testing.TB, name string, doc []byte) {
	tb.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile(filepath.Join(root(tb), "docs", "schemas", name+".schema.json"))
	if err != nil {
		tb.Fatalf("schema %s: %v", name, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		tb.Errorf("schema %s: not one JSON value: %v\n%s", name, err, doc)
		return
	}
	if err := schema.Validate(v); err != nil {
		tb.Errorf("schema %s: %v\n%s", name, err, doc)
	}
}

// root is the module's folder: the nearest one upwards with a go.mod.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("no go.mod above the working folder")
		}
		dir = up
	}
}
