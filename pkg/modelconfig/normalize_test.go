package modelconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

func parsed(t *testing.T, text string) *modelconfig.Config {
	t.Helper()
	c, err := modelconfig.Parse("f", []byte(text))
	require.NoError(t, err)
	return c
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	c := parsed(t, `max_batch_size: 8 dynamic_batching { }`)
	c.Normalize()
	require.Equal(t, uint32(1), c.GetVersionPolicy().GetLatest().GetNumVersions())
	require.Equal(t, []int32{8}, c.GetDynamicBatching().PreferredBatchSize)
	require.True(t, c.Optimization.InputPinnedMemory.Enable)
	require.True(t, c.Optimization.OutputPinnedMemory.Enable)

	c = parsed(t, `dynamic_batching { } optimization { input_pinned_memory { enable: false } }`)
	c.Normalize()
	require.Empty(t, c.GetDynamicBatching().PreferredBatchSize, "nothing to prefer without batching")
	require.False(t, c.Optimization.InputPinnedMemory.Enable)
	require.True(t, c.Optimization.OutputPinnedMemory.Enable)

	c = parsed(t, `max_batch_size: 4 sequence_batching { oldest { } }`)
	c.Normalize()
	require.Equal(t, uint64(1000000), c.GetSequenceBatching().MaxSequenceIdleMicroseconds)
	require.Equal(t, []int32{4}, c.GetSequenceBatching().GetOldest().PreferredBatchSize)

	c = parsed(t, `ensemble_scheduling { } version_policy { latest { num_versions: 0 } }`)
	c.Normalize()
	require.Nil(t, c.Optimization)
	require.Zero(t, c.GetVersionPolicy().GetLatest().NumVersions, "an explicit 0 stays")
	c.NormalizeInstanceGroups(modelconfig.Machine{})
	require.Empty(t, c.InstanceGroup)
}

func TestNormalizeInstanceGroups(t *testing.T) {
	t.Parallel()
	gpus := modelconfig.Machine{GPUs: []int32{0, 1}}
	prefersCPU := modelconfig.Machine{GPUs: []int32{0}, Preferred: []modelconfig.PreferredGroup{{Kind: pb.ModelInstanceGroup_KIND_CPU, Count: 3}}}
	prefersGPU := modelconfig.Machine{Preferred: []modelconfig.PreferredGroup{
		{Kind: pb.ModelInstanceGroup_KIND_GPU, Count: 3, GPUs: []int32{1, 5}}, {Kind: pb.ModelInstanceGroup_KIND_AUTO, GPUs: []int32{7}},
	}}
	withGPU := prefersGPU
	withGPU.GPUs = []int32{0, 1}
	for _, c := range []struct {
		name, groups string
		machine      modelconfig.Machine
		want         string
	}{
		{"none, no GPU", ``, modelconfig.Machine{}, `instance_group { name: "m" kind: KIND_CPU count: 2 }`},
		{"none, GPUs", ``, gpus, `instance_group { name: "m" kind: KIND_GPU count: 1 gpus: [ 0, 1 ] }`},
		{
			"names count over all groups", `instance_group [ { count: 1 }, { name: "x" count: 1 }, { count: 1 } ]`,
			modelconfig.Machine{},
			`instance_group [ { name: "m_0" kind: KIND_CPU count: 1 }, { name: "x" kind: KIND_CPU count: 1 }, { name: "m_2" kind: KIND_CPU count: 1 } ]`,
		},
		{
			"auto with a GPU that is not there", `instance_group { gpus: 5 }`, gpus,
			`instance_group { name: "m_0" kind: KIND_CPU count: 2 gpus: 5 }`,
		},
		{"auto with a GPU that is there", `instance_group { gpus: 1 }`, gpus, `instance_group { name: "m_0" kind: KIND_GPU count: 1 gpus: 1 }`},
		{"GPU without a machine", `instance_group { kind: KIND_GPU count: -3 }`, modelconfig.Machine{}, `instance_group { name: "m_0" kind: KIND_GPU count: 1 }`},
		{"backend prefers the CPU", ``, prefersCPU, `instance_group { name: "m" kind: KIND_CPU count: 3 }`},
		{"backend's count", `instance_group { kind: KIND_CPU }`, prefersCPU, `instance_group { name: "m_0" kind: KIND_CPU count: 3 }`},
		{"backend's GPUs", ``, withGPU, `instance_group { name: "m" kind: KIND_GPU count: 3 gpus: 1 }`},
		{"backend's GPUs, none here", ``, prefersGPU, `instance_group { name: "m" kind: KIND_CPU count: 2 gpus: 7 }`},
		{"backend's GPUs for a group", `instance_group { kind: KIND_GPU }`, withGPU, `instance_group { name: "m_0" kind: KIND_GPU count: 3 gpus: 1 }`},
		{"model decides", `instance_group { kind: KIND_MODEL }`, gpus, `instance_group { name: "m_0" kind: KIND_MODEL count: 1 }`},
	} {
		config := parsed(t, `name: "m" backend: "onnxruntime" `+c.groups)
		config.NormalizeInstanceGroups(c.machine)
		want := parsed(t, `name: "m" backend: "onnxruntime" `+c.want)
		require.Equal(t, string(modelconfig.Encode(want.ModelConfig)), string(modelconfig.Encode(config.ModelConfig)), c.name)
	}
	other := parsed(t, `name: "m" backend: "python"`)
	other.NormalizeInstanceGroups(modelconfig.Machine{})
	require.Equal(t, int32(1), other.InstanceGroup[0].Count, "two is for onnxruntime and tensorflow")
}

func TestValidateGPUMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		groups  string
		machine modelconfig.Machine
		want    string
	}{
		{
			`instance_group { name: "g" kind: KIND_GPU gpus: 9 }`,
			modelconfig.Machine{GPUs: []int32{0, 1}, MinComputeCapability: 6},
			"instance group g of model m specifies invalid or unsupported gpu id 9. GPUs with at least the minimum required CUDA compute compatibility of 6.000000 are: 0, 1",
		},
		{
			`instance_group { name: "g" kind: KIND_GPU gpus: 9 }`,
			modelconfig.Machine{NoGPUSupport: true},
			"instance group g of model m has kind KIND_GPU but server does not support GPUs",
		},
		{
			`instance_group { name: "g" kind: KIND_GPU }`,
			modelconfig.Machine{},
			"instance group g of model m has kind KIND_GPU but no GPUs are available",
		},
		{
			`instance_group { name: "g" kind: KIND_GPU }`,
			modelconfig.Machine{GPUs: []int32{0}},
			"instance group g of model m has kind KIND_GPU but specifies no GPUs",
		},
		{`instance_group { name: "g" }`, modelconfig.Machine{}, "instance group g of model m has unexpected kind KIND_AUTO"},
		{``, modelconfig.Machine{}, "must specify one or more 'instance group's for m"},
		{
			`platform: "tensorrt_plan" instance_group { name: "g" kind: KIND_CPU profile: "-1" }`,
			modelconfig.Machine{},
			"instance group g of model m and platform tensorrt_plan specifies invalid profile -1. The field should contain the string representation of a non-negative integer.",
		},
		{`platform: "tensorrt_plan" instance_group { kind: KIND_CPU profile: "" }`, modelconfig.Machine{}, "profile name must not be empty"},
		{`platform: "tensorrt_plan" instance_group { kind: KIND_CPU profile: "a" }`, modelconfig.Machine{}, "unable to parse 'a': stoi"},
	} {
		found := parsed(t, `name: "m" `+c.groups).ValidateInstanceGroups(c.machine)
		require.EqualError(t, modelconfig.FirstError(found), c.want)
	}
}

func BenchmarkParse(b *testing.B) {
	src := []byte(seeds[2] + seeds[3] + seeds[5])
	b.ReportAllocs()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := modelconfig.Parse("f", src); err != nil {
			b.Fatal(err)
		}
	}
}
