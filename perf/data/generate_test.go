package data_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf/data"
	"triton/pkg/tensor"
)

func TestGenerate(t *testing.T) {
	t.Parallel()
	s := data.Signature{Model: "m", Inputs: []data.Tensor{
		{Name: "A", DataType: tensor.Int32, Shape: tensor.Shape{-1, 2}},
		{Name: "B", DataType: tensor.Uint8, Shape: tensor.Shape{3}},
		{Name: "S", DataType: tensor.Bytes, Shape: tensor.Shape{2}},
	}}
	o := data.DefaultOptions()
	o.StringLength = 5
	_, err := data.Load(o, s)
	require.EqualError(t, err, "input A contains dynamic shape, provide shapes to send along with the request")
	o.Shapes = map[string][]int64{"A": {4, 2}, "C": {1}}
	passed, err := data.Load(o, s)
	require.NoError(t, err)
	require.Equal(t, []string{`--shape names the input "C", which model m does not have: it is passed over. Its inputs are A, B, S.`}, passed.PassedOver)
	o.Shapes = map[string][]int64{"A": {4, 2}, "B": {9}}
	first, err := data.Load(o, s)
	require.NoError(t, err)
	again, err := data.Load(o, s)
	require.NoError(t, err)
	require.Equal(t, first, again, "the same data in every run")
	require.Len(t, first.Streams[0], 1)
	in := first.Streams[0][0].Inputs
	require.Equal(t, tensor.Shape{4, 2}, in["A"].Shape)
	require.Len(t, in["A"].Data, 32)
	require.Equal(t, tensor.Shape{3}, in["B"].Shape, "a fixed shape stays")
	require.Len(t, in["B"].Data, 3)
	require.Len(t, in["S"].Data, 2*(4+5))

	o.Source = data.Zero
	zero, err := data.Load(o, s)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 32), zero.Streams[0][0].Inputs["A"].Data)
	require.Equal(t, make([]byte, 8), zero.Streams[0][0].Inputs["S"].Data, "empty strings")
	o.StringData = "ab"
	text, err := data.Load(o, s)
	require.NoError(t, err)
	require.Equal(t, tensor.AppendElementString(tensor.AppendElementString(nil, "ab"), "ab"), text.Streams[0][0].Inputs["S"].Data)

	s.Inputs[1].ShapeTensor = true
	_, err = data.Load(o, s)
	require.EqualError(t, err, "can not generate data for shape tensor 'B', user-provided data is needed.")
	_, err = data.Load(data.DefaultOptions(), one(tensor.FP64, math.MaxInt64/4))
	require.ErrorContains(t, err, "larger than")
	_, err = data.Load(data.DefaultOptions(), one(tensor.Bytes, math.MaxInt64/4))
	require.ErrorContains(t, err, "larger than")
}

// values decodes a tensor, so that the test does not trust the encoder of the package.
func values(t *testing.T, d tensor.DataType, b []byte) []float64 {
	t.Helper()
	le := binary.LittleEndian
	var all []float64
	for ; len(b) > 0; b = b[d.Size():] {
		var v float64
		switch d {
		case tensor.Bool, tensor.Uint8:
			v = float64(b[0])
		case tensor.Int8:
			v = float64(int8(b[0]))
		case tensor.Uint16:
			v = float64(le.Uint16(b))
		case tensor.Int16:
			v = float64(int16(le.Uint16(b)))
		case tensor.Uint32:
			v = float64(le.Uint32(b))
		case tensor.Int32:
			v = float64(int32(le.Uint32(b)))
		case tensor.Uint64:
			v = float64(le.Uint64(b))
		case tensor.Int64:
			v = float64(int64(le.Uint64(b)))
		case tensor.FP16: // sign, 5 bits of exponent, 10 of fraction
			bits := le.Uint16(b)
			require.NotEqual(t, uint16(31), bits>>10&31, "NaN or Inf")
			v = math.Ldexp(float64(bits&1023), -24)
			if e := int(bits >> 10 & 31); e > 0 {
				v = math.Ldexp(float64(bits&1023|1024), e-25)
			}
			if bits>>15 == 1 {
				v = -v
			}
		case tensor.BF16:
			v = float64(math.Float32frombits(uint32(le.Uint16(b)) << 16))
		case tensor.FP32:
			v = float64(math.Float32frombits(le.Uint32(b)))
		case tensor.FP64:
			v = math.Float64frombits(le.Uint64(b))
		default:
			require.Fail(t, "no number", d)
		}
		all = append(all, v)
	}
	return all
}

