package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/uri"
)

const (
	mediaType        = "application/json"
	maxHeaderBytes   = 64 << 10
	maxIdlePerServer = 32
	idleTimeout      = 90 * time.Second
	dialTimeout      = 30 * time.Second
)

// httpCarrier posts each frame (AHP-HTTP-001). It uses the round tripper itself:
// nothing follows redirects (V-HTTP-5) or keeps cookies.
type httpCarrier struct {
	url   *url.URL
	token func(context.Context) (string, *ahp.Failure) // nil when messages go without one
	rt    http.RoundTripper
	own   *http.Transport // rt, unless that is the caller's
	draft bool
	max   int
	plain http.Header // headers of a request without a token; shared, never written

	mu     sync.Mutex
	closed bool
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	conns  map[*trackedConn]struct{}
}

func newHTTP(b *ahp.Backend, t *ahp.HTTPTransport, o Options) (*httpCarrier, error) {
	u, err := CheckURL(t.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.ID, err)
	}
	c := &httpCarrier{
		url: u, draft: o.Revision == ahp.VersionDraft, max: o.MaxAnswerBytes,
		plain: http.Header{
			"Content-Type": {mediaType},
			"Accept":       {mediaType},
			"User-Agent":   {"holdpoint"},
		},
	}
	c.token = c.bearer(b.Auth, o)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.conns = map[*trackedConn]struct{}{}
	if o.RoundTripper != nil {
		c.rt = o.RoundTripper
		return c, nil
	}
	// The library goes on dialling for a question that has ended; the timeouts
	// bound that, and Close ends it.
	dialer := &net.Dialer{Timeout: dialTimeout}
	if u.Scheme == "http" {
		dialer.ControlContext = onlyLoopback
	}
	c.own = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.dial(ctx, dialer, network, address)
		},
		TLSHandshakeTimeout:    dialTimeout,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		DisableCompression:     true, // the bound is on what arrives
		MaxIdleConns:           maxIdlePerServer,
		MaxIdleConnsPerHost:    maxIdlePerServer,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if o.Proxy != nil {
		c.own.Proxy = http.ProxyURL(o.Proxy)
		dialer.ControlContext = nil // the proxy decides where it connects
	}
	c.rt = c.own
	return c, nil
}

// trackedConn is a connection that Close can end.
type trackedConn struct {
	net.Conn
	c *httpCarrier
}

func (t *trackedConn) Close() error {
	t.c.mu.Lock()
	delete(t.c.conns, t)
	t.c.mu.Unlock()
	return t.Conn.Close()
}

func (c *httpCarrier) dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	t := &trackedConn{Conn: conn, c: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return nil, errClosed
	}
	c.conns[t] = struct{}{}
	return t, nil
}

// CheckURL reads the URL of an HTTP backend as a registration does: absolute, https, or
// http on loopback only (V-TLS-1, V-TLS-2, D-HTTP-7), without user information, which
// would be a literal credential (V-REG-3, D-REG-5). Its errors begin with "url: " and do
// not quote the URL.
func CheckURL(s string) (*url.URL, error) {
	u, found, expected := uri.Endpoint(s, false, "a token comes from authentication.tokenEnv")
	if found != "" {
		return nil, errors.New("url: found " + found + ", expected " + expected)
	}
	return u, nil
}

// onlyLoopback refuses to connect anywhere else, so that a name server cannot
// move "localhost" and the plain text with it.
func onlyLoopback(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().Unmap().IsLoopback() {
		return errNotLoopback
	}
	return nil
}

var (
	errNotLoopback = errors.New("the name led to an address that is not loopback")
	errMediaType   = errors.New("the media type is not plain application/json")
	errTooLong     = errors.New("the answer exceeds the size limit")
	errStatus      = errors.New("the status is not a success")
)

