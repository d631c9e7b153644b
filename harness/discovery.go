package harness

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// maxDiscovery bounds one request for the manifest.
const maxDiscovery = 64 << 10

// Discovery answers hooks/capabilities with a host's manifest, and nothing else (AHP
// draft section 20, D-AMB-9). It needs no session, no model and no harness, and its
// methods may be called concurrently.
type Discovery struct {
	manifest *ahp.Manifest
	allow    func(*http.Request) bool
}

// NewDiscovery checks the manifest, which must not change any more. allow is the
// transport authentication of the HTTP endpoint: it is asked before anything of a
// request is read, and may be nil where the endpoint is open on purpose (D-DISC-3).
func NewDiscovery(m *ahp.Manifest, allow func(*http.Request) bool) (*Discovery, error) {
	if errs := checkManifest(m); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Discovery{manifest: m, allow: allow}, nil
}

// Answer appends the answer to one message to dst: nothing for a notification, an
// error for anything but hooks/capabilities.
func (d *Discovery) Answer(dst, message []byte) []byte {
	m, werr := wiredraft.DecodeRequest(message, wiredraft.Limits{MaxBytes: maxDiscovery})
	if werr != nil {
		if werr.Notification {
			return dst
		}
		return appendError(dst, werr.ID, werr.Code, "the request is not acceptable", werr.Code == ahp.CodeUnsupportedVersion)
	}
	switch {
	case m.Kind == wiredraft.Notification:
		return dst
	case m.Method != ahp.MethodCapabilities:
		return appendError(dst, m.ID, ahp.CodeMethodNotFound, "this endpoint answers hooks/capabilities only", false)
	}
	b, err := wiredraft.AppendCapabilitiesResult(dst, m.ID, d.manifest)
	if err != nil {
		return appendError(dst, m.ID, ahp.CodeInternal, "the manifest cannot be sent", false)
	}
	return b
}

func appendError(dst []byte, id ahp.Raw, code ahp.ErrorCode, message string, versions bool) []byte {
	var data ahp.Raw
	if versions {
		data = ahp.Raw(`{"supported":["draft"]}`) // D-VER-2
	}
	b, err := wiredraft.AppendError(dst, id, code, message, data)
	if err != nil {
		b, _ = wiredraft.AppendError(dst, nil, ahp.CodeInternal, "internal error", nil)
	}
	return b
}

// ServeHTTP answers one POST.
func (d *Discovery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case d.allow != nil && !d.allow(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case !jsonBody(r):
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDiscovery))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	} else if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	out := d.Answer(nil, b)
	if len(out) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // whoever asked has left
}

func jsonBody(r *http.Request) bool {
	ct := r.Header.Get("Content-Type")
	mt, _, _ := strings.Cut(ct, ";")
	return strings.EqualFold(strings.TrimSpace(mt), "application/json")
}

// ServeStdio answers lines of in on out until in ends (D-IO-8). A line over the bound
// ends it with an error. ctx is looked at between lines: who wants to end a blocked
// read closes in.
func (d *Discovery) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4<<10), maxDiscovery)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := d.Answer(nil, lines.Bytes())
		if len(b) == 0 {
			continue
		}
		if _, err := out.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}
