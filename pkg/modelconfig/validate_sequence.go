package modelconfig

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	pb "triton/pkg/inferencepb"
)

func sortedLevels(m map[uint64]*pb.ModelQueuePolicy) []uint64 { return slices.Sorted(maps.Keys(m)) }

func levelPath(level uint64) string {
	return "dynamic_batching.priority_queue_policy[" + strconv.Quote(strconv.FormatUint(level, 10)) + "]"
}

func (v *validator) sequenceBatching(s *pb.ModelSequenceBatching) {
	if s == nil {
		return
	}
	if v.GetResponseCache().GetEnable() {
		v.add(ruleCache, "response_cache", "remove response_cache",
			"Response Cache does not currently support model %s with sequence batching scheduler. Please disable the response cache.", v.Name)
	}
	if v.controlNames(s) {
		for _, kind := range []pb.ModelSequenceBatching_Control_Kind{
			pb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_START,
			pb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_END,
			pb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_READY,
			pb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID,
		} {
			v.controls(s, kind)
		}
	}
	if o := s.GetOldest(); o != nil {
		v.preferred("sequence_batching.oldest", "sequence batching preferred batch size", o.PreferredBatchSize)
	}
	if d := s.GetDirect(); d != nil && (d.MinimumSlotUtilization < 0 || d.MinimumSlotUtilization > 1) {
		v.add(ruleSequence, "sequence_batching.direct.minimum_slot_utilization", "write a share such as 0.5",
			"sequence batching minimum slot utilization must be in range (0.0, 1.0] for %s", v.Name)
	}
}

func (v *validator) controlNames(s *pb.ModelSequenceBatching) bool {
	seen := make(map[string]bool)
	for i, c := range s.ControlInput {
		path := fmt.Sprintf("sequence_batching.control_input[%d]", i)
		switch {
		case c.Name == "":
			v.add(ruleControl, path, "write the model's name for it", "sequence batching control tensor must have a name for %s", v.Name)
			return false
		case seen[c.Name]:
			v.add(ruleControl, path+".name", "put the controls of one tensor into one control_input",
				"sequence batching control tensor '%s' is specified for multiple control kinds for %s", c.Name, v.Name)
			return false
		}
		seen[c.Name] = true
	}
	return true
}

// controls checks every control of one kind, in the order of Triton's scan.
func (v *validator) controls(s *pb.ModelSequenceBatching, kind pb.ModelSequenceBatching_Control_Kind) {
	found := false
	for i, in := range s.ControlInput {
		for j, c := range in.Control {
			if c.Kind != kind {
				continue
			}
			path := fmt.Sprintf("sequence_batching.control_input[%d].control[%d]", i, j)
			if found {
				v.add(ruleControl, path, "keep one", "sequence batching specifies multiple %s tensors for %s", kind, v.Name)
				return
			}
			found = true
			if kind == pb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID {
				v.corrid(path, c)
			} else {
				v.falseTrue(path, c)
			}
		}
	}
}

func (v *validator) falseTrue(path string, c *pb.ModelSequenceBatching_Control) {
	lists := []struct {
		name string
		size int
	}{
		{"int32_false_true", len(c.Int32FalseTrue)},
		{"fp32_false_true", len(c.Fp32FalseTrue)},
		{"bool_false_true", len(c.BoolFalseTrue)},
	}
	used := slices.DeleteFunc(lists, func(l struct {
		name string
		size int
	},
	) bool {
		return l.size == 0
	})
	switch {
	case len(used) == 0:
		v.add(ruleControl, path, "write int32_false_true: [ 0, 1 ] or the like",
			"sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for %s for %s", c.Kind, v.Name)
	case len(used) > 1:
		v.add(ruleControl, path, "keep one",
			"sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for %s for %s", c.Kind, v.Name)
	case used[0].size != 2:
		v.add(ruleControl, path+"."+used[0].name, "write the value for false and the one for true",
			"sequence batching control '%s' must have exactly 2 entries for %s for %s", used[0].name, c.Kind, v.Name)
	}
}

func (v *validator) corrid(path string, c *pb.ModelSequenceBatching_Control) {
	if len(c.Int32FalseTrue)+len(c.Fp32FalseTrue)+len(c.BoolFalseTrue) > 0 {
		v.add(ruleControl, path, "remove the values",
			"sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for %s for %s", c.Kind, v.Name)
		return
	}
	switch c.DataType {
	case pb.DataType_TYPE_UINT64, pb.DataType_TYPE_INT64, pb.DataType_TYPE_UINT32, pb.DataType_TYPE_INT32, pb.DataType_TYPE_STRING:
	default:
		v.add(ruleControl, path+".data_type", "write data_type: TYPE_UINT64 or the like",
			"unexpected data type for control %s for %s. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING", c.Kind, v.Name)
	}
}
