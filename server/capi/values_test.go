package capi_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/log"
	"triton/server/backend"
	"triton/server/capi"
	"triton/server/capi/capitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestValues runs the functions that need no server, from C.
func TestValues(t *testing.T) {
	var text bytes.Buffer
	sink, err := log.Open(log.DefaultSettings(), &text, &text)
	require.NoError(t, err)
	capi.SetLog(sink.Logger(), sink)
	capi.Metrics().SetTaken(func(name string, kind backend.MetricKind) bool {
		return name == "nv_inference_count" && kind != backend.Counter
	})
	capitest.Run(t, "include", "testdata/values.c", "")
	require.Contains(t, text.String(), ` file.cc:12] "a line of C"`)
	require.Empty(t, capi.Metrics().Gather(), "all metrics are deleted")
}

// TestLogOfTheLastServer: C code has one log, that of the server that came last. Settings of an earlier
// one do not change its levels.
func TestLogOfTheLastServer(t *testing.T) {
	var one, two bytes.Buffer
	first, err := log.Open(log.DefaultSettings(), &one, &one)
	require.NoError(t, err)
	second, err := log.Open(log.DefaultSettings(), &two, &two)
	require.NoError(t, err)
	capi.SetLog(first.Logger(), first)
	capi.SetLog(second.Logger(), second)
	verbose := func(s *log.Sink, level int) {
		settings := s.Settings()
		settings.Verbose = level
		require.NoError(t, s.Set(settings))
	}
	verbose(first, 1)
	capitest.Run(t, "include", "testdata/verbose.c", "off")
	verbose(second, 1)
	capitest.Run(t, "include", "testdata/verbose.c", "on")
	verbose(first, 0)
	capitest.Run(t, "include", "testdata/verbose.c", "on")
}
