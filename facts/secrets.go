package facts

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// secrets looks through every string of the input but those that name what an
// edit takes away.
func (x *extractor) secrets(input map[string]any) error {
	left := x.limits.Strings
	var walk func(v any, ptr string) error
	walk = func(v any, ptr string) error {
		switch v := v.(type) {
		case string:
			if left--; left < 0 {
				x.breach("facts.strings")
				return nil
			}
			found, err := x.o.Secrets(x.ctx, v)
			if err != nil {
				return fmt.Errorf("secrets: %w", err)
			}
			for _, m := range found {
				if m.Start < 0 || m.End > len(v) || m.Start >= m.End {
					return fmt.Errorf("secrets: finder %s gave a range outside of the text", m.Kind)
				}
				if len(x.f.Secrets) >= x.limits.Secrets {
					x.breach("facts.secrets")
					return nil
				}
				x.f.Secrets = append(x.f.Secrets, Secret{
					Kind: m.Kind, Redacted: RedactSecret(v[m.Start:m.End]), Span: Span{Pointer: ptr, Start: m.Start, End: m.End},
				})
			}
		case []any:
			for i, e := range v {
				if err := walk(e, ptr+"/"+itoa(i)); err != nil {
					return err
				}
			}
		case map[string]any:
			for _, k := range sortedKeys(v) {
				if strings.HasPrefix(plainKey(k), "old") {
					continue
				}
				if err := walk(v[k], ptr+"/"+escapePointer(k)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(any(input), "")
}

// RedactSecret returns what may be shown of a secret value: at most four leading
// characters of a long one, and the length.
func RedactSecret(value string) string {
	keep := 0
	switch n := len(value); {
	case n >= 24:
		keep = 4
	case n >= 16:
		keep = 2
	}
	for keep > 0 && !utf8.RuneStart(value[keep]) {
		keep--
	}
	return fmt.Sprintf("%s… (%d bytes)", value[:keep], len(value))
}

// Redact returns text, which pointer names in the input, with every secret of f
// in it replaced. Whatever shows text of an event goes through it.
func (f *Facts) Redact(pointer, text string) string {
	var b strings.Builder
	last := 0
	for _, s := range f.Secrets {
		if s.Span.Pointer != pointer || s.Span.Start < last || s.Span.End > len(text) {
			continue
		}
		b.WriteString(text[last:s.Span.Start])
		b.WriteString("***")
		last = s.Span.End
	}
	if last == 0 {
		return text
	}
	b.WriteString(text[last:])
	return b.String()
}
