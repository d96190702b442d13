package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/capi/capitest"
	"triton/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const repeatModel = `backend: "repeat"
model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
`

const labelled = `backend: "identity"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] label_filename: "labels.txt" }
`

// writeModels writes the models of server.c.
func writeModels(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models")
	identity := servertest.Identity("INT32", "4", 8)
	for name, config := range map[string]string{
		"numbers": labelled, "extra": identity, "repeat": repeatModel,
		"slow": identity + `parameters { key: "execute_delay_ms" value { string_value: "300" } }`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "numbers", "labels.txt"), []byte("first\nsecond\nthird\nfourth\n"), 0o600))
	return dir
}

// TestServer runs the functions that need a server, from C, in the process of the test.
func TestServer(t *testing.T) {
	dir := writeModels(t)
	capitest.Run(t, "../../server/capi/include", "../../server/capi/testdata/server.c", dir)
	log, err := os.ReadFile(filepath.Join(dir, "..", "log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "Waiting for in-flight requests to complete.")
}
