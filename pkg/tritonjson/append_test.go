package tritonjson

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The string is one of a log line of Triton 2.51.
func TestAppendString(t *testing.T) {
	t.Parallel()
	s := "a\x01\x1f\x7f\"\\\n\té\u2028/<b>\xff"
	require.Equal(t, "\"a\\u0001\\u001F\x7f\\\"\\\\\\n\\té\u2028/<b>\xff\"", string(AppendString(nil, s)))
	require.Equal(t, `x:"\b\f\r"`, string(AppendString([]byte("x:"), []byte("\b\f\r"))))
}

func TestAppendValidIsJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\b\f", "\x00\x1f\x7f", "ü€😀\u2028", "bad \xff\xfe utf8 \xed\xa0\x80"} {
		var back string
		require.NoError(t, json.Unmarshal(AppendValid(nil, s), &back))
		require.Equal(t, string([]rune(s)), back)
	}
	require.Equal(t, "\"\uFFFD\uFFFDa\"", string(AppendValid(nil, "\xff\xffa")))
}

func TestPowersOfTen(t *testing.T) {
	t.Parallel()
	for i, p := range powers {
		k := -348 + 8*i
		exact := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(k, -k))), nil))
		if k < 0 {
			exact.Inv(exact)
		}
		f := new(big.Float).SetPrec(64).SetRat(exact)
		e := f.MantExp(f) - 64
		u, accuracy := f.SetMantExp(f, 64).Uint64()
		require.Equal(t, big.Exact, accuracy)
		require.Equal(t, u, p.f, k)
		require.EqualValues(t, e, p.e, k)
	}
}

func TestFloatsReadBackTheSame(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200000 {
		f := math.Float64frombits(rnd.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		text := string(AppendFloat(nil, f))
		back, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err, text)
		require.Equal(t, f, back, text)
	}
	// The layouts at their borders, as recorded from Triton.
	for want, f := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1e21": 1e21, "100000000000000000000.0": 1e20, "1e-7": 1e-7, "0.000001": 1e-6,
		"5e-324": 5e-324, "1.7976931348623157e308": math.MaxFloat64, "100.0": 100, "123456.789": 123456.789,
		"0.30000001192092898": float64(float32(0.3)), "NaN": math.NaN(), "-Infinity": math.Inf(-1), "Infinity": math.Inf(1), "-2.5": -2.5,
	} {
		require.Equal(t, want, string(AppendFloat(nil, f)))
	}
}
