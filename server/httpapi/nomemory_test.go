package httpapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor/tensortest"
	"triton/server/httpapi"
)

// TestNoMemory refuses memory for a body and for the tensors in it. The request
// fails with 503, and the next one is answered.
func TestNoMemory(t *testing.T) {
	both(t, func(t *testing.T, serve func(testing.TB, *stub, httpapi.Options) string) {
		m := tensortest.New(nil)
		addr := serve(t, newStub(m.Pool), httpapi.Options{})
		for _, c := range []struct{ path, body string }{
			{"/v2/models/id_fp32/infer", `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2],"data":[1,2]}]}`},
			{"/v2/models/id_string/infer", `{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[2],"data":["a","b"]}]}`},
			{"/v2/repository/index", `{"ready":true}`},
		} {
			refused := 0
			for limit := 200; limit >= -1; limit-- { // the body is larger than a tensor
				m.Refuse(tensortest.Above(limit))
				code, got := post(t, addr, c.path, c.body)
				if code == 503 {
					require.Contains(t, got, "no memory for ", c.body)
					require.Contains(t, got, tensortest.ErrRefused.Error())
					refused++
					continue
				}
				require.Equal(t, 200, code, got)
			}
			require.Positive(t, refused)
			m.Refuse(tensortest.Nth(1))
			code, got := post(t, addr, c.path, c.body)
			require.Equal(t, 503, code, got)
			code, got = post(t, addr, c.path, c.body)
			require.Equal(t, 200, code, got)
			m.Refuse(nil)
		}
	})
}
