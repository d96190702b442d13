package rest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
)

func TestDecodeEverything(t *testing.T) {
	t.Parallel()
	text := `{"id":"a\u00e9","parameters":{"sequence_id":7,"sequence_start":true,"sequence_end":false,"priority":2,"timeout":5000,` +
		`"binary_data_output":true,"s":"x","i":-3,"b":true,"d":1.5},` +
		`"inputs":[{"name":"A","shape":[2,2],"datatype":"INT16","data":[[1,-2],[3,4]]},` +
		`{"name":"B","shape":[3],"datatype":"UINT8","parameters":{"binary_data_size":3}},` +
		`{"data":["x","\n"],"name":"C","datatype":"BYTES","shape":[2]}],` +
		`"outputs":[{"name":"X","parameters":{"binary_data":true}},{"name":"Y","parameters":{"classification":3}}]}`
	decode(t, text+"\x01\x02\x03", len(text), func(r *kserve.Request, err error) {
		require.NoError(t, err)
		require.Equal(t, "aé", r.ID)
		require.EqualValues(t, 7, r.SequenceID)
		require.True(t, r.SequenceStart)
		require.False(t, r.SequenceEnd)
		require.EqualValues(t, 2, r.Priority)
		require.EqualValues(t, 5000, r.TimeoutMicros)
		require.True(t, r.BinaryOutput)
		require.Equal(t, []kserve.Parameter{
			{Name: "s", Kind: kserve.ParamString, String: "x"},
			{Name: "i", Kind: kserve.ParamInt, Int: -3},
			{Name: "b", Kind: kserve.ParamBool, Bool: true},
			{Name: "d", Kind: kserve.ParamDouble, Double: 1.5},
		}, r.Parameters)
		require.Len(t, r.Inputs, 3)
		require.Equal(t, []byte{1, 0, 0xFE, 0xFF, 3, 0, 4, 0}, bytesOf(t, &r.Inputs[0]))
		require.Equal(t, tensor.Shape{2, 2}, r.Inputs[0].Shape)
		require.Equal(t, []byte{1, 2, 3}, bytesOf(t, &r.Inputs[1]))
		require.Equal(t, "\x01\x00\x00\x00x\x01\x00\x00\x00\n", string(bytesOf(t, &r.Inputs[2])))
		require.Equal(t, []kserve.RequestedOutput{{Name: "X", Binary: true}, {Name: "Y", Classification: 3}}, r.Outputs)
	})
}

