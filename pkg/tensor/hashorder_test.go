package tensor_test

import (
	"crypto/md5" //nolint:gosec // a short form of long expected lists
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// TestHashOrder compares with what a program of GCC's C++ library printed after it had
// put these names into a std::unordered_map.
func TestHashOrder(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		3:    "2,1,0,",
		13:   "12,8,7,5,9,4,6,3,10,2,1,11,0,",
		14:   "13,11,2,10,3,6,4,9,5,7,8,0,1,12,",
		40:   "37,36,35,34,33,31,29,1,0,24,8,7,30,5,9,4,28,3,17,38,10,11,2,15,20,39,13,14,32,12,18,19,26,16,21,22,23,6,27,25,",
		200:  "md5 e77fdbd2ec8997da18152d4a846c4f7c",
		9000: "md5 475a328a9040566dc3c2ca84f7d6f668",
	} {
		names := make([]string, n)
		for i := range names {
			names[i] = "name_" + strconv.Itoa(i*7919)
		}
		var b strings.Builder
		for _, i := range tensor.HashOrder(names) {
			fmt.Fprintf(&b, "%d,", i)
		}
		got := b.String()
		if strings.HasPrefix(want, "md5 ") {
			sum := md5.Sum([]byte(got + "\n")) //nolint:gosec // as above
			got = "md5 " + hex.EncodeToString(sum[:])
		}
		require.Equal(t, want, got, n)
	}
	require.Empty(t, tensor.HashOrder(nil))
}

// TestHashOrderOfManyNames: the names of a request are a client's, who may send very many. Were
// the work quadratic this test would not end.
func TestHashOrderOfManyNames(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	names := make([]string, 1<<20)
	for i := range names {
		names[i] = "name_" + strconv.Itoa(i)
	}
	seen := make([]bool, len(names))
	for _, i := range tensor.HashOrder(names) {
		require.False(t, seen[i])
		seen[i] = true
	}
}
