package linttest

import (
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// text changes the text of a model's configuration.
func (m *mutation) text(model string) {
	path := model + "/" + modelconfig.FileName
	text, ok := m.files[path]
	if !ok || text == "" {
		m.file(model)
		return
	}
	lines := strings.SplitAfter(text, "\n")
	i := m.IntN(len(lines))
	line := lines[i]
	switch m.IntN(9) {
	case 0:
		m.note("%s: remove line %q", model, line)
		lines[i] = ""
	case 1:
		m.note("%s: repeat line %q", model, line)
		lines[i] += "\n" + line
	case 2:
		m.note("%s: cut the file in line %d", model, i+1)
		lines = append(lines[:i:i], line[:m.IntN(len(line)+1)])
	case 3:
		m.note("%s: remove the value in line %q", model, line)
		lines[i], _, _ = strings.Cut(line, ":")
		lines[i] += ":\n"
	case 4:
		m.note("%s: quote the value in line %q", model, line)
		lines[i] = strings.Replace(line, ": ", `: "`, 1) + "\""
	case 5:
		m.note("%s: no quotes in line %q", model, line)
		lines[i] = strings.ReplaceAll(line, `"`, "")
	case 6:
		m.note("%s: misspell line %q", model, line)
		if at := strings.IndexAny(line, "aeiou_"); at >= 0 {
			lines[i] = line[:at] + line[at+1:]
		}
	case 7:
		m.note("%s: a byte that is not UTF-8 in line %q", model, line)
		lines[i] = strings.Replace(line, `"`, "\"\xff", 1)
	case 8:
		m.note("%s: a byte that is not UTF-8 in a comment", model)
		lines[i] += "# \xe9\n"
	}
	m.files[path] = strings.Join(lines, "")
}

// directed makes a change that random fields seldom make.
func (m *mutation) directed(model string) {
	c, ok := m.config(model)
	if !ok {
		m.file(model)
		return
	}
	keys := []string{
		"intra_op_thread_count", "inter_op_thread_count", "execution_mode", "enable_mem_arena", "enable_mem_pattern", "session.x", "execute_delay_ms",
		"instance_wise_delay_multiplier", "FORCE_CPU_ONLY_INPUT_TENSORS", "EXECUTION_ENV_PATH", "deadline_admission", "length_buckets", "length_bucket_inputs",
		"max_queue_delay_target_p99_microseconds", "max_queue_delay_limit_microseconds", "queue_shed_target_microseconds", "queue_shed_interval_microseconds", "python_nice", "python_threads", "max_length", "vocabulary",
		"CUSTOM_FAIL_COUNT", "my_own", "cudnn_conv_algo_search", "gpu_mem_limit", "TRITON_BATCH_STRATEGY_PATH",
	}
	switch m.IntN(6) {
	case 0, 1, 2:
		key, value := pick(m, keys), pick(m, []string{"1", "0", "2", "-1", "word", "true", "yes", "", "16,32", "INPUT0", "1x", " 1"})
		if c.Parameters == nil {
			c.Parameters = map[string]*inferencepb.ModelParameter{}
		}
		c.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
		m.note("%s: parameter %s = %q", model, key, value)
	case 3:
		c.Backend = pick(m, []string{"", "onnx", "tensorrt", "pythn", "python", "identity", "pytorch", "openvino"})
		m.note("%s: backend %q", model, c.Backend)
	case 4:
		c.InstanceGroup = []*inferencepb.ModelInstanceGroup{{Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Count: 1, Passive: m.IntN(2) == 0}}
		if m.IntN(2) == 0 {
			c.InstanceGroup[0].Gpus = []int32{0}
		}
		m.note("%s: instance group %v", model, c.InstanceGroup[0])
	case 5:
		w := &inferencepb.ModelWarmup{Name: "w", BatchSize: uint32(m.IntN(3)), Inputs: map[string]*inferencepb.ModelWarmup_Input{}}
		for _, in := range c.Input {
			if m.IntN(5) == 0 {
				continue
			}
			from := &inferencepb.ModelWarmup_Input{DataType: in.DataType, Dims: append([]int64(nil), in.Dims...), InputDataType: &inferencepb.ModelWarmup_Input_ZeroData{ZeroData: true}}
			for i, d := range from.Dims {
				if d == -1 && m.IntN(5) > 0 {
					from.Dims[i] = 2
				}
			}
			switch m.IntN(8) {
			case 0:
				from.DataType = pick(m, []inferencepb.DataType{inferencepb.DataType_TYPE_FP32, inferencepb.DataType_TYPE_STRING, inferencepb.DataType_TYPE_INT32})
			case 1:
				from.Dims = append(from.Dims, 1)
			case 2:
				from.InputDataType = &inferencepb.ModelWarmup_Input_InputDataFile{InputDataFile: pick(m, []string{"data", "missing", "../config.pbtxt"})}
			case 3:
				from.InputDataType = nil
			}
			w.Inputs[in.Name] = from
		}
		if m.IntN(6) == 0 {
			w.Inputs["UNKNOWN"] = &inferencepb.ModelWarmup_Input{DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{1}, InputDataType: &inferencepb.ModelWarmup_Input_ZeroData{ZeroData: true}}
		}
		c.ModelWarmup = []*inferencepb.ModelWarmup{w}
		m.note("%s: warm-up %v", model, w)
	}
	m.files[model+"/"+modelconfig.FileName] = string(modelconfig.Encode(c))
}
