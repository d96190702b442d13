package scenario

// pending are the files that are not recorded yet.
var pending = map[string]string{
	"direct":         "records",
	"ensemble":       "records",
	"ensemble_error": "records",
	"iterative":      "records",
	"limiter":        "records",
	"limiter_more":   "records",
	"oldest":         "records",
	"queue":          "records",
}
