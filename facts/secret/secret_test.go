package secret_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/facts/secret"
)

// Values are put together here, so that no scanner takes this file for a leak.
var (
	githubToken = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
	awsKey      = "AKIA" + "Z7QRTX4N5LWPQH2M"
	slackToken  = "xoxb-" + "1234567890123-1234567890123-" + "AbCdEfGhIjKlMnOpQrStUvWx"
	privateKey  = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + strings.Repeat("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\n", 4) + "-----END OPENSSH " + "PRIVATE KEY-----"
)

func TestFind(t *testing.T) {
	d := secret.New(secret.Options{})
	tests := []struct {
		name, text string
		kinds      string
		values     []string
	}{
		{"header", "curl -H 'Authorization: token " + githubToken + "' https://api.github.com", "github-pat", []string{githubToken}},
		{"assignment", "export AWS_ACCESS_KEY_ID=" + awsKey + "\n", "aws-access-token", []string{awsKey}},
		{"two, one twice", githubToken + " " + slackToken + " " + githubToken, "github-pat slack-bot-token github-pat", []string{githubToken, slackToken, githubToken}},
		{"key file", "x\n" + privateKey + "\ny", "private-key", []string{privateKey}},
		{"its own pass", githubToken + " # gitleaks:allow", "github-pat", []string{githubToken}},
		{"documented example", "AKIAIOSFODNN7EXAMPLE", "", nil},
		{"placeholder", "Authorization: token $GITHUB_TOKEN", "", nil},
		{"code", `apiKey := os.Getenv("ACME_API_KEY_F83jd92KDl")`, "", nil},
		{"commit id", "git show 3f786850e387550fdab836ed7e6dc881de23001b", "", nil},
		{"empty", "", "", nil},
		{"across a window", strings.Repeat("x ", secret.MaxTextBytes/2-20) + githubToken + strings.Repeat(" y", secret.MaxTextBytes/2), "github-pat", []string{githubToken}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := d.Find(t.Context(), tt.text)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for i, m := range got {
				kinds = append(kinds, m.Kind)
				if i < len(tt.values) && tt.text[m.Start:m.End] != tt.values[i] {
					t.Errorf("match %d is %q, want %q", i, tt.text[m.Start:m.End], tt.values[i])
				}
			}
			if k := strings.Join(kinds, " "); k != tt.kinds {
				t.Errorf("got %q, want %q", k, tt.kinds)
			}
		})
	}
}

func TestLoadedOnFirstNeed(t *testing.T) {
	d := secret.New(secret.Options{})
	if _, err := d.Find(t.Context(), "go test ./... && git status"); err != nil || d.Loaded() {
		t.Fatalf("a text without a keyword loaded the rules (error %v)", err)
	}
	if _, err := d.Find(t.Context(), githubToken); err != nil || !d.Loaded() {
		t.Fatalf("a text with a keyword did not load the rules (error %v)", err)
	}
}

func TestGeneric(t *testing.T) {
	text := `const clientSecret = "q8Zt3LmX9vR2pK7wYb4N"` + "\n"
	for _, generic := range []bool{false, true} {
		got, err := secret.New(secret.Options{Generic: generic}).Find(t.Context(), text)
		if err != nil || (len(got) > 0) != generic {
			t.Errorf("generic %v: got %v, %v", generic, got, err)
		}
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	want := errors.New("enough")
	cancel(want)
	if _, err := secret.New(secret.Options{}).Find(ctx, githubToken); !errors.Is(err, want) {
		t.Errorf("got %v, want %v: a text that was not read to its end is not clean", err, want)
	}
}

func TestConcurrent(t *testing.T) {
	d := secret.New(secret.Options{})
	done := make(chan error, 8)
	for range cap(done) {
		go func() {
			got, err := d.Find(t.Context(), "x "+githubToken)
			if err == nil && len(got) != 1 {
				err = errors.New("not found")
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	d := secret.New(secret.Options{})
	text := strings.Repeat("func main() { fmt.Println(\"hello\") } // plain text of a file\n", 16)
	b.Run("clean 1 KB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.Find(b.Context(), text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("token 1 KB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.Find(b.Context(), text+githubToken); err != nil {
				b.Fatal(err)
			}
		}
	})
}