// TestDecodeBadInput has the requests that the recorded responses of Triton lack:
// those that this server refuses and Triton accepts, or crashes at.
func TestDecodeBadInput(t *testing.T) {
	t.Parallel()
	in := func(text string) string { return `{"inputs":[{"name":"A","datatype":"INT64",` + text + `}]}` }
	deep := func(n int, inner string) string {
		return strings.Repeat("[", n) + inner + strings.Repeat("]", n)
	}
	for _, c := range []struct {
		body string
		code status.Code
		want string
	}{
		{in(`"shape":[18446744073709551615],"data":[1]`), status.InvalidArg, "invalid shape for input 'A': shape [-1] contains one or more invalid dimensions"},
		{in(`"shape":[4294967296,4294967296],"data":[1]`), status.InvalidArg, "causes total element count to exceed maximum size of 9223372036854775807"},
		{in(`"shape":[2305843009213693952],"data":[1]`), status.InvalidArg, "byte size overflow for input 'A': element count (2305843009213693952) * data type size (8) exceeds maximum allowed size (9223372036854775807)"},
		{in(`"shape":[1000000000],"data":[1]`), status.InvalidArg, "JSON input 'A' has a byte_size (8000000000 bytes) that exceeds the maximum allowed value of 67108864 bytes. Use --http-max-input-size to increase the limit."},
		{in(`"shape":[8000000],"data":[1]`), status.InvalidArg, "Failed to parse 'data' field: shape does not match true shape"},
		{in(`"shape":[1],"data":` + deep(101, "1")), status.InvalidArg, "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (100)"},
		{`{"inputs":[{"name":"A","datatype":"BYTES","shape":[1],"data":` + deep(101, `"x"`) + `}]}`, status.InvalidArg, "JSON nesting depth exceeds maximum allowed limit (100)"},
		{`{"x":` + deep(100000, "") + `}`, status.InvalidArg, "JSON nesting depth exceeds maximum allowed limit (256)"},
		{strings.Repeat(`{"a":`, 100000), status.InvalidArg, "JSON nesting depth exceeds maximum allowed limit (256)"},
		{`{"inputs":[` + strings.Repeat(" ", 64<<20) + `]}`, status.InvalidArg, "request JSON size of 67108877 bytes exceeds the maximum allowed input size of 67108864 bytes. Use --http-max-input-size to increase the limit."},
	} {
		decode(t, c.body, len(c.body), func(_ *kserve.Request, err error) {
			require.Error(t, err)
			require.Contains(t, err.Error(), c.want)
			require.Equal(t, c.code, status.CodeOf(err), "%v", err)
		})
	}
	for _, c := range []struct{ kind, number, ranges string }{
		{"INT8", "128", "-128 to 127"},
		{"INT16", "-32769", "-32768 to 32767"},
		{"INT32", "5000000000", "-2147483648 to 2147483647"},
		{"INT64", "9223372036854775808", "-9223372036854775808 to 9223372036854775807"},
		{"UINT8", "-1", "0 to 255"},
		{"UINT16", "65536", "0 to 65535"},
		{"UINT32", "4294967296", "0 to 4294967295"},
		{"UINT64", "18446744073709551616", "0 to 18446744073709551615"},
		{"FP32", "-1e39", "-3.4028235e+38 to 3.4028235e+38"},
	} {
		for after := range 40 { // the reader of plain elements needs some text after an element
			body := fmt.Sprintf(`{"inputs":[{"name":"A","datatype":"%s","shape":[%d],"data":[1,[2,%s]%s]}]}`,
				c.kind, 3+after, c.number, strings.Repeat(",1", after))
			decode(t, body, len(body), func(_ *kserve.Request, err error) {
				require.EqualError(t, err, fmt.Sprintf(
					"Unable to parse 'data' of input 'A': element 2 is %s, which is outside of the range of %s, %s", c.number, c.kind, c.ranges))
				require.Equal(t, status.InvalidArg, status.CodeOf(err))
			})
		}
	}
	for parameter, want := range map[string]string{
		`"seed":9223372036854775808`:         "parameter 'seed' is 9223372036854775808, which is outside of the range of int64",
		`"priority":18446744073709551616`:    "Unable to parse 'priority': the number is out of range",
		`"timeout":99999999999999999999`:     "Unable to parse 'timeout': the number is out of range",
		`"sequence_id":9999999999999999e9`:   "Unable to parse 'sequence_id': attempt to access JSON non-string as string",
		`"sequence_id":18446744073709551616`: "Unable to parse 'sequence_id': the number is out of range",
	} {
		body := `{"inputs":[],"parameters":{` + parameter + `}}`
		decode(t, body, len(body), func(_ *kserve.Request, err error) { require.EqualError(t, err, want) })
	}
	good := in(`"shape":[1],"data":` + deep(100, "7"))
	decode(t, good, len(good), func(_ *kserve.Request, err error) { require.NoError(t, err) })
}

// TestDecodeShapeLargerThanData checks that a shape that declares more than the text
// can hold takes no memory for it.
func TestDecodeShapeLargerThanData(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	d := Decoder{Pool: pool}
	text := `{"inputs":[{"name":"A","datatype":"INT8","shape":[67108864],"data":[1]}]}`
	body := pool.Get(len(text))
	copy(body.Bytes(), text)
	before := pool.Bytes()
	require.Error(t, d.DecodeRequest(&kserve.Request{}, body, len(text)))
	require.LessOrEqual(t, pool.Bytes()-before, int64(1<<20))
	body.Release()
}

// TestDecodeAgainstEncodingJSON compares nested arrays of random numbers.
func TestDecodeAgainstEncodingJSON(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		n := 1 + rnd.IntN(40)
		numbers := make([]string, n)
		for i := range numbers {
			numbers[i] = strconv.FormatFloat(rnd.NormFloat64()*math.Pow(10, float64(rnd.IntN(20)-10)), "efg"[rnd.IntN(3)], rnd.IntN(22)-1, 64)
		}
		list := "[" + strings.Join(numbers, [...]string{",", " , ", "],\n[", "\t,\r\n"}[rnd.IntN(4)]) + "]"
		var flat []float64
		require.NoError(t, json.Unmarshal([]byte("["+strings.Join(numbers, ",")+"]"), &flat))
		text := fmt.Sprintf(`{"inputs":[{"name":"A","datatype":"FP64","shape":[%d],"data":[%s]}]}`, n, list)
		decode(t, text, len(text), func(r *kserve.Request, err error) {
			require.NoError(t, err)
			got := bytesOf(t, &r.Inputs[0])
			for i, f := range flat {
				require.Equal(t, math.Float64bits(f), binary.LittleEndian.Uint64(got[8*i:]), numbers[i])
			}
		})
	}
}

// TestFastAndExactAgree checks that both passes read a correct request alike.
func TestFastAndExactAgree(t *testing.T) {
	t.Parallel()
	for _, text := range seeds {
		compareReadings(t, []byte(text))
	}
}

