// Command host is a small agent host that asks its controls before it runs a
// tool. The controls come from a registration file:
//
//	go run ./examples/host examples/host/hooks.json edit go.sum
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/harness"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: host REGISTRATION TOOL FILE")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file, tool, path string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	reg, warnings, err := wire01.ParseRegistration(file, data, wire01.RegOptions{LookupEnv: os.LookupEnv})
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, w)
	}
	h, err := harness.New(reg, harness.Options{
		Source:       "urn:example:host",
		Capabilities: ahp.DenyOnly(),
		Recorder:     harness.Discard, // a real host keeps its records
		Logger:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer func() { _ = h.Close(ctx) }() // what it lost is in its log

	input, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return err
	}
	call := h.Begin(ctx, &ahp.Event{
		Type:    ahp.ToolBefore,
		Session: ahp.Session{ID: "example"},
		Tool:    &ahp.Tool{CallID: "call-1", Name: tool, Kind: ahp.KindFileEdit, Input: input},
	})
	s, err := call.Settle()
	if err != nil {
		return err
	}
	if s.Proceeds() {
		// Nobody objected. That grants nothing: the host's own permissions come now.
		fmt.Println("no control objects to", tool, path)
	} else {
		fmt.Println("refused:", s.Reason)
	}
	return call.Wait(ctx)
}
