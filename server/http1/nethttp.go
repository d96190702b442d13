package http1

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
)

// maxHead bounds the request line and headers that net/http reads.
const maxHead = 64 << 10

// newNetHTTPServer makes the net/http server of the connections that are handed over.
func newNetHTTPServer(c *core) *http.Server {
	return &http.Server{
		Handler: &framingChecker{&adapter{c}}, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: headTimeout,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			return context.WithValue(ctx, netHTTPConnKey{}, nc)
		},
		ConnState: func(nc net.Conn, state http.ConnState) {
			switch m := nc.(*netHTTPConn); state {
			case http.StateIdle:
				m.session.markIdle()
			case http.StateActive:
				m.session.markActive()
			}
		},
	}
}

// NewHTTPHandler returns h as an http.Handler, for servers of net/http. Of the options it uses
// Log and MinRate.
func NewHTTPHandler(h Handler, o Options) http.Handler { return &adapter{newCore(h, o)} }

// adapter carries exchanges over net/http.
type adapter struct{ core *core }

func (a *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.serve(w, r) {
		panic(http.ErrAbortHandler) // net/http ends the connection
	}
}

// serve lets the handler answer a request and reports whether the reply is complete.
func (a *adapter) serve(w http.ResponseWriter, r *http.Request) (complete bool) {
	defer func() {
		if p := recover(); p != nil {
			a.core.panicked(p)
			complete = false
		}
	}()
	if text := contradiction(r.Header); text != "" {
		refuseAmbiguous(w, text)
		return true
	}
	x := a.core.get()
	x.netHTTP = netHTTPExchange{
		w: w, control: http.NewResponseController(w), request: r, conn: netHTTPConnOf(r), pace: a.core.pace,
	}
	x.netHTTP.renewWriteDeadline() // of 100 Continue
	x.Context, x.Method, x.Path, x.Query, x.Length, x.Body = r.Context(), r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.ContentLength, &x.netHTTP
	if v := r.Header["Inference-Header-Content-Length"]; len(v) > 0 {
		x.Header.JSONLength, x.Header.HasJSONLength = v[0], true
	}
	if v := r.Header["Content-Encoding"]; len(v) > 0 {
		x.Header.ContentEncoding = v[0]
	}
	if v := r.Header["Accept-Encoding"]; len(v) > 0 {
		x.Header.AcceptEncoding = v[0]
	}
	a.core.handler.Serve(x)
	complete = x.complete
	a.core.put(x)
	return complete
}

// framingChecker refuses requests whose framing is ambiguous, and sends "Connection: close" while
// the server drains.
type framingChecker struct{ http.Handler }

const ambiguousText = `{"error":"the request has Content-Length and Transfer-Encoding, so that its end is ambiguous; send one of them"}`

func (h *framingChecker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := netHTTPConnOf(r)
	m.session.markActive() // net/http has not called ConnState for a request that it had read already
	m.session.use.Begin()
	defer m.session.use.End()
	if m.validFraming() {
		if m.session.leaving() {
			w.Header().Set("Connection", "close")
		}
		if r.Method == http.MethodOptions && r.RequestURI == "*" {
			w.Header().Set("Content-Length", "0")
			return
		}
		h.Handler.ServeHTTP(w, r)
		return
	}
	refuseAmbiguous(w, ambiguousText)
}

// refuseAmbiguous answers a request that different readers would read differently.
func refuseAmbiguous(w http.ResponseWriter, text string) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Type", JSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Header()["Date"] = nil
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, text)
}

// contradiction returns the refusal of a request that describes its body twice in different ways;
// empty: it does not.
func contradiction(h http.Header) string {
	for _, name := range []string{"Inference-Header-Content-Length", "Content-Encoding"} {
		if v := h[name]; len(v) > 1 && slices.ContainsFunc(v, func(other string) bool { return other != v[0] }) {
			return `{"error":"the request has more than one ` + name + `, with different values; send one of them"}`
		}
	}
	return ""
}
