package trace

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pending traces are bounded even if a file is to have more: the earlier ones are written to
// files of their own.
func TestTracesDoNotPileUp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"level=TIMESTAMPS", "rate=1", "count=1000000", "triton,file=%f"},
		{"level=TIMESTAMPS", "rate=1", "triton,file=%f", "triton,log-frequency=1000000"},
	} {
		tr, file := open(t, args...)
		s := tr.current.Load().global
		one := append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, 1<<20)...), '"')
		const n = 2*maxPending>>20 + 1
		for range n {
			s.collect(one)
			require.LessOrEqual(t, len(s.mu.pending), maxPending)
		}
		require.NoError(t, tr.Shutdown(context.Background()))
		got := 0
		for _, name := range []string{file, file + ".0", file + ".1", file + ".2"} {
			text, err := os.ReadFile(name)
			if os.IsNotExist(err) {
				continue
			}
			require.Equal(t, "[]", string(text[0])+string(text[len(text)-1]), name)
			got += bytes.Count(text, []byte(`"x`))
		}
		require.Equal(t, n, got)
	}
}
