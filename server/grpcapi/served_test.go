package grpcapi_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triton/server/servertest"
)

// TestServed compares whole servers: the models of testdata/served/models on
// the builtin identity backend here, on an identity model.py with NVIDIA's
// server. TRITON_SERVED_GRPC and -rewrite record a freshly started one.
func TestServed(t *testing.T) {
	addr := os.Getenv("TRITON_SERVED_GRPC")
	recording := addr != ""
	if !recording {
		addr = startServer(t, servedModels(t)...).GRPC
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	datadriven.Walk(t, "testdata/served/cases", func(t *testing.T, path string) {
		if recording && strings.HasSuffix(path, "-ours") {
			t.Skip("answers that differ for the reasons written there")
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return mask(outgoing(t, conn, d))
		})
	})
}

func servedModels(t *testing.T) []servertest.Option {
	t.Helper()
	files, err := filepath.Glob("testdata/served/models/*.pbtxt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var opts []servertest.Option
	for _, f := range files {
		config, err := os.ReadFile(f)
		require.NoError(t, err)
		opts = append(opts, servertest.Model(strings.TrimSuffix(filepath.Base(f), ".pbtxt"), string(config)))
	}
	return opts
}

var masks = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`"(identity|python)"`), `"ENGINE"`},
	{regexp.MustCompile(`"default_model_filename":"[a-zA-Z.]*",`), ``}, // of the backend
	{regexp.MustCompile(`"parameters":\{"param0".*?123\}\},`), ``},     // as the identity backend answers
	{regexp.MustCompile(`"(ns|last_inference)":"\d+"`), `"$1":"N"`},
}

func mask(s string) string {
	for _, m := range masks {
		s = m.from.ReplaceAllString(s, m.to)
	}
	return s
}