// TestRandomNumbers checks the bounds of random numbers, and that the numbers come close to
// both.
func TestRandomNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d                          tensor.DataType
		low, high                  string // empty: the default
		least, near, nearHigh, top float64
	}{
		{tensor.Bool, "", "", 0, 0, 1, 1},
		{tensor.Uint8, "", "", 0, 5, 250, 255},
		{tensor.Int8, "", "", 0, 5, 122, 127},
		{tensor.Uint16, "", "", 0, 5, 250, 255},
		{tensor.Int16, "", "", 0, 5, 250, 255},
		{tensor.Uint32, "", "", 0, 5, 250, 255},
		{tensor.Int32, "", "", 0, 5, 250, 255},
		{tensor.Uint64, "", "", 0, 5, 250, 255},
		{tensor.Int64, "", "", 0, 5, 250, 255},
		{tensor.FP16, "", "", 0, 0.05, 0.95, 1 - 0x1p-11},
		{tensor.BF16, "", "", 0, 0.05, 0.95, 1 - 0x1p-8},
		{tensor.FP32, "", "", 0, 0.05, 0.95, 1 - 0x1p-24},
		{tensor.FP64, "", "", 0, 0.05, 0.95, 1 - 0x1p-53},
		{tensor.Int8, "-128", "127", -128, -123, 122, 127},
		{tensor.Uint16, "7", "7", 7, 7, 7, 7},
		{tensor.Int32, "-5", "30000", -5, 500, 29500, 30000},
		{tensor.Int64, "-9223372036854775808", "9223372036854775807", -0x1p63, -0x1p62, 0x1p62, 0x1p63},
		{tensor.Uint64, "0", "18446744073709551615", 0, 0x1p62, 0x1p63, 0x1p64},
		{tensor.FP16, "-65504", "65504", -65504, -60000, 60000, 65504},
		{tensor.BF16, "-1e38", "1e38", -1.01e38, -0.9e38, 0.9e38, 1.01e38},
		{tensor.FP32, "-2.5", "1e3", -2.5, 20, 980, 1000},
		{tensor.FP64, "-1.7e308", "1.7e308", -1.7e308, -1.5e308, 1.5e308, 1.7e308},
		{tensor.FP64, "0.1", "0.1", 0.1, 0.1, 0.1, 0.1},
	} {
		t.Run(c.d.String()+" "+c.low+":"+c.high, func(t *testing.T) {
			t.Parallel()
			o := data.DefaultOptions()
			if c.low != "" {
				o.Ranges = map[string]data.Range{"X": {Low: c.low, High: c.high}}
			}
			set, err := data.Load(o, one(c.d, 4000))
			require.NoError(t, err)
			all := values(t, c.d, set.Streams[0][0].Inputs["X"].Data)
			require.Len(t, all, 4000)
			least, most := math.Inf(1), math.Inf(-1)
			for _, v := range all {
				require.False(t, math.IsNaN(v))
				least, most = min(least, v), max(most, v)
			}
			require.True(t, c.least <= least && least <= c.near, "least %v", least)
			require.True(t, c.nearHigh <= most && most <= c.top, "greatest %v", most)
		})
	}
}

func TestRangeErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d         tensor.DataType
		low, high string
	}{
		{tensor.Uint8, "0", "256"},
		{tensor.Uint8, "-1", "5"},
		{tensor.Int8, "0", "128"},
		{tensor.Int32, "0.5", "2"},
		{tensor.Int64, "3", "2"},
		{tensor.Uint64, "3", "2"},
		{tensor.FP16, "0", "65505"},
		{tensor.BF16, "0", "3.4e38"},
		{tensor.FP32, "0", "1e39"},
		{tensor.FP64, "0", "1e309"},
		{tensor.FP64, "nan", "1"},
		{tensor.FP32, "-inf", "1"},
		{tensor.FP32, "1", "0"},
		{tensor.FP32, "", "0"},
	} {
		o := data.DefaultOptions()
		o.Ranges = map[string]data.Range{"X": {Low: c.low, High: c.high}}
		_, err := data.Load(o, one(c.d, 1))
		require.EqualError(t, err, "--input-range X:"+c.low+":"+c.high+": the value must be <name:low:high> with low <= high, two numbers of data type "+c.d.String())
	}
	o := data.DefaultOptions()
	o.Ranges = map[string]data.Range{"X": {Low: "0", High: "1"}}
	_, err := data.Load(o, one(tensor.Bytes, 1))
	require.EqualError(t, err, `--input-range names the input "X" of data type BYTES; only numbers have a range`)
	_, err = data.Load(o, one(tensor.Bool, 1))
	require.ErrorContains(t, err, "only numbers have a range")
	passed, err := data.Load(o, signature())
	require.NoError(t, err)
	require.Equal(t, []string{`--input-range names the input "X", which model m does not have: it is passed over. Its inputs are A, T.`}, passed.PassedOver)
	o.Source = data.Zero
	_, err = data.Load(o, one(tensor.Int8, 1))
	require.EqualError(t, err, "random steps and input ranges need random data")
}

func TestRandomSteps(t *testing.T) {
	t.Parallel()
	o := data.DefaultOptions()
	o.Steps = 5
	s := signature()
	set, err := data.Load(o, s)
	require.NoError(t, err)
	require.False(t, set.FromFiles)
	require.Len(t, set.Streams[0], 5)
	numbers, strings := map[string]bool{}, map[string]bool{}
	for i := range set.Streams[0] {
		numbers[string(set.Streams[0][i].Inputs["A"].Data)] = true
		strings[string(set.Streams[0][i].Inputs["T"].Data)] = true
	}
	require.Len(t, numbers, 5)
	require.Len(t, strings, 5)
	req, err := set.Request(0, 4, 2)
	require.NoError(t, err)
	require.Equal(t, 16, req.Inputs[0].Data.Len())

	o.Seed = 1
	other, err := data.Load(o, s)
	require.NoError(t, err)
	require.NotEqual(t, set.Streams, other.Streams)
	o.Steps = 1
	short, err := data.Load(o, s)
	require.NoError(t, err)
	require.Equal(t, other.Streams[0][:1], short.Streams[0], "the number of steps does not change the first one")

	o.Steps = 1 << 30
	_, err = data.Load(o, s)
	require.EqualError(t, err, "1073741824 random steps of 140 bytes are larger than 2147483647 bytes together")
}
