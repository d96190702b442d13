//go:build cgo && linux

#include "openvino.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trt_ov_table trt_ov;

typedef struct {
	int64_t rank;
	int64_t *dims;
} shape;

typedef struct {
	int64_t min, max;
} dimension;

typedef struct {
	dimension rank;
	dimension *dims;
} partial_shape;

typedef struct {
	const char *build, *description;
} version;

#define OV(i, ...) (*(int (*)(__VA_ARGS__))trt_ov.function[i])
#define OV_VOID(i) (*(void (*)(void *))trt_ov.function[i])
#define get_last_err_msg (*(const char *(*)(void))trt_ov.function[0])
#define get_error_info (*(const char *(*)(int))trt_ov.function[1])
#define get_openvino_version OV(2, version *)
#define version_free (*(void (*)(version *))trt_ov.function[3])
#define core_create OV(4, void **)
#define core_get_property OV(5, const void *, const char *, const char *, char **)
#define core_add_extension OV(6, const void *, const char *)
#define core_read_model OV(7, const void *, const char *, const char *, void **)
#define core_compile_model (*(int (*)(const void *, const void *, const char *, size_t, void **, ...))trt_ov.function[8])
#define model_free OV_VOID(9)
#define model_inputs_size OV(10, const void *, size_t *)
#define model_outputs_size OV(11, const void *, size_t *)
#define model_const_input_by_index OV(12, const void *, size_t, void **)
#define model_const_output_by_index OV(13, const void *, size_t, void **)
#define model_reshape_by_port_indexes OV(14, const void *, const size_t *, const partial_shape *, size_t)
#define port_get_any_name OV(15, const void *, char **)
#define port_get_partial_shape OV(16, const void *, partial_shape *)
#define port_get_element_type OV(17, const void *, int *)
#define const_port_free OV_VOID(18)
#define partial_shape_create OV(19, int64_t, const dimension *, partial_shape *)
#define partial_shape_free (*(void (*)(partial_shape *))trt_ov.function[20])
#define ov_free (*(void (*)(const char *))trt_ov.function[21])
#define compiled_create_infer_request OV(22, const void *, void **)
#define compiled_free OV_VOID(23)
#define request_set_input OV(24, void *, size_t, const void *)
#define request_get_output OV(25, const void *, size_t, void **)
#define request_infer OV(26, void *)
#define request_cancel OV(27, void *)
#define request_free OV_VOID(28)
#define tensor_from_host OV(29, int, shape, void *, void **)
#define tensor_from_strings OV(30, const char **, size_t, shape, void **)
#define tensor_get_shape OV(31, const void *, shape *)
#define tensor_get_element_type OV(32, const void *, int *)
#define tensor_get_size OV(33, const void *, size_t *)
#define tensor_get_byte_size OV(34, const void *, size_t *)
#define tensor_data OV(35, const void *, void **)
#define tensor_free OV_VOID(36)
#define shape_free (*(int (*)(shape *))trt_ov.function[37])

// OpenVINO's number of the type string.
enum { STRING = 23 };

// string is the layout of std::string in libstdc++, in which outputs hold their strings:
// the C API has no function to read them.
typedef struct {
	const char *data;
	size_t size;
	char small[16];
} string;

static int fail(trt_ov_error *e, int code, const char *text) {
	e->code = code;
	e->text[0] = 0;
	if (text == NULL && code > -50) {
		text = get_last_err_msg();
		if (text == NULL || text[0] == 0) {
			text = get_error_info(code);
		}
	}
	if (text != NULL) {
		snprintf(e->text, sizeof e->text, "%s", text);
	}
	return code;
}

#define TRY(e, call) \
	do { \
		int code_ = (call); \
		if (code_ != 0) { \
			return fail(e, code_, NULL); \
		} \
	} while (0)

// core is the one of the process and is never freed.
static void *core;

static void *make_core(void *error) {
	trt_ov_error *e = error;
	int code = core_create(&core);
	if (code != 0) {
		fail(e, code, NULL);
		return NULL;
	}
	char *name = NULL;
	if (core_get_property(core, "CPU", "FULL_DEVICE_NAME", &name) == 0) {
		ov_free(name); // the plugin for the CPU is loaded now; without one compiling fails
	}
	return NULL;
}

// trt_ov_start makes the core, on a thread that ends with the call. The plugin for the CPU
// gives the thread that loads it another stack for signals and frees that stack with itself,
// on whatever thread. A thread of Go would die of its next signal.
int trt_ov_start(trt_ov_error *e) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, make_core, e) != 0) {
		return fail(e, TRT_OV_NO_MEMORY, "no thread");
	}
	pthread_join(thread, NULL);
	return e->code;
}

int trt_ov_version(char text[64]) {
	version v = {NULL, NULL};
	int code = get_openvino_version(&v);
	if (code == 0) {
		snprintf(text, 64, "%s", v.build);
		version_free(&v);
	}
	return code;
}

