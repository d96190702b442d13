package cli

import (
	"fmt"
	"regexp"

	"triton/server/restricted"
)

// noThreads is why a number of threads means nothing here.
const noThreads = "every connection has its own goroutine, and all cores are used"

func (s *serveFlags) defineHTTP(b *flagBook) {
	b.group("HTTP")
	h := &s.opts.HTTP
	h.Allow = !s.predicting()
	b.boolean(&h.Allow, "allow-http", "Listen for HTTP requests.")
	b.text(&h.Address, "http-address", "Address for HTTP.")
	s.port(b, &h.Port, "http-port", "Port for HTTP.")
	b.boolean(&h.Reuse, "reuse-http-port", "Let several servers listen at the same HTTP port.")
	s.pattern(b, &h.Forward, "http-header-forward-pattern", "HTTP headers")
	threads := int64(8)
	b.unused(intValue{to: &threads, min: minInt32, max: maxInt32}, "http-thread-count", "Threads for HTTP.", noThreads)
	b.integer(intValue{&h.MaxInput, 1, maxInt, "Error: --http-max-input-size must be greater than 0."},
		"http-max-input-size", "Most bytes that a request's body may have.")
	b.integer(intValue{&h.MinRate, 0, maxInt32, "Error: --http-min-receive-rate must not be negative."},
		"http-min-receive-rate",
		"Bytes per second that a request's body must bring on average over each 2 minutes, else the request is refused; 0 is no limit but that something comes.")
	s.integer(b, &h.MaxConnections, intValue{min: 0, max: maxInt32, bad: "Error: --http-max-connections must not be negative."},
		"http-max-connections", "Most HTTP connections at a time; further ones are answered 503 and closed. 0 is no limit.")
	s.secrets(b, &h.Restricted, restricted.HTTP, "http-restricted-api")
	s.encryption(b, &h.TLS, "http", "HTTP")
	b.list(&h.Origins, "http-allow-origin",
		"Web origin such as https://example.com whose pages may call this server from a browser; * is all; may be repeated.", nil)
	b.ours("http-min-receive-rate", "http-max-connections", "http-use-ssl", "http-use-ssl-mutual", "http-server-cert", "http-server-key", "http-root-cert", "http-allow-origin")
}

// pattern is a flag that chooses headers by name, in any case of letters.
func (s *serveFlags) pattern(b *flagBook, to **regexp.Regexp, name, what string) {
	b.choice("", name, "Regular expression for the names of "+what+" that become parameters of inference requests.",
		func(v string) error {
			if v == "" {
				*to = nil
				return nil
			}
			re, err := regexp.Compile("(?i)" + v)
			if err != nil {
				return fmt.Errorf("invalid regular expression: %w", err)
			}
			*to = re
			return nil
		})
}

// secrets is a flag for what needs a secret header.
func (s *serveFlags) secrets(b *flagBook, to *restricted.Rules, word, name string) {
	var all []string
	b.list(&all, name, "<category>,...:<key>=<value>: calls of these categories need the header <key> with <value>; may be repeated. "+
		"The categories are health, metadata, inference, shared-memory, model-config, model-repository, statistics, trace and logging.",
		func(v string) error {
			_, err := restricted.Parse(word, append(all, v))
			return err
		})
	s.finally(func() (err error) {
		*to, err = restricted.Parse(word, all)
		return err
	})
}

// predicting says whether this is a container of Vertex AI, where the other
// services are off unless asked for.
func (s *serveFlags) predicting() bool { return s.getenv("AIP_MODE") == "PREDICTION" }
