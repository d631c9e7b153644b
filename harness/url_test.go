package harness_test

import (
	"fmt"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/harness"
)

// The reader of documents and the carrier each judge a URL, since a program can
// build a registration without a document. What one refuses, so must the other:
// a document that passes a lint is one that a harness takes (V-REG-1).
func TestURLIsJudgedAlike(t *testing.T) {
	for _, u := range []string{
		"https://h.example/x", "https://h.example", "https://h.example:8443/", "https://h.example/?q=1", "HTTPS://h.example/",
		"http://127.0.0.1/", "http://[::1]:9/", "http://localhost/", "http://LOCALHOST/", "http://[::ffff:127.0.0.1]/",
		"http://h.example/", "http://10.0.0.1/", "http://127.1/", "http://localhost./", "http://0.0.0.0/", "http://[::]/",
		"https://h.example/#f", "https://h.example/#", "https://h.example/x?q#f",
		"https://h.example:0/", "https://h.example:65535/", "https://h.example:65536/", "https://h.example:/", "https://h.example:x/",
		"https://u@h.example/", "https://u:p@h.example/", "https://@h.example/", "https://:@h.example/",
		"https:///x", "https:h.example", "https://:1/", "//h.example/", "/x", "x", "", "ftp://h.example/", "unix:///x",
		"https://h.example/a b", "https://h.example/%zz", "https://h.example/ä", "https://h ost/", "https://h.example/\u007f", "https://[::1", "https://h.example/[",
	} {
		doc := fmt.Sprintf(`{"protocolVersion":"0.1","hooks":[{"id":"a.b","transport":{"type":"http","url":%q},`+
			`"subscriptions":[{"events":["tool.before"],"mode":"intercept","timeoutMs":100,"failurePolicy":"fail-closed"}]}]}`, u)
		_, _, read := wire01.ParseRegistration("r", []byte(doc), wire01.RegOptions{})
		_, taken := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{{
			ID: "a.b", Transport: &ahp.HTTPTransport{URL: u},
			Subscriptions: []ahp.Subscription{{Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept, Timeout: 1e8, FailurePolicy: ahp.FailClosed}},
		}}}, harness.Options{Source: "urn:uuid:0192f3aa-77c1-7d10-9a51-3b0e5c1f2a44", Capabilities: ahp.DenyOnly(), Recorder: harness.Discard})
		if (read == nil) != (taken == nil) {
			t.Errorf("%q: the document: %v; the harness: %v", u, read, taken)
		}
	}
}
