package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
)

// Standard serves an http.Handler with net/http's own connection loop. It ends as
// Server does, and refuses requests whose framing is ambiguous.
type Standard struct {
	http *http.Server
	end  *ending
}

// NewStandard makes the server. Of the options it looks at Log and Linger.
func NewStandard(h http.Handler, o Options) *Standard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return newStandard(h, o.Log, newEnding(o.Linger))
}

func newStandard(h http.Handler, log *slog.Logger, end *ending) *Standard {
	return &Standard{end: end, http: &http.Server{
		Handler: &vetted{h}, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: headTimeout,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			return context.WithValue(ctx, movedKey{}, nc)
		},
		ConnState: func(nc net.Conn, state http.ConnState) {
			switch m := nc.(*movedConn); state {
			case http.StateIdle:
				m.session.rest()
			case http.StateActive:
				m.session.work()
			}
		},
	}}
}

// Serve accepts connections until Drain, Shutdown or Close and then returns
// http.ErrServerClosed.
func (s *Standard) Serve(l net.Listener) error {
	if !s.end.accept(l) {
		return http.ErrServerClosed
	}
	defer s.end.accepted()
	err := s.http.Serve(&sessions{l, s.end})
	if s.end.draining() {
		return http.ErrServerClosed
	}
	return err
}

// Connections is the number of open connections.
func (s *Standard) Connections() int64 { return s.end.open() }

// Drain is as Server's.
func (s *Standard) Drain(ctx context.Context) error { return s.end.drain(ctx) }

// Shutdown is as Server's.
func (s *Standard) Shutdown(ctx context.Context) error {
	if err := s.end.finish(ctx); err != nil {
		return err
	}
	return s.http.Shutdown(ctx)
}

// Close ends everything at once.
func (s *Standard) Close() error {
	s.end.cut()
	return s.http.Close()
}

// sessions is a listener whose connections have sessions.
type sessions struct {
	net.Listener
	end *ending
}

func (l *sessions) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	at := l.end.add(nc, 0)
	if at == nil {
		return nil, errors.Join(net.ErrClosed, nc.Close())
	}
	at.rest()
	return &movedConn{Conn: nc, session: at}, nil
}

// vetted is a handler that gets no request whose framing is ambiguous, and that
// asks to close while the server drains.
type vetted struct{ http.Handler }

const ambiguousText = `{"error":"the request has Content-Length and Transfer-Encoding, so that its end is ambiguous; send one of them"}`

func (h *vetted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := movedFrom(r)
	m.session.work() // net/http has not said so of a request that it had read already
	if m.vet() {
		if m.session.ends() {
			w.Header().Set("Connection", "close")
		}
		if r.Method == http.MethodOptions && r.RequestURI == "*" {
			w.Header().Set("Content-Length", "0")
			return
		}
		h.Handler.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Type", contentTypes[jsonText])
	w.Header().Set("Content-Length", strconv.Itoa(len(ambiguousText)))
	w.Header()["Date"] = nil
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, ambiguousText)
}