var seeds = []string{
	`{"id":"x","inputs":[{"name":"A","datatype":"FP32","shape":[2],"data":[1,[2.5]]}],"outputs":[{"name":"B","parameters":{"binary_data":true}}]}`,
	`{"inputs":[{"name":"A","datatype":"BYTES","shape":[1],"data":["\ud83d\ude00\n"]}],"parameters":{"priority":1,"x":1e5}}`,
	`{"inputs":[{"data":[true],"shape":[1],"datatype":"BOOL","name":"A"}],"inputs":5}`,
	`{"inputs":[{"name":"A","datatype":"INT8","shape":[4],"parameters":{"binary_data_size":0}}]}`,
	`{"inputs":[{"name":"A","datatype":"UINT64","shape":[2],"data":[18446744073709551615,-0]}]}`,
	`{"inputs":[],"id":"a","id":5}`,
	`{"inputs":[{"name":"A","datatype":"FP64","shape":[3],"data":[NaN,-Infinity,1e-400]}]}`,
	placedInput("INT8", `"shared_memory_region":"r","shared_memory_byte_size":4`),
	placedInput("BYTES", `"shared_memory_offset":4,"shared_memory_region":"r","shared_memory_byte_size":8`),
	placedInput("INT8", `"shared_memory_region":"r","shared_memory_region":5,"shared_memory_byte_size":4,"shared_memory_byte_size":"x"`),
	placedInput("INT8", `"shared_memory_region":"q","shared_memory_byte_size":4`),
	placedInput("INT8", `"shared_memory_region":5,"shared_memory_offset":[1,{}],"shared_memory_byte_size":-4`),
	placedInput("INT8", `"binary_data_size":0,"shared_memory_offset":"x"`),
	placedOutput(`"shared_memory_region":"r","shared_memory_byte_size":4,"binary_data":false`),
	placedOutput(`"shared_memory_region":"r","shared_memory_byte_size":4,"binary_data":true`),
	placedOutput(`"classification":0,"shared_memory_region":"r","shared_memory_byte_size":40,"shared_memory_byte_size":50`),
	placedOutput(`"shared_memory_offset":"x"`),
	"{} x", `{"a":1.}`, `{"a":"\ud800"}`, "\xef\xbb\xbf{}", `[1,]`, `{"inputs":[{"shape":[0],"data":{},"name":"","datatype":""}]}`,
}

func placedInput(datatype, parameters string) string {
	return `{"inputs":[{"name":"A","datatype":"` + datatype + `","shape":[4],"parameters":{` + parameters + `}}]}`
}

func placedOutput(parameters string) string {
	return `{"inputs":[],"outputs":[{"name":"B","parameters":{` + parameters + `}}]}`
}

func compareReadings(t testing.TB, text []byte) {
	t.Helper()
	pool := tensor.NewPool()
	rs := tensortest.NewRegions(pool)
	d := Decoder{Pool: pool, Regions: rs}
	read := func(how func() bool) (*kserve.Request, bool) {
		req := &kserve.Request{ModelName: "m"}
		d.req, d.body = req, tensor.HeapBuffer(text)
		d.start(text)
		return req, how()
	}
	fast, ok := read(d.fast)
	exact, want := read(func() bool { return d.exact() == nil })
	if ok != want {
		t.Fatalf("one-pass reading %v, exact reading %v: %q", ok, want, text)
	}
	if ok {
		require.Equal(t, describe(t, exact), describe(t, fast))
	}
	fast.Reset()
	exact.Reset()
	rs.Memory.Release()
	require.Zero(t, pool.Outstanding())
}

func describe(t testing.TB, r *kserve.Request) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%q %+v %+v %v %v %v %v\n", r.ID, r.Parameters, r.Outputs, r.SequenceID, r.SequenceIDStr, r.Priority, r.BinaryOutput)
	for i := range r.Inputs {
		x := &r.Inputs[i]
		fmt.Fprintf(&b, "%q %v %v %x\n", x.Name, x.DataType, x.Shape, bytesOf(t, x))
	}
	return b.String()
}

func FuzzDecodeRequest(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), 0)
	}
	f.Add([]byte(`{"inputs":[{"name":"A","datatype":"INT8","shape":[4],"parameters":{"binary_data_size":4}}]}abcd`), 4)
	f.Fuzz(func(t *testing.T, body []byte, tail int) {
		if tail < 0 || tail > len(body) {
			tail = 0
		}
		decode(t, string(body), len(body)-tail, func(r *kserve.Request, err error) {
			if err != nil {
				require.IsType(t, &status.Error{}, err)
			}
		})
		compareReadings(t, body)
	})
}
