// The objects of the backend API. Go fills a request before an execution, so that what a
// backend reads is answered here; only events call Go (the trt_go_ functions).
//
// All functions of the API check the object that they get: a backend that uses an object
// after its end gets an error with the name of the function.
#pragma once

#include "triton/core/tritonbackend.h"

// Package capi defines these in the same program.
#pragma weak TRITONSERVER_ErrorNew
#pragma weak TRITONSERVER_ErrorDelete
#pragma weak TRITONSERVER_ErrorCode
#pragma weak TRITONSERVER_ErrorMessage
#pragma weak TRITONSERVER_MessageNewFromSerializedJson
#pragma weak TRITONSERVER_MessageSerializeToJson
#pragma weak TRITONSERVER_MessageDelete
#pragma weak TRITONSERVER_BufferAttributesNew
#pragma weak TRITONSERVER_BufferAttributesDelete
#pragma weak TRITONSERVER_BufferAttributesSetMemoryType
#pragma weak TRITONSERVER_BufferAttributesSetMemoryTypeId
#pragma weak TRITONSERVER_BufferAttributesSetByteSize
#pragma weak TRITONSERVER_BufferAttributesMemoryType
#pragma weak TRITONSERVER_BufferAttributesMemoryTypeId
#pragma weak TRITONSERVER_BufferAttributesByteSize
#pragma weak TRITONSERVER_LogMessage

// trt_kind begins each object. A freed object has another one.
typedef enum {
	TRT_BACKEND = 0x7472626b,
	TRT_ATTRIBUTE,
	TRT_MODEL,
	TRT_INSTANCE,
	TRT_REQUEST,
	TRT_INPUT,
	TRT_FACTORY,
	TRT_RESPONSE,
	TRT_OUTPUT,
	TRT_STATE,
	TRT_TIMES,
	TRT_FREED = 0x64656164,
} trt_kind;

// trt_block is memory that is freed with its owner.
typedef struct trt_block {
	struct trt_block *next;
	size_t size, used;
	_Alignas(16) char bytes[];
} trt_block;

// trt_group is a preferred instance group.
typedef struct trt_group {
	struct trt_group *next;
	TRITONSERVER_InstanceGroupKind kind;
	uint64_t count, device_count;
	uint64_t *devices;
} trt_group;

struct TRITONBACKEND_BackendAttribute {
	trt_kind kind;
	bool parallel;
	trt_group *first, **last;
};

struct TRITONBACKEND_Backend {
	trt_kind kind;
	char *name, *location;
	TRITONSERVER_Message *config;
	TRITONBACKEND_ExecutionPolicy policy;
	bool initializing;
	void *state;
};

// trt_names are the names of a model's values, in the order of its configuration.
typedef struct {
	uint32_t count;
	char **names;
} trt_names;

struct TRITONBACKEND_Model {
	trt_kind kind;
	uint64_t handle; // of the model in Go
	TRITONBACKEND_Backend *backend;
	char *name, *location;
	uint64_t version;
	char *config; // JSON
	size_t config_size;
	bool auto_complete, initializing, decoupled;
	TRITONSERVER_Server *server; // null until it is asked for
	trt_names outputs, states;
	void *state;
};

// trt_times are what a backend reports of an execution, by the clock of the system.
typedef struct {
	uint64_t reports, batch, begin, compute_begin, compute_end, end;
} trt_times;

struct TRITONBACKEND_ModelInstance {
	trt_kind kind;
	uint64_t handle;
	TRITONBACKEND_Model *model;
	char *name;
	TRITONSERVER_InstanceGroupKind device_kind;
	int32_t device;
	bool passive;
	TRITONSERVER_Message *host_policy;
	trt_names profiles, secondary;
	int64_t *secondary_ids;
	trt_times times; // of the execution that runs
	void *state;
};

typedef struct {
	const void *base;
	uint64_t size;
	TRITONSERVER_BufferAttributes *attributes; // null until it is asked for
} trt_buffer;

struct TRITONBACKEND_Input {
	trt_kind kind;
	TRITONSERVER_DataType datatype;
	TRITONBACKEND_Request *request;
	const char *name;
	const int64_t *shape;
	uint64_t size;
	trt_buffer *buffers;
	uint32_t dims, buffer_count;
};

