package httpapi_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
)

// TestZstd: both ways, which Triton does not have.
func TestZstd(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		addr := start(t, newService(), httpapi.Options{MaxInput: 1 << 20})
		pack, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		defer pack.Close()
		unpack, err := zstd.NewReader(nil)
		require.NoError(t, err)
		defer unpack.Close()
		plain := one(good)
		_, want := fetch(t, "POST", addr+inferPath, plain)
		for range 3 {
			resp, text := fetch(t, "POST", addr+inferPath, string(pack.EncodeAll([]byte(plain), nil)),
				"Content-Encoding: zstd", "Accept-Encoding: zstd")
			require.Equal(t, 200, resp.StatusCode, text)
			require.Empty(t, resp.Header.Get("Content-Encoding"), "identity came first")
			require.Equal(t, want, text)
		}
		reply := dial(t, addr, "POST "+inferPath+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: gzip;q=0.5, zstd\r\nContent-Length: "+
			strconv.Itoa(len(plain))+"\r\n\r\n"+plain, false)
		head, body, _ := strings.Cut(reply, "\r\n\r\n")
		require.Contains(t, head, "Content-Encoding: zstd")
		text, err := unpack.DecodeAll([]byte(body), nil)
		require.NoError(t, err)
		require.Equal(t, want, string(text))

		// A small body that unfolds without end, and what is no zstd.
		resp, answer := fetch(t, "POST", addr+inferPath, string(pack.EncodeAll(bytes.Repeat([]byte(" "), 64<<20), nil)), "Content-Encoding: zstd")
		require.Equal(t, 400, resp.StatusCode)
		require.Contains(t, answer, "Decompressed data size exceeds the maximum allowed value of 1048576 bytes.")
		resp, answer = fetch(t, "POST", addr+inferPath, "no zstd at all", "Content-Encoding: zstd")
		require.Equal(t, 400, resp.StatusCode)
		require.Contains(t, answer, "encountered inconsistent stream state during decompression")
	})
}
