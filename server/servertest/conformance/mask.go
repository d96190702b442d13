package conformance

import "regexp"

// masks are the patterns of text that differs from run to run, with the replacements.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"(ns|last_inference)":("?)[0-9]+"?`), `"$1":${2}0$2`},
	{regexp.MustCompile(`("name":"triton","version":)"[^"]*"`), `$1"..."`},
	{regexp.MustCompile(`("byte_size":"?)[0-9]+("?,"(?:id|type)")`), `${1}0$2`}, // of memory_usage
	{regexp.MustCompile(`("type":"[A-Z_]+","id":[0-9]+,"byte_size":)[0-9]+`), `${1}0`},
	{regexp.MustCompile(`0x[0-9a-f]{6,}`), `0x...`},
	{regexp.MustCompile(`(?:\\\\n|\n)  [^\\\n]*triton_python_backend_utils\.py\([0-9]+\): \w+`), ``}, // of a traceback
	{regexp.MustCompile(`((?:\\\\n|\n)  <frozen importlib[^\\\n]*)+`), ` ...`},                       // of a traceback
	{regexp.MustCompile(`/tmp/[^"\\ ]*`), `/tmp/...`},
}

func mask(s string) string {
	for _, m := range masks {
		s = m.pattern.ReplaceAllString(s, m.with)
	}
	return s
}
