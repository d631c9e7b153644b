// Command backend is a whole AHP backend of both revisions: it guards the files
// named in its arguments. Where the harness can ask somebody (revision draft), a call
// that touches one needs an approval; where it cannot, the call is refused. A harness
// starts it and speaks over its stdin and stdout.
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
		if r.Event.Type != ahp.ToolBefore || r.Event.Tool.Kind == ahp.KindFileRead {
			return nil, nil
		}
		e := r.Effects()
		for _, name := range frozen {
			switch {
			case !strings.Contains(string(r.Event.Tool.Input), name):
			case r.Capabilities.Allows(ahp.EffectAsk) && r.Capabilities.Allows(ahp.EffectMessage):
				e.Ask()
				e.Notify(name + " is generated: what is changed there will be lost.")
			default:
				e.Deny(name+" is generated: change its source instead.", "com.example.frozen")
				return e.List()
			}
		}
		return e.List() // an error if one of them was not offered
	}
	s, err := backend.New(backend.HandlerFunc(guard), backend.Options{
		Versions: []ahp.Version{ahp.Version01, ahp.VersionDraft},
	})
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
