package simulate_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/scheduler/simulate"
)

func TestReadTrace(t *testing.T) {
	t.Parallel()
	want := []simulate.Arrival{
		{At: 10 * time.Microsecond, Rows: 2, Shape: 16, Priority: 1, Timeout: time.Millisecond},
		{At: 10 * time.Microsecond},
	}
	for _, text := range []string{
		"at_us,rows,shape,priority,timeout_us\n10,2,16,1,1000\n10,0,0,0,0\n",
		`{"at_us":10,"rows":2,"shape":16,"priority":1,"timeout_us":1000}` + "\n" + `{"at_us":10}`,
	} {
		got, err := simulate.ReadTrace(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	none, err := simulate.ReadTrace(strings.NewReader(""))
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestWrongTraces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"at\n":               "column 'at' is unknown or repeated; the columns are at_us, rows, shape, priority, timeout_us",
		"at_us,at_us\n":      "column 'at_us' is unknown or repeated; the columns are at_us, rows, shape, priority, timeout_us",
		"at_us\nx\n":         "arrival 1: 'x' in column at_us is not a number from 0",
		"at_us\n2\n1\n":      "arrival 2: arrivals must be in the order of their times",
		"at_us\n1,2\n":       "arrival 1: record on line 2: wrong number of fields",
		`{"at_us":-1}`:       "arrival 1: times are from 0 to 31536000000000 us",
		`{"rows":-1}`:        "arrival 1: rows and shape are not negative",
		`{"at_us":1,"id":2}`: `arrival 1: json: unknown field "id"`,
	} {
		_, err := simulate.ReadTrace(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte("at_us,rows\n1,2\n"))
	f.Add([]byte(`{"at_us":1}` + "\n" + `{"at_us":2}`))
	f.Add([]byte("\"\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := simulate.ReadTrace(bytes.NewReader(text))
		if err != nil {
			return
		}
		for i, a := range all {
			require.GreaterOrEqual(t, a.At, time.Duration(0))
			require.False(t, i > 0 && a.At < all[i-1].At)
		}
	})
}
