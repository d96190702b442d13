//go:build cgo && (linux || darwin)

#include <stdlib.h>
#include <string.h>

#include "ort.h"

#define STRING_TYPE 8 // ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING

// What the address of a tensor without elements points to: ONNX Runtime takes no
// null pointer.
static char nothing[64];

trt_ort_call *trt_ort_call_new(const trt_ort_library *lib, OrtSession *session, int32_t inputs, int32_t outputs) {
	size_t n = (size_t)inputs + (size_t)outputs;
	trt_ort_call *c = calloc(1, sizeof *c);
	if (c == NULL) {
		return NULL;
	}
	c->lib = lib;
	c->session = session;
	c->inputs = inputs;
	c->outputs = outputs;
	c->tensor = calloc(n + 1, sizeof *c->tensor);
	c->name = calloc(n + 1, sizeof *c->name);
	c->value = calloc(n + 1, sizeof *c->value);
	trt_ort_error e = trt_ort_check(c->lib, ORT(c->lib, CreateRunOptions)(&c->options));
	if (e.code == 0) {
		// Only fatal: a run that fails says so in its status. ONNX Runtime's own
		// line for it would let clients flood the console.
		e = trt_ort_check(c->lib, ORT(c->lib, RunOptionsSetRunLogSeverityLevel)(c->options, 4));
	}
	if (c->tensor == NULL || c->name == NULL || c->value == NULL || e.code != 0) {
		free(e.message);
		trt_ort_call_free(c);
		return NULL;
	}
	return c;
}

trt_ort_error trt_ort_call_option(trt_ort_call *c, const char *key, const char *value) {
	return trt_ort_check(c->lib, ORT(c->lib, AddRunConfigEntry)(c->options, key, value));
}

void trt_ort_call_free(trt_ort_call *c) {
	if (c->options != NULL) {
		ORT(c->lib, ReleaseRunOptions)(c->options);
	}
	free(c->tensor);
	free(c->name);
	free(c->value);
	free(c->error.message);
	free(c);
}

