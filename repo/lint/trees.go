package lint

import (
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/inferencepb"
)

// treeFiles are the model files of the backends for trees and estimators, by model_type.
var treeFiles = map[string][]string{
	"":                    {"xgboost.ubj", "xgboost.json", "xgboost.model"},
	"xgboost_ubj":         {"xgboost.ubj"},
	"xgboost_json":        {"xgboost.json"},
	"xgboost":             {"xgboost.model"},
	"lightgbm":            {"model.txt"},
	"treelite_checkpoint": {"checkpoint.tl"},
	"sklearn":             {"model.joblib", "model.pkl"},
}

// treeModel returns the files of which a model needs one; nil: its backend is another.
func treeModel(c *inferencepb.ModelConfig) []string {
	kind := c.GetParameters()["model_type"].GetStringValue()
	switch c.Backend {
	case "fil", "xgboost":
	case "lightgbm", "sklearn":
		if kind == "" {
			kind = c.Backend
		}
	default:
		return nil
	}
	if c.DefaultModelFilename != "" {
		return []string{c.DefaultModelFilename}
	}
	return treeFiles[kind]
}

// trees checks that the model files of trees and estimators exist.
func (r *run) trees() {
	files := treeModel(r.config.ModelConfig)
	if r.ConfigOnly || files == nil {
		return
	}
	for _, v := range r.chosen {
		found := false
		for _, file := range files {
			_, err := os.Stat(filepath.Join(v.path, file))
			found = found || err == nil
		}
		if !found {
			r.addFile(ruleModelFile, v.path, "the model file is missing: "+strings.Join(files, " or "), "put it there, or name another with default_model_filename")
		}
	}
}
