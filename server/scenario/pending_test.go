package scenario

// pending are the files whose schedulers are still to come, with what is missing.
var pending = map[string]string{
	"cache":        "ensembles",
	"decoupled":    "sequences",
	"direct":       "sequences",
	"default":      "records",
	"dynamic":      "ragged inputs",
	"ensemble":     "ensembles",
	"iterative":    "sequences",
	"limiter":      "the rate limiter",
	"limiter_more": "the rate limiter",
	"oldest":       "sequences",
	"order":        "ragged inputs",
	"queue":        "records",
}
