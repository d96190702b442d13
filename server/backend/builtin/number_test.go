package builtin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is read fits into 32 bits and reads the same when it is written.
func FuzzLeadingNumber(f *testing.F) {
	for _, text := range []string{"5", " 12x", "-3", "+4", "x", "", "-", "4294967296", "1-2", "\v7"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := leadingNumber(text)
		if !ok {
			return
		}
		require.Equal(t, int64(int32(v)), v)
		again, ok := leadingNumber(fmt.Sprint(v, "x"))
		require.True(t, ok)
		require.Equal(t, v, again)
	})
}
