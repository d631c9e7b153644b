package wiredraft

import (
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// A decoder reads one text. What is wrong with a value depends on where it stands, so
// that class and code of the next problems are state.
type decoder struct {
	walk.Walker
	place

	eventID walk.Val // the id of the event that was read
	texts   []string // room for the texts of parts
	part    walk.Val // the last text of a part

	mem *requestMemory
}

// A place says what a problem there means.
type place struct {
	stage  walk.Stage
	wrong  ahp.FailureClass // a value or member that may not be there
	absent ahp.FailureClass // one that is not there
	code   ahp.ErrorCode
}

var (
	inBody    = place{walk.StageBody, ahp.FailMalformed, ahp.FailMissingField, ahp.CodeInvalidParams}
	inOffer   = place{walk.StageOffer, ahp.FailMalformed, ahp.FailMissingField, ahp.CodeInvalidParams}
	inEffects = place{walk.StageBody, ahp.FailInvalidEffect, ahp.FailInvalidEffect, ahp.CodeInternal}
)

// requestMemory is the parts of a request that nearly always exist, in one allocation.
type requestMemory struct {
	message Message
	event   ahp.Event
	tool    ahp.Tool
	turn    ahp.Turn
	agent   ahp.Agent
	strings [4]string         // of the first list of strings
	effects [8]ahp.EffectType // all that there are
	used    bool              // strings
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(b []byte, l walk.Limits) *decoder {
	d := decoders.Get().(*decoder)
	d.Reset(b, l)
	d.Build, d.Known = true, protocolName
	d.place = inBody
	d.eventID, d.part, d.texts, d.mem = walk.Val{}, walk.Val{}, nil, nil
	return d
}

func (d *decoder) free() {
	d.Release()
	d.texts, d.mem = nil, nil
	decoders.Put(d)
}

// protocolNames are the names that pointers in errors may hold, beside those of
// fieldInfo.
var protocolNames = func() map[string]bool {
	m := map[string]bool{}
	for s := range strings.FieldsSeq(`jsonrpc id method params result error protocolVersion event capabilities effects
		extensions state source type time cwd workspaceRoots agent name kind input origin mcp server toolName provenance
		connection transport url command args addressForm address gaps provider eventName payload code data version
		role parts mediaType selection category text body ref gap size sha256 synthesized path reason status detail class
		scope completeness inputTokens outputTokens cacheReadTokens cacheWriteTokens cost amount currency basis
		inputPerMillionTokens outputPerMillionTokens number callIds previousPath before after settings mcpServers
		operation prior description agentCaused title mode action request channel sender messages backendId policy
		modify replace merge flow operations remainingContinuations continuationCount maxContinuations inject context
		append deliverAt elicitation form permission candidate value provenance instructions injections target
		instruction effects events modes transports authentication toolPaths contentCategories limits maxUploadBytes
		minTimeoutMs maxTimeoutMs managedPolicy scopes disableable correlationIdentityFields identity
		output prompt response content summary workspace`) {
		m[s] = true
	}
	for _, f := range fieldInfo {
		m[f.name] = true
	}
	return m
}()

func protocolName(s string) bool { return protocolNames[s] }

// bad reports the current value, passed as v.
func (d *decoder) bad(v walk.Val, expected string) {
	d.Fail(d.stage, d.wrong, d.code, v.Start, walk.Describe(v), expected)
}

// badAs is bad with words of its own for what was found.
func (d *decoder) badAs(off int, found, expected string) {
	d.Fail(d.stage, d.wrong, d.code, off, found, expected)
}

// lacks reports an absent member of the object that was just read, which begins at off.
func (d *decoder) lacks(off int, name, expected string) {
	d.At(d.stage, d.absent, d.code, off, name, "nothing", expected)
}

// extra reports a member that may not be there, after its object was read.
func (d *decoder) extra(off int, name, found, expected string) {
	d.At(d.stage, d.wrong, d.code, off, name, found, expected)
}

// closed reports the current member, which its object does not define, and passes it
// (D-ENV-8).
func (d *decoder) closed() {
	d.badAs(d.NameVal().Start, "a member that the object does not have", "nothing: the object is closed")
	d.Skip()
}

// object enters an object and returns where it begins. At another value it reports
// that, passes it and returns false.
func (d *decoder) object(expected string) (start int, ok bool) {
	start = d.Pos()
	if d.Kind() != '{' {
		d.bad(d.Skip(), expected)
		return start, false
	}
	d.Open()
	return start, true
}

// array enters an array as object enters an object.
func (d *decoder) array(expected string) (start int, ok bool) {
	start = d.Pos()
	if d.Kind() != '[' {
		d.bad(d.Skip(), expected)
		return start, false
	}
	d.Open()
	return start, true
}

// name reads a string that is not empty.
func (d *decoder) name() string {
	v := d.Skip()
	if v.Kind != '"' || v.Empty() {
		d.bad(v, nonEmpty)
		return ""
	}
	return d.Str(v)
}

// str reads any string.
func (d *decoder) str() string {
	v := d.Skip()
	if v.Kind != '"' {
		d.bad(v, "a string")
		return ""
	}
	return d.Str(v)
}

// strPtr reads any string of which an empty one is not absent.
func (d *decoder) strPtr() *string {
	s := d.str()
	return &s
}

// boolean reads true or false.
func (d *decoder) boolean() bool {
	v := d.Skip()
	if v.Kind != 't' && v.Kind != 'f' {
		d.bad(v, "true or false")
	}
	return v.Kind == 't'
}

// marker reads a synthesized member (D-EVT-5).
func (d *decoder) marker() *bool {
	b := d.boolean()
	return &b
}

// count reads an integer from least, however it is written (D-EVT-7).
func (d *decoder) count(least int64) int64 {
	v := d.Skip()
	if v.Kind == '0' {
		if n, fits, ok := walk.Integer(d.Text(v)); ok && fits && n >= least {
			return n
		}
	}
	expected := "an integer from 0"
	if least == 1 {
		expected = "an integer from 1"
	}
	if v.Kind == '0' {
		d.badAs(v.Start, "another number", expected)
	} else {
		d.bad(v, expected)
	}
	return least
}

func (d *decoder) countPtr() *int64 {
	n := d.count(0)
	return &n
}

// number reads a number from 0, token for token.
func (d *decoder) number() ahp.Raw {
	v := d.Skip()
	switch {
	case v.Kind != '0':
		d.bad(v, "a number from 0")
		return nil
	case walk.Negative(d.Text(v)):
		d.badAs(v.Start, "a negative number", "a number from 0")
		return nil
	}
	return d.Raw(v)
}

// rawObject reads an object that is kept as it is.
func (d *decoder) rawObject(expected string) ahp.Raw {
	v := d.Skip()
	if v.Kind != '{' {
		d.bad(v, expected)
		return nil
	}
	return d.Raw(v)
}

// one reads one of a few names and returns it; "" if it is none of them.
func (d *decoder) one(expected string, names ...string) string {
	v := d.Skip()
	if v.Kind == '"' {
		c := d.Content(v)
		for _, s := range names {
			if string(c) == s {
				return s
			}
		}
		d.badAs(v.Start, "another string", expected)
		return ""
	}
	d.bad(v, expected)
	return ""
}

// someStrings returns an empty list with room for a few strings, where there is some.
func (d *decoder) someStrings() []string {
	if d.mem == nil || d.mem.used {
		return []string{}
	}
	d.mem.used = true
	return d.mem.strings[:0:len(d.mem.strings)]
}

// names reads an array of strings. With least 1 none of them may be empty; with
// unique each stands once.
func (d *decoder) names(expected string, least int, unique bool) []string {
	_, ok := d.array(expected)
	if !ok {
		return nil
	}
	list := d.someStrings()
	var seen map[string]bool
	for d.More() {
		v := d.Skip()
		if v.Kind != '"' || least > 0 && v.Empty() {
			d.bad(v, expected)
			continue
		}
		s := d.Str(v)
		if unique {
			if seen == nil {
				seen = map[string]bool{}
			}
			if seen[s] {
				d.badAs(v.Start, "a string that the array already has", "each string once")
				continue
			}
			seen[s] = true
		}
		list = append(list, s)
	}
	return list
}

// ref reads {id, synthesized?}, closed.
func (d *decoder) ref(expected string) (r ahp.Ref) {
	start, ok := d.object(expected)
	if !ok {
		return r
	}
	has := false
	for d.More() {
		switch string(d.Name()) {
		case "id":
			has = true
			r.ID = d.name()
		case "synthesized":
			r.Synthesized = d.marker()
		default:
			d.closed()
		}
	}
	if !has {
		d.lacks(start, "id", nonEmpty)
	}
	return r
}

// extensions reads an object with reverse-DNS names and any values (AHP-EXT-001).
func (d *decoder) extensions(dst *ahp.Members, has *bool) {
	if _, ok := d.object("an object"); !ok {
		return
	}
	*has = true
	for d.More() {
		if !reverseDNS(d.Name()) {
			d.badAs(d.NameVal().Start, "a member name that is not reverse-DNS", "a reverse-DNS name such as com.example.trace")
		}
		d.Keep(dst, d.Skip())
	}
}

func reverseDNS(b []byte) bool {
	return ahp.ReverseDNS(string(b)) // short ones stay on the stack
}
