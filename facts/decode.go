package facts

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
)

// decodeAny reads one JSON value. A number that a float64 cannot hold is its own
// text: one such number in an input must not hide everything beside it.
func decodeAny(raw []byte) (any, error) {
	if obj, ok := decodeFlat(raw); ok {
		return obj, nil
	}
	return decodeTree(raw)
}

// decodeTree is decodeAny for values of any form.
func decodeTree(raw []byte) (any, error) {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		return v, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := decodeValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func decodeValue(d *jsontext.Decoder) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '{':
		obj := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if obj[key], err = decodeValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return obj, err
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	case '"':
		return t.String(), nil
	case '0':
		text := t.String()
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x, nil
		}
		return text, nil
	case 't', 'f':
		return t.Bool(), nil
	default:
		return nil, nil
	}
}

// inputFailure says that the event itself cannot be judged: it is refused
// whatever the failure policy says.
func inputFailure(err error) error {
	return &ahp.Failure{Class: ahp.FailEvent, Pointer: "/tool/input", Err: err}
}
