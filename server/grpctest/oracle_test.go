package grpctest_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
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
			t.Fatal(report(data, transports[0].name, want, other.name, got))
		}
	}
}

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
}

var stopSending = regexp.MustCompile(`(\n  end(?: with data)?)\n  reset NO_ERROR`)

// allowed reports whether two outcomes are the same but for the differences.
func allowed(want, got outcome) bool {
	for _, d := range differences {
		want, got = d.hide(want), d.hide(got)
	}
	return want == got
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
	for i := range n {
		compareOn(t, scriptBytes(seed+i))
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
