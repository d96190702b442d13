package rpc_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/encoding"

	"triton/pkg/kserve/rpc"
)

// Writers and readers are used again, also after a message that is not compressed.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	c := encoding.GetCompressor(rpc.Deflate)
	require.NotNil(t, c)
	for _, text := range []string{"", "short", strings.Repeat("long ", 100_000)} {
		var b bytes.Buffer
		w, err := c.Compress(&b)
		require.NoError(t, err)
		_, err = io.WriteString(w, text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		if len(text) > 1000 {
			require.Less(t, b.Len(), len(text)/10)
		}
		r, err := c.Decompress(&b)
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		require.NoError(t, r.(io.Closer).Close())
		_, err = c.Decompress(strings.NewReader("not compressed"))
		require.ErrorContains(t, err, "invalid header")
	}
}
