// Command decide is a backend that decodes, computes facts, applies rules and
// answers, and does nothing else: no record is kept. With -identity it computes
// the identity of each operation as well, and with -draft it speaks revision draft
// beside 0.1. It serves stdin and stdout, or with -http a TCP address, which is
// then the first line on stdout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/settle"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "decide:", err)
		os.Exit(1)
	}
}

func run() error {
	policy := flag.String("policy", "", "policy `folder`")
	identity := flag.Bool("identity", false, "compute the identity of each operation")
	overHTTP := flag.Bool("http", false, "serve a TCP address")
	draft := flag.Bool("draft", false, "speak revision draft as well")
	flag.Parse()

	d, err := gateway.NewDecider(gateway.PolicySource{Dir: *policy, Home: "/home/dev"})
	if err != nil {
		return err
	}
	h := gateway.PolicyHandler(d)
	if *identity {
		rules := h
		h = backend.HandlerFunc(func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
			if settle.Identity(r.Event) == "" {
				return nil, errors.New("an event without an identity")
			}
			return rules.Intercept(ctx, r)
		})
	}
	o := backend.Options{Prompt: true}
	if *draft {
		o.Versions = gateway.Revisions()
	}
	s, err := backend.New(h, o)
	if err != nil {
		return err
	}
	if !*overHTTP {
		runtime.GOMAXPROCS(1) // as holdpoint backend does
		return backend.StdioMain(context.Background(), s)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() { // the parent's end of the pipe is the life line
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(ln, s)
}
