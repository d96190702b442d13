package extension_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
)

// For any parameters, Read returns findings or valid settings.
func FuzzRead(f *testing.F) {
	f.Add("16,32", "ids, weights:0:0", "ids=-1,weights:0=0.5", "mask:1", "logits", "20000")
	f.Add("16,16", ":", "=", "mask:", "logits:9", "-1")
	f.Fuzz(func(t *testing.T, buckets, inputs, values, mask, outputs, target string) {
		c, err := modelconfig.Parse("config.pbtxt", []byte(model))
		require.NoError(t, err)
		c.Parameters = map[string]*inferencepb.ModelParameter{}
		for key, text := range map[string]string{
			"length_buckets": buckets, "length_bucket_inputs": inputs, "length_bucket_pad_values": values,
			"length_bucket_mask": mask, "length_bucket_outputs": outputs,
			"max_queue_delay_target_p99_microseconds": target,
		} {
			c.Parameters[key] = &inferencepb.ModelParameter{StringValue: text}
		}
		s, found := extension.Read(c)
		if len(found) > 0 {
			return
		}
		require.Positive(t, s.Delay.Target)
		require.NotEmpty(t, s.Lengths.Buckets)
		require.NotEmpty(t, s.Lengths.Inputs)
		for i, o := range s.Lengths.Outputs {
			for _, other := range s.Lengths.Outputs[:i] {
				require.False(t, o.Name == other.Name && o.Dim == other.Dim)
			}
		}
		for _, p := range append(s.Lengths.Inputs, *s.Lengths.Mask) {
			require.Len(t, p.Fill, p.DataType.Size())
			require.EqualValues(t, -1, p.Dims[p.Dim])
		}
	})
}