typedef struct {
	const char *key;
	TRITONSERVER_ParameterType type;
	const void *value;
} trt_parameter;

typedef struct {
	const char *name;
	bool placed; // the client wants the output in memory of its own
} trt_wanted;

struct TRITONBACKEND_Output {
	trt_kind kind;
	TRITONSERVER_DataType datatype;
	struct TRITONBACKEND_Output *next;
	TRITONBACKEND_Response *response;
	const char *name; // of the model
	int64_t *shape;
	uint32_t dims;
	uint32_t index; // in the outputs of the model
	bool allocated;
	uint32_t slot; // of memory that Go has given; 0: in the memory of the request
	void *base;
	uint64_t size;
	TRITONSERVER_BufferAttributes *attributes;
};

typedef struct trt_reply_parameter {
	struct trt_reply_parameter *next;
	char *name, *text;
	TRITONSERVER_ParameterType type;
	int64_t number;
	double real;
} trt_reply_parameter;

enum { TRT_INLINE = 704 };

struct TRITONBACKEND_Response {
	trt_kind kind;
	bool embedded; // in its request
	bool failed;
	TRITONSERVER_Error_Code error_code;
	const char *error;
	TRITONBACKEND_Request *request;
	TRITONBACKEND_Output *first, **last;
	uint32_t output_count;
	int64_t output_begin; // of a decoupled model: when the first output was made
	trt_reply_parameter *first_parameter, **last_parameter;
	trt_block *blocks;
	uint32_t used;
	_Alignas(16) char bytes[TRT_INLINE];
};

struct TRITONBACKEND_State {
	trt_kind kind;
	TRITONSERVER_DataType datatype;
	struct TRITONBACKEND_State *next;
	TRITONBACKEND_Request *request;
	uint32_t index; // in the states of the model
	uint32_t dims;
	int64_t *shape;
	uint32_t slot;
	void *base;
	uint64_t size;
	TRITONSERVER_BufferAttributes *attributes;
};

struct TRITONBACKEND_Request {
	trt_kind kind;   // TRT_FREED after the release
	uint32_t handle; // of the request in Go
	int32_t refs;    // atomic: the request, its factories and its responses
	TRITONBACKEND_ModelInstance *instance;
	// call is the instance while its execution runs. What the executing thread sends and
	// releases is only noted here, and Go handles it after the call.
	TRITONBACKEND_ModelInstance *call;
	bool released;
	TRITONBACKEND_Response *sent;

	const char *id;
	uint64_t correlation;
	const char *correlation_text; // null: it is a number
	uint32_t flags;
	uint32_t input_count, output_count, parameter_count;
	uint64_t timeout;
	TRITONBACKEND_Input *inputs;
	trt_wanted *outputs;
	trt_parameter *parameters;
	char *memory; // for outputs
	uint64_t memory_size, memory_used;
	TRITONSERVER_InferenceTrace *trace;
	bool trace_made;
	bool attributed; // some buffers have attributes
	TRITONBACKEND_State *states;
	bool embedded_in_use; // until the end of the request
	TRITONBACKEND_Response embedded;
};

struct TRITONBACKEND_ResponseFactory {
	trt_kind kind;
	TRITONBACKEND_Request *request;
};

struct TRITONBACKEND_ModelInstanceResponseStatistics {
	trt_kind kind;
	TRITONBACKEND_ModelInstance *instance;
	TRITONBACKEND_ResponseFactory *factory;
	uint64_t begin, output, end;
	bool failed;
	TRITONSERVER_Error_Code error_code;
	char error[256];
};

// trt_fail makes an error with a formatted text.
TRITONSERVER_Error *trt_fail(TRITONSERVER_Error_Code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), visibility("hidden")));

// TRT_CHECK returns an error from a function of the API whose object is not alive.
#define TRT_CHECK(object, wanted, what)                                                                     \
	do {                                                                                                \
		if ((object) == NULL || (object)->kind != (wanted)) {                                       \
			return trt_fail(TRITONSERVER_ERROR_INVALID_ARG,                                     \
				"%s: the " what " is null, was freed, or is another object", __func__);     \
		}                                                                                           \
	} while (0)

