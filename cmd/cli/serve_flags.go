package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"triton/pkg/log"
	"triton/server"
)

// serveFlags are the flags of serve, which are tritonserver's.
type serveFlags struct {
	opts   server.Options
	log    log.Settings
	getenv func(string) string
	book   *flagBook

	config  string
	library string // ONNX Runtime
	access  bool
	// oldTrace are the flags that --trace-config replaced.
	oldTrace []deprecatedTrace
	// After the flags these find what they mean together, in this order.
	last     []func() error
	warnings []string
}

func newServeFlags(set *pflag.FlagSet, getenv func(string) string) *serveFlags {
	s := &serveFlags{opts: server.Default(), log: log.DefaultSettings(), getenv: getenv, book: newFlagBook(set)}
	s.log.Raw = getenv("TRITON_SERVER_ESCAPE_LOG_MESSAGES") == "0"
	s.defineServer(s.book)
	s.defineLogging(s.book)
	s.defineRepository(s.book)
	s.defineHTTP(s.book)
	s.defineGRPC(s.book)
	s.defineSageMaker(s.book)
	s.defineVertex(s.book)
	s.defineMetrics(s.book)
	s.defineTracing(s.book)
	s.defineBackends(s.book)
	s.defineCache(s.book)
	s.defineRates(s.book)
	s.defineMachine(s.book)
	s.defineMemory(s.book)
	s.defineDeprecated(s.book)
	return s
}

// finally is what is left to do when all flags are known.
func (s *serveFlags) finally(do func() error) { s.last = append(s.last, do) }

// warn is for the console, once.
func (s *serveFlags) warn(text string) { s.warnings = append(s.warnings, text) }

// finish carries over what flags could not write themselves and finds what does
// not go together. The messages are for the console.
func (s *serveFlags) finish() (warnings []string, err error) {
	for _, do := range s.last {
		if err := do(); err != nil {
			return nil, err
		}
	}
	s.warnings = append(s.warnings, s.book.remarks()...)
	return s.warnings, s.opts.Validate()
}

// integer is a flag whose value is an int.
func (s *serveFlags) integer(b *flagBook, to *int, v intValue, name, usage string) {
	n := int64(*to)
	v.to = &n
	b.integer(v, name, usage)
	s.finally(func() error {
		*to = int(n)
		return nil
	})
}

// port is a flag for the port of a service.
func (s *serveFlags) port(b *flagBook, to *int, name, usage string) {
	s.integer(b, to, intValue{max: 65535}, name, usage)
}

// encryption are the flags for TLS of one service. Mentioning mutual at all turns
// encryption on, as in Triton.
func (s *serveFlags) encryption(b *flagBook, to *server.TLS, service, title string) {
	b.boolean(&to.Allow, service+"-use-ssl", "Encrypt "+title+" with TLS.")
	b.boolean(&to.Mutual, service+"-use-ssl-mutual",
		"The same, and clients must have a certificate that the root certificate has signed.")
	b.text(&to.Cert, service+"-server-cert", "File with the PEM certificate of the server; read again when it changes.")
	b.text(&to.Key, service+"-server-key", "File with the PEM key of the server.")
	b.text(&to.Root, service+"-root-cert", "File with the PEM certificate that signs those of clients.")
	s.finally(func() error {
		to.Allow = to.Allow || b.given(service+"-use-ssl-mutual")
		return nil
	})
}

func (s *serveFlags) defineServer(b *flagBook) {
	b.group("Server")
	b.text(&s.opts.ID, "id", "Name of this server in its metadata.")
	b.seconds(&s.opts.ExitTimeout, "exit-timeout-secs",
		"Seconds that the end waits for requests in flight; after that the server exits with an error.")
	b.integer(intValue{&s.opts.StreamBacklog, 1, maxInt, "Error: --stream-backlog-byte-size must be greater than 0."},
		"stream-backlog-byte-size",
		"Bytes of responses that one stream, of HTTP or gRPC, holds for a client that does not take them. Above that its request is cancelled.")
	b.text(&s.config, "config",
		"File with settings: flag names as keys, in YAML, JSON or TOML. A flag wins over the environment variable TRITON_SERVE_<FLAG>, and that over the file.")
	b.ours("stream-backlog-byte-size", "config")
}

func (s *serveFlags) defineLogging(b *flagBook) {
	b.group("Logging")
	verbose := int64(0)
	b.choice("0", "log-verbose", "Verbose level; 0 is off.", func(v string) error {
		switch strings.ToLower(v) {
		case "true":
			v = "1"
		case "false":
			v = "0"
		}
		return intValue{to: &verbose, min: minInt32, max: maxInt32}.Set(v)
	})
	b.boolean(&s.log.Info, "log-info", "Log informational messages.")
	b.boolean(&s.log.Warning, "log-warning", "Log warnings.")
	b.boolean(&s.log.Error, "log-error", "Log errors.")
	b.choice("default", "log-format", "Form of the lines: default, ISO8601 or json.", func(v string) (err error) {
		s.log.Format, err = log.ParseFormat(v)
		return err
	})
	b.text(&s.log.File, "log-file", "Append all messages to this file instead of writing them to the console.")
	b.boolean(&s.access, "log-access", "Log every request when it is answered.")
	b.ours("log-access")
	s.finally(func() error {
		s.log.Verbose = int(max(verbose, 0))
		return nil
	})
}
