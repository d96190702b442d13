// Our own thin layer over ONNX Runtime: whole steps of the server's work, each
// one call from Go. Nothing here is linked; the library is opened at run time.
#ifndef TRT_ORT_H
#define TRT_ORT_H

#include "api.h"

// The most dimensions of a tensor.
#define TRT_ORT_MAX_RANK 16

// Our own error codes, beside those of ONNX Runtime, which are small.
enum {
	TRT_ORT_OK = 0,
	TRT_ORT_NO_LIBRARY = 1001, // the file cannot be opened
	TRT_ORT_NO_SYMBOL,         // it is no ONNX Runtime
	TRT_ORT_TOO_OLD,           // it lacks functions that we need
	TRT_ORT_RANK,              // a tensor has too many dimensions
	TRT_ORT_MEMORY,
	TRT_ORT_STRING_COUNT, // a string input holds another number of elements
	TRT_ORT_STRING_LENGTH, // a string input ends inside a length
	TRT_ORT_STRING_DATA,   // a string input ends inside an element
	TRT_ORT_TYPE,         // an output is not of the type that the model declares
};

// An error; the message is for the receiver to free. Code 0 is none.
typedef struct {
	int32_t code;
	char *message;
} trt_ort_error;

// Inputs, outputs and initializers that may be overridden.
enum { TRT_ORT_INPUT, TRT_ORT_OUTPUT, TRT_ORT_INITIALIZER };

// One input or output as the session declares it. name and symbols are for the
// receiver to free.
typedef struct {
	char *name;
	int32_t kind; // ONNXType
	int32_t type; // ONNXTensorElementDataType, for tensors
	int32_t ranked; // whether the model gives a shape
	int32_t rank;
	int64_t dims[TRT_ORT_MAX_RANK]; // -1 where it varies
	char *symbols[TRT_ORT_MAX_RANK];
} trt_ort_info;

// An opened library: its table, and what all its sessions share. A process may open
// several.
typedef struct {
	const void *const *table;
	uint32_t level; // of the table: TRT_ORT_API_OLDEST to TRT_ORT_API_VERSION
	OrtEnv *env;
	OrtMemoryInfo *cpu;
	OrtAllocator *allocator;
} trt_ort_library;

// One input or output of a run. No address here is of Go's memory.
typedef struct {
	const char *name;
	void *data; // the input, or where to write the output; NULL: ONNX Runtime allocates it
	uint64_t bytes;
	int32_t type;
	int32_t rank;
	int32_t use;       // this run has the input or wants the output
	int32_t lent;      // set by a run for an output that ONNX Runtime allocated
	OrtValue *value;   // that output's owner, for the receiver to release
	uint64_t elements; // of a string tensor
	int64_t dims[TRT_ORT_MAX_RANK];
} trt_ort_tensor;

// What one instance needs for its runs; allocated once.
typedef struct {
	const trt_ort_library *lib;
	OrtSession *session;
	OrtRunOptions *options;
	int32_t inputs, outputs;
	trt_ort_tensor *tensor; // the inputs, then the outputs
	const char **name;      // those in use, for ONNX Runtime's call
	OrtValue **value;
	trt_ort_error error;
	int32_t fault; // the tensor that an error of our own is about
} trt_ort_call;

// Calls a function of the library's table. A function that came after TRT_ORT_API_OLDEST
// is there only if the library's level says so.
#define ORT(lib, name) ((trt_ort_fn_##name)(lib)->table[trt_ort_at_##name])

// Turns a status of the library, which it releases, into an error.
trt_ort_error trt_ort_check(const trt_ort_library *lib, OrtStatus *status);
// An error of our own with a copy of the message.
trt_ort_error trt_ort_fail(int32_t code, const char *message);

trt_ort_error trt_ort_open(const char *path, trt_ort_library **lib, char **version);
trt_ort_error trt_ort_env(trt_ort_library *lib, int32_t level, int32_t global_pool, int32_t intra, int32_t inter);
trt_ort_error trt_ort_env_arena(const trt_ort_library *lib, const char *const *keys, const size_t *values, size_t n);
trt_ort_error trt_ort_providers(const trt_ort_library *lib, char ***names, int32_t *n);
void trt_ort_providers_free(const trt_ort_library *lib, char **names, int32_t n);

