package backend

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/deep"
)

// ServeHTTP answers one message for each POST (AHP 0.1 section 12). A request
// gets status 200 with an answer, errors included (V-AMB-6); an observation gets
// 204 without a body, 400 if it is not valid, 503 if there is no room. Before
// that, 405 is for other methods, 401 for a missing or wrong credential, 403 for a
// principal that [Options.Authorize] does not let in, 415 for a media type other than
// application/json, 413 for a body over the limit. With 405 and 415 the body says what
// to send instead. It is JSON (V-HTTP-1) and no message of the protocol, because what
// came may have been an observation, which gets none (V-ERR-3). Other errors have none.
//
// Time limits for reading the body are the business of the [http.Server].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	principal := principalOf(r.Context())
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		s.turnAway(w, principal, http.StatusMethodNotAllowed)
		return
	}
	if s.opts.Authenticate != nil {
		var ok bool
		if principal, ok = s.opts.Authenticate(r); !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.turnAway(w, principal, http.StatusUnauthorized)
			return
		}
	}
	if s.opts.Authorize != nil && !s.opts.Authorize(r, principal) {
		s.turnAway(w, principal, http.StatusForbidden)
		return
	}
	if !jsonType(r.Header) {
		s.turnAway(w, principal, http.StatusUnsupportedMediaType)
		return
	}
	if s.opts.Prompt {
		deep.Stack() // the collector takes some of it from each idle connection
	}
	buf := bodies.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keptBody {
			bodies.Put(buf)
		}
	}()
	body, err := s.body((*buf)[:0], w, r)
	*buf = body
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		s.rejected(principal, ahp.CodeInvalidRequest, false)
		status(w, http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		s.turnAway(w, principal, http.StatusBadRequest)
		return
	}
	n := len(body)
	out, o := s.answer(r.Context(), body, body, principal)
	*buf = out
	switch o {
	case answered:
		w.Header()["Content-Type"] = jsonHeader
		if len(out)-n > ownLength {
			w.Header().Set("Content-Length", strconv.Itoa(len(out)-n))
		}
		_, _ = w.Write(out[n:]) // a peer that is gone needs no answer
	case accepted:
		status(w, http.StatusNoContent)
	case refused:
		status(w, http.StatusBadRequest)
	case dropped:
		status(w, http.StatusServiceUnavailable)
	case gone:
		status(w, http.StatusServiceUnavailable) // nobody reads it
	}
}

var _ http.Handler = (*Server)(nil)

var (
	jsonHeader = []string{"application/json"}
	bodies     = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}
)

// ownLength is up to where [http.Server] counts an answer itself, for less.
const ownLength = 2 << 10

// keptBody is the largest buffer that is kept for the next request.
const keptBody = 64 << 10

// advice is what a request that cannot hold a message is told, by status. Nothing of
// the request is in it.
var advice = map[int]string{
	http.StatusMethodNotAllowed:     `{"error":"use POST, with one message as the body"}` + "\n",
	http.StatusUnsupportedMediaType: `{"error":"the body must be application/json, without a Content-Encoding"}` + "\n",
}

// turnAway refuses a request from which no message was read.
func (s *Server) turnAway(w http.ResponseWriter, principal string, code int) {
	if s.opts.Rejected != nil {
		s.opts.Rejected(Rejection{Principal: principal, Status: code})
	}
	text, ok := advice[code]
	if !ok {
		status(w, code)
		return
	}
	w.Header()["Content-Type"] = jsonHeader
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text) // a peer that is gone needs none
}

func status(w http.ResponseWriter, code int) {
	if code != http.StatusNoContent {
		w.Header().Set("Content-Length", "0")
	}
	w.WriteHeader(code)
}

// jsonType reports whether the body is declared as plain JSON.
func jsonType(h http.Header) bool {
	if e := h.Values("Content-Encoding"); len(e) > 1 || len(e) == 1 && !strings.EqualFold(e[0], "identity") {
		return false
	}
	t := h.Values("Content-Type")
	if len(t) != 1 {
		return false
	}
	if t[0] == jsonHeader[0] {
		return true
	}
	mt, _, err := mime.ParseMediaType(t[0])
	return err == nil && mt == jsonHeader[0]
}

// body reads the whole body behind buf.
func (s *Server) body(buf []byte, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limit := int64(s.opts.Limits.MaxBytes)
	if r.ContentLength > limit {
		return buf, &http.MaxBytesError{Limit: limit}
	}
	if n := r.ContentLength; n >= 0 && n <= keptBody {
		// The HTTP server lets no more than that through, so that no other bound is
		// due. Memory for a long body comes as the body does, not as it is announced.
		buf = slices.Grow(buf, int(n))[:n]
		got, err := io.ReadFull(r.Body, buf)
		return buf[:got], err
	}
	in := http.MaxBytesReader(w, r.Body, limit)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}
