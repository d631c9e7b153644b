package uri_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/internal/uri"
)

// TestEndpoint is the table of what may be sent to. Where plain http is allowed
// everywhere, nothing else changes.
func TestEndpoint(t *testing.T) {
	const absolute, plain = "an absolute http or https URL", "https"
	tests := []struct{ in, want string }{
		{"https://example.org/v1/hook?x=1", ""},
		{"https://example.org", ""},
		{"https://example.org:65535/", ""},
		{"https://[2001:db8::1]:8443/", ""},
		{"http://127.0.0.1:8080/", ""},
		{"http://127.9.9.9/", ""},
		{"http://[::1]/", ""},
		{"http://[::ffff:127.0.0.1]/", ""},
		{"http://LOCALHOST/", ""},
		{"", absolute},
		{"x", absolute},
		{"/hook", absolute},
		{"//example.org/hook", absolute},
		{"https:///hook", absolute},
		{"https://:443/", absolute},
		{"https://a b/", absolute},
		{"https://example.org/%zz", absolute},
		{"https://example.org/\x00", absolute},
		{"https://example.org/\u00e4", absolute},
		{"https:example.org", absolute},
		{"HTTPS://example.org/", "http or https"},
		{"ws://127.0.0.1/", "http or https"},
		{"file:///etc/passwd", "http or https"},
		{"https://example.org:0/", "a port"},
		{"https://example.org:65536/", "a port"},
		{"https://user:MARKER@example.org/", "a URL without: INSTEAD"},
		{"https://MARKER@example.org/", "a URL without: INSTEAD"},
		{"https://example.org/#MARKER", "a URL without"},
		{"http://example.org/", plain},
		{"http://localhost.evil.org/", plain},
		{"http://localhost./", plain},
		{"http://0.0.0.0/", plain},
		{"http://2130706433/", plain},
		{"http://127.1/", plain},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			for _, allowPlain := range []bool{false, true} {
				want := tt.want
				if allowPlain && want == plain {
					want = ""
				}
				u, found, expected := uri.Endpoint(tt.in, allowPlain, "INSTEAD")
				switch {
				case (found == "") != (want == ""), (u == nil) != (want != ""), !strings.HasPrefix(expected, want), want == "" && expected != "":
					t.Errorf("plain %v: found %q, expected %q, want %q", allowPlain, found, expected, want)
				case strings.Contains(found+expected, "MARKER"):
					t.Errorf("quotes the URL: %s, %s", found, expected)
				case u != nil && u.String() != tt.in:
					t.Errorf("read as %s", u)
				}
			}
		})
	}
}
