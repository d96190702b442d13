package grpctest_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// compareOn plays a script on all transports and compares the outcomes with the oracle's.
func compareOn(t *testing.T, data []byte) {
	t.Helper()
	want := play(t, transports[0].make, newScript(data))
	for _, other := range transports[1:] {
		if got := play(t, other.make, newScript(data)); !allowed(want, got) {
			t.Error(report(data, transports[0].name, want, other.name, got))
		}
	}
}

// maxFailures is how many scripts TestOracle reports.
const maxFailures = 3

// report describes two outcomes of a script.
func report(data []byte, one string, a outcome, two string, b outcome) string {
	text := fmt.Sprintf("two outcomes of the script %x:\n%s", data, newScript(data))
	if a.calls != b.calls {
		text += fmt.Sprintf("\n%s, calls:\n%s\n%s, calls:\n%s", one, a.calls, two, b.calls)
	}
	if a.client != b.client {
		text += fmt.Sprintf("\n%s, client:\n%s\n%s, client:\n%s", one, a.client, two, b.client)
	}
	return text
}

// difference is one that two transports may have.
type difference struct {
	reason string
	hide   func(o outcome) outcome // removes it
}

var differences = []difference{
	{
		"after the answer to a call that the client has not ended, a server may ask it to stop (RFC 9113, 8.1)",
		func(o outcome) outcome {
			o.client = stopSending.ReplaceAllString(o.client, "$1")
			return o
		},
	},
	{
		"before it closes the connection of a client that violates HTTP/2, a server may say why (RFC 9113, 5.4.1)",
		func(o outcome) outcome {
			o.client = sayWhy.ReplaceAllString(o.client, "$1")
			return o
		},
	},
	{
		"frames of a call that has ended may get a reset, whatever they are (RFC 9113, 5.1)",
		func(o outcome) outcome {
			o.client = afterEnd.ReplaceAllString(o.client, "$1")
			return o
		},
	},
	{
		"the oracle tells the client that a part of a second message is internal, and the handler that it is unknown",
		func(o outcome) outcome {
			o.calls = strings.ReplaceAll(o.calls, "error Unknown: unexpected EOF", "error Internal: unexpected EOF")
			return o
		},
	},
}

var sayWhy = regexp.MustCompile(`(?m)^GOAWAY (?:[A-Z_]+), last stream \d+\n(closed)$`)

var afterEnd = regexp.MustCompile(`(\n  end(?: with data)?|reset [A-Z_]+)(?:\n  reset [A-Z_]+)+`)

var stopSending = regexp.MustCompile(`(\n  end(?: with data)?)\n  reset NO_ERROR`)

// allowed reports whether two outcomes are the same but for the differences.
func allowed(want, got outcome) bool {
	for _, d := range differences {
		want, got = d.hide(want), d.hide(got)
	}
	return want.client == got.client && sameCalls(want.calls, got.calls)
}

// sameCalls reports whether handlers saw the same, until one of them waited for a window of the client when that
// left: a server may queue some of a message instead.
func sameCalls(want, got string) bool {
	const begin, waited = "call ", "  send error Canceled"
	a, b := strings.Split(want, begin), strings.Split(got, begin)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		one, two := strings.Split(a[i], "\n"), strings.Split(b[i], "\n")
		if at := slices.Index(two, waited); at >= 0 && at < len(one) {
			one, two = one[:at], two[:at]
		}
		if !slices.Equal(one, two) {
			return false
		}
	}
	return true
}

// FuzzOracle sends the frames of a script to all transports: handlers must see the same calls, and
// the client the same answers.
func FuzzOracle(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(scriptBytes(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compareOn(t, data) })
}

// TestOracle is FuzzOracle for a number of executions of its own: TRITON_ORACLE_EXECUTIONS,
// from the seed TRITON_ORACLE_SEED.
func TestOracle(t *testing.T) {
	t.Parallel()
	n, seed := uint64(500), uint64(1)
	if testing.Short() {
		n = 100
	}
	for name, v := range map[string]*uint64{"TRITON_ORACLE_EXECUTIONS": &n, "TRITON_ORACLE_SEED": &seed} {
		if text := os.Getenv(name); text != "" {
			var err error
			*v, err = strconv.ParseUint(text, 10, 64)
			require.NoError(t, err, name)
		}
	}
	began := time.Now()
	for i, failures := uint64(0), 0; i < n && failures < maxFailures; i++ {
		if failed := !t.Run(strconv.FormatUint(seed+i, 10), func(t *testing.T) { compareOn(t, scriptBytes(seed+i)) }); failed {
			failures++
		}
	}
	t.Logf("%d executions in %v", n, time.Since(began))
}

// scriptBytes returns the bytes of a script of a seed.
func scriptBytes(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 34))
	b := make([]byte, 0, 256)
	for len(b) < cap(b) {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b
}

// TestOracleIsDeterministic plays scripts on the oracle twice: its outcomes must not depend on the order of goroutines.
func TestOracleIsDeterministic(t *testing.T) {
	t.Parallel()
	n := uint64(300)
	if testing.Short() {
		n = 30
	}
	for seed := range n {
		data := scriptBytes(seed)
		first := play(t, transports[0].make, newScript(data))
		if second := play(t, transports[0].make, newScript(data)); !allowed(first, second) {
			t.Fatal(report(data, "first", first, "second", second))
		}
	}
}
