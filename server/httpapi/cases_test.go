package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
)

// cases is the requests whose answers were recorded.
func cases() []wire {
	var all []wire
	add := func(group string, ws ...wire) {
		for i, w := range ws {
			w.name = fmt.Sprintf("%s %02d: %.90q", group, i+1, strings.TrimSpace(w.method+" "+w.path+" "+strings.Join(w.header, "; ")+" "+w.body))
			all = append(all, w)
		}
	}
	add("route", routes()...)
	add("syntax", syntax()...)
	add("request", requests()...)
	add("parameter", parameters()...)
	add("output", outputs()...)
	add("type", types()...)
	add("framing", framing()...)
	add("compression", compression()...)
	return all
}

func routes() []wire {
	var ws []wire
	for _, line := range []string{
		"GET /v2/health/live", "GET /v2/health/ready", "GET /v2/health", "GET /v2/", "POST /v2", "GET /v2", "GET /v2?x=1", "HEAD /v2", "PUT /v2/models/simple",
		"OPTIONS /v2/health/live", "POST /v2/health/live", "BREW /v2", "GET //v2", "GET /foo", "GET /", "GET /v2/models", "GET /v2/models/", "GET /v2/health/live/",
		"GET /v2/models/simple/ready", "GET /v2/models/nope/ready", "GET /v2/models/simple/versions/1/ready", "GET /v2/models/simple/versions/9/ready", "HEAD /v2/models/simple/ready",
		"POST /v2/models/simple/ready", "GET /v2/models/simple", "GET /v2/models/simple/versions/1", "GET /v2/models/simple/versions/2", "GET /v2/models/nope",
		"GET /v2/models/simple/versions/x", "GET /v2/models/simple/versions/", "GET /v2/models/simple/versions/1/", "GET /v2/models/simple/", "GET /v2/models//ready",
		"GET /v2/models/simple/foo", "GET /v2/models/simple%20x", "GET /v2/models/simple/config", "GET /v2/models/nope/config", "POST /v2/models/simple/config",
		"GET /v2/models/simple/stats", "GET /v2/models/nope/stats", "GET /v2/models/simple/versions/7/stats", "POST /v2/models/stats",
		"POST /v2/repository/index", "POST /v2/repository/any/index", "GET /v2/repository/index", "POST /v2/repository/a/b/index", "POST /v2/repository",
		"GET /v2/models/simple/infer", "GET /v2/models/dec/infer", "POST /v2/models/nope/infer", "POST /v2/models/dec/infer", "POST /v2/models/simple/versions/3/infer",
		"GET /v2/models/simple/versions/1/trace/setting", "GET /v2/systemsharedmemory", "GET /v2/systemsharedmemory/region//status",
		"GET /v2/trace/setting", "GET /v2/logging", "GET /v2/systemsharedmemory/status", "GET /v2/cudasharedmemory/region/r/status",
		"POST /v2/repository/models/simple/load", "POST /v2/models/simple/generate",
	} {
		method, path, _ := strings.Cut(line, " ")
		ws = append(ws, wire{method: method, path: path})
	}
	for _, body := range []string{`{"ready":true}`, `{"ready":1}`, `{`, `[]`, `{"x":1}`} {
		ws = append(ws, wire{path: "/v2/repository/index", body: body})
	}
	return ws
}

func infers(model string, bodies ...string) []wire {
	var ws []wire
	for _, b := range bodies {
		ws = append(ws, wire{path: "/v2/models/" + model + "/infer", body: b})
	}
	return ws
}