trt_ort_error trt_ort_options_new(const trt_ort_library *lib, OrtSessionOptions **options);
void trt_ort_options_free(const trt_ort_library *lib, OrtSessionOptions *options);
trt_ort_error trt_ort_options_level(const trt_ort_library *lib, OrtSessionOptions *options, int32_t level);
trt_ort_error trt_ort_options_mode(const trt_ort_library *lib, OrtSessionOptions *options, int32_t mode);
trt_ort_error trt_ort_options_threads(const trt_ort_library *lib, OrtSessionOptions *options, int32_t intra, int32_t inter);
trt_ort_error trt_ort_options_global_pool(const trt_ort_library *lib, OrtSessionOptions *options);
trt_ort_error trt_ort_options_arena(const trt_ort_library *lib, OrtSessionOptions *options, int32_t on);
trt_ort_error trt_ort_options_pattern(const trt_ort_library *lib, OrtSessionOptions *options, int32_t on);
trt_ort_error trt_ort_options_entry(const trt_ort_library *lib, OrtSessionOptions *options, const char *key, const char *value);
trt_ort_error trt_ort_options_library(const trt_ort_library *lib, OrtSessionOptions *options, const char *path);
trt_ort_error trt_ort_options_optimized(const trt_ort_library *lib, OrtSessionOptions *options, const char *path);
trt_ort_error trt_ort_options_profile(const trt_ort_library *lib, OrtSessionOptions *options, const char *prefix);

// Appends an execution provider with its options. which is one of the first three, or
// TRT_ORT_OTHER with the provider's name.
enum { TRT_ORT_CUDA, TRT_ORT_TENSORRT, TRT_ORT_OPENVINO, TRT_ORT_OTHER };
trt_ort_error trt_ort_options_provider(const trt_ort_library *lib, OrtSessionOptions *options, int32_t which, const char *name,
                                       const char *const *keys, const char *const *values, size_t n);

// What a session is opened from: a file, or the bytes of one.
typedef struct {
	const char *path;
	const void *data; // instead of path, if it is not NULL
	size_t bytes;
} trt_ort_source;

OrtStatus *trt_ort_create(const trt_ort_library *lib, const trt_ort_source *from, const OrtSessionOptions *options, OrtSession **session);
trt_ort_error trt_ort_session_open(const trt_ort_library *lib, const trt_ort_source *from, const OrtSessionOptions *options, OrtSession **session);
// Opens a session on a thread with a low priority.
trt_ort_error trt_ort_session_open_quietly(const trt_ort_library *lib, const trt_ort_source *from, OrtSessionOptions *options, OrtSession **session);
// Writes the end of the session's profile. file, the profile's name, is for the receiver to free.
trt_ort_error trt_ort_session_end_profile(const trt_ort_library *lib, OrtSession *session, char **file);
void trt_ort_session_free(const trt_ort_library *lib, OrtSession *session);
trt_ort_error trt_ort_session_count(const trt_ort_library *lib, const OrtSession *session, int32_t which, size_t *n);
trt_ort_error trt_ort_session_info(const trt_ort_library *lib, const OrtSession *session, int32_t which, size_t i, trt_ort_info *info);
trt_ort_error trt_ort_session_memory(const trt_ort_library *lib, const OrtSession *session, uint64_t *in_use, uint64_t *total);

uint64_t trt_ort_heap(void);
void trt_ort_trim(void);

trt_ort_call *trt_ort_call_new(const trt_ort_library *lib, OrtSession *session, int32_t inputs, int32_t outputs);
trt_ort_error trt_ort_call_option(trt_ort_call *call, const char *key, const char *value);
void trt_ort_call_free(trt_ort_call *call);

// Runs the session over the tensors in use and returns call->error.code.
// Outputs with data are written there; the others come back with data, bytes,
// type, rank and dims set and value to release; strings come back with the
// bytes they need and the value to read with trt_ort_strings.
int32_t trt_ort_run(trt_ort_call *call);
// Makes a run that is going on fail soon, from any thread, and all later ones
// until trt_ort_go.
void trt_ort_stop(trt_ort_call *call);
void trt_ort_go(trt_ort_call *call);
// Writes the output's strings to dst, each behind its length, and releases the
// value.
int32_t trt_ort_strings(trt_ort_call *call, int32_t output, void *dst);
void trt_ort_value_free(const trt_ort_library *lib, OrtValue *value);

// Runs the call n times and nothing else: the yardstick of the benchmarks.
int32_t trt_ort_run_bare(trt_ort_call *call, int64_t n);

#endif
