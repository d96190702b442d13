package platform_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/access/accesstest"
	"triton/server/platform"
)

// TestRefusalsHideModels: whoever may not use a model that the platform has loaded gets the answer
// for one that it has not, also to requests with mistakes and to those that name another target.
func TestRefusalsHideModels(t *testing.T) {
	t.Parallel()
	g, keys, _ := accesstest.New(t, "rules:\n- {who: ['key:ops'], allow: ['*'], models: ['*']}\n- {who: ['key:a'], allow: [infer], models: [a]}\n", "ops", "a")
	s, _, root := start(t, func(o *platform.SageMakerOptions) { o.Guard = g })
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
	g, keys, audit := accesstest.New(t, "rules:\n- {who: ['key:a'], allow: [load, index], models: [a]}\n", "a")
	s, _, _ := start(t, func(o *platform.SageMakerOptions) { o.Guard = g })
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
