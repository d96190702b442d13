// Package inprocess is the part of the C API that needs a server: requests and responses of
// callers in this process, and the functions of a server. Backends call it through the server that
// they are given, programs through libtritonserver.so.
package inprocess

import (
	"time"

	"triton/server/infer"
)

// Options are what the functions of one TRITONSERVER_Server act on. Functions whose part is nil
// answer UNSUPPORTED.
type Options struct {
	// Models are the models that requests name. It is not needed with Service.
	Models infer.Submitter
	// Control loads and unloads models. It is not needed with Service.
	Control infer.Controller
	// Service answers all questions about a server and its models.
	Service infer.Service
	// Poll looks for changes of the repositories.
	Poll func() error
	// Register adds a repository path, with names of models by their folders; Unregister removes it.
	Register   func(path string, names map[string]string) error
	Unregister func(path string) error
	// Metrics returns the text of all metrics.
	Metrics func() ([]byte, error)
	// Stop stops the server and waits for its end.
	Stop func() error
	// SetExitTimeout sets how long Stop waits for requests.
	SetExitTimeout func(time.Duration)
}

// Setting is one call of a TRITONSERVER_ServerOptions function. Its name is that of the flag of
// `triton serve`, where there is one.
type Setting struct {
	Name     string
	Text     [3]string
	Number   int64
	Fraction float64
}

// Starter starts servers for programs.
type Starter struct {
	// Start starts a server with settings.
	Start func([]Setting) (Options, error)
	// Log changes a setting of the log, which all servers share.
	Log func(name, text string, number int64) error
}
