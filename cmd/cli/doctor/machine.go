package doctor

import (
	"context"
	"runtime"

	"triton/analyzer/memory/meter"
	"triton/cmd/cli/process"
	"triton/pkg/ui"
)

// processors compares the processors of the machine with those that this process may use.
func processors(context.Context, process.Process, options) []Finding {
	usable, online := runtime.GOMAXPROCS(0), runtime.NumCPU()
	f := about("processors", OK, "%d usable", usable)
	if usable < online {
		f = about("processors", Note, "%d usable of %d: a quota of the control group or GOMAXPROCS", usable, online).
			do("threads of engines are counted by what is usable; a quota below one processor per busy instance throttles it in slices of 100 ms")
	}
	return []Finding{f}
}

// littleMemory is less than an engine with a small model needs.
const littleMemory = 512 << 20

func memory(context.Context, process.Process, options) []Finding {
	room, err := meter.FS{}.Available()
	if err != nil {
		return []Finding{about("memory", Note, "not known: %v", err)}
	}
	f := about("memory", OK, "%s: %s", ui.Bytes(float64(room.Bytes)), room.Origin)
	if room.Bytes < littleMemory {
		f.State = Warning
		f = f.do("an engine and a small model need about %s; raise the limit or end other programs", ui.Bytes(littleMemory))
	}
	return append([]Finding{f}, sharedMemory()...)
}
