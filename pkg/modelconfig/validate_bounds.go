package modelconfig

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	pb "triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// Bounds limit what one configuration may make a server create. A zero field stands for its
// default.
type Bounds struct {
	Instances      int64 // of a model version
	Threads        int64 // that one parameter asks for
	WarmUpRequests int64 // of all samples: count times batch_size
	WarmUpBytes    int64 // of the inputs of all samples
	StateBytes     int64 // of the states of one sequence, at its start
}

// DefaultBounds returns the bounds of a server without flags.
func DefaultBounds() Bounds {
	return Bounds{Instances: 512, Threads: 1024, WarmUpRequests: 100_000, WarmUpBytes: 256 << 20, StateBytes: 256 << 20}
}

// ValidateBounds checks that the configuration stays within bounds. It is this server's check:
// Triton tries to create whatever is asked for.
func (c *Config) ValidateBounds(b Bounds) []Finding {
	v := validator{Config: c}
	d := DefaultBounds()
	v.instanceBound(cmp.Or(b.Instances, d.Instances))
	v.threadBound(cmp.Or(b.Threads, d.Threads))
	v.warmUpBounds(cmp.Or(b.WarmUpRequests, d.WarmUpRequests), cmp.Or(b.WarmUpBytes, d.WarmUpBytes))
	v.stateBound(cmp.Or(b.StateBytes, d.StateBytes))
	return v.found
}

// above reports a value above its limit.
func (v *validator) above(path string, value, limit int64, flag string) {
	text := strconv.FormatInt(value, 10)
	if value == math.MaxInt64 {
		text = "more than " + text
	}
	v.add(ruleBounds, path, fmt.Sprintf("lower it, or start the server with a higher %s", flag),
		"%s of model '%s' is %s, but this server allows at most %d (%s)", path, v.Name, text, limit, flag)
}

func (v *validator) instanceBound(limit int64) {
	total := int64(0)
	for i, g := range v.InstanceGroup {
		total += int64(g.GetCount()) * int64(max(len(g.GetGpus()), 1))
		if total > limit {
			v.above(fmt.Sprintf("instance_group[%d].count", i), total, limit, "--model-max-instances")
			return
		}
	}
}

// threadBound checks the parameters that are numbers of threads, of all backends: their names
// contain "thread", such as intra_op_thread_count, or they are the streams of OpenVINO.
func (v *validator) threadBound(limit int64) {
	check := func(path, key, value string) {
		name := strings.ToLower(key)
		if !strings.Contains(name, "thread") && !strings.HasSuffix(name, "num_streams") {
			return
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err == nil && n > limit {
			v.above(path, n, limit, "--model-max-threads")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.GetParameters())) {
		check(fmt.Sprintf("parameters[%q]", key), key, v.GetParameters()[key].GetStringValue())
	}
	accelerators := v.GetOptimization().GetExecutionAccelerators()
	for _, list := range []struct {
		name string
		all  []*pb.ModelOptimizationPolicy_ExecutionAccelerators_Accelerator
	}{
		{"gpu", accelerators.GetGpuExecutionAccelerator()},
		{"cpu", accelerators.GetCpuExecutionAccelerator()},
	} {
		for i, a := range list.all {
			for _, key := range slices.Sorted(maps.Keys(a.GetParameters())) {
				check(fmt.Sprintf("optimization.execution_accelerators.%s_execution_accelerator[%d].parameters[%q]", list.name, i, key), key, a.GetParameters()[key])
			}
		}
	}
}

func (v *validator) warmUpBounds(requests, bytes int64) {
	allRequests, allBytes := int64(0), int64(0)
	for i, w := range v.GetModelWarmup() {
		path := fmt.Sprintf("model_warmup[%d]", i)
		count, rows := int64(max(w.GetCount(), 1)), int64(w.GetBatchSize())
		if rows == 0 {
			continue // it is not run
		}
		if allRequests = sum(allRequests, product(count, rows)); allRequests > requests {
			field := ".batch_size"
			if count > requests || rows == 1 {
				field = ".count"
			}
			v.above(path+field, allRequests, requests, "--model-max-warmup-requests")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(w.GetInputs())) {
			in := w.GetInputs()[name]
			if allBytes = sum(allBytes, byteSize(in.GetDataType(), in.GetDims())); allBytes > bytes {
				v.above(fmt.Sprintf("%s.inputs[%q].dims", path, name), allBytes, bytes, "--model-max-warmup-bytes")
				return
			}
		}
	}
}

// stateBound checks the implicit states that the server creates for each sequence.
func (v *validator) stateBound(limit int64) {
	total := int64(0)
	for i, s := range v.GetSequenceBatching().GetState() {
		path, dims := fmt.Sprintf("sequence_batching.state[%d].dims", i), s.GetDims()
		if initial := s.GetInitialState(); len(initial) > 0 {
			path, dims = fmt.Sprintf("sequence_batching.state[%d].initial_state[0].dims", i), initial[0].GetDims()
		}
		if total = sum(total, byteSize(s.GetDataType(), dims)); total > limit {
			v.above(path, total, limit, "--model-max-state-bytes")
			return
		}
	}
}

// byteSize returns the size of a tensor whose variable dimensions are 1 and whose strings are empty.
func byteSize(t pb.DataType, dims []int64) int64 {
	n := int64(tensor.DataType(t).Size())
	if n <= 0 {
		n = int64(tensor.Uint32.Size()) // the length of a string
	}
	for _, d := range dims {
		if d == -1 {
			d = 1
		}
		n = product(n, d)
	}
	return n
}

// sum adds numbers that are not negative; the result is math.MaxInt64 if it is larger.
func sum(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// product multiplies numbers that are not negative; the result is math.MaxInt64 if it is larger.
// Negative numbers are reported by other checks and count as 0.
func product(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
