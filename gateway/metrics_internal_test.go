package gateway

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// The figures that the handbook lists are those that there are.
func TestTheHandbookListsEveryMetric(t *testing.T) {
	text, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, name := range regexp.MustCompile(`holdpoint_[a-z_]+`).FindAllString(string(text), -1) {
		listed[name] = true
	}
	descs := make(chan *prometheus.Desc, 100)
	newMetrics().reg.Describe(descs)
	close(descs)
	var have []string
	for d := range descs {
		have = append(have, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	if len(have) < 10 {
		t.Fatalf("only %d metrics", len(have))
	}
	for _, name := range have {
		if !listed[name] {
			t.Errorf("docs/gateway.md does not list %s", name)
		}
	}
	for name := range listed {
		if !slices.Contains(have, name) {
			t.Errorf("docs/gateway.md lists %s, which does not exist", name)
		}
	}
}