static int describe(trt_ov_port *p, void *port, trt_ov_error *e) {
	char *name = NULL;
	free(p->name);
	p->name = NULL;
	if (port_get_any_name(port, &name) == 0 && name != NULL) {
		p->name = strdup(name);
		ov_free(name);
	}
	int type = 0;
	TRY(e, port_get_element_type(port, &type));
	p->type = type;
	partial_shape s = {{0, 0}, NULL};
	TRY(e, port_get_partial_shape(port, &s));
	p->rank = s.rank.min == s.rank.max ? (int32_t)s.rank.max : -1;
	int fits = p->rank <= TRT_OV_MAX_RANK;
	for (int d = 0; fits && d < p->rank; d++) {
		p->dims[d] = s.dims[d].min == s.dims[d].max ? s.dims[d].max : -1;
	}
	partial_shape_free(&s);
	return fits ? 0 : fail(e, TRT_OV_RANK, NULL);
}

static int describe_all(trt_ov_model *m) {
	for (int i = 0; i < m->inputs + m->outputs; i++) {
		void *port = NULL;
		TRY(&m->error, i < m->inputs ? model_const_input_by_index(m->model, (size_t)i, &port)
		                             : model_const_output_by_index(m->model, (size_t)(i - m->inputs), &port));
		int code = describe(&m->port[i], port, &m->error);
		const_port_free(port);
		if (code != 0) {
			return code;
		}
	}
	return 0;
}

int trt_ov_read(trt_ov_model *m, const char *path, const char *extension) {
	size_t inputs = 0, outputs = 0;
	if (extension != NULL) {
		TRY(&m->error, core_add_extension(core, extension));
	}
	TRY(&m->error, core_read_model(core, path, NULL, &m->model));
	TRY(&m->error, model_inputs_size(m->model, &inputs));
	TRY(&m->error, model_outputs_size(m->model, &outputs));
	m->port = calloc(inputs + outputs + 1, sizeof *m->port);
	if (m->port == NULL) {
		return fail(&m->error, TRT_OV_NO_MEMORY, "no memory");
	}
	m->inputs = (int32_t)inputs;
	m->outputs = (int32_t)outputs;
	return describe_all(m);
}

// trt_ov_reshape gives the inputs other shapes.
int trt_ov_reshape(trt_ov_model *m, const trt_ov_port *inputs) {
	size_t *index = calloc((size_t)m->inputs + 1, sizeof *index);
	partial_shape *shapes = calloc((size_t)m->inputs + 1, sizeof *shapes);
	int code = index == NULL || shapes == NULL ? TRT_OV_NO_MEMORY : 0;
	int made = 0;
	for (; code == 0 && made < m->inputs; made++) {
		dimension dims[TRT_OV_MAX_RANK];
		for (int d = 0; d < inputs[made].rank; d++) {
			int64_t n = inputs[made].dims[d];
			dims[d] = n < 0 ? (dimension){-1, -1} : (dimension){n, n};
		}
		index[made] = (size_t)made;
		code = partial_shape_create(inputs[made].rank, dims, &shapes[made]);
		if (code != 0) {
			break;
		}
	}
	if (code == 0) {
		code = model_reshape_by_port_indexes(m->model, index, shapes, (size_t)m->inputs);
	}
	if (code != 0) {
		fail(&m->error, code, NULL);
	}
	for (int i = 0; i < made; i++) {
		partial_shape_free(&shapes[i]);
	}
	free(index);
	free(shapes);
	return code != 0 ? code : describe_all(m);
}

// trt_ov_compile compiles the model with n pairs of options.
int trt_ov_compile(trt_ov_model *m, const char *device, const char *const *o, int n) {
	const char *a[2 * TRT_OV_MAX_OPTIONS] = {0};
	memcpy(a, o, 2 * (size_t)n * sizeof *a);
	TRY(&m->error, core_compile_model(core, m->model, device, 2 * (size_t)n, &m->compiled, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
	                                  a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]));
	return 0;
}

int trt_ov_request(const trt_ov_model *m, trt_ov_call *c) {
	TRY(&c->error, compiled_create_infer_request(m->compiled, &c->request));
	return 0;
}

// text_input makes a tensor of the strings of an input, each after its length.
static int text_input(trt_ov_error *e, const trt_ov_tensor *t, shape s, void **made) {
	const uint8_t *at = t->data, *end = at + t->bytes;
	if (t->elements > t->bytes / 4) { // before memory is taken for as many
		return fail(e, TRT_OV_STRING_COUNT, NULL);
	}
	// Each string loses its length and gets a byte at its end.
	const char **strings = calloc(t->elements + 1, sizeof *strings);
	char *text = malloc(t->bytes + 1), *to = text;
	int code = 0;
	if (strings == NULL || text == NULL) {
		free(strings);
		free(text);
		return fail(e, TRT_OV_NO_MEMORY, "no memory for the strings");
	}
	for (uint64_t i = 0; code == 0 && i < t->elements; i++) {
		uint32_t n = 0;
		if (end - at < 4) {
			code = at == end ? TRT_OV_STRING_COUNT : TRT_OV_STRING_LENGTH;
			break;
		}
		memcpy(&n, at, 4);
		at += 4;
		if (end - at < n) {
			code = TRT_OV_STRING_DATA;
			break;
		}
		if (memchr(at, 0, n) != NULL) {
			code = TRT_OV_STRING_NUL;
			break;
		}
		memcpy(to, at, n);
		strings[i] = to;
		to[n] = 0;
		to += n + 1;
		at += n;
	}
	if (code == 0 && at != end) {
		code = TRT_OV_STRING_COUNT;
	}
	if (code == 0) {
		code = tensor_from_strings(strings, t->elements, s, made);
	}
	free(strings);
	free(text);
	return code == 0 ? 0 : fail(e, code, NULL);
}

