package agenthooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

// fixed answers v at one point and allows elsewhere.
func fixed(p agenthooks.Point, v agenthooks.Verdict) agenthooks.Registration {
	return agenthooks.Registration{Interceptor: agenthooks.InterceptorFunc(func(_ context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
		if c.Point() != p {
			return agenthooks.Allow(), nil
		}
		return v, nil
	})}
}

// at runs f at one point and allows elsewhere.
func at(p agenthooks.Point, f func(context.Context, *agenthooks.Context) (agenthooks.Verdict, error)) agenthooks.Registration {
	return agenthooks.Registration{Interceptor: agenthooks.InterceptorFunc(func(ctx context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
		if c.Point() != p {
			return agenthooks.Allow(), nil
		}
		return f(ctx, c)
	})}
}

var schemas = struct {
	sync.Mutex
	byName map[string]*jsonschema.Schema
}{byName: map[string]*jsonschema.Schema{}}

func schema(tb testing.TB, name string) *jsonschema.Schema {
	tb.Helper()
	dir := corpus.Dir(tb, "agent-hooks/schema")
	schemas.Lock()
	defer schemas.Unlock()
	if s := schemas.byName[name]; s != nil {
		return s
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseRegexpEngine(compilePattern)
	files, _ := filepath.Glob(filepath.Join(dir, "*.schema.json"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*.schema.json"))
	files = append(files, more...)
	if len(files) < 12 {
		tb.Fatalf("only %d schemas", len(files))
	}
	url := ""
	for _, f := range files {
		rel, _ := filepath.Rel(filepath.Dir(dir), f)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(corpus.File(tb, "agent-hooks/"+filepath.ToSlash(rel))))
		if err != nil {
			tb.Fatal(err)
		}
		id, _ := doc.(map[string]any)["$id"].(string)
		if err := c.AddResource(id, doc); err != nil {
			tb.Fatal(err)
		}
		if filepath.ToSlash(rel) == "schema/"+name {
			url = id
		}
	}
	s, err := c.Compile(url)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	schemas.byName[name] = s
	return s
}

// notReserved is the one pattern of the corpus that Go's regexp cannot say:
// ^(?!host_error:).*
type notReserved struct{}

func (notReserved) MatchString(s string) bool { return !strings.HasPrefix(s, "host_error:") }
func (notReserved) String() string            { return "^(?!host_error:).*" }

func compilePattern(p string) (jsonschema.Regexp, error) {
	if p == (notReserved{}).String() {
		return notReserved{}, nil
	}
	return regexp.Compile(p)
}

// validate checks the JSON of v against a schema of the corpus.
func validate(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("schema", func(t *testing.T) { // skips alone where the corpus is absent
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema(t, name).Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, raw)
		}
	})
}
