package wiredraft

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// What a user.elicitation event carries as text, and what a supplied result is, are
// objects of MCP 2025-11-25 (AHP draft section 26). Params, results and _meta are open
// there, the form schema is closed.

// mcpRequest is the params of elicitation/create.
type mcpRequest struct {
	url  bool // mode url; a missing mode is form (D-EL-3)
	form mcpForm
}

// mcpForm is a requested schema: its properties by name.
type mcpForm struct {
	props    map[string]*mcpProp
	required []string
}

// mcpProp is the schema of one answer.
type mcpProp struct {
	typ                string // string, number, integer, boolean, array
	choices            []string
	hasChoices         bool
	format             string
	least, most        *float64 // of a number
	leastLen, mostLen  *float64 // code points of a string
	leastMany, mostNum *float64 // items of an array
}

// mcpAnswers is an ElicitResult.
type mcpAnswers struct {
	action     string
	hasContent bool
	content    []mcpAnswer
}

// mcpAnswer is one member of an answer's content.
type mcpAnswer struct {
	name string
	kind byte // as [walk.Val.Kind]: string, number, true, false or array
	text string
	list []string
}

// mcpRequest reads the params of elicitation/create.
func (d *decoder) mcpRequest() (r mcpRequest) {
	start, ok := d.object("the params object of elicitation/create")
	if !ok {
		return r
	}
	var message, url, id bool
	var schema walk.Later
	var urlVal, idVal walk.Val
	for d.More() {
		switch string(d.Name()) {
		case "message":
			message = true
			d.str()
		case "mode":
			r.url = d.one("form or url", "form", "url") == "url"
		case "requestedSchema":
			schema = d.Later()
			d.Skip()
		case "url":
			url = true
			urlVal = d.Skip()
		case "elicitationId":
			id = true
			idVal = d.Skip()
		case "_meta":
			d.mcpMeta()
		case "task":
			d.mcpTask()
		default:
			d.Skip()
		}
	}
	if !message {
		d.lacks(start, "message", "a string")
	}
	if r.url {
		switch {
		case !url:
			d.lacks(start, "url", "a URI")
		case urlVal.Kind != '"' || !uri.Valid(d.Content(urlVal)):
			d.extra(urlVal.Start, "url", walk.Describe(urlVal), "a URI")
		}
		switch {
		case !id:
			d.lacks(start, "elicitationId", "a string")
		case idVal.Kind != '"':
			d.extra(idVal.Start, "elicitationId", walk.Describe(idVal), "a string")
		}
		return r
	}
	if !schema.Valid() {
		d.lacks(start, "requestedSchema", "an object with type and properties")
		return r
	}
	d.Revisit(schema, func() { d.mcpForm(&r.form) })
	return r
}

func (d *decoder) mcpMeta() {
	if _, ok := d.object("an object"); !ok {
		return
	}
	for d.More() {
		token := string(d.Name()) == "progressToken"
		if v := d.Skip(); token && v.Kind != '"' && v.Kind != '0' {
			d.bad(v, "a string or a number")
		}
	}
}

func (d *decoder) mcpTask() {
	if _, ok := d.object("an object"); !ok {
		return
	}
	for d.More() {
		ttl := string(d.Name()) == "ttl"
		if v := d.Skip(); ttl && v.Kind != '0' {
			d.bad(v, "a number")
		}
	}
}

func (d *decoder) mcpForm(f *mcpForm) {
	start, ok := d.object("an object with type and properties")
	if !ok {
		return
	}
	var typ, properties bool
	for d.More() {
		switch string(d.Name()) {
		case "type":
			typ = true
			d.one("object", "object")
		case "properties":
			properties = true
			if _, ok := d.object("an object of schemas"); !ok {
				continue
			}
			f.props = map[string]*mcpProp{}
			for d.More() {
				name := string(d.Name())
				f.props[name] = d.mcpProp()
			}
		case "required":
			f.required = d.names("an array of strings", 0, false)
		case "$schema":
			d.str()
		default:
			d.closed()
		}
	}
	if !typ {
		d.lacks(start, "type", "object")
	}
	if !properties {
		d.lacks(start, "properties", "an object of schemas")
	}
}

// The keys of a property schema, as bits.
const (
	kEnum = 1 << iota
	kEnumNames
	kOneOf
	kItems
	kLength // minLength, maxLength
	kFormat
	kRange // minimum, maximum
	kCount // minItems, maxItems
	kDefault
)

