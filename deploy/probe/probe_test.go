package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v2/models/good/infer":
			fmt.Fprint(w, `{"outputs":[{"data":[1,2,3,40]}]}`)
		case "/v2/models/other/infer":
			fmt.Fprint(w, `{"outputs":[{"data":[0]}]}`)
		default:
			http.Error(w, "unknown model", http.StatusBadRequest)
		}
	}))
	defer s.Close()
	address := strings.TrimPrefix(s.URL, "http://")
	require.NoError(t, run([]string{address, "good"}))
	require.ErrorContains(t, run([]string{address, "other"}), "[0]")
	require.ErrorContains(t, run([]string{address, "none"}), "unknown model")
	require.ErrorContains(t, run(nil), "usage")
}
