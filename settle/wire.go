package settle

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
)

// The few wire forms that a request's state holds (AHP draft section 2.1): a
// candidate's value, and inject effects. Bytes that are not UTF-8 become U+FFFD.

func appendValue(dst []byte, v *ahp.Value) []byte {
	switch {
	case v.Messages != nil:
		return appendMessages(dst, v.Messages)
	case v.Parts != nil:
		return appendParts(dst, v.Parts)
	}
	return append(dst, v.JSON...)
}

func appendInject(dst []byte, i *ahp.Inject) []byte {
	dst = append(dst, `{"type":"inject","target":"context","operation":"append","deliverAt":"`...)
	dst = append(dst, i.DeliverAt...)
	dst = append(dst, `","value":`...)
	return append(appendMessages(dst, i.Messages), '}')
}

func appendMessages(dst []byte, ms []ahp.Message) []byte {
	dst = append(dst, '[')
	for i := range ms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst, _ = jsontext.AppendQuote(dst, ms[i].ID)
		dst = str(dst, "role", string(ms[i].Role), true)
		dst = appendParts(key(dst, "parts"), ms[i].Parts)
		dst = append(flag(dst, "synthesized", ms[i].Synthesized), '}')
	}
	return append(dst, ']')
}

func appendParts(dst []byte, ps []ahp.Part) []byte {
	dst = append(dst, '[')
	for i := range ps {
		p := &ps[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst, _ = jsontext.AppendQuote(dst, p.ID)
		dst = str(dst, "kind", string(p.Kind), true)
		dst = str(dst, "mediaType", p.MediaType, true)
		dst = str(dst, "selection", string(p.Selection), true)
		dst = str(dst, "category", p.Category, false)
		if p.Text != nil {
			dst = str(dst, "text", *p.Text, true)
		}
		if p.Ref != "" {
			dst = append(key(dst, "body"), `{"ref":`...)
			dst, _ = jsontext.AppendQuote(dst, p.Ref)
			dst = append(dst, '}')
		}
		if p.Gap != nil { // accepted values hold none, and a receiver's view may
			dst = append(key(dst, "gap"), `{"reason":`...)
			dst, _ = jsontext.AppendQuote(dst, p.Gap.Reason)
			dst = append(str(dst, "path", p.Gap.Path, false), '}')
		}
		dst = append(flag(dst, "synthesized", p.Synthesized), '}')
	}
	return append(dst, ']')
}

func flag(dst []byte, k string, v *bool) []byte {
	if v == nil {
		return dst
	}
	return strconv.AppendBool(key(dst, k), *v)
}