// mcpProp reads the schema of one answer: one of the eight forms of section 26.
func (d *decoder) mcpProp() *mcpProp {
	p := new(mcpProp)
	start, ok := d.object("the schema of one answer")
	if !ok {
		return p
	}
	typ, keys := false, 0
	var def walk.Later
	num := func(k int) *float64 {
		keys |= k
		v := d.Skip()
		if v.Kind != '0' {
			d.bad(v, "a number")
			return nil
		}
		n, err := strconv.ParseFloat(string(d.Text(v)), 64)
		if err != nil {
			return nil // beyond all numbers: it bounds nothing
		}
		return &n
	}
	for d.More() {
		switch string(d.Name()) {
		case "type":
			typ = true
			p.typ = d.one("string, number, integer, boolean or array", "string", "number", "integer", "boolean", "array")
		case "title", "description":
			d.str()
		case "default":
			keys |= kDefault
			def = d.Later()
			d.Skip()
		case "minLength":
			p.leastLen = num(kLength)
		case "maxLength":
			p.mostLen = num(kLength)
		case "format":
			keys |= kFormat
			p.format = d.one("email, uri, date or date-time", "email", "uri", "date", "date-time")
		case "minimum":
			p.least = num(kRange)
		case "maximum":
			p.most = num(kRange)
		case "minItems":
			p.leastMany = num(kCount)
		case "maxItems":
			p.mostNum = num(kCount)
		case "enum":
			keys |= kEnum
			p.choices, p.hasChoices = d.names("an array of strings", 0, false), true
		case "enumNames":
			keys |= kEnumNames
			d.names("an array of strings", 0, false)
		case "oneOf":
			keys |= kOneOf
			p.choices, p.hasChoices = d.mcpTitled(), true
		case "items":
			keys |= kItems
			p.choices, p.hasChoices = d.mcpItems(), true
		default:
			d.closed()
		}
	}
	if !typ {
		d.lacks(start, "type", "string, number, integer, boolean or array")
	}
	allowed := kDefault
	kind := byte('"')
	switch p.typ {
	case "":
		return p
	case "string":
		switch {
		case keys&kOneOf != 0:
			allowed |= kOneOf
		case keys&kEnum != 0:
			allowed |= kEnum | kEnumNames
		default:
			allowed |= kLength | kFormat
		}
	case "number", "integer":
		allowed |= kRange
		kind = '0'
	case "boolean":
		kind = 't'
	case "array":
		allowed |= kItems | kCount
		kind = '['
		if keys&kItems == 0 {
			d.lacks(start, "items", "an object with enum or anyOf")
		}
	}
	if keys&^allowed != 0 {
		d.badAs(start, "a keyword that does not go with the type", "a schema of one of the eight forms")
	}
	if def.Valid() {
		d.Revisit(def, func() {
			if kind == '[' {
				d.names("an array of strings", 0, false)
				return
			}
			if v := d.Skip(); v.Kind != kind && (kind != 't' || v.Kind != 'f') {
				d.bad(v, "a value of the type "+p.typ)
			}
		})
	}
	return p
}

// mcpTitled reads an array of {const, title}.
func (d *decoder) mcpTitled() (list []string) {
	if _, ok := d.array("an array of objects with const and title"); !ok {
		return nil
	}
	for d.More() {
		start, ok := d.object("an object with const and title")
		if !ok {
			continue
		}
		var c, title bool
		for d.More() {
			switch string(d.Name()) {
			case "const":
				c = true
				list = append(list, d.str())
			case "title":
				title = true
				d.str()
			default:
				d.closed()
			}
		}
		if !c {
			d.lacks(start, "const", "a string")
		}
		if !title {
			d.lacks(start, "title", "a string")
		}
	}
	return list
}

// mcpItems reads the items of a multi select.
func (d *decoder) mcpItems() (list []string) {
	start, ok := d.object("an object with enum or anyOf")
	if !ok {
		return nil
	}
	var typ, enum, anyOf bool
	for d.More() {
		switch string(d.Name()) {
		case "type":
			typ = true
			d.one("string", "string")
		case "enum":
			enum = true
			list = d.names("an array of strings", 0, false)
		case "anyOf":
			anyOf = true
			list = d.mcpTitled()
		default:
			d.closed()
		}
	}
	if titled, plain := anyOf && !typ && !enum, enum && typ && !anyOf; !titled && !plain {
		d.badAs(start, "other members", "type and enum, or anyOf")
	}
	return list
}