func syntax() []wire {
	return infers("id_fp32",
		" ", "{", "{}", "[]", "null", "1", `"x"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":1 "b"}`, `{a:1}`, `{"a" 1}`,
		"[1,]", "[1 2]", "[1", "[", `{"inputs":[}`, `{"a":tru}`, `{"a":nul}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":1e+}`, `{"a":-}`, `{"a":+1}`,
		`{"a":1e400}`, `{"a":-1e400}`, `{"a":1e-400}`, `{"a":NaN}`, `{"a":-NaN}`, `{"a":Inf}`, `{"a":Infinity}`, `{"a":-Infinity}`,
		`{"a":Infinit}`, //nolint:misspell // cut short
		`{"a":nan}`,
		`{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\ud800"}`, `{"a":"\ud800\u0041"}`, `{"a":"\udc00"}`, `{"a":"abc}`, "{\"a\":\"a\nb\"}", "{\"a\":\"a\x01b\"}",
		"{} x", "{}\x00x", `{"a":1}}`, "\xef\xbb\xbf{}", "{\"a\":\"\xff\xfe\"}", "// c\n{}", `{"a":1/*c*/}`, "{'a':1}", `{"a":0x10}`,
		`{"a":123456789012345678901234567890}`, "{\"a\":\"\x00\"}", `{"a":1.5.5}`, `{"a":--1}`, `{"a":-a}`, "\x00{}", `{"a":tRue}`,
		`{"a":1234567890123456789012345678901234567890e400}`, `{"a":0e999999999999}`, `{"a":1e99999999999}`, `{"a":"\u0000"}`, `{"a":{"b":[1,{"c":]}}`,
		`{"a":1.7976931348623157e308}`, `{"a":1.7976931348623159e308}`, `{"a":0.001e310}`, `{"a":"\`, `{"a":"\u00`, `{"a":"x`, `{"a":[`, `{"a":[1,`, `{"a":fals`,
	)
}

// one is a request with one input.
func one(input string, rest ...string) string {
	return `{"inputs":[{` + input + `}]` + strings.Join(rest, "") + `}`
}

const (
	named  = `"name":"INPUT0",`
	fp32   = named + `"datatype":"FP32",`
	three  = fp32 + `"shape":[3],`
	good   = three + `"data":[1,2,3]`
	reason = `,"parameters":{`
)

func requests() []wire {
	return infers("id_fp32",
		one(good), one(three+`"data":[1,2.5,-3e10]`), one(three+`"data":[NaN,Infinity,-Inf]`), one(three+`"data":[NaN,-NaN,0.1]`), one(three+`"data":[[1],[2,[3]]]`),
		one(three+`"data":[1,2]`), one(three+`"data":[1,2,3,4]`), one(three+`"data":[1,2,3,"x"]`), one(three+`"data":5`), one(three+`"data":[]`), one(three+`"data":[[],[]]`), one(three+`"data":null`),
		one(three+`"data":["1",2,3]`), one(three+`"data":[true,2,3]`), one(three+`"data":[null,2,3]`), one(three+`"data":[{},2,3]`), one(three+`"x":1`),
		one(``), one(named+`"shape":[1]`), one(named+`"datatype":5`), one(`"name":5`), one(named+`"datatype":"FOO","shape":[1],"data":[1]`),
		one(named+`"shape":[1],"data":[1]`), one(named+`"datatype":5,"shape":[1],"data":[1]`), one(`"name":5,"data":[1]`), one(`"data":[1]`), one(fp32+`"data":[1]`),
		one(fp32+`"shape":5`), one(fp32+`"shape":5,"data":[1]`), one(fp32+`"shape":[-1],"data":[1]`), one(fp32+`"shape":[1.0],"data":[1]`), one(fp32+`"shape":[-0],"data":[]`),
		one(fp32+`"shape":["1"],"data":[1]`), one(fp32+`"shape":[0],"data":[]`), one(fp32+`"shape":[0],"data":5`), one(fp32+`"shape":[0]`),
		one(fp32+`"shape":[9223372036854775808],"data":[1]`), one(fp32+`"shape":[18446744073709551616],"data":[1]`),
		one(fp32+`"shape":[2],"data":[1,2],"shape":[3]`), one(`"data":[1,2],"shape":[2],"datatype":"FP32","name":"INPUT0"`), one(`"na\u006de":"INPUT\u0030","datatype":"FP32","shape":[1],"data":[1]`),
		one(three+`"parameters":{"binary_data_size":12}`), one(three+`"parameters":5,"data":[1,2,3]`), one(three+`"parameters":{"binary_data_size":"a"}`),
		one(three+`"parameters":{"binary_data_size":-1}`), one(three+`"parameters":{"binary_data_size":12},"data":[1,2,3]`), one(three+`"parameters":{"shared_memory_region":"x"}`),
		one(three+`"parameters":{"shared_memory_region":5}`), one(three+`"parameters":{"shared_memory_region":"x","binary_data_size":4},"data":[1]`),
		one(good, `,"id":5`), one(good, `,"id":"a\u0041\"é/"`), one(good, `,"id":"","id":"b"`), one(good, `,"id":"tab\there\u0001\u001f\u007f"`),
		one(good, `,"model_name":5,"anything":[1,{"x":null}]`),
		`{"inputs":5}`, `{"inputs":[5]}`, `{"inputs":[[]]}`, `{"inputs":{}}`, `{"inputs":null}`, `{"outputs":5}`, `{"id":5,"parameters":5,"inputs":5}`, `{"parameters":5,"id":"x","inputs":5}`,
		`{"outputs":5,"inputs":[5]}`, `{"inputs":[{}],"inputs":[]}`,
		one(fp32+`"shape":[9],"data":[0,-0.0,1e21,1e22,123456789012345680000,1e-7,0.000001,5e-324,1.7976931348623157e308]`),
		one(fp32+`"shape":[3],"data":[3.4e38,3.5e38,1e-46]`), one(fp32+`"shape":[4],"data":[16777217,0.30000001192092896,1.1754943508222875e-38,1e-45]`),
		one(three+`"data":[1,2,3}`), one(three+`"data":[1,,3]`), one(three+`"data":[1,2,3]]`), one(three+`"data":[1 ,
	2	, 3 ] `),
		one(three+`"data":`+strings.Repeat("[", 99)+"1,2,3"+strings.Repeat("]", 99)),
	)
}

func parameters() []wire {
	return infers("id_fp32",
		one(good, `,"parameters":5`), one(good, `,"parameters":{}`), one(good, `,"parameters":[]`), one(good, `,"parameters":{"triton_x":1}`), one(good, `,"parameters":{"a":[1]}`),
		one(good, `,"parameters":{"a":{}}`), one(good, `,"parameters":{"a":null}`), one(good, `,"parameters":{"sequence_id":[1]}`), one(good, `,"parameters":{"sequence_id":-1}`),
		one(good, `,"parameters":{"sequence_start":1}`), one(good, `,"parameters":{"sequence_end":"x"}`), one(good, `,"parameters":{"priority":-1}`), one(good, `,"parameters":{"timeout":1.5}`),
		one(good, `,"parameters":{"binary_data_output":1}`), one(good, `,"parameters":{"sequence_id":"`+strings.Repeat("x", 129)+`"}`), one(good, `,"parameters":{"binary_data_output":true}`),
		one(good, `,"parameters":{"binary_data_output":false,"binary_data_output":true}`), one(good, `,"parameters":{"priority":1,"priority":"x","timeout":5}`),
		one(good, `,"parameters":{"sequence_id":5,"sequence_start":true,"sequence_end":true}`), one(good, `,"parameters":{"sequence_id":"abc"}`),
	)
}

func outputs() []wire {
	out := func(text string) string { return one(good, `,"outputs":`+text) }
	ws := infers("id_fp32",
		out(`5`), out(`[]`), out(`[5]`), out(`[{}]`), out(`[{"name":5}]`), out(`{}`), out(`null`), out(`[{"name":"OUTPUT0"}]`),
		out(`[{"name":"OUTPUT0","parameters":{"binary_data":1}}]`), out(`[{"name":"OUTPUT0","parameters":{"classification":"a"}}]`), out(`[{"name":"OUTPUT0","parameters":{"classification":-1}}]`),
		out(`[{"name":"OUTPUT0","parameters":{"binary_data":true}}]`), out(`[{"name":"OUTPUT0","parameters":{"classification":2}}]`),
		out(`[{"name":"OUTPUT0","parameters":{"classification":2,"binary_data":true}}]`), out(`[{"name":"OUTPUT0","parameters":{"classification":9}}]`),
		out(`[{"name":"OUTPUT0","parameters":5}]`), out(`[{"name":"OUTPUT0","parameters":{"shared_memory_region":"r"}}]`),
		one(good, `,"outputs":[{"name":"OUTPUT0"}],"parameters":{"binary_data_output":true}`),
		one(fp32+`"shape":[0],"data":[]`, `,"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]`),
	)
	class := func(shape, data string) string {
		return one(fp32+`"shape":`+shape+`,"data":`+data, `,"outputs":[{"name":"OUTPUT0","parameters":{"classification":3}}]`)
	}
	ws = append(ws, infers("cls", class("[1,4]", "[0.25,0.5,-1,1e9]"), class("[2,4]", "[1,2,3,4,8,7,6,5]"), class("[1,4]", "[Inf,-Inf,1e-9,0.1234565]"))...)
	ws = append(ws, infers("id_string", one(named+`"datatype":"BYTES","shape":[1],"data":["x"]`, `,"outputs":[{"name":"OUTPUT0","parameters":{"classification":1}}]`))...)
	ws = append(ws, infers("id_int8", one(named+`"datatype":"INT8","shape":[3],"data":[-5,3,127]`, `,"outputs":[{"name":"OUTPUT0","parameters":{"classification":2}}]`))...)
	return append(ws, infers("id_bool", one(named+`"datatype":"BOOL","shape":[1],"data":[true]`, `,"outputs":[{"name":"OUTPUT0","parameters":{"classification":1}}]`))...)
}

func types() []wire {
	var ws []wire
	for _, c := range [][2]string{
		{"BOOL", `[true,false]`},
		{"BOOL", `[1,0]`},
		{"BOOL", `["true",false]`},
		{"INT8", `[127,-128]`},
		{"INT8", `[128,-129]`},
		{"INT8", `[1.0,2]`},
		{"INT16", `[-32768,32768]`},
		{"INT32", `[-2147483648,2147483648]`},
		{"UINT8", `[255,256]`},
		{"UINT8", `[-1,2]`},
		{"UINT16", `[65535,65536]`},
		{"UINT32", `[4294967295,4294967296]`},
		{"INT64", `[9223372036854775807,-9223372036854775808]`},
		{"INT64", `[9223372036854775808,1]`},
		{"INT64", `[-9223372036854775809,1]`},
		{"INT64", `["1",1]`},
		{"UINT64", `[18446744073709551615,18446744073709551616]`},
		{"UINT64", `[18446744073709551615,1]`},
		{"UINT64", `[99999999999999999999,1]`},
		{"INT32", `[4294967296,1]`},
		{"INT32", `[1e2,1]`},
		{"INT32", `[NaN,1]`},
		{"INT32", `[-0,0]`},
		{"INT32", `[true,1]`},
		{"FP16", `[1,2]`},
		{"BF16", `[1,2]`},
		{"FP64", `[0.1,123456.789]`},
		{"FP64", `[1e21,1e22]`},
		{"FP64", `[1e20,100]`},
		{"FP64", `[1e-7,0.000001]`},
		{"FP64", `[5e-324,1.7976931348623157e308]`},
		{"FP64", `[NaN,-Infinity]`},
		{"FP64", `[-0.0,0]`},
		{"FP64", `[1.5e300,-2.25e-300]`},
		{"FP64", `[123456789012345680000,0.30000000000000004]`},
		{"BYTES", `["a","\u00e9\u0000/<>"]`},
		{"BYTES", `[["a"],[["b"]]]`},
		{"BYTES", `[1,2]`},
		{"BYTES", `5`},
		{"BYTES", `["\b\f\n\r\t\"\\\/","\ud83d\ude00é\u0080"]`},
		{"BYTES", `["",""]`},
	} {
		model := "id_" + strings.ToLower(c[0])
		if c[0] == "BYTES" {
			model = "id_string"
		}
		ws = append(ws, infers(model, one(fmt.Sprintf(`%s"datatype":"%s","shape":[2],"data":%s`, named, c[0], c[1])))...)
	}
	return ws
}

const tail = "\x01\x00\x00\x00\x02\x00\x00\x00"

// withTail is a request whose text is followed by data.
func withTail(model, text, data string, more ...string) wire {
	return wire{
		path: "/v2/models/" + model + "/infer", body: text + data,
		header: append([]string{fmt.Sprintf("Inference-Header-Content-Length: %d", len(text))}, more...),
	}
}

func framing() []wire {
	const int2 = named + `"datatype":"INT32","shape":[2],"parameters":{"binary_data_size":8}`
	const half = named + `"datatype":"FP16","shape":[4],"parameters":{"binary_data_size":8}`
	const text = named + `"datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":8}`
	binaryOutput := `,"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]`
	raw := func(model, body string) wire {
		return wire{path: "/v2/models/" + model + "/infer", header: []string{"Inference-Header-Content-Length: 0"}, body: body}
	}
	with := func(value, body string) wire {
		return wire{path: "/v2/models/id_int32/infer", header: []string{"Inference-Header-Content-Length: " + value}, body: body}
	}
	simple := `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}},` +
		`{"name":"INPUT1","datatype":"INT32","shape":[1,16],"data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}],` +
		`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`
	two := `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}},` +
		`{"name":"INPUT1","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":6}}],` +
		`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1"}]}`
	chunked := []string{"Transfer-Encoding: chunked"}
	return []wire{
		withTail("id_int32", one(int2, binaryOutput), tail), withTail("id_int32", one(int2), tail), withTail("id_int32", one(int2), tail[:6]), withTail("id_int32", one(int2), tail+"x"),
		withTail("id_int32", one(int2), ""), withTail("id_int32", one(int2, `,"parameters":{"binary_data_output":true}`), tail), withTail("id_fp16", one(half, binaryOutput), tail), withTail("id_fp16", one(half), tail),
		withTail("id_string", one(text, binaryOutput), "\x04\x00\x00\x00abcd"), withTail("id_string", one(text), "\x04\x00\x00\x00ab\xff\""), withTail("two", two, tail+"\x02\x00\x00\x00hi"),
		withTail("id_int32", one(int2, `,"outputs":5`), tail+"x"), withTail("id_int32", one(named+`"datatype":"INT32","shape":[0],"parameters":{"binary_data_size":0}`, binaryOutput), ""),
		withTail("simple", simple, strings.Repeat(tail, 8)),
		raw("raw1", tail), raw("rawstr", "hello"),
		{path: "/v2/models/id_fp32/infer"},
		raw("id_int32", tail),
		with("x", "{}"), with("-1", "{}"), with("3", "{}"), with("2", "{}"), with("99999999999999999999", "{}"), with("3000000000", "{}"), with("1", "{}"), with("", "{}"), with("2x", "{}"), with(" 2", "{}"),
		{path: "/v2/models/id_int32/infer", header: chunked, body: "5\r\n{\"inp\r\n4;x=y\r\nuts\"\r\n1\r\n}\r\n0\r\n\r\n"},
		{path: "/v2/models/id_int32/infer", header: chunked, body: "0\r\n\r\n"},
		{path: "/v2/models/id_int32/infer", header: append([]string{"Inference-Header-Content-Length: 2"}, chunked...), body: "2\r\n{}\r\n0\r\n\r\n"},
	}
}

// packed is a text in gzip or deflate.
func packed(kind, text string) string {
	var b bytes.Buffer
	var z io.WriteCloser = zlib.NewWriter(&b)
	if kind == "gzip" {
		z = gzip.NewWriter(&b)
	}
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

func compression() []wire {
	body := one(good)
	post := func(body string, header ...string) wire {
		return wire{path: "/v2/models/id_fp32/infer", header: header, body: body}
	}
	const int2 = named + `"datatype":"INT32","shape":[2],"parameters":{"binary_data_size":8}`
	text := one(int2, `,"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]`)
	bin := withTail("id_int32", text, "", "Content-Encoding: gzip", "Accept-Encoding: gzip")
	bin.body = packed("gzip", text+tail)
	ws := []wire{
		post(packed("gzip", body), "Content-Encoding: gzip"), post(packed("deflate", body), "Content-Encoding: deflate"), post(body, "Content-Encoding: identity"),
		post(body, "Content-Encoding: br"), post(body, "Content-Encoding: GZIP"), post("", "Content-Encoding: gzip"), post("garbage", "Content-Encoding: gzip"), post("garbage", "Content-Encoding: deflate"),
		bin,
	}
	for _, accept := range []string{"gzip", "deflate", "identity", "br", "*", "gzip, deflate", "deflate;q=0.5, gzip;q=0.7", "gzip;q=0", "gzip;q=x, deflate", "identity;q=1, gzip;q=1", "gzip ;q=1", " gzip", "GZIP", "gzip;q=0.1,identity;q=0.2", ""} {
		ws = append(ws, post(body, "Accept-Encoding: "+accept))
	}
	return append(ws, post("{", "Accept-Encoding: gzip"))
}