// TRT_NEED returns an error from a function of the API that got no pointer.
#define TRT_NEED(argument)                                                                                  \
	do {                                                                                                \
		if ((argument) == NULL) {                                                                   \
			return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "%s: " #argument " is null", __func__); \
		}                                                                                           \
	} while (0)

// TRT_MAX_DIMS bounds the dimensions of a tensor.
enum { TRT_MAX_DIMS = 1024 };

// trt_discard frees an object later: its kind stays readable until many others are freed, so
// that a backend which uses it again gets an error.
void trt_discard(void *object);

// trt_in_call reports whether this thread executes the request.
bool trt_in_call(TRITONBACKEND_Request *r);
// trt_unref releases a reference to a request.
void trt_unref(TRITONBACKEND_Request *r);
// trt_tag returns the request's ID for messages.
const char *trt_tag(TRITONBACKEND_Request *r);
// trt_attributes makes the description of a buffer, once.
TRITONSERVER_Error *trt_attributes(TRITONSERVER_BufferAttributes **to, uint64_t size);

// What Go calls.
TRITONSERVER_Error *trt_call_backend(void *entry, TRITONBACKEND_Backend *b);
TRITONSERVER_Error *trt_call_attribute(void *entry, TRITONBACKEND_Backend *b, TRITONBACKEND_BackendAttribute *a);
TRITONSERVER_Error *trt_call_model(void *entry, TRITONBACKEND_Model *m);
TRITONSERVER_Error *trt_call_instance(void *entry, TRITONBACKEND_ModelInstance *i);
TRITONSERVER_Error *trt_execute(void *entry, TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **requests, uint32_t count);
TRITONSERVER_Error *trt_batcher_new(void *entry, TRITONBACKEND_Batcher **b, TRITONBACKEND_Model *m);
TRITONSERVER_Error *trt_batcher_free(void *entry, TRITONBACKEND_Batcher *b);
TRITONSERVER_Error *trt_batch_begin(void *entry, const TRITONBACKEND_Batcher *b, void **userp);
TRITONSERVER_Error *trt_batch_include(void *entry, TRITONBACKEND_Request *r, void *userp, bool *include);
TRITONSERVER_Error *trt_batch_end(void *entry, void *userp);
void trt_attribute_clear(TRITONBACKEND_BackendAttribute *a);
void trt_names_clear(trt_names *n);

// trt_request_clear frees what a request has beside the memory that Go manages.
void trt_request_clear(TRITONBACKEND_Request *r);
// trt_response_free frees a response after Go has taken its content.
void trt_response_free(TRITONBACKEND_Response *r);
// trt_clock returns the time of the system's monotonic clock in nanoseconds.
int64_t trt_clock(void);

// trt_memory is one entry of a report on memory.
typedef struct {
	TRITONSERVER_MemoryType type;
	int64_t id;
	uint64_t bytes;
} trt_memory;

// The events, in Go.
void trt_go_send(TRITONBACKEND_Request *r, TRITONBACKEND_Response *response, bool final);
TRITONSERVER_Error *trt_go_release(TRITONBACKEND_Request *r, bool reschedule);
void trt_go_unused(TRITONBACKEND_Request *r);
TRITONSERVER_Error *trt_go_output(TRITONBACKEND_Request *r, TRITONBACKEND_Output *output, uint64_t size);
void trt_go_drop(TRITONBACKEND_Request *r, uint32_t slot);
void trt_go_report(TRITONBACKEND_Request *r, TRITONBACKEND_ModelInstanceResponseStatistics *s);
bool trt_go_cancelled(TRITONBACKEND_Request *r);
TRITONSERVER_InferenceTrace *trt_go_trace(TRITONBACKEND_Request *r);
TRITONSERVER_Error *trt_go_state_buffer(TRITONBACKEND_Request *r, TRITONBACKEND_State *state, uint64_t size);
TRITONSERVER_Error *trt_go_state_update(TRITONBACKEND_Request *r, TRITONBACKEND_State *state);
TRITONSERVER_Error *trt_go_set_config(TRITONBACKEND_Model *m, char *json, size_t size);
TRITONSERVER_Error *trt_go_server(TRITONBACKEND_Model *m, TRITONSERVER_Server **server);
void trt_go_memory(TRITONBACKEND_Model *m, TRITONBACKEND_ModelInstance *i, trt_memory *all, uint32_t count);
