package lsp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/sharedtest"
	"triton/repo/example"
	"triton/repo/lint"
	"triton/repo/lsp"
)

// serverVariable makes the test program a language server.
const serverVariable = "TRITON_TEST_LSP"

var options = lsp.Options{
	Lint: lint.Options{DefaultMaxBatch: 4}, RulesURL: "https://rules.example", Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
}

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		if err := lsp.Serve(context.Background(), os.Stdin, os.Stdout, options); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// TestClient drives the server with a client of another project.
func TestClient(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs("../../.venv/bin/python")
	require.NoError(t, err)
	if exec.Command(python, "-c", "import pygls").Run() != nil {
		t.Skip("needs pygls in .venv: run `make .venv/.stamp`")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, example.Write(t.Context(), dir, example.Options{Seed: example.DefaultSeed, Models: []string{"simple"}}))
	require.NoError(t, os.Rename(filepath.Join(dir, "simple"), filepath.Join(dir, "graph")))
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("graph/config.pbtxt", "max_batch_size: 8\ndynamic_batching { }\n")
	write("plain/config.pbtxt", "the file is not read: the document is open")
	write("plain/1/empty", "")
	write("plain/labels.txt", "a\n")
	write("pipeline/1/empty", "")
	write("pipeline/config.pbtxt", `platform: "ensemble"
input [ { name: "A" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "B" data_type: TYPE_INT32 dims: [ 16 ] } ]
output { name: "SUM" data_type: TYPE_INT32 dims: [ 16 ] }
ensemble_scheduling {
  step {
    model_name: "graph"
    model_version: -1
    input_map { key: "INPUT0" value: "A" }
    input_map { key: "INPUT1" value: "B" }
    output_map { key: "OUTPUT0" value: "SUM" }
  }
}
`)
	script, err := filepath.Abs("testdata/client.py")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), python, script, os.Args[0], dir)
	cmd.Env = append(os.Environ(), serverVariable+"=1", "PYTHONIOENCODING=utf-8")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", out, errs.String())
	file := filepath.Join("testdata", "client.golden")
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile(file, out, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(out))
}

// message returns a message of the base protocol.
func message(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func serve(t testing.TB, in string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := lsp.Serve(context.Background(), strings.NewReader(in), &out, options)
	return out.String(), err
}

const (
	hello    = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"general":{"positionEncodings":["utf-16","utf-8"]}}}}`
	shutdown = `{"jsonrpc":"2.0","id":9,"method":"shutdown"}`
	exit     = `{"jsonrpc":"2.0","method":"exit"}`
)

// TestLife is the order of requests: initialize first, nothing after shutdown.
func TestLife(t *testing.T) {
	t.Parallel()
	out, err := serve(t, message(`{"jsonrpc":"2.0","id":0,"method":"shutdown"}`)+message(hello)+message(hello)+message(shutdown)+message(hello)+message(exit))
	require.NoError(t, err)
	var answers []string
	for r := strings.NewReader(out); r.Len() > 0; {
		var n int
		_, err := fmt.Fscanf(r, "Content-Length: %d\r\n\r\n", &n)
		require.NoError(t, err)
		body := make([]byte, n)
		_, err = io.ReadFull(r, body)
		require.NoError(t, err)
		var answer struct {
			ID    int
			Error *struct {
				Code    int
				Message string
			}
			Result *struct {
				Capabilities struct{ PositionEncoding string }
			}
		}
		require.NoError(t, json.Unmarshal(body, &answer))
		text := fmt.Sprint(answer.ID)
		if answer.Error != nil {
			text += fmt.Sprint(" ", answer.Error.Code, " ", answer.Error.Message)
		} else if answer.Result != nil {
			text += " " + answer.Result.Capabilities.PositionEncoding
		}
		answers = append(answers, text)
	}
	require.Equal(t, []string{
		"0 -32002 the first request is initialize", "1 utf-8", "1 -32600 the server is initialized", "9",
		"1 -32600 the server is shut down",
	}, answers)
	_, err = serve(t, message(hello)+message(exit))
	require.ErrorIs(t, err, lsp.ErrNoShutdown)
	_, err = serve(t, message(hello))
	require.ErrorIs(t, err, lsp.ErrNoShutdown, "the stream ends")
}

// TestHeaders reads headers as clients may write them, and refuses others.
func TestHeaders(t *testing.T) {
	t.Parallel()
	body := hello + "\n  "
	out, err := serve(t, fmt.Sprintf("content-length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s", len(body), body)+message(shutdown)+message(exit))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(out, "Content-Length"), out)
	const length = "is not between 0 and 67108864"
	for wrong, why := range map[string]string{
		"Content-Length: -1\r\n\r\n":          `Content-Length "-1" ` + length,
		"Content-Length: 99999999999\r\n\r\n": `Content-Length "99999999999" ` + length,
		"Content-Length: x\r\n\r\n":           `Content-Length "x" ` + length,
		"\r\n":                                "a message has no Content-Length",
		"no header\r\n\r\n":                   `"no header" is no header of a message`,
		strings.Repeat("a", 1<<16):            "the headers of a message have more than 4096 bytes",
		"Content-Length: 5\r\n\r\nabc":        "a message is no JSON-RPC: invalid character 'a'",
		"Content-Length: 3\r\n\r\n{x}":        "a message is no JSON-RPC: invalid character 'x'",
	} {
		_, err := serve(t, message(hello)+wrong+message(shutdown)+message(exit))
		require.ErrorContains(t, err, "read from the client: "+why)
	}
}

// FuzzServe reads any stream: the server ends with it and never breaks.
func FuzzServe(f *testing.F) {
	open := `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///absent/m/config.pbtxt","languageId":"pbtxt","version":1,"text":%q}}}`
	at := `{"jsonrpc":"2.0","id":2,"method":"textDocument/%s","params":{"textDocument":{"uri":"file:///absent/m/config.pbtxt"},"position":{"line":0,"character":%d},"range":{"start":{"line":0,"character":0},"end":{"line":9,"character":9}},"context":{"diagnostics":[]}}}`
	all := message(hello) + message(fmt.Sprintf(open, "input { name: \"x\" data_type: }\nensemble_scheduling { step { model_name: \"..\" input_map { key: \"\" } } }"))
	for _, m := range []string{"completion", "hover", "definition", "formatting", "codeAction", "documentSymbol"} {
		f.Add([]byte(all + message(fmt.Sprintf(at, m, 14)) + message(shutdown) + message(exit)))
	}
	f.Add([]byte("Content-Length: 2\r\n\r\n{}" + message(`[1]`) + message(`null`)))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, err := serve(t, string(in))
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}
