package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/gateway"
)

// readRegistrations reads the documents of --hooks in order; their backends form
// one chain, so all must be of one revision of AHP. It is empty without documents.
func readRegistrations(files []string, rewriteAllows bool, warn func(error)) ([]ahp.Backend, ahp.Version, error) {
	var hooks []ahp.Backend
	var revision ahp.Version
	var errs []error
	first := ""
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		v := statedRevision(data)
		reg, err := readRegistration(name, data, v, rewriteAllows, warn)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if first == "" {
			first, revision = name, v
		} else if v != revision {
			errs = append(errs, fmt.Errorf("%s is of AHP revision %s, and %s of %s: one chain speaks one revision", first, revision, name, v))
		}
		hooks = append(hooks, reg.Hooks...)
	}
	return hooks, revision, errors.Join(errs...)
}

func readRegistration(name string, data []byte, v ahp.Version, rewriteAllows bool, warn func(error)) (*ahp.Registration, error) {
	if v != ahp.VersionDraft {
		reg, warnings, err := wire01.ParseRegistration(name, data, wire01.RegOptions{LookupEnv: os.LookupEnv})
		for _, w := range warnings {
			warn(w)
		}
		return reg, err
	}
	reg, warnings, err := wiredraft.ParseRegistration(name, data, wiredraft.RegOptions{
		LookupEnv: os.LookupEnv, Manifest: gateway.AgentManifest(rewriteAllows),
	})
	for _, w := range warnings {
		warn(w)
	}
	return reg, err
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
