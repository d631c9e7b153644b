package agenthooks

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encode appends v as JSON. Raw JSON text goes through as it is, so that its
// number tokens survive; the caller has to check it.
func encode(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case jsontext.Value:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return append(dst, bytes.TrimSpace(v)...), nil
	case string:
		return jsontext.AppendQuote(dst, v)
	case bool:
		if v {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	}
	raw, err := json.Marshal(v)
	return append(dst, raw...), err
}
