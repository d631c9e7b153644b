package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// sample is a pre_tool_call context of about n bytes: a mail with a body.
func sample(n int) []byte {
	const body = `{"spec":"agent-hooks/0.1","interception_point":"pre_tool_call","timestamp":"2026-06-19T14:03:11.123Z",` +
		`"sequence":7,"agent":{"id":"mail-agent","framework":"interop"},"session":{"id":"s-1"},` +
		`"tool_call":{"id":"tc-1","name":"send_mail","args":ARGS},"target":ARGS}`
	const args = `{"to":"a@example.com","priority":3,"ratio":0.25,"tags":["x","y"],"body":"TEXT"}`
	room := (n - len(body) - 2*len(args)) / 2
	text := strings.Repeat("The quick brown fox. ", room/21+1)[:max(room, 1)]
	return []byte(strings.ReplaceAll(body, "ARGS", strings.Replace(args, "TEXT", text, 1)))
}

// measure returns nanoseconds per emission, the best of many short runs, as
// bench.py does it.
func measure(ctx context.Context, text []byte, seconds float64) (float64, error) {
	h, err := agenthooks.New(agenthooks.Options{
		AgentID: "mail-agent", Framework: "interop", MaxRecords: 16,
		Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(
			func(context.Context, *agenthooks.Context) (agenthooks.Verdict, error) { return agenthooks.Allow(), nil })}},
	})
	if err != nil {
		return 0, err
	}
	best := time.Hour
	const batch = 100
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
		start := time.Now()
		for range batch {
			if _, err := h.EmitJSON(ctx, text); err != nil {
				return 0, fmt.Errorf("emission: %w", err)
			}
		}
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / batch, nil
}
