package tritonjson

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDocument checks that every text that encoding/json accepts is a document,
// and that its strings are read as encoding/json reads them.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,true,null,"\ud83d\ude00\n"],"b":{}}`, `"\u00e9"`, `[[[]]]`, `{"a":1.}`, `{"a":"\ud800"}`, "\xef\xbb\xbf{}", `[1,]`, ` 1e400 `, ``, `{} x`,
		"{\"\":\"\",\b", `["\ud800\udc00\n",A`, `[NaN,Infinity,0]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Reader
		r.Reset(text)
		ok := r.Document()
		if !ok {
			require.NotEmpty(t, r.Err().Msg)
		}
		if !json.Valid(text) || len(text) == 0 {
			return
		}
		if !ok {
			if r.reason != reasonDepth && r.reason != reasonNumberTooBig && r.reason != reasonSurrogate {
				t.Fatalf("%q is valid JSON: %v", text, r.Err())
			}
			return
		}
		var want string
		if !r.Is('"') || json.Unmarshal(text, &want) != nil || strings.ContainsRune(want, '�') {
			return
		}
		at := r.Pos()
		got, err := r.Text()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		r.Seek(at)
		n, ok := r.MeasureText()
		require.True(t, ok)
		require.Equal(t, len(want), n)
	})
}

func TestDocumentErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":              "The document is empty. at 0",
		"{} x":          "The document root must not be followed by other values. at 3",
		`{"a":1,}`:      "Missing a name for object member. at 7",
		`{"a" 1}`:       "Missing a colon after a name of object member. at 5",
		`{"a":1 "b":2}`: "Missing a comma or '}' after an object member. at 7",
		"[1 2]":         "Missing a comma or ']' after an array element. at 3",
		"[1,]":          "Invalid value. at 3",
		`"\x"`:          "Invalid escape character in string. at 1",
		`"\ud800"`:      "The surrogate pair in string is invalid. at 1",
		`"\u12g4"`:      "Incorrect hex digit after \\u escape in string. at 1",
		`"abc`:          "Missing a closing quotation mark in string. at 4",
		"1.":            "Miss fraction part in number. at 2",
		"1e":            "Miss exponent in number. at 2",
		"1e400":         "Number too big to be stored in double. at 0",
	} {
		var r Reader
		r.Reset([]byte(text))
		require.False(t, r.Document(), text)
		require.EqualError(t, r.Err(), "failed to parse the request JSON buffer: "+want, text)
	}
	var r Reader
	r.Reset([]byte(strings.Repeat("[", maxDepth+1)))
	require.False(t, r.Document())
	require.EqualError(t, r.Err(), "JSON nesting depth exceeds maximum allowed limit (256)")
}

// TestPlainFloats compares what the fast loops read with what Float64 and Float32
// read, and that they stop before elements in another form.
func TestPlainFloats(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		numbers := make([]string, 1+rnd.IntN(40))
		for i := range numbers {
			numbers[i] = randomNumber(rnd)
		}
		text := []byte(strings.Join(numbers, [...]string{",", ", "}[rnd.IntN(2)]) + strings.Repeat(" ", margin))
		dst := make([]byte, 8*len(numbers))
		var r Reader
		r.Reset(text)
		for i := range r.PlainFloats(dst, 8) / 8 {
			want, err := strconv.ParseFloat(numbers[i], 64)
			require.NoError(t, err)
			require.Equal(t, math.Float64bits(want), binary.LittleEndian.Uint64(dst[8*i:]), numbers[i])
		}
		r.Reset(text)
		read := r.PlainFloats(dst[:4*len(numbers)], 4) / 4
		for i := range read {
			want, err := strconv.ParseFloat(numbers[i], 64)
			require.NoError(t, err)
			require.Equal(t, math.Float32bits(float32(want)), binary.LittleEndian.Uint32(dst[4*i:]), numbers[i])
		}
		r.Space()
		next, err := r.Float64()
		require.NoError(t, err)
		want, err := strconv.ParseFloat(numbers[read], 64)
		require.NoError(t, err)
		require.Equal(t, want, next)
	}
}

func TestPlainInts(t *testing.T) {
	t.Parallel()
	read := func(text string, size int, signed bool) (dst []byte, rest string) {
		var r Reader
		r.Reset([]byte(text + strings.Repeat(" ", margin)))
		dst = make([]byte, 64)
		dst = dst[:r.PlainInts(dst, size, signed)]
		return dst, strings.TrimSpace(string(r.text[r.Pos():]))
	}
	dst, rest := read("1, -2,3.5,4,", 2, true)
	require.Equal(t, []byte{1, 0, 0xFE, 0xFF}, dst)
	require.Equal(t, "3.5,4,", rest)
	dst, rest = read("1,-2,", 1, false)
	require.Equal(t, []byte{1}, dst)
	require.Equal(t, "-2,", rest)
	dst, rest = read("123456789012345,1234567890123456,", 8, false)
	require.EqualValues(t, 123456789012345, binary.LittleEndian.Uint64(dst))
	require.Equal(t, "1234567890123456,", rest)
	dst, rest = read("255,07,", 1, false)
	require.Equal(t, []byte{255}, dst)
	require.Equal(t, "07,", rest)
	for text, size := range map[string]int{
		"128,": 1, "-129,": 1, "32768,": 2, "-32769,": 2, "2147483648,": 4, "-2147483649,": 4, "5000000000,": 4,
	} {
		dst, rest = read(text, size, true)
		require.Empty(t, dst, text)
		require.Equal(t, text, rest)
	}
	for text, size := range map[string]int{"256,": 1, "65536,": 2, "4294967296,": 4} {
		dst, rest = read(text, size, false)
		require.Empty(t, dst, text)
		require.Equal(t, text, rest)
	}
	dst, _ = read("-128,127,", 1, true)
	require.Equal(t, []byte{0x80, 0x7F}, dst)
}
