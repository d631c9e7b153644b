package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/gateway"
)

// A registrationReader reads the documents of --hooks.
type registrationReader struct {
	rewriteAllows bool
	secrets       string      // folder of secrets; empty when there is none
	warn          func(error) // hears of what is no reason to refuse a document
}

// readAll reads documents in order; their backends form one chain, so all must be of
// one revision of AHP. It is empty without documents.
func (r *registrationReader) readAll(files []string) ([]ahp.Backend, ahp.Version, error) {
	var hooks []ahp.Backend
	var revision ahp.Version
	var errs []error
	first := ""
	ids := map[string]string{} // where each stands
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		v := statedRevision(data)
		reg, err := r.read(name, data, v)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if first == "" {
			first, revision = name, v
		} else if v != revision {
			errs = append(errs, fmt.Errorf("%s is of AHP revision %s, and %s of %s: one chain speaks one revision", first, revision, name, v))
		}
		for i := range reg.Hooks {
			id, at := reg.Hooks[i].ID, fmt.Sprintf("/hooks/%d/id", i)
			line, column := placeOf(data, at)
			if there, ok := ids[id]; ok {
				errs = append(errs, fmt.Errorf("%s:%d:%d: %s: found an id that stands at %s, expected one of its own", name, line, column, at, there))
			} else {
				ids[id] = fmt.Sprintf("%s:%d:%d", name, line, column)
			}
		}
		hooks = append(hooks, reg.Hooks...)
	}
	return hooks, revision, errors.Join(errs...)
}

// read reads one document. The error is all that is wrong with it or, where it is
// valid, all that the gateway does not carry out.
func (r *registrationReader) read(name string, data []byte, v ahp.Version) (*ahp.Registration, error) {
	reg, warnings, err := parseRegistration(name, data, v, os.LookupEnv)
	for _, w := range warnings {
		r.warn(w)
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range refusedByServe(name, data, &gateway.Options{
		Hooks: reg.Hooks, Revision: v, Secrets: r.secrets, RewriteAllows: r.rewriteAllows,
	}) {
		errs = append(errs, p)
	}
	return reg, errors.Join(errs...)
}

func parseRegistration(name string, data []byte, v ahp.Version, lookup func(string) (string, bool)) (reg *ahp.Registration, warnings []error, err error) {
	if v == ahp.VersionDraft {
		var list []wiredraft.Problem
		reg, list, err = wiredraft.ParseRegistration(name, data, wiredraft.RegOptions{LookupEnv: lookup})
		return reg, asErrors(list), err
	}
	var list []wire01.Problem
	reg, list, err = wire01.ParseRegistration(name, data, wire01.RegOptions{LookupEnv: lookup})
	return reg, asErrors(list), err
}

func asErrors[E error](list []E) []error {
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errs
}

// refusedByServe lists what the gateway does not carry out of a valid document whose
// backends are o.Hooks: what no agent shows to its hooks, and what is not supported.
func refusedByServe(name string, data []byte, o *gateway.Options) []wire01.Problem {
	var list []wire01.Problem
	for _, p := range o.HookProblems() {
		x := wire01.Problem{File: name, Pointer: p.At(), Found: p.Found, Expected: p.Expected, Severity: wire01.SeverityError}
		x.Line, x.Column = placeOf(data, x.Pointer)
		list = append(list, x)
	}
	if o.Revision == ahp.VersionDraft {
		_, _, err := wiredraft.ParseRegistration(name, data, wiredraft.RegOptions{Manifest: gateway.AgentManifest(o.RewriteAllows)})
		for _, e := range unjoined(err) {
			p, ok := errors.AsType[wiredraft.Problem](e)
			if !ok { // nothing that is refused may pass for want of a place
				p = wiredraft.Problem{Found: e.Error(), Expected: "a registration that the gateway carries out"}
			}
			list = append(list, wire01.Problem{
				File: name, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Found: p.Found, Expected: p.Expected, Severity: wire01.SeverityError,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b wire01.Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return list
}

// unjoined are the errors that were joined to err, or err alone.
func unjoined(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// statedRevision is the revision that a document, or a message, says it is of. What
// says none, or is broken, is left to the codec of 0.1 to judge.
func statedRevision(data []byte) ahp.Version {
	var doc struct {
		Version string `json:"protocolVersion"`
		Params  struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	// Other members may be anything.
	_ = json.Unmarshal(data, &doc)
	if doc.Version == string(ahp.VersionDraft) || doc.Params.Version == string(ahp.VersionDraft) {
		return ahp.VersionDraft
	}
	return ahp.Version01
}
