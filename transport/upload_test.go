package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/transport"
)

// TestAPeerThatHangsUpOnALargeEvent shows that an event which the peer did not take
// whole is never an outage: whether the 413 that explains it arrives is a race.
func TestAPeerThatHangsUpOnALargeEvent(t *testing.T) {
	tests := []struct {
		name  string
		bytes int
		hold  bool // take the whole event before hanging up
		want  ahp.FailureClass
	}{
		{"large, cut off", 16 << 20, false, ahp.FailEvent},
		{"small, taken and lost", 1 << 10, true, ahp.FailConnection},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					req, err := http.ReadRequest(bufio.NewReader(conn))
					if err == nil && tt.hold {
						_, _ = new(bytes.Buffer).ReadFrom(req.Body)
					}
					_ = conn.(*net.TCPConn).SetLinger(0) // a reset, so that nothing said before is seen
					conn.Close()
				}
			}()
			defer func() { ln.Close(); <-served }()
			c, err := transport.New(&ahp.Backend{ID: "net.acme.x", Transport: &ahp.HTTPTransport{URL: "http://" + ln.Addr().String()}}, transport.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			f := c.Ask(ctx, &transport.Exchange{
				ID: "e", Frame: bytes.Repeat([]byte("x"), tt.bytes),
				Accept: func([]byte) *ahp.Failure { t.Error("an answer"); return nil },
			})
			if f == nil || f.Class != tt.want {
				t.Errorf("got %v, want class %s", f, tt.want)
			}
		})
	}
}
