package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/internal/schematest"
)

// Every schema that is published is one.
func TestSchemasCompile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "schemas", "*.schema.json"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, name := range files {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if _, err := c.Compile(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a running gateway says of itself fits the schemas.
func TestServeStatusFitsItsSchemas(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no hook socket on this system")
	}
	dir := privateDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	serve := exec.CommandContext(ctx, filepath.Join(programs, "holdpoint"), "serve",
		"--socket", filepath.Join(dir, "hook.sock"), "--audit-dir", filepath.Join(dir, "audit"),
		"--policy-timeout", "5s", "--failure-policy", "fail-closed", "--log-level", "error")
	serve.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	serve.WaitDelay = 30 * time.Second
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = serve.Wait() // it was asked to stop
	}()
	for { // until it serves, or the context ends
		if _, err := os.Lstat(filepath.Join(dir, settingsFile)); err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the gateway does not serve")
		}
		time.Sleep(10 * time.Millisecond) // a poll
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, "ahp.sock"))
		},
	}}
	for _, name := range []string{"healthz", "readyz"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		schematest.Validate(t, name, body)
	}
}
