package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/internal/schematest"
)

// What is answered before the policy is asked leaves a count: one entry at once, and
// one at the end for all that came within the minute, however many there were.
func TestRejectedMessagesAreCounted(t *testing.T) {
	r := start(t, options(t))
	post := func(body, want string) {
		t.Helper()
		resp, err := r.unixClient().Post("http://holdpoint/ahp", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(b), want) {
			t.Fatalf("%d %s %v, want %s", resp.StatusCode, b, err, want)
		}
	}
	rejected := func() int { return len(r.records(gateway.KindRejected)) }
	post(interceptForcePush, `"deny"`)
	if n := rejected(); n != 0 {
		t.Errorf("%d entries of a request that was answered", n)
	}
	post(`{"SECRET":`, "-32700")
	r.until("an entry about the first", func() bool { return rejected() == 1 })
	for range 20 {
		post(`{"SECRET":`, "-32700")
		post(strings.Replace(interceptForcePush, `"capabilities"`, `"SECRET"`, 1), "-32602")
	}
	resp, err := r.unixClient().Post("http://holdpoint/ahp", "text/plain", strings.NewReader("SECRET"))
	if err != nil || resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	post(strings.ReplaceAll(interceptForcePush, "origin main", "origin SECRET"), "-32602")
	if got := r.metric("holdpoint_ahp_rejected_total"); !strings.Contains(got, `{code="-32700"} 21`) || !strings.Contains(got, `{code="-32602"} 21`) || !strings.Contains(got, `{code="http_415"} 1`) {
		t.Errorf("figures:\n%s", got)
	}
	if n := rejected(); n != 1 {
		t.Errorf("%d entries within the minute, want 1", n)
	}
	r.end()

	recs := r.records(gateway.KindRejected)
	if len(recs) != 2 {
		t.Fatalf("%d entries, want 2", len(recs))
	}
	for i, want := range []string{
		`[{"principal":"unix","code":-32700,"messages":1}]`,
		`[{"principal":"unix","code":-32700,"messages":20},{"principal":"unix","code":-32602,"messages":21},{"principal":"unix","code":0,"status":415,"messages":1}]`,
	} {
		schematest.Validate(t, "rejected-record", recs[i].Data)
		if strings.Contains(string(recs[i].Data), "SECRET") {
			t.Errorf("payload in %s", recs[i].Data)
		}
		var d struct {
			Messages int64           `json:"messages"`
			Counts   json.RawMessage `json:"counts"`
		}
		if err := json.Unmarshal(recs[i].Data, &d); err != nil || string(d.Counts) != want || d.Messages != []int64{1, 42}[i] {
			t.Errorf("entry %d: %s, want %s", i, recs[i].Data, want)
		}
	}
}
