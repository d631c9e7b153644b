package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

var httpFaults = []string{
	"status500", "status404", "status401", "status413", "status201", "status202",
	"status204", "redirect", "textplain", "nomediatype", "charset", "closemid",
	"reset", "rawgarbage", "slowheader", "hungaccept", "chunkedtrickle", "hugeheader",
	"gzip", "badlength", "observe200",
}

func serveHTTP(o options) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fatal(err)
	}
	fmt.Println("http://" + ln.Addr().String() + "/hook")
	if o.fault == "hungaccept" { // connections are made by the kernel, nobody takes them
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(o, w, r) })}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fatal(srv.Serve(ln))
}

func handle(o options, w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	if o.log != "" {
		o.note([]byte(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header, raw)), m)
	}
	if m.ID == nil {
		switch o.fault {
		case "observehang":
			<-r.Context().Done()
		case "observe200":
			w.WriteHeader(http.StatusOK)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
		return
	}
	s, whole := body(o, *m.ID)
	w.Header().Set("Content-Type", "application/json")
	if whole {
		io.WriteString(w, s)
		return
	}
	flush := func() { _ = http.NewResponseController(w).Flush() }
	raw1 := func(text string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			fatal(err)
		}
		io.WriteString(conn, text)
		conn.Close()
	}
	switch o.fault {
	case "hung":
		<-r.Context().Done()
	case "slow", "late", "slowheader":
		time.Sleep(o.delay)
		io.WriteString(w, s)
	case "exit":
		os.Exit(o.exit)
	case "trickle", "chunkedtrickle":
		for i := range len(s) {
			io.WriteString(w, s[i:i+1])
			flush()
			time.Sleep(o.delay)
		}
	case "endless":
		for {
			if _, err := io.WriteString(w, strings.Repeat(Marker, 100)); err != nil {
				return
			}
		}
	case "status500", "status404", "status401", "status413", "status201", "status202", "status204":
		var code int
		fmt.Sscanf(o.fault, "status%d", &code)
		w.WriteHeader(code)
		if code != http.StatusNoContent {
			io.WriteString(w, s+Marker)
		}
	case "redirect":
		http.Redirect(w, r, "/"+Marker, http.StatusTemporaryRedirect)
	case "textplain":
		w.Header().Set("Content-Type", "text/plain; x="+Marker)
		io.WriteString(w, s)
	case "nomediatype":
		w.Header()["Content-Type"] = nil
		io.WriteString(w, s)
	case "charset":
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, s)
	case "closemid":
		raw1("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n" + s + Marker)
	case "badlength":
		raw1("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + Marker + "\r\n\r\n" + s)
	case "reset":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			fatal(err)
		}
		if t, ok := conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		conn.Close()
	case "rawgarbage":
		raw1(Marker + " is not HTTP\r\n\r\n")
	case "hugeheader":
		w.Header().Set("X-Padding", strings.Repeat("x", 1<<20))
		io.WriteString(w, s)
	case "gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, s)
		z.Close()
	default:
		io.WriteString(w, s)
	}
}
