package frontend

import (
	"slices"
	"strconv"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// The administrative messages of the protocol as JSON, with the members in Triton's order: the replies
// of HTTP, and the messages of the C API.

// AppendServerMetadata appends the metadata of a server.
func AppendServerMetadata(b []byte, m *inferencepb.ServerMetadataResponse) []byte {
	b = tritonjson.AppendString(append(b, `{"name":`...), m.Name)
	b = tritonjson.AppendString(append(b, `,"version":`...), m.Version)
	b = tritonjson.AppendStrings(append(b, `,"extensions":`...), m.Extensions)
	return append(b, '}')
}

// AppendModelMetadata appends the metadata of a model, with the given versions.
func AppendModelMetadata(b []byte, m *inferencepb.ModelMetadataResponse, versions []string) []byte {
	b = tritonjson.AppendString(append(b, `{"name":`...), m.Name)
	b = tritonjson.AppendStrings(append(b, `,"versions":`...), versions)
	b = tritonjson.AppendString(append(b, `,"platform":`...), m.Platform)
	b = appendTensors(append(b, `,"inputs":`...), m.Inputs)
	b = appendTensors(append(b, `,"outputs":`...), m.Outputs)
	return append(b, '}')
}

func appendTensors(b []byte, ts []*inferencepb.ModelMetadataResponse_TensorMetadata) []byte {
	b = append(b, '[')
	for i, t := range ts {
		b = tritonjson.Comma(b, i)
		b = tritonjson.AppendString(append(b, `{"name":`...), t.Name)
		b = tritonjson.AppendString(append(b, `,"datatype":`...), t.Datatype)
		b = tensor.Shape(t.Shape).Append(append(b, `,"shape":`...))
		b = append(b, '}')
	}
	return append(b, ']')
}

// AppendIndex appends the models of the repositories.
func AppendIndex(b []byte, m *inferencepb.RepositoryIndexResponse) []byte {
	b = append(b, '[')
	for i, e := range m.Models {
		b = tritonjson.Comma(b, i)
		b = tritonjson.AppendString(append(b, `{"name":`...), e.Name)
		if e.Version != "" {
			b = tritonjson.AppendString(append(b, `,"version":`...), e.Version)
		}
		if e.State != "" {
			b = tritonjson.AppendString(append(b, `,"state":`...), e.State)
		}
		if e.Reason != "" {
			b = tritonjson.AppendString(append(b, `,"reason":`...), e.Reason)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// AppendStatistics appends the statistics of models.
func AppendStatistics(b []byte, m *inferencepb.ModelStatisticsResponse) []byte {
	b = append(b, `{"model_stats":[`...)
	for i, s := range m.ModelStats {
		b = appendModelStatistics(tritonjson.Comma(b, i), s)
	}
	return append(b, `]}`...)
}

func appendModelStatistics(b []byte, s *inferencepb.ModelStatistics) []byte {
	b = tritonjson.AppendString(append(b, `{"name":`...), s.Name)
	b = tritonjson.AppendString(append(b, `,"version":`...), s.Version)
	b = tritonjson.AppendUint(b, `,"last_inference":`, s.LastInference)
	b = tritonjson.AppendUint(b, `,"inference_count":`, s.InferenceCount)
	b = tritonjson.AppendUint(b, `,"execution_count":`, s.ExecutionCount)
	t := s.InferenceStats
	b = appendDuration(b, `,"inference_stats":{"success":`, t.GetSuccess())
	b = appendDuration(b, `,"fail":`, t.GetFail())
	b = appendDuration(b, `,"queue":`, t.GetQueue())
	b = appendDuration(b, `,"compute_input":`, t.GetComputeInput())
	b = appendDuration(b, `,"compute_infer":`, t.GetComputeInfer())
	b = appendDuration(b, `,"compute_output":`, t.GetComputeOutput())
	b = appendDuration(b, `,"cache_hit":`, t.GetCacheHit())
	b = appendDuration(b, `,"cache_miss":`, t.GetCacheMiss())
	b = appendResponseStatistics(append(b, `},"response_stats":{`...), s.ResponseStats)
	b = append(b, `},"batch_stats":[`...)
	for i, t := range s.BatchStats {
		b = tritonjson.AppendUint(tritonjson.Comma(b, i), `{"batch_size":`, t.BatchSize)
		b = appendDuration(b, `,"compute_input":`, t.ComputeInput)
		b = appendDuration(b, `,"compute_infer":`, t.ComputeInfer)
		b = appendDuration(b, `,"compute_output":`, t.ComputeOutput)
		b = append(b, '}')
	}
	b = append(b, `],"memory_usage":[`...)
	for i, u := range s.MemoryUsage {
		b = tritonjson.AppendString(append(tritonjson.Comma(b, i), `{"type":`...), u.Type)
		b = strconv.AppendInt(append(b, `,"id":`...), u.Id, 10)
		b = append(tritonjson.AppendUint(b, `,"byte_size":`, u.ByteSize), '}')
	}
	return append(b, `]}`...)
}

// appendResponseStatistics orders the responses by their index.
func appendResponseStatistics(b []byte, stats map[string]*inferencepb.InferResponseStatistics) []byte {
	keys := make([]string, 0, len(stats))
	for k := range stats {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y string) int {
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		return slices.Compare([]byte(x), []byte(y))
	})
	for i, k := range keys {
		t := stats[k]
		b = tritonjson.AppendString(tritonjson.Comma(b, i), k)
		b = appendDuration(b, `:{"compute_infer":`, t.ComputeInfer)
		b = appendDuration(b, `,"compute_output":`, t.ComputeOutput)
		b = appendDuration(b, `,"success":`, t.Success)
		b = appendDuration(b, `,"fail":`, t.Fail)
		b = appendDuration(b, `,"empty_response":`, t.EmptyResponse)
		b = appendDuration(b, `,"cancel":`, t.Cancel)
		b = append(b, '}')
	}
	return b
}

func appendDuration(b []byte, label string, d *inferencepb.StatisticDuration) []byte {
	b = tritonjson.AppendUint(append(b, label...), `{"count":`, d.GetCount())
	return append(tritonjson.AppendUint(b, `,"ns":`, d.GetNs()), '}')
}
