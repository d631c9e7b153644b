package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what this build calls itself: the module version where the build
// recorded one, else "devel".
func version() string {
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		return bi.Main.Version
	}
	return "devel"
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
			}{version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, []string{"0.1"}}
			if asJSON {
				return a.json(v)
			}
			fmt.Fprintf(a.out, "holdpoint %s (%s, %s), AHP %s\n", v.Version, v.Go, v.Platform, v.Protocol[0])
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// json writes v as one indented document.
func (a *app) json(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
