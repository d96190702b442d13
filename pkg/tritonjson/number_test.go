package tritonjson

import (
	"encoding/json"
	"errors"
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

func reader(text string) *Reader {
	var r Reader
	r.Reset([]byte(text + ","))
	return &r
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
		v, err2 := reader(text).Uint()
		require.Equal(t, err == nil, err2 == nil, text)
		if err == nil {
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

func TestIntBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		low  int64
		high uint64
		want uint64
		err  error
	}{
		{"-128", math.MinInt8, math.MaxInt8, 1<<64 - 128, nil},
		{"127", math.MinInt8, math.MaxInt8, 127, nil},
		{"-129", math.MinInt8, math.MaxInt8, 0, ErrRange},
		{"128", math.MinInt8, math.MaxInt8, 0, ErrRange},
		{"-0", 0, math.MaxUint8, 0, nil},
		{"-1", 0, math.MaxUint8, 0, ErrRange},
		{"256", 0, math.MaxUint8, 0, ErrRange},
		{"-9223372036854775808", math.MinInt64, math.MaxInt64, 1 << 63, nil},
		{"-9223372036854775809", math.MinInt64, math.MaxInt64, 0, ErrRange},
		{"9223372036854775808", math.MinInt64, math.MaxInt64, 0, ErrRange},
		{"18446744073709551615", 0, math.MaxUint64, math.MaxUint64, nil},
		{"18446744073709551616", 0, math.MaxUint64, 0, ErrRange},
		{"184467440737095516150", 0, math.MaxUint64, 0, ErrRange},
		{"1.0", 0, 9, 0, ErrUint},
		{"1e0", -9, 9, 0, errInt},
		{"NaN", -9, 9, 0, errInt},
		{"true", 0, 9, 0, ErrUint},
	} {
		r := reader(c.text)
		got, err := r.IntBetween(c.low, c.high)
		require.Equal(t, c.want, got, c.text)
		if c.err == nil {
			require.NoError(t, err, c.text)
			continue
		}
		require.Equal(t, c.err, err, c.text)
		if errors.Is(err, ErrRange) {
			require.Equal(t, len(c.text), r.Pos(), "the number was read")
		}
	}
}

func TestNumbersBeyondTheirType(t *testing.T) {
	t.Parallel()
	_, err := reader("9223372036854775808").Int()
	require.Equal(t, ErrRange, err)
	_, err = reader("18446744073709551616").Uint()
	require.Equal(t, ErrRange, err)
	_, err = reader("-1").Uint()
	require.Equal(t, ErrUint, err)
	for _, text := range []string{"3.4028236e38", "-1e39"} {
		_, err = reader(text).Float32()
		require.Equal(t, ErrRange, err, text)
	}
	for text, want := range map[string]float64{
		"3.40282347e38": math.MaxFloat32, "-Infinity": math.Inf(-1),
	} {
		f, err := reader(text).Float32()
		require.NoError(t, err, text)
		require.Equal(t, float32(want), f, text)
	}
}
