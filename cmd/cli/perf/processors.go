package perf

import (
	"runtime"

	"triton/cmd/cli/process"
	measurement "triton/pkg/measure"
)

// cores is how many threads may run Go code at a time. It is read at the start, before the function of
// oneThread changes it.
var cores = runtime.GOMAXPROCS(0)

// usage reads the usage of this process. Its cores are those that it may use, also while it uses
// only one of them.
func usage() measurement.Usage {
	u := measurement.ReadUsage()
	u.Cores = float64(cores)
	return u
}

// oneThread returns perf.Deps.OneThread for a model: it lets one thread at a time run Go code. It is
// nil where one is not enough, for a live view, for several models and for a server in this process,
// and where the user has set the number.
func oneThread(p process.Process, o *options, live bool) func(bool) {
	if live || o.together || anyInProcess([]*options{o}) || p.Getenv("GOMAXPROCS") != "" {
		return nil
	}
	return func(light bool) {
		if light {
			runtime.GOMAXPROCS(1)
			return
		}
		runtime.SetDefaultGOMAXPROCS()
	}
}
