package httpapi_test

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
	"triton/server/memory"
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

// TestDecompressorsAreCounted: the window that a zstd body demands, and the buffers for gzip, take memory
// before the rest of the body is there.
func TestDecompressorsAreCounted(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, start serving) {
		budget := memory.New(64 << 20)
		addr := start(t, newService(), httpapi.Options{Memory: budget})
		for _, c := range []struct {
			encoding, begun string
			bytes           int64
		}{
			{"zstd", "\x28\xb5\x2f\xfd\x00\x68\x01\x00\x00" + "12345678", 8 << 20}, // a frame with a window of 8 MiB
			{"gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00" + "12345678", 64 << 10},
		} {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Encoding: %s\r\nContent-Length: 1000\r\n\r\n%s", inferPath, c.encoding, c.begun)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return budget.Total() >= c.bytes }, waitTime, pollTime, c.encoding)
			require.NoError(t, conn.Close())
			require.Eventually(t, func() bool { return budget.Total() == 0 }, waitTime, pollTime, c.encoding)
		}
		frames := "\x28\xb5\x2f\xfd\x00\x00\x01\x00\x00" + "\x28\xb5\x2f\xfd\x00\x68\x01\x00\x00" // the second with a larger window
		resp, text := fetch(t, "POST", addr+inferPath, frames, "Content-Encoding: zstd")
		require.Equal(t, 400, resp.StatusCode)
		require.Contains(t, text, "larger window than the first one")
		budget.Add(memory.Messages, 50<<20)
		defer budget.Return(memory.Messages, 50<<20)
		resp, text = fetch(t, "POST", addr+inferPath, "\x28\xb5\x2f\xfd\x00\x68\x01\x00\x00", "Content-Encoding: zstd")
		require.Equal(t, 503, resp.StatusCode, text)
		require.Equal(t, "1", resp.Header.Get("Retry-After"))
	})
}
