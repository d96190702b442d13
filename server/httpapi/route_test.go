package httpapi

import (
	"strings"
	"testing"
)

func FuzzRoute(f *testing.F) {
	for _, p := range []string{"/v2/models/a/versions/1/infer", "/v2/models/%2e%2e/ready", "/v2/repository/x/models/y/load", "/v2/systemsharedmemory/region/r/status"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r, ok := parse(path)
		if ok && (r.model == ".." || strings.ContainsAny(r.model, "/\x00")) {
			t.Fatalf("%q names model %q", path, r.model)
		}
	})
}
