package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMachineTime(t *testing.T) {
	t.Parallel()
	busy, total := machineTime([]byte("cpu  100 1 20 300 40 5 6 7 90 9\ncpu0 50 0 0 0 0 0 0 0 0 0\n"))
	require.Equal(t, (100+1+20+5+6+7)*10*time.Millisecond, busy)
	require.Equal(t, (100+1+20+300+40+5+6+7)*10*time.Millisecond, total)
	for _, text := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8 9", "cpu a 1 2 3 4 5 6 7"} {
		_, total := machineTime([]byte(text))
		require.Zero(t, total, text)
	}
}

func TestReadUsage(t *testing.T) {
	t.Parallel()
	before := ReadUsage()
	for ReadUsage().CPU == before.CPU { // uses the processor until the clock of the kernel moves
	}
	require.Positive(t, before.Cores)
	require.Positive(t, before.Total)
	require.LessOrEqual(t, before.Busy, before.Total)
}