// mcpResult reads an ElicitResult, and that content goes with accept only (D-EL-5).
func (d *decoder) mcpResult() (r mcpAnswers) {
	start, ok := d.object("an ElicitResult object")
	if !ok {
		return r
	}
	action := false
	content := 0
	for d.More() {
		switch string(d.Name()) {
		case "action":
			action = true
			r.action = d.one("accept, decline or cancel", "accept", "decline", "cancel")
		case "content":
			r.hasContent = true
			content = d.NameVal().Start
			r.content = d.mcpContent()
		case "_meta":
			d.rawObject("an object")
		default:
			d.Skip()
		}
	}
	if !action {
		d.lacks(start, "action", "accept, decline or cancel")
	}
	if r.hasContent && r.action != "" && r.action != "accept" {
		d.extra(content, "content", "a member", "nothing: only an accepted form has content")
	}
	return r
}

// mcpContent reads answers: strings, numbers, booleans and arrays of strings
// (D-EL-12).
func (d *decoder) mcpContent() (list []mcpAnswer) {
	if _, ok := d.object("an object of answers"); !ok {
		return nil
	}
	for d.More() {
		a := mcpAnswer{name: string(d.Name()), kind: d.Here().Kind}
		switch a.kind {
		case '[':
			a.list = d.names("an array of strings", 0, false)
		case '"':
			a.text = d.str()
		case '0':
			a.text = string(d.Text(d.Skip()))
		case 't', 'f':
			d.Skip()
		default:
			d.bad(d.Skip(), "a string, a number, a boolean or an array of strings")
		}
		list = append(list, a)
	}
	return list
}

// unfit says what in answers does not fit the requested form; "" if all does. The
// text holds no value and no name.
func (f *mcpForm) unfit(answers []mcpAnswer) string {
	given := map[string]bool{}
	for i := range answers {
		a := &answers[i]
		given[a.name] = true
		if p := f.props[a.name]; p != nil {
			if why := p.unfit(a); why != "" {
				return why
			}
		}
	}
	for _, name := range f.required {
		if !given[name] {
			return "no answer to a required question"
		}
	}
	return ""
}

func (p *mcpProp) unfit(a *mcpAnswer) string {
	outside := func(n float64, least, most *float64) bool {
		return least != nil && n < *least || most != nil && n > *most
	}
	chosen := func(s string) bool {
		return !p.hasChoices || slices.Contains(p.choices, s)
	}
	switch p.typ {
	case "string":
		switch {
		case a.kind != '"':
			return "an answer of another type"
		case !chosen(a.text):
			return "an answer that is no choice"
		case outside(float64(utf8.RuneCountInString(a.text)), p.leastLen, p.mostLen):
			return "an answer of another length"
		case !formatted(p.format, a.text):
			return "an answer of another format"
		}
	case "number", "integer":
		if a.kind != '0' {
			return "an answer of another type"
		}
		if _, _, ok := walk.Integer([]byte(a.text)); !ok && p.typ == "integer" {
			return "an answer that is no integer"
		}
		if n, err := strconv.ParseFloat(a.text, 64); err != nil || outside(n, p.least, p.most) {
			return "an answer outside its range"
		}
	case "boolean":
		if a.kind != 't' && a.kind != 'f' {
			return "an answer of another type"
		}
	case "array":
		if a.kind != '[' {
			return "an answer of another type"
		}
		if outside(float64(len(a.list)), p.leastMany, p.mostNum) {
			return "an answer with another number of choices"
		}
		for _, s := range a.list {
			if !chosen(s) {
				return "an answer that is no choice"
			}
		}
	}
	return ""
}

func formatted(format, s string) bool {
	switch format {
	case "date":
		return len(s) == 10 && walk.DateTime(s+"T00:00:00Z")
	case "date-time":
		return walk.DateTime(s)
	case "uri":
		return uri.Valid(s)
	case "email":
		at := -1
		for i := range len(s) {
			switch {
			case s[i] == '@':
				at = i
			case s[i] <= ' ':
				return false
			}
		}
		return at > 0 && at < len(s)-1
	}
	return true
}
