package scenario

// pending are the files that are not recorded yet.
var pending = map[string]string{
	"ensemble":     "records",
	"limiter":      "records",
	"limiter_more": "records",
	"oldest":       "records",
	"queue":        "records",
}
