package facts_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/facts"
)

func TestParseURL(t *testing.T) {
	tests := []struct {
		text   string
		host   string
		port   int
		class  string
		scheme string
		path   string
		user   bool
	}{
		{"https://example.com/a?b#c", "example.com", 443, "public", "https", "/a", false},
		{"HTTPS://EXAMPLE.com.", "example.com", 443, "public", "https", "", false},
		{"http://user:pw@example.com:8080/", "example.com", 8080, "public", "http", "/", true},
		{"https://good.example@evil.example/", "evil.example", 443, "public", "https", "/", true},
		{"https://a@b@evil.example/", "evil.example", 443, "public", "https", "/", true},
		{"https:evil.example/x", "evil.example", 443, "public", "https", "/x", false},
		{"https:///evil.example/x", "evil.example", 443, "public", "https", "/x", false},
		{"ht\ntps://evil.ex\tample", "evil.example", 443, "public", "https", "", false},
		{"  https://example.com ", "example.com", 443, "public", "https", "", false},
		{"http://[::1]:3000/", "::1", 3000, "loopback", "http", "/", false},
		{"http://[::ffff:169.254.169.254]/", "169.254.169.254", 80, "metadata", "http", "/", false},
		{"http://[fe80::1%25eth0]/", "fe80::1", 80, "link-local", "http", "/", false},
		{"http://2130706433/", "127.0.0.1", 80, "loopback", "http", "/", false},
		{"http://0x7f.1/", "127.0.0.1", 80, "loopback", "http", "/", false},
		{"http://0177.0.0.01/", "127.0.0.1", 80, "loopback", "http", "/", false},
		{"http://127.1", "127.0.0.1", 80, "loopback", "http", "", false},
		{"http://0/", "0.0.0.0", 80, "loopback", "http", "/", false},
		{"http://0xA9FEA9FE/latest", "169.254.169.254", 80, "metadata", "http", "/latest", false},
		{"http://2852039166/", "169.254.169.254", 80, "metadata", "http", "/", false},
		{"http://%31%36%39.254.169.254/", "169.254.169.254", 80, "metadata", "http", "/", false},
		{"http://１６９.254.169.254/", "169.254.169.254", 80, "metadata", "http", "/", false},
		{"http://169。254。169。254/", "169.254.169.254", 80, "metadata", "http", "/", false},
		{"http://[64:ff9b::a9fe:a9fe]/", "64:ff9b::a9fe:a9fe", 80, "metadata", "http", "/", false},
		{"http://[2002:7f00:1::]/", "2002:7f00:1::", 80, "loopback", "http", "/", false},
		{"http://metadata.google.internal/computeMetadata/v1/", "metadata.google.internal", 80, "metadata", "http", "/computeMetadata/v1/", false},
		{"http://256.0.0.1/", "", 80, "unknown", "http", "/", false},
		{"http://1.2.3.4.5/", "", 80, "unknown", "http", "/", false},
		{"http://3com.example/", "3com.example", 80, "public", "http", "/", false},
		{"http://10.1.2.3/", "10.1.2.3", 80, "private", "http", "/", false},
		{"http://100.64.0.1/", "100.64.0.1", 80, "private", "http", "/", false},
		{"http://169.254.1.1/", "169.254.1.1", 80, "link-local", "http", "/", false},
		{"http://[fd12::1]/", "fd12::1", 80, "private", "http", "/", false},
		{"http://localhost:5173", "localhost", 5173, "loopback", "http", "", false},
		{"http://app.localhost/", "app.localhost", 80, "loopback", "http", "/", false},
		{"http://printer.local/", "printer.local", 80, "private", "http", "/", false},
		{"http://intranet/", "intranet", 80, "unknown", "http", "/", false},
		{"https://bücher.example/", "xn--bcher-kva.example", 443, "public", "https", "/", false},
		{"https://XN--BCHER-KVA.example/", "xn--bcher-kva.example", 443, "public", "https", "/", false},
		{"https://my_bucket.s3.example/", "my_bucket.s3.example", 443, "public", "https", "/", false},
		{"https://exa mple.com/", "", 443, "unknown", "https", "/", false},
		{"https://example.com:99999/", "", 443, "unknown", "https", "/", false},
		{"git@github.com:acme/app.git", "github.com", 22, "public", "ssh", "acme/app.git", false},
		{"ssh://git@github.com/acme", "github.com", 22, "public", "ssh", "/acme", true},
		{"postgres://u:p@db.example/x", "db.example", 5432, "public", "postgres", "/x", true},
		{"example.com:8443/x", "example.com", 8443, "public", "", "/x", false},
		{"//cdn.example.com/x", "cdn.example.com", 0, "public", "", "/x", false},
	}
	for _, tt := range tests {
		got := facts.ParseURL(tt.text, facts.UseFetch)
		if len(got) != 1 {
			t.Errorf("%q: got %d facts, want 1: %+v", tt.text, len(got), got)
			continue
		}
		u := got[0]
		if u.Host != tt.host || u.Port != tt.port || u.Class != tt.class || u.Scheme != tt.scheme || u.Path != tt.path || u.UserInfo != tt.user {
			t.Errorf("%q:\n got %+v\nwant %+v", tt.text, u, tt)
		}
		if u.Certainty != facts.Certain || u.Use != facts.UseFetch {
			t.Errorf("%q: certainty %s, use %s", tt.text, u.Certainty, u.Use)
		}
	}
	for _, text := range []string{"", " ", "file:///etc/passwd", "data:text/plain,x", "mailto:a@b.c", "/etc/passwd", "./x", "urn:a:b", "javascript:alert(1)", "two words"} {
		if got := facts.ParseURL(text, facts.UseFetch); len(got) != 0 {
			t.Errorf("%q: got %+v, want no address", text, got)
		}
	}
}

