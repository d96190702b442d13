package sagemaker_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/access"
	"triton/server/access/apikey"
	"triton/server/sagemaker"
)

// guarded returns a guard with rules, keys of owners, and the file of its audit log.
func guarded(t *testing.T, rules string, owners ...string) (g *access.Guard, keys map[string]string, audit string) {
	t.Helper()
	dir, keys := t.TempDir(), map[string]string{}
	var entries []apikey.Entry
	for _, owner := range owners {
		key, e, err := apikey.New(owner, time.Now(), time.Time{})
		require.NoError(t, err)
		keys[owner], entries = key, append(entries, e)
	}
	o := access.Options{Policy: filepath.Join(dir, "policy"), Keys: filepath.Join(dir, "keys")}
	o.Audit.File = filepath.Join(dir, "audit")
	require.NoError(t, os.WriteFile(o.Policy, []byte(rules), 0o600))
	require.NoError(t, os.WriteFile(o.Keys, apikey.Format(entries), 0o600))
	g, err := access.New(o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.Close() })
	return g, keys, o.Audit.File
}

// TestRefusalsHideModels: whoever may not use a model that the platform has loaded gets the answer
// for one that it has not, also to requests with mistakes and to those that name another target.
func TestRefusalsHideModels(t *testing.T) {
	t.Parallel()
	g, keys, _ := guarded(t, "rules:\n- {who: ['key:ops'], allow: ['*'], models: ['*']}\n- {who: ['key:a'], allow: [infer], models: [a]}\n", "ops", "a")
	s, _, root := start(t, func(o *sagemaker.Options) { o.Guard = g })
	place(t, root, "1a/model/one/config.pbtxt", "")
	code, text, _ := ask(t, s, "POST", "/models", `{"model_name":"secret","url":"`+root+`/1a/model"}`, "X-API-Key", keys["ops"])
	require.Equal(t, 200, code, text)
	for _, header := range [][]string{
		nil,
		{"Content-Type", "application/vnd.sagemaker-triton.binary+json;json-header-size=x"},
		{"X-Amzn-SageMaker-Target-Model", "a"},
	} {
		for _, key := range []string{"", "wrong", keys["a"]} {
			header := append([]string{"X-API-Key", key}, header...)
			known, knownText, knownHead := ask(t, s, "POST", "/models/secret/invoke", "{}", header...)
			unknown, unknownText, unknownHead := ask(t, s, "POST", "/models/missing/invoke", "{}", header...)
			require.Equal(t, unknown, known, "%v: %s", header, knownText)
			require.Equal(t, unknownText, knownText)
			require.Equal(t, unknownHead.Get("Content-Type"), knownHead.Get("Content-Type"))
			require.Contains(t, []int{401, 403}, known)
		}
	}
	code, _, _ = ask(t, s, "POST", "/models/secret/invoke", "{}", "X-API-Key", keys["ops"])
	require.Equal(t, 200, code)
}

// TestPartialRights: a call that needs a right for all models is refused to whoever has it for
// some, and the audit log says so.
func TestPartialRights(t *testing.T) {
	t.Parallel()
	g, keys, audit := guarded(t, "rules:\n- {who: ['key:a'], allow: [load, index], models: [a]}\n", "a")
	s, _, _ := start(t, func(o *sagemaker.Options) { o.Guard = g })
	for _, method := range []string{"GET", "POST", "DELETE"} {
		code, text, _ := ask(t, s, method, "/models", "{}", "X-API-Key", keys["a"])
		require.Equal(t, 403, code)
		require.JSONEq(t, `{"error":"this call is not permitted"}`, text)
	}
	require.EqualValues(t, 3, g.Counts().Denied)
	require.Zero(t, g.Counts().Admitted)
	require.NoError(t, g.Close())
	record, err := os.ReadFile(audit)
	require.NoError(t, err)
	require.NotContains(t, string(record), `"result":"allowed"`)
}
