package remote_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
)

func TestHidden(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/models/a?b@c":                             "/models/a?b@c",
		"s3://bucket/models":                        "s3://bucket/models",
		"s3://https://me:geheim@host:1/bucket":      "s3://https://...@host:1/bucket",
		"gs://me:geheim@bucket":                     "gs://...@bucket",
		"as://account/container?sig=geheim":         "as://account/container?...",
		"https://me:geheim@host/x.tar?a=geheim#p=m": "https://...@host/x.tar?...#p=m",
		"oci://host/name@sha256:12?path=/models":    "oci://host/name@sha256:12?path=/models",
	} {
		require.Equal(t, want, remote.Hidden(path))
	}
}
