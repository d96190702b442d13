package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/http1"
	"triton/server/httpapi"
	"triton/server/infer"
)

// controlled records its last load or unload.
type controlled struct {
	infer.Service
	last string
}

func (c *controlled) Load(_ context.Context, name string, o infer.LoadOptions) error {
	c.last = "load " + name
	if o.Config != nil {
		c.last += " config=" + *o.Config
	}
	for k, v := range o.Files {
		c.last += fmt.Sprintf(" %s=%s", k, v)
	}
	if name == "bad" {
		return status.New(status.InvalidArg, "load failed for model 'bad': why;\n")
	}
	return nil
}

func (c *controlled) Unload(_ context.Context, name string, dependents bool) error {
	c.last = fmt.Sprintf("unload %s %t", name, dependents)
	return nil
}

// TestControl compares with the recorded answers of Triton's server 2.51, but
// for the malformed requests to unload, which that takes as empty ones.
func TestControl(t *testing.T) {
	t.Parallel()
	const plain = "200 load m"
	for _, c := range []struct{ path, body, want string }{
		{"models/m/load", ``, plain},
		{"models/m/load", `{}`, plain},
		{"models/m/load", `[]`, plain},
		{"models/m/load", `1`, plain},
		{"models/m/load", `"x"`, plain},
		{"models/m/load", `null`, plain},
		{"models/m/load", `{"parameters":{}}`, plain},
		{"models/bad/load", ``, `400 {"error":"load failed for model 'bad': why;\n"}`},
		{"models/a%20b/load", ``, "200 load a b"},
		{"models/m/load", `{"parameters":null}`, `400 {"error":"attempt to get members for non-object"}`},
		{"models/m/load", `{"parameters":"x"}`, `400 {"error":"attempt to get members for non-object"}`},
		{"models/m/load", `{"parameters":[]}`, `400 {"error":"attempt to get members for non-object"}`},
		{"models/m/load", `{"parameters":{"config":1}}`, `400 {"error":"attempt to access JSON non-string as string"}`},
		{"models/m/load", `{"parameters":{"config":null}}`, `400 {"error":"attempt to access JSON non-string as string"}`},
		{"models/m/load", `{"parameters":{"other":1}}`, `400 {"error":"attempt to access JSON non-string as string"}`},
		{"models/m/load", `{"parameters":{"other":"x"}}`, `400 {"error":"unexpected error on creating Triton parameter"}`},
		{"models/m/load", `{"parameters":{"":"x"}}`, `400 {"error":"unexpected error on creating Triton parameter"}`},
		{"models/m/load", `{"parameters":{"file:a":1}}`, `400 {"error":"attempt to access JSON non-string as string"}`},
		{"models/m/load", `{"parameters":{`, `400 {"error":"failed to parse the request JSON buffer: Missing a name for object member. at 15"}`},
		{"models/m/load", `{`, `400 {"error":"failed to parse the request JSON buffer: Missing a name for object member. at 1"}`},
		{"models/m/load", `x`, `400 {"error":"failed to parse the request JSON buffer: Invalid value. at 0"}`},
		{"models/m/load", `{"parameters":{}} x`, `400 {"error":"failed to parse the request JSON buffer: The document root must not be followed by other values. at 18"}`},
		{"models/m/load", `{"parameters":{"config":"{\"a\":1}"}}`, `200 load m config={"a":1}`},
		{"models/m/load", `{"parameters":{"config":""}}`, `200 load m config=`},
		{"models/m/load", `{"parameters":{"config":"{}","file:1/a":"aGVsbG8="}}`, `200 load m config={} file:1/a=hello`},
		{"models/m/load", `{"parameters":{"file:1/a":"aGVsbG8"}}`, `200 load m file:1/a=hello`},
		{"models/m/load", `{"parameters":{"file:1/a":"aGVs\nbG8=\n"}}`, `200 load m file:1/a=hello`},
		{"models/m/load", `{"parameters":{"file:1/a":""}}`, `200 load m file:1/a=`},
		{"models/m/load", `{"parameters":{"file:a":"***"}}`, `400 {"error":"the content of 'file:a' is not base64: illegal base64 data at input byte 0"}`},
		{"models/m/unload", ``, "200 unload m false"},
		{"models/m/unload", `{}`, "200 unload m false"},
		{"models/m/unload", `[]`, "200 unload m false"},
		{"models/m/unload", `{"parameters":{}}`, "200 unload m false"},
		{"models/m/unload", `{"parameters":null}`, "200 unload m false"},
		{"models/m/unload", `{"parameters":[]}`, "200 unload m false"},
		{"models/m/unload", `{"parameters":{"other":1}}`, "200 unload m false"},
		{"models/m/unload", `{"parameters":{"unload_dependents":true}}`, "200 unload m true"},
		{"models/m/unload", `{"parameters":{"unload_dependents":1}}`, `400 {"error":"Unable to parse 'unload_dependents': attempt to access JSON non-boolean as boolean"}`},
		{"models/m/unload", `{"parameters":{`, `400 {"error":"failed to parse the request JSON buffer: Missing a name for object member. at 15"}`},
		{"x/models/m/load", `{`, `501 {"error":"'repository_name' specification is not supported"}`},
		{"x/models/m/unload", ``, `501 {"error":"'repository_name' specification is not supported"}`},
	} {
		t.Run(c.path+c.body, func(t *testing.T) {
			t.Parallel()
			svc := &controlled{Service: newStub(tensor.NewPool())}
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v2/repository/"+c.path, strings.NewReader(c.body))
			http1.NewHTTPHandler(httpapi.New(svc, httpapi.Options{}), http1.Options{}).ServeHTTP(w, r)
			got := w.Body.String()
			if w.Code == http.StatusOK {
				require.Empty(t, got)
				got = svc.last
			}
			require.Equal(t, c.want, fmt.Sprint(w.Code, " ", got))
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		})
	}
}

// FuzzLoadParameters: every body is answered.
func FuzzLoadParameters(f *testing.F) {
	f.Add([]byte(`{"parameters":{"config":"{}","file:1/model.onnx":"aGVsbG8="}}`))
	f.Add([]byte(`{"parameters":{"file:a":"*","config":1}}`))
	f.Add([]byte(`{"parameters":[`))
	svc := &controlled{Service: newStub(tensor.NewPool())}
	h := http1.NewHTTPHandler(httpapi.New(svc, httpapi.Options{}), http1.Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, action := range []string{"load", "unload"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v2/repository/models/m/"+action, strings.NewReader(string(body))))
			if (w.Code == http.StatusOK) != (w.Body.Len() == 0) {
				t.Fatalf("%s: %d %s", action, w.Code, w.Body)
			}
		}
	})
}
