package connect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
)

func TestServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, metrics, want string }{
		{"", "", "http://localhost:8002"},
		{"host", "", "http://host:8002"},
		{"host:9000", "", "http://host:8002"},
		{"[::1]:9000", "", "http://[::1]:8002"},
		{"::1", "", "http://[::1]:8002"},
		{"https://host:9000/prefix", "", "https://host:8002"},
		{"https://host", "", "https://host:8002"},
		{"host", "other:1/m", "other:1/m"},
	} {
		s, err := (&Options{Address: c.address, Metrics: c.metrics, Headers: []string{"Authorization: Bearer a:b"}}).Server()
		require.NoError(t, err, c.address)
		require.Equal(t, c.want, s.Metrics.URL)
		require.Equal(t, map[string]string{"Authorization": "Bearer a:b"}, s.Metrics.Headers)
		s.Close()
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Headers: []string{"hunter2"}}, "--header number 1 is not NAME:VALUE"},
		{Options{Headers: []string{" :hunter2"}}, "--header number 1 is not NAME:VALUE"},
		{Options{Metrics: "ftp://u:hunter2@h"}, "--metrics-url: "},
		{Options{Address: "ftp://h"}, "--url: "},
	} {
		_, err := c.options.Server()
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "hunter2")
		var exit *process.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, process.Usage, exit.Code)
	}
}
