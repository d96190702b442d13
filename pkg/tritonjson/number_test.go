package tritonjson

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readNumber(text string) (number, []byte, bool) {
	var r Reader
	r.Reset([]byte(text + ","))
	var n number
	ok := r.number(&n)
	return n, r.text, ok && r.Pos() == len(text)
}

// randomNumber returns a valid JSON number of many shapes.
func randomNumber(rnd *rand.Rand) string {
	var b strings.Builder
	if rnd.IntN(2) == 0 {
		b.WriteByte('-')
	}
	digits := func(n int) {
		for range n {
			b.WriteByte(byte('0' + rnd.IntN(10)))
		}
	}
	if rnd.IntN(3) == 0 {
		b.WriteByte('0')
	} else {
		b.WriteByte(byte('1' + rnd.IntN(9)))
		digits(rnd.IntN(22))
	}
	if rnd.IntN(2) == 0 {
		b.WriteByte('.')
		b.WriteString(strings.Repeat("0", rnd.IntN(4)))
		digits(1 + rnd.IntN(22))
	}
	if rnd.IntN(3) == 0 {
		fmt.Fprintf(&b, "%c%s%d", "eE"[rnd.IntN(2)], [...]string{"", "+", "-"}[rnd.IntN(3)], rnd.IntN(40))
	}
	return b.String()
}

func TestNumbersAgreeWithStrconv(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		text := randomNumber(rnd)
		n, b, ok := readNumber(text)
		require.True(t, ok, text)
		want, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err, text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(n.float64(b)), text)
		require.Equal(t, math.Float32bits(float32(want)), math.Float32bits(n.float32(b)), text)
		i, err := strconv.ParseInt(text, 10, 64)
		got, ok := n.signed()
		require.Equal(t, err == nil, ok, text)
		if ok {
			require.Equal(t, i, got, text)
		}
		u, err := strconv.ParseUint(text, 10, 64)
		if text == "-0" {
			u, err = 0, nil
		}
		v, ok := n.unsigned()
		require.Equal(t, err == nil, ok, text)
		if ok {
			require.Equal(t, u, v, text)
		}
	}
}

// TestFloat32Middle reads numbers at and next to the midpoint of two float32,
// where a shortcut would round wrongly.
func TestFloat32Middle(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		f := math.Float64frombits(math.Float64bits(float64(math.Float32frombits(rnd.Uint32()&0x7F7FFFFF)))&^(1<<29-1) | 1<<28 + uint64(rnd.IntN(41)) - 20)
		text := strconv.FormatFloat(f, 'f', 5+rnd.IntN(15), 64)
		n, b, ok := readNumber(text)
		require.True(t, ok, text)
		want, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Equal(t, float32(want), n.float32(b), text)
	}
}

func TestNumbersAgainstEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "-0", "00", "-", "1.", ".5", "1e", "1e+", "1e5", "1E-5", "0.0", "0e0", "+1", "0x1", "1_000", "1e400", "-1e400", "1e-400",
		"184467440737095516150", "0.00000000000000000000000000000000000000000001", "9223372036854775807", "12345678", "1234567", "123456789.12345678",
	} {
		_, _, ok := readNumber(text)
		var v float64
		require.Equal(t, json.Unmarshal([]byte(text), &v) == nil, ok, text)
	}
}
