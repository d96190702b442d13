package repository

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/model"
)

// harness runs the commands of a script.
type harness struct {
	t    *testing.T
	dir  string
	out  *lines
	seen int
	pool *tensor.Pool
	repo *Repository
}

func (s *harness) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "2:"); ok {
		return filepath.Join(s.dir, "r2", rest)
	}
	return filepath.Join(s.dir, "r", name)
}

func (s *harness) write(name, text string) {
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), 0o644))
}

func (s *harness) reset() {
	s.stop()
	for _, dir := range []string{"r", "r2"} {
		require.NoError(s.t, os.RemoveAll(filepath.Join(s.dir, dir)))
		require.NoError(s.t, os.MkdirAll(filepath.Join(s.dir, dir), 0o755))
	}
}

func (s *harness) stop() {
	if s.repo == nil {
		return
	}
	require.NoError(s.t, s.repo.Drain(s.t.Context()))
	require.Zero(s.t, s.pool.Outstanding())
	require.Empty(s.t, s.repo.scratch.Dir())
	s.repo = nil
}

func (s *harness) start(d *datadriven.TestData) string {
	s.stop()
	s.out, s.seen, s.pool = &lines{}, 0, tensor.NewPool()
	sink, err := log.Open(log.DefaultSettings(), s.out, s.out)
	require.NoError(s.t, err)
	o := Options{
		Options: model.Options{
			Backends: backend.Set{"python": python}, AutoComplete: true, CPUs: 1, Pool: s.pool, Log: sink.Logger(),
		},
		Paths: []string{s.path("")}, LoadThreads: 4, StrictReadiness: true, ID: "triton", Version: "1",
	}
	exit := true
	for _, a := range d.CmdArgs {
		value := strings.Join(a.Vals, ",")
		switch a.Key {
		case "two":
			o.Paths = append(o.Paths, s.path("2:"))
		case "--model-control-mode":
			o.Control = map[string]Control{"poll": ControlPoll, "explicit": ControlExplicit}[value]
		case "--load-model":
			o.Startup = append(o.Startup, value)
		case "--exit-on-error":
			exit = false
		case "--model-load-retry-count":
			o.LoadRetries = 2
		case "--model-namespacing":
			o.Namespacing = true
		case "--model-config-name":
			o.ConfigName = value
		}
	}
	s.repo = New(o)
	err = s.repo.Start(s.t.Context())
	if err != nil && (exit || !errors.Is(err, ErrLoad)) {
		s.stop()
		e := status.From(err)
		return fmt.Sprintf("exit 1: %s - %s", e.Code, e.Msg)
	}
	return "ok"
}

var (
	textProto = regexp.MustCompile(`(failed to read text proto from \S+?):.*`)
	scratched = regexp.MustCompile(`\S*/triton-models-\d+/model-\d+`)
	climbed   = regexp.MustCompile(`\S*/triton-models-\d+/`)
	logLine   = regexp.MustCompile(`^(.) "(.*)"$`)
)

// log returns the lines logged since the last call, without the parts that depend on timing or on
// scratchFolder matches the folder of a model whose files came with a load.
var scratchFolder = regexp.MustCompile(`/\S*/triton-models-\d+(/model-\d+)?`)

// the location of files.
func (s *harness) log() string {
	all := s.out.messages()
	text := all[s.seen:]
	s.seen = len(all)
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.ReplaceAll(line, `\"`, "'")
		m := logLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		line = textProto.ReplaceAllString(m[1]+" "+m[2], "$1")
		line = scratched.ReplaceAllString(line, "$$TMP")
		line = climbed.ReplaceAllString(line, "'$$TMP/")
		line, _, _ = strings.Cut(line, " at=") // our own attributes
		line, _, _ = strings.Cut(line, " hint=")
		for _, prefix := range []string{"Invalid config override", "directory 'fresh': Unexpected end"} {
			if i := strings.Index(line, prefix); i >= 0 {
				line = line[:i+len(prefix)]
			}
		}
		own := strings.Contains(line, " is not a model, as it has neither ") // advice of the start
		if !own && !strings.Contains(line, "successfully unloaded") && !strings.Contains(line, "ignore version directory") {
			out = append(out, s.clean(line))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\n")
}

func (s *harness) clean(text string) string {
	text = string(bytes.ReplaceAll([]byte(text), []byte(s.path("2:")), []byte("$R2")))
	text = scratchFolder.ReplaceAllString(text, "$$SCRATCH")
	return strings.ReplaceAll(text, filepath.Join(s.dir, "r"), "$R")
}