func (c *httpCarrier) Ask(ctx context.Context, x *Exchange) *ahp.Failure {
	resp, done, f := c.post(ctx, x.Frame)
	if f != nil {
		return f
	}
	defer done()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK { // V-HTTP-2, V-HTTP-4
		return c.statusFailure(resp.StatusCode)
	}
	if !plainJSON(resp.Header) {
		return &ahp.Failure{Class: ahp.FailMalformed, Err: errMediaType}
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if resp.ContentLength > int64(c.max) {
		return &ahp.Failure{Class: ahp.FailMalformed, Err: errTooLong}
	}
	if _, err := buf.ReadFrom(io.LimitReader(resp.Body, int64(c.max)+1)); err != nil {
		return c.failed(ctx, err)
	}
	if buf.Len() > c.max {
		return &ahp.Failure{Class: ahp.FailMalformed, Err: errTooLong}
	}
	if ctx.Err() != nil {
		return late(ctx)
	}
	return x.Accept(buf.Bytes())
}

// plainJSON reports whether a body is declared as JSON, once and as it is: two
// types, or an encoding that nobody asked for, can be read in two ways. A charset
// parameter does no harm (V-HTTP-1).
func plainJSON(h http.Header) bool {
	if e := h.Values("Content-Encoding"); len(e) > 1 || len(e) == 1 && !strings.EqualFold(e[0], "identity") {
		return false
	}
	ct := h.Values("Content-Type")
	if len(ct) != 1 {
		return false
	}
	if ct[0] == mediaType {
		return true
	}
	mt, _, err := mime.ParseMediaType(ct[0])
	return err == nil && mt == mediaType
}

func (c *httpCarrier) Tell(ctx context.Context, frame []byte) *ahp.Failure {
	resp, done, f := c.post(ctx, frame)
	if f != nil {
		return f
	}
	defer done()
	defer resp.Body.Close()
	// 200 is no acceptance of a notification (V-AMB-5).
	if resp.StatusCode != http.StatusAccepted && resp.StatusCode != http.StatusNoContent {
		return c.statusFailure(resp.StatusCode)
	}
	// Drained, so that the connection can be used again; the bound is on what a
	// peer can make us read for nothing.
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	return nil
}

// statusFailure is the failure of a status. 413 is the one that the event itself
// causes: an event that was padded past a backend's limit must not get through
// where the policy is fail-open.
func (c *httpCarrier) statusFailure(status int) *ahp.Failure {
	if c.draft && status == http.StatusUnauthorized {
		return &ahp.Failure{Class: ahp.FailAuth, Code: status, Err: errStatus} // D-FC-4
	}
	if status == http.StatusRequestEntityTooLarge {
		return &ahp.Failure{Class: ahp.FailEvent, Code: status, Err: errStatus}
	}
	return &ahp.Failure{Class: ahp.FailHTTPStatus, Code: status, Err: errStatus}
}

// post sends one frame. When it returns no failure the caller closes the body
// and then calls done.
func (c *httpCarrier) post(ctx context.Context, frame []byte) (*http.Response, func(), *ahp.Failure) {
	header := c.plain
	if c.token != nil {
		// Resolved now, so that a rotated token is used at once, and before anything
		// is sent: there is no way on without it (V-AUTH-1, V-AMB-14, D-AUTH-5).
		token, f := c.token(ctx)
		if f != nil {
			return nil, nil, f
		}
		header = c.plain.Clone()
		header.Set("Authorization", "Bearer "+token)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, nil, &ahp.Failure{Class: ahp.FailShutdown, Err: errClosed}
	}
	c.wg.Add(1)
	c.mu.Unlock()
	done := c.wg.Done
	if c.own == nil { // Close cannot end its connections, but it can end the exchange
		inner, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(c.ctx, cancel)
		ctx, done = inner, func() { stop(); cancel(); c.wg.Done() }
	}

	var sent atomic.Int64
	body := func() io.ReadCloser {
		sent.Store(0)
		return &upload{Reader: bytes.NewReader(frame), sent: &sent}
	}
	req := (&http.Request{
		Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(frame)),
		Body:          body(),
		GetBody:       func() (io.ReadCloser, error) { return body(), nil },
	}).WithContext(ctx)
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		f := c.failed(ctx, err)
		done()
		if n := sent.Load(); f.Class == ahp.FailConnection && n > 0 && n < int64(len(frame)) {
			// The peer hung up on an event that it did not take whole. A status that
			// says so (413) may be lost with the connection, so this is the event's
			// doing too, and padding must not get through where the policy is fail-open.
			f.Class = ahp.FailEvent
		}
		return nil, nil, f
	}
	return resp, done, nil
}

// An upload is a request body that counts what was taken of it.
type upload struct {
	*bytes.Reader
	sent *atomic.Int64
}

// Read counts what it gives.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	u.sent.Add(int64(n))
	return n, err
}

// WriteTo would pass the count by.
func (u *upload) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{u})
}

// Close has nothing to close.
func (u *upload) Close() error { return nil }

// failed classes an error of the HTTP library. Its text may quote what the peer
// sent, so only texts of our own and of the operating system go on.
func (c *httpCarrier) failed(ctx context.Context, err error) *ahp.Failure {
	if c.own == nil && c.ctx.Err() != nil {
		return shut() // ctx may have ended because we closed
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if c.ctx.Err() != nil {
		return shut()
	}
	var (
		errno  syscall.Errno
		dns    *net.DNSError
		cert   *tls.CertificateVerificationError
		auth   x509.UnknownAuthorityError
		alert  tls.AlertError
		rec    tls.RecordHeaderError
		netErr net.Error
	)
	text := "not an HTTP answer"
	class := ahp.FailMalformed
	is := func(t string) { text, class = t, ahp.FailConnection }
	switch {
	case errors.As(err, &errno):
		is(errno.Error())
	case errors.As(err, &dns):
		is("the host name was not found")
	case errors.As(err, &cert), errors.As(err, &auth):
		is("the server's certificate is not trusted")
	case errors.As(err, &alert), errors.As(err, &rec):
		is("the TLS handshake failed")
	case errors.Is(err, errNotLoopback):
		is(errNotLoopback.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		is("the connection ended early")
	case errors.As(err, &netErr):
		is("the connection failed")
	}
	return &ahp.Failure{Class: class, Err: errors.New(text)}
}

// Close ends the connections and waits for the exchanges under way.
func (c *httpCarrier) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	conns := make([]*trackedConn, 0, len(c.conns))
	for t := range c.conns {
		conns = append(conns, t)
	}
	c.mu.Unlock()
	c.cancel()
	for _, t := range conns {
		_ = t.Close() // the exchange on it learns of it and answers
	}
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	err := waitGroup(ctx, &c.wg, "an HTTP exchange did not end")
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return err
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// putBuffer keeps buffers of common size only: one huge answer must not stay.
func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= 64<<10 {
		b.Reset()
		buffers.Put(b)
	}
}
