package main_test

import (
	"fmt"
	"strings"
)

func get(paths ...string) (cases []httpCase) {
	for _, p := range paths {
		cases = append(cases, httpCase{method: "GET", path: p})
	}
	return cases
}

// simpleJSON is an infer body for `simple` with an addition before the inputs
// and one after them.
func simpleJSON(before, input0, input1, after string) string {
	return `{` + before + `"inputs":[` + input0 + `,` + input1 + `]` + after + `}`
}

func jsonInput(name, datatype, shape, data string) string {
	return fmt.Sprintf(`{"name":%q,"datatype":%q,"shape":%s,"data":%s}`, name, datatype, shape, data)
}

func httpCases() []httpCase {
	cases := get(
		"/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/simple", "/v2/models/simple/versions/1",
		"/v2/models/simple/ready", "/v2/models/simple/versions/1/ready", "/v2/models/simple/versions/9/ready",
		"/v2/models/nope/ready", "/v2/models/nope", "/v2/models/simple/versions/9", "/v2/models/simple/versions/x",
		"/v2/models/simple/config", "/v2/models/nope/config", "/v2/models/simple/versions/1/stats", "/v2/models/nope/stats",
		"/v2/models/identity_bool/stats", "/v2/nothing", "/", "/v2/models", "/v2/models/simple/infer", "/v1", "/v2/health",
	)
	post := func(model, remark, body string, header ...string) {
		c := httpCase{method: "POST", path: "/v2/models/" + model + "/infer", remark: remark, body: body, header: map[string]string{}}
		for i := 0; i+1 < len(header); i += 2 {
			c.header[header[i]] = header[i+1]
		}
		cases = append(cases, c)
	}
	cases = append(cases,
		httpCase{method: "POST", path: "/v2/repository/index"},
		httpCase{method: "POST", path: "/v2/repository/index", remark: "ready", body: `{"ready":true}`},
		httpCase{method: "POST", path: "/v2/health/live"},
		httpCase{method: "PUT", path: "/v2/models/simple/infer"},
		httpCase{method: "DELETE", path: "/v2"},
	)
	data := "[" + row(16) + "]"
	a, b := jsonInput("INPUT0", "INT32", "[1,16]", data), jsonInput("INPUT1", "INT32", "[1,16]", data)
	ok := simpleJSON("", a, b, "")

	post("simple", "json", ok)
	post("simple", "id", simpleJSON(`"id":"q-1",`, a, b, ""))
	post("simple", "id with quotes", simpleJSON(`"id":"a\"b\\c\u00e9",`, a, b, ""))
	post("simple", "id not text", simpleJSON(`"id":7,`, a, b, ""))
	post("simple", "nested data", simpleJSON("", jsonInput("INPUT0", "INT32", "[1,16]", "["+data+"]"), b, ""))
	post("simple", "one output", simpleJSON("", a, b, `,"outputs":[{"name":"OUTPUT1"}]`))
	post("simple", "unknown output", simpleJSON("", a, b, `,"outputs":[{"name":"OUTPUT7"}]`))
	post("simple", "output twice", simpleJSON("", a, b, `,"outputs":[{"name":"OUTPUT1"},{"name":"OUTPUT1"}]`))
	post("simple", "binary output", simpleJSON("", a, b, `,"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1"}]`))
	post("simple", "all outputs binary", simpleJSON(`"parameters":{"binary_data_output":true},`, a, b, ""))
	post("simple", "input twice", simpleJSON("", a, a, ""))
	post("simple", "one input", `{"inputs":[`+a+`]}`)
	post("simple", "no inputs", `{}`)
	post("simple", "empty inputs", `{"inputs":[]}`)
	post("simple", "inputs not a list", `{"inputs":7}`)
	post("simple", "unknown input", simpleJSON("", a, jsonInput("INPUT9", "INT32", "[1,16]", data), ""))
	post("simple", "wrong type", simpleJSON("", a, jsonInput("INPUT1", "FP32", "[1,16]", data), ""))
	post("simple", "unknown type", simpleJSON("", a, jsonInput("INPUT1", "INT33", "[1,16]", data), ""))
	post("simple", "wrong shape", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[1,8]", "["+row(8)+"]"), ""))
	post("simple", "wrong rank", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[16]", data), ""))
	post("simple", "batch sizes differ", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[2,16]", "["+row(32)+"]"), ""))
	nine := jsonInput("INPUT0", "INT32", "[9,16]", "["+row(144)+"]")
	post("simple", "batch too large", simpleJSON("", nine, strings.Replace(nine, "INPUT0", "INPUT1", 1), ""))
	post("simple", "too little data", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[1,16]", "["+row(15)+"]"), ""))
	post("simple", "too much data", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[1,16]", "["+row(17)+"]"), ""))
	post("simple", "text among numbers", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[1,1]", `["x"]`), ""))
	post("simple", "negative dim", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[-1,16]", data), ""))
	post("simple", "overflowing dims", simpleJSON("", a, jsonInput("INPUT1", "INT32", "[9223372036854775807,16]", data), ""))
	post("simple", "no data", simpleJSON("", a, `{"name":"INPUT1","datatype":"INT32","shape":[1,16]}`, ""))
	post("simple", "no shape", simpleJSON("", a, `{"name":"INPUT1","datatype":"INT32","data":[1]}`, ""))
	post("simple", "no name", simpleJSON("", a, `{"datatype":"INT32","shape":[1,16],"data":[1]}`, ""))
	post("simple", "reserved parameter", simpleJSON(`"parameters":{"triton_x":1},`, a, b, ""))
	post("simple", "list parameter", simpleJSON(`"parameters":{"x":[1]},`, a, b, ""))
	post("simple", "parameters not an object", simpleJSON(`"parameters":[1],`, a, b, ""))
	post("simple", "cut off", ok[:40])
	post("simple", "not json", "hello")
	post("simple", "wrong header length text", ok, "Inference-Header-Content-Length", "abc")
	post("simple", "header length too large", ok, "Inference-Header-Content-Length", "99999")
	post("simple", "header length negative", ok, "Inference-Header-Content-Length", "-4")
	post("nope", "unknown model", ok)
	post("simple/versions/7", "unknown version", ok)
	post("simple/versions/abc", "version is no number", ok)

	binary := func(size int) string {
		return fmt.Sprintf(`{"name":"INPUT0","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":%d}}`, size)
	}
	tail := "\x00\x00\x80\x3f\x00\x00\x00\x40"
	withTail := func(remark, head, tail string) {
		post("identity_fp32", remark, head+tail, "Inference-Header-Content-Length", fmt.Sprint(len(head)))
	}
	withTail("binary input", `{"inputs":[`+binary(8)+`]}`, tail)
	withTail("binary both", `{"inputs":[`+binary(8)+`],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`, tail)
	withTail("binary too short", `{"inputs":[`+binary(8)+`]}`, tail[:4])
	withTail("binary left over", `{"inputs":[`+binary(8)+`]}`, tail+"!")
	withTail("binary of wrong size", `{"inputs":[`+binary(4)+`]}`, tail[:4])
	withTail("data and binary", `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,2],"data":[1,2],"parameters":{"binary_data_size":8}}]}`, tail)
	post("identity_fp32", "raw body", tail, "Inference-Header-Content-Length", "0")
	post("identity_fp32", "raw body of odd size", tail[:3], "Inference-Header-Content-Length", "0")
	one := func(model, datatype, shape, data string) string {
		return `{"inputs":[` + jsonInput("INPUT0", datatype, shape, data) + `]}`
	}
	post("identity_fp32", "numbers", one("", "FP32", "[1,9]", "[0,-0.0,1.5,1e10,-2.5e-7,3.14159274,16777217,0.1,1e-40]"))
	post("identity_fp32", "NaN", one("", "FP32", "[1,1]", "[NaN]"))
	post("identity_fp32", "zero elements", one("", "FP32", "[1,0]", "[]"))
	post("identity_bool", "booleans", one("", "BOOL", "[1,2]", "[true,false]"))
	post("identity_bool", "numbers as booleans", one("", "BOOL", "[1,2]", "[1,0]"))
	post("identity_uint64", "largest", one("", "UINT64", "[1,1]", "[18446744073709551615]"))
	post("identity_uint64", "negative", one("", "UINT64", "[1,1]", "[-1]"))
	post("identity_string", "strings", one("", "BYTES", "[1,3]", `["","a\u0000b","\u017c\n\""]`))
	post("identity_string", "too few strings", one("", "BYTES", "[1,3]", `["a"]`))
	post("identity_string", "number as string", one("", "BYTES", "[1,1]", `[1]`))
	post("identity_fp16", "fp16 as json", one("", "FP16", "[1,1]", "[1]"))
	post("simple_string", "text numbers", strings.ReplaceAll(strings.ReplaceAll(ok, "INT32", "BYTES"), data, `["`+strings.ReplaceAll(row(16), ",", `","`)+`"]`))
	post("simple", "gzip answer", ok, "Accept-Encoding", "gzip")
	return cases
}
