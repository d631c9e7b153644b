package main

import (
	"encoding/json"
	"fmt"
	"io"
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

const platform = runtime.GOOS + "/" + runtime.GOARCH

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("holdpoint %s (%s, %s), AHP %s, hook frame %d\n",
		version(), runtime.Version(), platform, strings.Join(revisionNames(), " and "), hookwire.Version)
}

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revisions of the protocol and of the hook frame",
		Args:  noArgs,
		RunE: work(func(*cobra.Command, []string) error {
			if asJSON {
				return a.json(struct {
					Version  string   `json:"version"`
					Go       string   `json:"go"`
					Platform string   `json:"platform"`
					Protocol []string `json:"protocol"`
					Frame    int      `json:"frame"`
				}{version(), runtime.Version(), platform, revisionNames(), hookwire.Version})
			}
			_, err := io.WriteString(a.out, versionLine())
			return err
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