static uint32_t length_at(const unsigned char *p) {
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// fail notes an error of our own about tensor t.
static int fail(trt_ort_call *c, int32_t code, const trt_ort_tensor *t) {
	c->error = trt_ort_fail(code, NULL);
	c->fault = (int32_t)(t - c->tensor);
	return -1;
}

static int check(trt_ort_call *c, OrtStatus *s) {
	if (s == NULL) {
		return 0;
	}
	c->error = trt_ort_check(c->lib, s);
	return -1;
}

// check_strings walks the length-prefixed elements of a string input, whose
// lengths come from outside. Nothing of the declared size is allocated before
// all elements are known to be there.
static int check_strings(trt_ort_call *c, trt_ort_tensor *t) {
	const unsigned char *p = t->data;
	uint64_t left = t->bytes, i = 0;
	for (; i < t->elements && left > 0; i++) {
		if (left < 4) {
			t->bytes = left; // for the message, here and below
			return fail(c, TRT_ORT_STRING_LENGTH, t);
		}
		uint64_t n = length_at(p);
		if (n > left - 4) {
			t->elements = n;
			t->bytes = left - 4;
			return fail(c, TRT_ORT_STRING_DATA, t);
		}
		p += 4 + n;
		left -= 4 + n;
	}
	if (i == t->elements && left == 0) {
		return 0;
	}
	t->bytes = left > 0 ? i + 1 : i;
	return fail(c, TRT_ORT_STRING_COUNT, t);
}

// fill_strings copies checked elements into a string tensor.
static int fill_strings(trt_ort_call *c, const trt_ort_tensor *t, OrtValue *value) {
	const unsigned char *p = t->data;
	for (uint64_t i = 0; i < t->elements; i++) {
		uint32_t n = length_at(p);
		char *to = NULL;
		if (check(c, ORT(c->lib, GetResizedStringTensorElementBuffer)(value, i, n, &to)) != 0) {
			return -1;
		}
		memcpy(to, p + 4, n);
		p += 4 + (uint64_t)n;
	}
	return 0;
}

// over makes a tensor over memory that is not its own.
static int over(trt_ort_call *c, const trt_ort_tensor *t, OrtValue **value) {
	void *data = t->data != NULL ? t->data : nothing;
	return check(c, ORT(c->lib, CreateTensorWithDataAsOrtValue)(c->lib->cpu, data, t->bytes, t->dims, (size_t)t->rank,
	                                                    (ONNXTensorElementDataType)t->type, value));
}

static int input(trt_ort_call *c, trt_ort_tensor *t, OrtValue **value) {
	if (t->type != STRING_TYPE) {
		return over(c, t, value);
	}
	if (check_strings(c, t) != 0 ||
	    check(c, ORT(c->lib, CreateTensorAsOrtValue)(c->lib->allocator, t->dims, (size_t)t->rank, STRING_TYPE, value)) != 0) {
		return -1;
	}
	return fill_strings(c, t, *value);
}

// shape reads type and dimensions of a value.
static int shape(trt_ort_call *c, OrtValue *value, ONNXTensorElementDataType *type, int64_t *dims, size_t *rank) {
	if (c->lib->level >= 24) { // without an allocation
		const int64_t *at = NULL;
		if (check(c, ORT(c->lib, GetTensorElementTypeAndShapeDataReference)(value, type, &at, rank)) != 0) {
			return -1;
		}
		for (size_t i = 0; i < *rank && i < TRT_ORT_MAX_RANK; i++) {
			dims[i] = at[i];
		}
		return 0;
	}
	OrtTensorTypeAndShapeInfo *info = NULL;
	if (check(c, ORT(c->lib, GetTensorTypeAndShape)(value, &info)) != 0) {
		return -1;
	}
	OrtStatus *s = ORT(c->lib, GetTensorElementType)(info, type);
	if (s == NULL) {
		s = ORT(c->lib, GetDimensionsCount)(info, rank);
	}
	if (s == NULL && *rank <= TRT_ORT_MAX_RANK) {
		s = ORT(c->lib, GetDimensions)(info, dims, *rank);
	}
	ORT(c->lib, ReleaseTensorTypeAndShapeInfo)(info);
	return check(c, s);
}

// width is the size of an element in bytes; 0 for types that the server has not.
static size_t width(ONNXTensorElementDataType type) {
	static const unsigned char widths[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2};
	return type < sizeof widths ? widths[type] : 0;
}

// size reads the bytes of a value that is no string tensor.
static int size(trt_ort_call *c, const trt_ort_tensor *t, OrtValue *value, uint64_t elements, uint64_t *bytes) {
	size_t n = elements * width((ONNXTensorElementDataType)t->type);
	if (c->lib->level >= 23 && check(c, ORT(c->lib, GetTensorSizeInBytes)(value, &n)) != 0) {
		return -1;
	}
	*bytes = n;
	return 0;
}

// take describes an output that ONNX Runtime allocated.
static int take(trt_ort_call *c, trt_ort_tensor *t, OrtValue *value) {
	ONNXTensorElementDataType type = 0;
	size_t rank = 0, n = 0;
	void *data = NULL;
	if (shape(c, value, &type, t->dims, &rank) != 0) {
		return -1;
	}
	if ((int32_t)type != t->type) {
		return fail(c, TRT_ORT_TYPE, t);
	}
	if (rank > TRT_ORT_MAX_RANK) {
		return fail(c, TRT_ORT_RANK, t);
	}
	uint64_t elements = 1;
	for (size_t i = 0; i < rank; i++) {
		elements *= (uint64_t)t->dims[i];
	}
	t->rank = (int32_t)rank;
	if (t->type == STRING_TYPE) {
		t->elements = elements;
		if (elements > 0 && check(c, ORT(c->lib, GetStringTensorDataLength)(value, &n)) != 0) {
			return -1;
		}
		t->bytes = n + 4 * elements;
		return 0;
	}
	if (check(c, ORT(c->lib, GetTensorMutableData)(value, &data)) != 0 || size(c, t, value, elements, &t->bytes) != 0) {
		return -1;
	}
	t->data = data;
	return 0;
}

static void release(const trt_ort_library *lib, OrtValue **values, int32_t n) {
	for (int32_t i = 0; i < n; i++) {
		if (values[i] != NULL) {
			ORT(lib, ReleaseValue)(values[i]);
			values[i] = NULL;
		}
	}
}

// bind makes the values of the tensors in use, inputs first, and counts them.
static int bind(trt_ort_call *c, int32_t *ins, int32_t *outs) {
	int32_t n = 0;
	for (int32_t i = 0; i < c->inputs + c->outputs; i++) {
		trt_ort_tensor *t = &c->tensor[i];
		t->lent = 0;
		t->value = NULL;
		if (!t->use) {
			continue;
		}
		c->name[n] = t->name;
		c->value[n] = NULL;
		n++; // first, so that a value half made is released
		if (i < c->inputs) {
			++*ins;
			if (input(c, t, &c->value[n - 1]) != 0) {
				return -1;
			}
			continue;
		}
		++*outs;
		if (t->data != NULL && over(c, t, &c->value[n - 1]) != 0) {
			return -1;
		}
	}
	return 0;
}

// collect hands out ONNX Runtime's outputs. After an error none is kept.
static int collect(trt_ort_call *c, OrtValue **values) {
	int32_t n = 0;
	for (int32_t i = c->inputs; i < c->inputs + c->outputs; i++) {
		trt_ort_tensor *t = &c->tensor[i];
		if (!t->use || t->data != NULL) {
			n += t->use != 0;
			continue;
		}
		if (take(c, t, values[n]) != 0) {
			return -1;
		}
		t->lent = 1;
		n++;
	}
	n = 0;
	for (int32_t i = c->inputs; i < c->inputs + c->outputs; i++) {
		trt_ort_tensor *t = &c->tensor[i];
		if (!t->use) {
			continue;
		}
		if (t->lent) {
			t->value = values[n];
			values[n] = NULL;
		}
		n++;
	}
	return 0;
}

static int run(trt_ort_call *c, int32_t ins, int32_t outs) {
	return check(c, ORT(c->lib, Run)(c->session, c->options, c->name, (const OrtValue *const *)c->value, (size_t)ins,
	                         c->name + ins, (size_t)outs, c->value + ins));
}

int32_t trt_ort_run(trt_ort_call *c) {
	int32_t ins = 0, outs = 0;
	free(c->error.message);
	c->error = (trt_ort_error){0};
	if (bind(c, &ins, &outs) == 0 && run(c, ins, outs) == 0) {
		collect(c, c->value + ins);
	}
	release(c->lib, c->value, ins + outs);
	return c->error.code;
}

// drop ignores an error: these two only set a flag.
static void drop(const trt_ort_library *lib, OrtStatus *s) {
	if (s != NULL) {
		ORT(lib, ReleaseStatus)(s);
	}
}

void trt_ort_stop(trt_ort_call *c) { drop(c->lib, ORT(c->lib, RunOptionsSetTerminate)(c->options)); }

void trt_ort_go(trt_ort_call *c) { drop(c->lib, ORT(c->lib, RunOptionsUnsetTerminate)(c->options)); }

int32_t trt_ort_strings(trt_ort_call *c, int32_t output, void *dst) {
	trt_ort_tensor *t = &c->tensor[c->inputs + output];
	OrtValue *value = t->value;
	unsigned char *p = dst, *end = p + t->bytes;
	t->value = NULL;
	for (uint64_t i = 0; i < t->elements; i++) {
		size_t n = 0;
		if (check(c, ORT(c->lib, GetStringTensorElementLength)(value, i, &n)) != 0) {
			break;
		}
		if (n > UINT32_MAX || n + 4 > (size_t)(end - p)) {
			fail(c, TRT_ORT_STRING_DATA, t);
			break;
		}
		p[0] = (unsigned char)n;
		p[1] = (unsigned char)(n >> 8);
		p[2] = (unsigned char)(n >> 16);
		p[3] = (unsigned char)(n >> 24);
		if (check(c, ORT(c->lib, GetStringTensorElement)(value, n, i, p + 4)) != 0) {
			break;
		}
		p += 4 + n;
	}
	ORT(c->lib, ReleaseValue)(value);
	return c->error.code;
}

void trt_ort_value_free(const trt_ort_library *lib, OrtValue *value) { ORT(lib, ReleaseValue)(value); }

int32_t trt_ort_run_bare(trt_ort_call *c, int64_t n) {
	int32_t ins = 0, outs = 0;
	free(c->error.message);
	c->error = (trt_ort_error){0};
	if (bind(c, &ins, &outs) == 0) {
		while (n-- > 0 && run(c, ins, outs) == 0) {
		}
	}
	release(c->lib, c->value, ins + outs);
	return c->error.code;
}
