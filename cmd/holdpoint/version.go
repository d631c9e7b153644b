package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
)

// release is the release's name; a build sets it with -ldflags "-X main.release=…",
// the same for the hook client.
var release string

// version is what this build calls itself: its release, else the module version
// where the build recorded one, else "dev".
func version() string {
	if release != "" {
		return release
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		return bi.Main.Version
	}
	return "dev"
}

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revisions of the protocol and of the hook frame",
		Args:  cobra.NoArgs,
		RunE: work(func(*cobra.Command, []string) error {
			v := struct {
				Version  string   `json:"version"`
				Go       string   `json:"go"`
				Platform string   `json:"platform"`
				Protocol []string `json:"protocol"`
				Frame    int      `json:"frame"`
			}{version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, revisionNames(), hookwire.Version}
			if asJSON {
				return a.json(v)
			}
			fmt.Fprintf(a.out, "holdpoint %s (%s, %s), AHP %s, hook frame %d\n", v.Version, v.Go, v.Platform, strings.Join(v.Protocol, " and "), v.Frame)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// revisionNames are the revisions of AHP that this program speaks.
func revisionNames() []string {
	var names []string
	for _, v := range gateway.Revisions() {
		names = append(names, string(v))
	}
	return names
}

// json writes v as one indented document.
func (a *app) json(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
