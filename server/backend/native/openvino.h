// OpenVINO's C API as far as this backend uses it, and a thin layer over it with one call
// for each batch.
#pragma once

#include <stdint.h>

enum {
	TRT_OV_FUNCTIONS = 40,
	TRT_OV_MAX_RANK = 16,
	TRT_OV_MAX_OPTIONS = 8,
};

// The functions in the order of the names in openvino_library.go; they are declared in openvino.c.
extern struct trt_ov_table {
	void *function[TRT_OV_FUNCTIONS];
} trt_ov;

// What went wrong: a code of OpenVINO, or one of these.
enum {
	TRT_OV_NO_MEMORY = -100,
	TRT_OV_STRING_LENGTH,
	TRT_OV_STRING_DATA,
	TRT_OV_STRING_COUNT,
	TRT_OV_STRING_NUL,
	TRT_OV_RANK,
};

typedef struct {
	int32_t code;
	int32_t tensor; // of the error
	char text[1024];
} trt_ov_error;

// trt_ov_port is an input or output of a model.
typedef struct {
	char *name; // NULL: it has none
	int32_t type;
	int32_t rank; // -1: any
	int64_t dims[TRT_OV_MAX_RANK];
} trt_ov_port;

// trt_ov_model is a model that was read, and compiled if compiled is set.
typedef struct {
	void *model, *compiled;
	int32_t inputs, outputs;
	trt_ov_port *port; // inputs, then outputs
	trt_ov_error error;
} trt_ov_model;

// trt_ov_tensor is an input or output of a run.
typedef struct {
	int32_t use;  // for outputs: it is wanted
	int32_t port; // its place in the model
	int32_t type;
	int32_t rank;
	int64_t dims[TRT_OV_MAX_RANK];
	void *data;
	uint64_t bytes;
	uint64_t elements;
	void *handle; // of an output of the last run
} trt_ov_tensor;

// trt_ov_call is what an instance needs for its runs.
typedef struct {
	void *request;
	int32_t inputs, outputs;
	trt_ov_tensor *tensor; // inputs, then outputs
	trt_ov_error error;
} trt_ov_call;

// They return 0, or the code of the error.
int trt_ov_version(char text[64]);
int trt_ov_start(trt_ov_error *e);
int trt_ov_read(trt_ov_model *m, const char *path, const char *extension);
int trt_ov_reshape(trt_ov_model *m, const trt_ov_port *inputs);
int trt_ov_compile(trt_ov_model *m, const char *device, const char *const *options, int n);
int trt_ov_request(const trt_ov_model *m, trt_ov_call *c);
int trt_ov_run(trt_ov_call *c);

// trt_ov_strings writes an output of strings as in responses; its size is in bytes.
void trt_ov_strings(const trt_ov_tensor *t, uint8_t *to);

void trt_ov_stop(trt_ov_call *c);
void trt_ov_model_free(trt_ov_model *m);
trt_ov_call *trt_ov_call_new(int32_t inputs, int32_t outputs);
void trt_ov_call_free(trt_ov_call *c);
