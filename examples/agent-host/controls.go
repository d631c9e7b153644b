package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/transport"
)

func server(handle backend.HandlerFunc, observe func(context.Context, *backend.Request)) *backend.Server {
	s, err := backend.New(handle, backend.Options{Versions: []ahp.Version{ahp.VersionDraft}, Observe: observe})
	if err != nil {
		panic(err) // the options are wrong
	}
	return s
}

// rewriter is in the host's own process. It puts notes below safe/, and answers
// questions for help by itself.
func rewriter() transport.Local {
	return server(func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		in, err := backend.Input[Args](r)
		if err != nil {
			return nil, err
		}
		e := r.Effects()
		switch {
		case r.Event.Tool.Name == "read_note" && in.Path == "help":
			e.Return("notes live below safe/")
		case !strings.HasPrefix(in.Path, "safe/"):
			e.MergeInput(map[string]string{"path": "safe/" + in.Path})
			e.Notify("the note is below safe/ now")
		}
		return e.List()
	}, nil).Local
}

// approver is a program of its own. It sees what the rewriter left: names below safe/.
func approver(ctx context.Context) error {
	return backend.StdioMain(ctx, server(func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		in, err := backend.Input[Args](r)
		if err != nil {
			return nil, err
		}
		e := r.Effects()
		switch {
		case strings.HasSuffix(in.Path, "/frozen.md"):
			e.Deny("This note is frozen.", "com.example.frozen")
		case r.Event.Tool.Name == "delete_note":
			e.Ask()
		}
		return e.List()
	}, nil))
}

// startAuditor serves on a free port of this machine until stop.
func startAuditor(ctx context.Context, out io.Writer) (url string, stop func() error, err error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := server(func(context.Context, *backend.Request) ([]ahp.Effect, error) { return nil, nil },
		func(_ context.Context, r *backend.Request) {
			result := ""
			if b, ok := r.Event.Body.(*ahp.ToolAfterBody); ok {
				result = " " + string(b.Outcome)
			}
			fmt.Fprintf(out, "  audit: %s %s %s%s\n", r.Event.Type, r.Event.Tool.Name, r.Event.Tool.Input, result)
		})
	web := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- web.Serve(ln) }()
	return "http://" + ln.Addr().String(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err := web.Shutdown(ctx)
		if serving := <-done; !errors.Is(serving, http.ErrServerClosed) {
			err = errors.Join(err, serving)
		}
		return err
	}, nil
}
