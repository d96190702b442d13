package native

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"

	"triton/pkg/status"
)

// forestTraits are what a forest says about itself.
type forestTraits struct {
	features   int
	classes    int // 0: one value for each row
	classifier bool
	margin     bool // XGBoost: the objective returns classes, so ask for the sums of the leaves
}

// describeXGBoost reads the configuration that XGBoost writes of a model.
func describeXGBoost(text []byte) (t forestTraits, err error) {
	var about struct {
		Learner struct {
			Objective struct {
				Name string `json:"name"`
			} `json:"objective"`
			Param struct {
				Classes string `json:"num_class"`
			} `json:"learner_model_param"`
		} `json:"learner"`
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return t, status.New(status.Internal, "XGBoost's description of the model: %w", err)
	}
	objective := about.Learner.Objective.Name
	if n := about.Learner.Param.Classes; n != "" {
		if t.classes, err = strconv.Atoi(n); err != nil {
			return t, status.New(status.Internal, "XGBoost's description of the model: num_class: %w", err)
		}
		t.classes = max(t.classes, 0)
	}
	t.classifier = strings.HasPrefix(objective, "binary:") || strings.HasPrefix(objective, "multi:")
	t.margin = objective == "multi:softmax"
	return t, nil
}

// describeLightGBM reads the objective in the head of a model file.
func describeLightGBM(path string, groups int) (t forestTraits, err error) {
	f, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return t, err
	}
	for _, objective := range []string{"binary", "multiclass", "cross_entropy"} {
		t.classifier = t.classifier || bytes.Contains(head, []byte("objective="+objective))
	}
	if groups > 1 {
		t.classes = groups
	}
	return t, nil
}