static int set_input(trt_ov_call *c, trt_ov_tensor *t) {
	static uint64_t nothing; // an address for tensors without elements
	shape s = {t->rank, t->dims};
	void *made = NULL;
	int code = 0;
	if (t->type == STRING) {
		code = text_input(&c->error, t, s, &made);
	} else {
		code = tensor_from_host(t->type, s, t->bytes == 0 ? &nothing : t->data, &made);
	}
	if (code == 0) {
		code = request_set_input(c->request, (size_t)t->port, made);
		tensor_free(made); // the request holds it
	}
	if (code != 0 && c->error.code == 0) {
		fail(&c->error, code, NULL);
	}
	return code;
}

static int get_output(trt_ov_call *c, trt_ov_tensor *t) {
	TRY(&c->error, request_get_output(c->request, (size_t)t->port, &t->handle));
	shape s = {0, NULL};
	size_t n = 0, bytes = 0;
	int type = 0;
	TRY(&c->error, tensor_get_shape(t->handle, &s));
	int fits = s.rank <= TRT_OV_MAX_RANK;
	t->rank = (int32_t)s.rank;
	for (int d = 0; fits && d < t->rank; d++) {
		t->dims[d] = s.dims[d];
	}
	shape_free(&s);
	if (!fits) {
		return fail(&c->error, TRT_OV_RANK, NULL);
	}
	TRY(&c->error, tensor_get_element_type(t->handle, &type));
	TRY(&c->error, tensor_get_size(t->handle, &n));
	TRY(&c->error, tensor_get_byte_size(t->handle, &bytes));
	t->type = type;
	t->elements = n;
	t->bytes = bytes;
	t->data = NULL;
	if (n > 0) {
		TRY(&c->error, tensor_data(t->handle, &t->data));
	}
	if (type != STRING) {
		return 0;
	}
	t->bytes = 4 * n;
	for (size_t i = 0; i < n; i++) {
		t->bytes += ((const string *)t->data)[i].size;
	}
	return 0;
}

void trt_ov_strings(const trt_ov_tensor *t, uint8_t *to) {
	const string *s = t->data;
	for (uint64_t i = 0; i < t->elements; i++) {
		uint32_t n = (uint32_t)s[i].size;
		memcpy(to, &n, 4);
		memcpy(to + 4, s[i].data, n);
		to += 4 + n;
	}
}

static void drop_outputs(trt_ov_call *c) {
	for (int i = c->inputs; i < c->inputs + c->outputs; i++) {
		if (c->tensor[i].handle != NULL) {
			tensor_free(c->tensor[i].handle);
			c->tensor[i].handle = NULL;
		}
	}
}

int trt_ov_run(trt_ov_call *c) {
	c->error.code = 0;
	drop_outputs(c);
	for (int i = 0; i < c->inputs; i++) {
		c->error.tensor = i;
		int code = set_input(c, &c->tensor[i]);
		if (code != 0) {
			return code;
		}
	}
	c->error.tensor = -1;
	TRY(&c->error, request_infer(c->request));
	for (int i = c->inputs; i < c->inputs + c->outputs; i++) {
		if (!c->tensor[i].use) {
			continue;
		}
		c->error.tensor = i;
		int code = get_output(c, &c->tensor[i]);
		if (code != 0) {
			return code;
		}
	}
	return 0;
}

void trt_ov_stop(trt_ov_call *c) { request_cancel(c->request); }

void trt_ov_model_free(trt_ov_model *m) {
	for (int i = 0; m->port != NULL && i < m->inputs + m->outputs; i++) {
		free(m->port[i].name);
	}
	free(m->port);
	if (m->compiled != NULL) {
		compiled_free(m->compiled);
	}
	if (m->model != NULL) {
		model_free(m->model);
	}
	free(m);
}

trt_ov_call *trt_ov_call_new(int32_t inputs, int32_t outputs) {
	trt_ov_call *c = calloc(1, sizeof *c);
	if (c == NULL) {
		return NULL;
	}
	c->inputs = inputs;
	c->outputs = outputs;
	c->tensor = calloc((size_t)(inputs + outputs) + 1, sizeof *c->tensor);
	if (c->tensor == NULL) {
		free(c);
		return NULL;
	}
	return c;
}

void trt_ov_call_free(trt_ov_call *c) {
	drop_outputs(c);
	if (c->request != NULL) {
		request_free(c->request);
	}
	free(c->tensor);
	free(c);
}
