package onnx

// threads is how a session uses the processors.
type threads struct {
	intra, inter int
	spin         bool
	policy       string // the host policy that binds them; empty: none
	why          string // for the log
}

const spinEntry = "session.intra_op.allow_spinning"

// planThreads divides cpus processors among the instances of a model. The instances run
// on one session, whose pool helps whichever instance has work, and every instance's
// own thread works too; so a pool of N-1 threads and I instances keeps N+I-1 processors
// busy.
//
// A count that the user sets is per instance, as if each had a session of its own. Idle
// pool threads do not spin: other models and the server need the processors.
func planThreads(cpus, instances int, o *options) threads {
	cpus, instances = max(cpus, 1), max(instances, 1)
	t := threads{inter: o.inter}
	switch {
	case o.intra > 0:
		t.intra, t.why = instances*(o.intra-1)+1, "intra_op_thread_count"
	case instances >= cpus:
		t.intra, t.why = 1, "every processor has an instance"
	default:
		t.intra, t.why = cpus-instances+1, "the processors that the instances leave"
	}
	if o.mode == modeParallel && t.inter == 0 {
		t.inter = t.intra
	}
	return t
}