// Programs disagree on a backslash; both hosts are facts then.
func TestParseURLAmbiguous(t *testing.T) {
	got := facts.ParseURL(`http://good.example\@169.254.169.254/`, facts.UseFetch)
	if len(got) != 2 || got[0].Host != "good.example" || got[1].Class != facts.ClassMetadata ||
		got[0].Certainty != facts.Possible || got[1].Certainty != facts.Possible {
		t.Errorf("got %+v", got)
	}
}

func TestRedactURL(t *testing.T) {
	tests := []struct{ in, want string }{
		{"https://u:p@h/x", "https://***@h/x"},
		{"https://ghp_x@github.com/a", "https://***@github.com/a"},
		{"https://u:p/q@h/x", "https://***@h/x"},
		{"ssh://git@h/x", "ssh://git@h/x"},
		{"ssh://git:pw@h/x", "ssh://***@h/x"},
		{"git@h:x", "git@h:x"},
		{"https://h/x?api_key=1&b=2&X-Amz-Signature=s#access_token=t", "https://h/x?api_key=***&b=2&X-Amz-Signature=***#access_token=***"},
		{"https://h/@scope/pkg", "https://h/@scope/pkg"},
		{"https://h", "https://h"},
	}
	for _, tt := range tests {
		if got := facts.RedactURL(tt.in); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"https://u:p@h:1/x?token=a", "http://0x7f.1/", `http:\\a\@b`, "git@h:x", "http://[::1%25a]", "http://%31", "//x", "http://１.1", "a:b@c/d?key=e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, u := range facts.ParseURL(s, facts.UseFetch) {
			if u.Class != facts.ClassUnknown && u.Host == "" {
				t.Errorf("%q: class %s without a host", s, u.Class)
			}
			if u.Host == "" {
				continue
			}
			// The form of a host is final, and its class with it.
			again, err := facts.NormalHost(u.Host)
			if err != nil || again != u.Host {
				t.Errorf("%q: host %q becomes %q, %v", s, u.Host, again, err)
			}
			if strings.ContainsAny(u.Host, " /\\@?#[]\x00\n") {
				t.Errorf("%q: host %q", s, u.Host)
			}
		}
		r := facts.RedactURL(s)
		if again := facts.RedactURL(r); again != r {
			t.Errorf("%q: redacted to %q, then to %q", s, r, again)
		}
	})
}
