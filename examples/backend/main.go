// Command backend is a whole AHP 0.1 backend: it refuses to touch files named
// in its arguments. A harness starts it and speaks over its stdin and stdout.
//
//	go run ./examples/backend go.sum
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

func main() {
	frozen := os.Args[1:]
	guard := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		for _, name := range frozen {
			if r.Event.Tool.Kind != ahp.KindFileRead && strings.Contains(string(r.Event.Tool.Input), name) {
				return []ahp.Effect{&ahp.Deny{Reason: name + " is generated: change its source instead.", Code: "com.example.frozen"}}, nil
			}
		}
		return nil, nil
	}
	s, err := backend.New(backend.HandlerFunc(guard), backend.Options{})
	if err != nil {
		panic(err) // the options are wrong
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := backend.StdioMain(ctx, s); err != nil {
		log.Println(err)
		os.Exit(1)
	}
}
