// Command stub is what one writes in an afternoon in place of a decision: it decodes
// a request with encoding/json, looks for a text in the command, and answers. It
// checks nothing, knows no shell and remembers no answer. It serves stdin and stdout,
// or with -http a TCP address, which is then the first line on stdout.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "stub:", err)
		os.Exit(1)
	}
}

func run() error {
	overHTTP := flag.Bool("http", false, "serve a TCP address")
	flag.Parse()
	if *overHTTP {
		return serve()
	}
	runtime.GOMAXPROCS(1) // as ours does
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := decide(line)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(append(out, '\n')); err != nil {
			return err
		}
	}
}

func serve() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() { // the parent's end of the pipe is the life line
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		out, err := decide(body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out) // a peer that is gone needs no answer
	}))
}

func decide(frame []byte) ([]byte, error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		return nil, err
	}
	var params any
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return nil, err
	}
	effects := []any{}
	if strings.Contains(command(params), "push --force") {
		effects = append(effects, map[string]any{
			"type": "deny", "code": "com.example.no_force_push", "reason": "Force pushes rewrite what others have. Push to a new branch.",
		})
	}
	return json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": m.ID,
		"result": map[string]any{"protocolVersion": "0.1", "effects": effects},
	})
}

func command(v any) string {
	for _, name := range []string{"event", "tool", "input", "command"} {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}
