package report

import (
	"errors"
	"fmt"
	"time"

	"triton/analyzer/profile"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

const uuid = "GPU-aaaa"

// variantOf returns a variant of a model: number 0 is the user's own configuration.
func variantOf(model string, number int) trial.Variant {
	v := trial.Variant{Model: model, Name: model + "_config_default", Config: &inferencepb.ModelConfig{
		Name: model, Platform: "onnxruntime_onnx", MaxBatchSize: int32(4 << number),
		InstanceGroup: []*inferencepb.ModelInstanceGroup{{Kind: inferencepb.ModelInstanceGroup_KIND_GPU, Count: int32(number + 1)}},
		Parameters:    map[string]*inferencepb.ModelParameter{"threads": {StringValue: fmt.Sprint(number)}},
	}}
	if number > 0 {
		v.Name = fmt.Sprintf("%s_config_%d", model, number-1)
		v.Patch = trial.Patch{"max_batch_size": 4 << number}
		v.Config.Backend = "onnxruntime"
		v.Config.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{}}
	}
	return v
}

// values are what a model reaches with a throughput.
func values(throughput, latency float64) trial.Values {
	return trial.Values{
		trial.Throughput: throughput, trial.LatencyAvg: latency * 0.7, trial.LatencyP99: latency, trial.ClientWait: latency * 0.6,
		trial.ServerQueue: latency * 0.2, trial.ServerInput: 0.05, trial.ServerInfer: latency * 0.3, trial.ServerOutput: 0.02, trial.CPUUsedRAM: 512,
	}
}

// measured adds a device, the number of requests and a confidence interval.
func measured(members ...trial.Values) *trial.Measurement {
	m := &trial.Measurement{
		Members: members, Stable: true, Duration: 3 * time.Second,
		GPUs: map[string]trial.Values{uuid: {trial.GPUUsedMemory: 1500.75, trial.GPUUtilization: 43.21, trial.GPUPower: 120}},
	}
	for _, v := range members {
		m.Requests = append(m.Requests, int(3*v[trial.Throughput]))
	}
	t := members[0][trial.Throughput]
	m.Confidence = map[trial.Metric]trial.Interval{trial.Throughput: {Low: t * 0.97, High: t * 1.03}}
	return m
}

// sweep measures one configuration at four concurrencies; each step is faster and slower to answer.
func sweep(member func() trial.Member, speed float64) []trial.Result {
	var all []trial.Result
	for i, concurrency := range []int{1, 2, 4, 8} {
		m := member()
		m.Load = trial.Load{Batch: 1, Concurrency: concurrency}
		throughput := speed * float64(100+60*i)
		all = append(all, trial.Result{
			Config:      trial.Config{Members: []trial.Member{m}},
			Measurement: measured(values(throughput, float64(concurrency)*1000/throughput*1.3)),
		})
	}
	return all
}

func reportOf(models ...profile.ModelReport) *profile.Report {
	return &profile.Report{
		Tool: "triton analyze profile 1.2", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Mode: "brute", Launch: "local", Models: models,
		GPUs:       map[string]profile.GPU{uuid: {Name: "NVIDIA T4", Total: 16 << 30}},
		ServerOnly: map[string]trial.Values{uuid: {trial.GPUUsedMemory: 300}},
	}
}

// single is one model with a variant that is better than the default, an unstable measurement and
// trials that failed.
func single() *profile.Report {
	m := profile.ModelReport{
		Name: "resnet", Members: []profile.MemberReport{{Model: "resnet", Goal: limited(25)}},
		Reason: "all 12 configurations were tried",
	}
	for number, speed := range []float64{1, 2.5, 1.8} {
		m.Results = append(m.Results, sweep(func() trial.Member { return trial.Member{Variant: variantOf("resnet", number)} }, speed)...)
	}
	m.Results[5].Measurement.Stable = false
	m.Results = append(m.Results, trial.Result{
		Config:  trial.Config{Members: []trial.Member{{Variant: variantOf("resnet", 3), Load: trial.Load{Batch: 8, Concurrency: 64}}}},
		Failure: &trial.Failure{Class: trial.OutOfGPUMemoryAtLoad, Err: errors.New("<CUDA> out of memory & more")},
	})
	return reportOf(m)
}

// ensemble has a parent whose composing models vary; with bls it is a BLS model.
func ensemble(bls bool) *profile.Report {
	m := profile.ModelReport{Name: "top", Members: []profile.MemberReport{{Model: "top", Composing: []string{"pre", "net"}, Ensemble: !bls}}}
	for number, speed := range []float64{1, 1.5} {
		m.Results = append(m.Results, sweep(func() trial.Member {
			parent := variantOf("top", 0)
			parent.Config.Platform = "ensemble"
			if bls {
				parent.Config.Platform, parent.Config.Backend = "", "python"
			}
			return trial.Member{Variant: parent, Composing: []trial.Variant{variantOf("pre", number), variantOf("net", 0)}}
		}, speed)...)
	}
	return reportOf(m)
}

// language is a model with metrics of tokens, and with load in requests per second.
func language() *profile.Report {
	m := profile.ModelReport{Name: "llm", Members: []profile.MemberReport{{Model: "llm"}}}
	for number, speed := range []float64{1, 1.1} {
		m.Results = append(m.Results, sweep(func() trial.Member { return trial.Member{Variant: variantOf("llm", number)} }, speed)...)
	}
	for i := range m.Results {
		load := &m.Results[i].Config.Members[0].Load
		load.RequestRate, load.Concurrency = 10*load.Concurrency, 0
		v := m.Results[i].Measurement.Members[0]
		v["time_to_first_token_p99"], v["inter_token_latency_p99"], v[trial.OutputThroughput] = 80, 9.5, v[trial.Throughput]*40
	}
	r := reportOf(m)
	r.RequestRate = true
	return r
}
