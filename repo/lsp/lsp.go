// Package lsp is a language server for config.pbtxt: findings of the linter while one types,
// completion, descriptions of fields, formatting, corrections, and the way from an ensemble to its
// models. It speaks the Language Server Protocol 3.17 over a pair of streams.
//
// The messages are read and answered in their order by one goroutine, so that every answer is about
// the text that the client means. Findings come from a second one, which always checks the newest
// text.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"triton/repo/lint"
)

// Options configure the server.
type Options struct {
	// Lint describes the server that will serve the models. Python models are read when a document
	// is opened or saved, not while one types.
	Lint lint.Options
	// RulesURL is the address of the pages of docs/rules on a web server; may be empty.
	RulesURL string
	Version  string // of the program
	Log      *slog.Logger
}

// ErrNoShutdown is returned by Serve when the client leaves without the request shutdown.
var ErrNoShutdown = errors.New("the client left without the request shutdown")

// Serve answers a client until it sends exit or closes its stream.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{options: o, documents: map[string]*document{}, dirty: make(chan struct{}, 1), exited: make(chan struct{})}
	messages := &codec{failed: make(chan error, 1)}
	stream := jsonrpc2.NewBufferedStream(duplex{in, out}, messages)
	conn := jsonrpc2.NewConn(ctx, stream, jsonrpc2.HandlerWithError(s.handle), jsonrpc2.SetLogger(debugLogger{o.Log}))
	s.publish = func(p publishDiagnosticsParams) {
		if err := conn.Notify(ctx, "textDocument/publishDiagnostics", p); err != nil {
			o.Log.Debug("cannot send diagnostics", "error", err)
		}
	}
	var checker sync.WaitGroup
	checker.Go(func() { s.check(ctx) })
	var failed error
	select {
	case <-s.exited:
	case <-conn.DisconnectNotify():
		select {
		case failed = <-messages.failed:
		default: // the context ended the connection
		}
	case <-ctx.Done():
	}
	cancel()
	checker.Wait()
	if err := conn.Close(); err != nil && !errors.Is(err, jsonrpc2.ErrClosed) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case failed != nil && !errors.Is(failed, io.EOF) && !errors.Is(failed, io.ErrUnexpectedEOF):
		return fmt.Errorf("read from the client: %w", failed)
	case s.mu.state != down:
		return ErrNoShutdown
	}
	return nil
}

// debugLogger has the complaints of the library, such as about messages that cannot be read.
type debugLogger struct{ log *slog.Logger }

func (l debugLogger) Printf(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }

// duplex is a stream of two. Closing it closes neither: they are those of the process.
type duplex struct {
	io.Reader
	io.Writer
}

func (duplex) Close() error { return nil }

// state is where the life of the server is:
//
//	starting --initialize--> running --shutdown--> down
type state uint8

const (
	starting state = iota
	running
	down
)

type server struct {
	options Options
	publish func(publishDiagnosticsParams)
	dirty   chan struct{} // has a value when documents are to be checked
	exited  chan struct{}
	exit    sync.Once

	// documents are used by the goroutine that handles messages; mu guards them for the other.
	documents map[string]*document // by URI
	utf8      bool                 // positions count bytes instead of UTF-16 code units
	snippets  bool                 // the client understands placeholders in completions
	mu        struct {
		sync.Mutex
		state state
	}
}

// method answers one request or takes one notification.
type method func(s *server, params json.RawMessage) (any, error)

var methods = map[string]method{
	"initialize":                  with((*server).initialize),
	"shutdown":                    func(s *server, _ json.RawMessage) (any, error) { return nil, s.shutdown() },
	"textDocument/didOpen":        with((*server).didOpen),
	"textDocument/didChange":      with((*server).didChange),
	"textDocument/didSave":        with((*server).didSave),
	"textDocument/didClose":       with((*server).didClose),
	"textDocument/completion":     with((*server).completion),
	"textDocument/hover":          with((*server).hover),
	"textDocument/definition":     with((*server).definition),
	"textDocument/formatting":     with((*server).formatting),
	"textDocument/codeAction":     with((*server).codeActions),
	"textDocument/documentSymbol": with((*server).symbols),
}

// with returns a method that takes its parameters as P.
func with[P any](call func(*server, P) (any, error)) method {
	return func(s *server, raw json.RawMessage) (any, error) {
		var params P
		if err := json.Unmarshal(raw, &params); err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
		return call(s, params)
	}
}

const codeNotInitialized = -32002 // of the protocol

func (s *server) handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	if r.Method == "exit" {
		s.exit.Do(func() { close(s.exited) })
		return nil, nil
	}
	s.mu.Lock()
	now := s.mu.state
	s.mu.Unlock()
	call, ok := methods[r.Method]
	switch {
	case now == starting && r.Method != "initialize":
		return nil, &jsonrpc2.Error{Code: codeNotInitialized, Message: "the first request is initialize"}
	case now == down:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the server is shut down"}
	case !ok:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "unknown method " + r.Method}
	}
	raw := json.RawMessage("null")
	if r.Params != nil {
		raw = *r.Params
	}
	result, err := call(s, raw)
	if err != nil {
		s.options.Log.Debug("request failed", "method", r.Method, "error", err)
	}
	return result, err
}

func (s *server) initialize(p initializeParams) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state != starting {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the server is initialized"}
	}
	s.mu.state = running
	encoding := "utf-16"
	for _, e := range p.Capabilities.General.PositionEncodings {
		if e == "utf-8" {
			s.utf8, encoding = true, e
		}
	}
	s.snippets = p.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport
	return initializeResult{
		Capabilities: serverCapabilities{
			PositionEncoding:   encoding,
			TextDocumentSync:   syncOptions{OpenClose: true, Change: syncFull, Save: true},
			CompletionProvider: completionOptions{TriggerCharacters: []string{`"`, ":", " "}},
			HoverProvider:      true, DefinitionProvider: true, DocumentFormattingProvider: true, DocumentSymbolProvider: true,
			CodeActionProvider: codeActionOptions{Kinds: []string{kindQuickFix, kindFixAll}},
		},
		ServerInfo: serverInfo{"triton repo lsp", s.options.Version},
	}, nil
}

func (s *server) shutdown() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.state = down
	return nil
}
