package ctk_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/agenthooks/ctk"
	"github.com/holdpoint/holdpoint/internal/leak"
)

// hostile is the environment variable that makes this test binary a host
// process: "reference" serves the reference host, the rest are broken.
const hostile = "CTK_TEST_HOST"

func TestMain(m *testing.M) {
	if how := os.Getenv(hostile); how != "" {
		if err := beHost(how); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(leak.Main(m))
}

func beHost(how string) error {
	surface := `{"type":"surface","framework":"x","adapter_version":"1","sdk_language":"go","sdk_version":"1","capabilities":["model_calls"],"profiles":[],"identity_provider":null,"content_derived":false,"postures":{},"buffered_output":true}`
	say := func(lines ...string) { fmt.Println(strings.Join(lines, "\n")) }
	read := func() { _, _ = os.Stdin.Read(make([]byte, 1<<20)) }
	switch how {
	case "reference":
		return ctk.Serve(context.Background(), ctk.Reference(), os.Stdin, os.Stdout)
	case "silent", "hang":
		if how == "hang" {
			for range 2 { // the test says hello, then the kit
				read()
				say(surface)
			}
		}
		child := exec.Command("sleep", "600") // it outlives us unless our group is killed
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return err
		}
		for {
			time.Sleep(time.Hour)
		}
	case "leaves":
		child := exec.Command("sleep", "600") // holds none of our files
		if err := child.Start(); err != nil {
			return err
		}
		read()
		say(surface[:len(surface)-1] + fmt.Sprintf(`,"exposure_bound":"%d"}`, child.Process.Pid))
		return nil
	case "exit":
		read()
		return nil
	case "crash":
		read()
		say(surface)
		read()
		return fmt.Errorf("out of cheese\x1b[2J")
	case "garbage":
		read()
		say("Traceback (most recent call last):", surface)
	case "endless":
		read()
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1<<20)); err != nil {
				return err
			}
		}
	case "flood":
		read()
		say(surface)
		read()
		say(`{"type":"ready"}`)
		go func() { _, _ = io.Copy(io.Discard, os.Stdin) }()
		for {
			if _, err := fmt.Println(`{"type":"intercept","call":1,"interceptor":0,"context":{}}`); err != nil {
				return err
			}
		}
	case "vast": // few callbacks, but large ones
		read()
		say(surface)
		read()
		say(`{"type":"ready"}`)
		go func() { _, _ = io.Copy(io.Discard, os.Stdin) }()
		context := `{"x":"` + strings.Repeat("x", 8<<20) + `"}`
		for {
			if _, err := fmt.Println(`{"type":"intercept","call":1,"interceptor":0,"context":` + context + `}`); err != nil {
				return err
			}
		}
	case "deaf": // as flood, but it never reads the answers
		for range 2 {
			read()
			say(surface)
		}
		read()
		say(`{"type":"ready"}`)
		read()
		for {
			if _, err := fmt.Println(`{"type":"intercept","call":1,"interceptor":0,"context":{}}`); err != nil {
				return err
			}
		}
	default: // the lines themselves, one answer per message
		read()
		say(surface)
		for line := range strings.SplitSeq(how, "\n") {
			read()
			say(line)
		}
		read()
	}
	return nil
}

// process runs this binary as a host.
func process(t testing.TB, how string) *ctk.ProcessHost {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	grace := time.Minute // it ends by itself
	switch how {
	case "silent", "hang", "endless", "flood", "vast", "deaf":
		grace = 100 * time.Millisecond
	}
	h, err := ctk.Process(ctk.ProcessOptions{Command: []string{exe}, Env: append(os.Environ(), hostile+"="+how), Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}
