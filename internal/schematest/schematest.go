// Package schematest validates JSON that we write against the schemas in
// docs/schemas. It is for tests only.
//
// The schemas are open: readers ignore members that they do not know, so that some
// may be added. A test is stricter: what we write must be described, so every object
// is closed before it is looked at.
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
	schema, err := closed(filepath.Join(root(tb), "docs", "schemas", name+".schema.json"))
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

// closed reads a schema and closes the objects that it describes.
func closed(path string) (*jsonschema.Schema, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	closeObjects(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(path, doc); err != nil {
		return nil, err
	}
	return c.Compile(path)
}

func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, described := v["properties"].(map[string]any); described && v["type"] == "object" {
			if _, said := v["additionalProperties"]; !said {
				v["additionalProperties"] = false
			}
		}
		for _, e := range v {
			closeObjects(e)
		}
	case []any:
		for _, e := range v {
			closeObjects(e)
		}
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
