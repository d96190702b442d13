// A backend for tests. The parameter "mode" of a model says what it does with requests.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "triton/core/tritonbackend.h"

#define TRY(call)                              \
	do {                                   \
		TRITONSERVER_Error *e = call;  \
		if (e != NULL) return e;       \
	} while (0)

#define EXPORT __attribute__((visibility("default")))

typedef struct {
	char mode[64];
	bool decoupled;
} model;

static void say(const char *format, const char *what) {
	char line[256];
	snprintf(line, sizeof(line), format, what);
	TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, line);
}

#ifdef MEET
// meet waits until the backends left and right start at the same time.
static TRITONSERVER_Error *meet(TRITONBACKEND_Backend *b) {
	TRITONBACKEND_ArtifactType type;
	const char *dir;
	TRY(TRITONBACKEND_BackendArtifacts(b, &type, &dir));
	char here[4096], left[4096], right[4096];
	snprintf(here, sizeof(here), "%s/here", dir);
	snprintf(left, sizeof(left), "%s/../left/here", dir);
	snprintf(right, sizeof(right), "%s/../right/here", dir);
	fclose(fopen(here, "w"));
	for (int k = 0; k < 10000; k++) {
		if (access(left, F_OK) == 0 && access(right, F_OK) == 0) {
			return NULL;
		}
		usleep(1000);
	}
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "the other backend does not start");
}
#endif

EXPORT TRITONSERVER_Error *TRITONBACKEND_Initialize(TRITONBACKEND_Backend *b) {
	uint32_t major, minor;
	TRY(TRITONBACKEND_ApiVersion(&major, &minor));
	if (major != TRITONBACKEND_API_VERSION_MAJOR || minor < TRITONBACKEND_API_VERSION_MINOR) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "triton backend API version does not support this backend");
	}
#ifdef DEVICE_BLOCKING
	TRY(TRITONBACKEND_BackendSetExecutionPolicy(b, TRITONBACKEND_EXECUTION_DEVICE_BLOCKING));
#endif
#ifdef FAIL_INITIALIZE
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "this backend never starts");
#endif
#ifdef MEET
	TRY(meet(b));
#endif
	return TRITONBACKEND_BackendSetState(b, "state of the backend");
}

EXPORT TRITONSERVER_Error *TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend *b, TRITONBACKEND_BackendAttribute *a) {
	TRY(TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(a, true));
	return TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(a, TRITONSERVER_INSTANCEGROUPKIND_CPU, 3, NULL, 0);
}

static const char *inputs =
	"\"max_batch_size\":8,\"input\":[{\"name\":\"IN\",\"data_type\":\"TYPE_INT32\",\"dims\":[-1]}],"
	"\"output\":[{\"name\":\"OUT\",\"data_type\":\"TYPE_INT32\",\"dims\":[-1]}]";

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *m) {
	TRITONSERVER_Message *config;
	TRY(TRITONBACKEND_ModelConfig(m, 1, &config));
	const char *json;
	size_t size;
	TRY(TRITONSERVER_MessageSerializeToJson(config, &json, &size));
	if (strlen(json) != size) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the message does not end with a null");
	}
	model *s = calloc(1, sizeof(*s));
	const char *mode = strstr(json, "\"mode\":{\"string_value\":\"");
	if (mode != NULL) {
		sscanf(mode + strlen("\"mode\":{\"string_value\":\""), "%63[^\"]", s->mode);
	}
	s->decoupled = strstr(json, "\"decoupled\":true") != NULL;
	TRITONSERVER_MessageDelete(config);
	TRY(TRITONBACKEND_ModelSetState(m, s));
	if (strcmp(s->mode, "refuse-model") == 0) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "the model is refused");
	}
	if (strcmp(s->mode, "complete") == 0) {
		char text[1024];
		snprintf(text, sizeof(text), "{\"name\":\"another\",\"backend\":\"another\",%s,\"dynamic_batching\":{}}", inputs);
		TRITONSERVER_Message *set;
		TRY(TRITONSERVER_MessageNewFromSerializedJson(&set, text, strlen(text)));
		TRITONSERVER_Error *err = TRITONBACKEND_ModelSetConfig(m, 1, set);
		TRITONSERVER_MessageDelete(set);
		return err;
	}
	return NULL;
}

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *m) {
	void *state;
	const char *name;
	TRY(TRITONBACKEND_ModelState(m, &state));
	TRY(TRITONBACKEND_ModelName(m, &name));
	say("end of model %s", name);
	free(state);
	return NULL;
}

static model *state_of(TRITONBACKEND_ModelInstance *i) {
	TRITONBACKEND_Model *m;
	void *state;
	TRITONBACKEND_ModelInstanceModel(i, &m);
	TRITONBACKEND_ModelState(m, &state);
	return state;
}

// where writes what the calling thread is bound to: "0-3 default", or "3 bind:0".
static void where(char *out, size_t size) {
	char line[4096], cpus[64] = "", memory[64] = "";
	FILE *f = fopen("/proc/thread-self/status", "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		sscanf(line, "Cpus_allowed_list: %63s", cpus);
	}
	if (f != NULL) fclose(f);
	f = fopen("/proc/thread-self/numa_maps", "r");
	if (f != NULL) {
		if (fscanf(f, "%*s %63s", memory) != 1) memory[0] = 0;
		fclose(f);
	}
	snprintf(out, size, "%s%s%s", cpus, memory[0] ? " " : "", memory);
}

// started is where the last instance was initialized.
static char started[256];

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *i) {
	where(started, sizeof(started));
	if (strcmp(state_of(i)->mode, "refuse-instance") == 0) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "the instance is refused");
	}
	return NULL;
}

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *i) {
	const char *name;
	TRY(TRITONBACKEND_ModelInstanceName(i, &name));
	say("end of instance %s", name);
	return NULL;
}

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance *i) {
	if (strcmp(state_of(i)->mode, "unready") == 0) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "not today");
	}
	if (strcmp(state_of(i)->mode, "never-ready") == 0) {
		for (;;) {
			pause();
		}
	}
	return NULL;
}

static uint64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// fill adds OUT with the content of IN.
static TRITONSERVER_Error *fill(TRITONBACKEND_Response *p, TRITONBACKEND_Request *r) {
	TRITONBACKEND_Input *in;
	TRY(TRITONBACKEND_RequestInput(r, "IN", &in));
	TRITONSERVER_DataType type;
	const int64_t *shape;
	uint32_t dims, buffers;
	uint64_t size;
	TRY(TRITONBACKEND_InputProperties(in, NULL, &type, &shape, &dims, &size, &buffers));
	TRITONBACKEND_Output *out;
	TRY(TRITONBACKEND_ResponseOutput(p, &out, "OUT", type, shape, dims));
	TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_GPU;
	int64_t id = 3;
	char *to;
	TRY(TRITONBACKEND_OutputBuffer(out, (void **)&to, size, &memory, &id));
	if (memory != TRITONSERVER_MEMORY_CPU || id != 0) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the memory is not the CPU's");
	}
	for (uint32_t k = 0; k < buffers; k++) {
		const void *from;
		uint64_t n;
		TRY(TRITONBACKEND_InputBuffer(in, k, &from, &n, &memory, &id));
		memcpy(to, from, n);
		to += n;
	}
	return NULL;
}

static void send(TRITONBACKEND_Response *p, uint32_t flags, TRITONSERVER_Error *err) {
	TRITONSERVER_ErrorDelete(TRITONBACKEND_ResponseSend(p, flags, err));
	if (err != NULL) {
		TRITONSERVER_ErrorDelete(err);
	}
}

static void echo(TRITONBACKEND_Request *r) {
	TRITONBACKEND_Response *p;
	TRITONBACKEND_ResponseNew(&p, r);
	send(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, fill(p, r));
	TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
}

typedef struct {
	TRITONBACKEND_Request *request;
	TRITONBACKEND_ResponseFactory *factory;
	int count;
} job;

static void *answer_late(void *p) {
	job *j = p;
	usleep(20000);
	echo(j->request);
	free(j);
	return NULL;
}

static void *stream(void *p) {
	job *j = p;
	for (int k = 0; k < j->count; k++) {
		TRITONBACKEND_Response *q;
		TRITONBACKEND_ResponseNewFromFactory(&q, j->factory);
		TRITONBACKEND_Output *out;
		int64_t shape[] = {1, 1};
		TRITONBACKEND_ResponseOutput(q, &out, "OUT", TRITONSERVER_TYPE_INT32, shape, 2);
		int32_t *to;
		TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
		int64_t id = 0;
		TRITONBACKEND_OutputBuffer(out, (void **)&to, 4, &memory, &id);
		*to = k;
		send(q, 0, NULL);
	}
	TRITONBACKEND_Response *empty;
	TRITONBACKEND_ResponseNewFromFactory(&empty, j->factory);
	send(empty, 0, NULL);
	TRITONBACKEND_ResponseFactorySendFlags(j->factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
	TRITONBACKEND_ResponseFactoryDelete(j->factory);
	free(j);
	return NULL;
}

static void *await_cancel(void *p) {
	job *j = p;
	bool cancelled = false;
	while (!cancelled) {
		usleep(1000);
		TRITONBACKEND_ResponseFactoryIsCancelled(j->factory, &cancelled);
	}
	say("%s", "saw the cancellation");
	TRITONBACKEND_Response *q;
	TRITONBACKEND_ResponseNewFromFactory(&q, j->factory);
	send(q, TRITONSERVER_RESPONSE_COMPLETE_FINAL, TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_CANCELLED, "cancelled"));
	TRITONBACKEND_ResponseFactoryDelete(j->factory);
	free(j);
	return NULL;
}

static void start(void *(*f)(void *), TRITONBACKEND_Request *r, int count) {
	job *j = calloc(1, sizeof(*j));
	j->count = count;
	if (f == answer_late) {
		j->request = r;
	} else {
		TRITONBACKEND_ResponseFactoryNew(&j->factory, r);
		TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
	}
	pthread_t t;
	pthread_create(&t, NULL, f, j);
	pthread_detach(t);
}

// note adds the text of an error, which it deletes, to a response.
static void note(TRITONBACKEND_Response *p, TRITONSERVER_Error *err) {
	static _Thread_local int n;
	char name[16];
	snprintf(name, sizeof(name), "e%02d", n++ % 100);
	TRITONBACKEND_ResponseSetStringParameter(p, name, err == NULL ? "no error" : TRITONSERVER_ErrorMessage(err));
	if (err != NULL) {
		TRITONSERVER_ErrorDelete(err);
	}
}

// misuse calls functions as they must not be called.
static void misuse(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request *r) {
	TRITONBACKEND_Response *p, *q;
	TRITONBACKEND_ResponseNew(&p, r);
	TRITONBACKEND_ResponseNew(&q, r);
	TRITONBACKEND_Output *out;
	TRITONBACKEND_Input *in;
	TRITONBACKEND_State *st;
	TRITONBACKEND_Model *m;
	TRITONBACKEND_ModelInstanceModel(i, &m);
	const char *text;
	uint64_t number;
	int64_t shape[] = {1, 1}, id = 0;
	void *base;
	TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
	note(p, TRITONBACKEND_RequestInput(r, "NONE", &in));
	note(p, TRITONBACKEND_RequestInputName(r, 9, &text));
	note(p, TRITONBACKEND_RequestOutputName(r, 9, &text));
	note(p, TRITONBACKEND_RequestCorrelationIdString(r, &text));
	note(p, TRITONBACKEND_RequestCorrelationId((TRITONBACKEND_Request *)p, &number));
	note(p, TRITONBACKEND_ResponseOutput(p, &out, "NONE", TRITONSERVER_TYPE_INT32, shape, 2));
	note(p, TRITONBACKEND_ResponseOutput(NULL, &out, "OUT", TRITONSERVER_TYPE_INT32, shape, 2));
	note(p, TRITONBACKEND_ResponseOutput(p, &out, "OUT", TRITONSERVER_TYPE_INT32, shape, 4000000000u));
	note(p, TRITONBACKEND_ResponseOutput(p, &out, NULL, TRITONSERVER_TYPE_INT32, shape, 2));
	note(p, TRITONBACKEND_ResponseOutput(q, &out, "OUT", TRITONSERVER_TYPE_INT32, shape, 2));
	TRITONBACKEND_OutputBuffer(out, &base, 4, &memory, &id);
	note(p, TRITONBACKEND_OutputBuffer(out, &base, 4, &memory, &id));
	TRITONBACKEND_ResponseDelete(q);
	note(p, TRITONBACKEND_OutputBuffer(out, &base, 4, &memory, &id));
	note(p, TRITONBACKEND_ResponseSend(q, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL));
	note(p, TRITONBACKEND_StateNew(&st, r, "S", TRITONSERVER_TYPE_INT32, shape, 2));
	note(p, TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
	note(p, TRITONBACKEND_ModelSetConfig(m, 1, NULL));
	note(p, TRITONBACKEND_ModelInstanceProfileName(i, 2, &text));
	TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
	note(p, TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL));
	note(p, TRITONBACKEND_RequestId(r, &text));
	TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL);
}

typedef struct {
	TRITONBACKEND_Request *request;
	TRITONBACKEND_Response *response;
	int *ready; // how many threads are
	int32_t *out;
} builder;

static void *build(void *p) {
	builder *b = p;
	TRITONBACKEND_Output *out;
	int64_t shape[] = {1, 1}, id = 0;
	TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
	TRITONBACKEND_ResponseNew(&b->response, b->request);
	TRITONBACKEND_ResponseOutput(b->response, &out, "OUT", TRITONSERVER_TYPE_INT32, shape, 2);
	__atomic_add_fetch(b->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(b->ready, __ATOMIC_SEQ_CST) < 2) {
	}
	TRITONBACKEND_OutputBuffer(out, (void **)&b->out, 4, &memory, &id);
	return NULL;
}

// both builds two responses at the same time, and sends one of them.
static void both(TRITONBACKEND_Request *r) {
	int ready = 0;
	builder a = {.request = r, .ready = &ready}, b = a;
	pthread_t t;
	pthread_create(&t, NULL, build, &a);
	build(&b);
	pthread_join(t, NULL);
	*a.out = 1;
	*b.out = 2;
	bool shared = *a.out != 1;
	TRITONBACKEND_ResponseDelete(b.response);
	send(a.response, TRITONSERVER_RESPONSE_COMPLETE_FINAL,
		shared ? TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "two outputs have the same memory") : NULL);
	TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
}

// answer_with sends an output without bytes.
static void answer_with(TRITONBACKEND_Request *r, TRITONSERVER_DataType type, int64_t rows, int64_t columns) {
	TRITONBACKEND_Response *p;
	TRITONBACKEND_Output *out;
	int64_t shape[] = {rows, columns}, id = 0;
	TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
	void *to;
	TRITONBACKEND_ResponseNew(&p, r);
	TRITONBACKEND_ResponseOutput(p, &out, "OUT", type, shape, 2);
	TRITONBACKEND_OutputBuffer(out, &to, 0, &memory, &id);
	send(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL);
	TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
}

static const char *content(TRITONSERVER_Message *m) {
	const char *text;
	size_t size;
	TRITONSERVER_MessageSerializeToJson(m, &text, &size);
	return text;
}

// describe answers with what the backend can learn about itself.
static void describe(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request *r) {
	TRITONBACKEND_Response *p;
	TRITONBACKEND_ResponseNew(&p, r);
	TRITONBACKEND_Model *m;
	TRITONBACKEND_Backend *b;
	TRITONSERVER_Message *message;
	TRITONBACKEND_ArtifactType type;
	const char *text;
	int32_t device;
	uint64_t number;
	uint32_t count;
	TRITONSERVER_InstanceGroupKind kind;
	TRITONBACKEND_ModelInstanceModel(i, &m);
	TRITONBACKEND_ModelBackend(m, &b);
	TRITONBACKEND_ModelInstanceName(i, &text);
	TRITONBACKEND_ResponseSetStringParameter(p, "instance", text);
	TRITONBACKEND_ModelInstanceKind(i, &kind);
	TRITONBACKEND_ResponseSetStringParameter(p, "kind", TRITONSERVER_InstanceGroupKindString(kind));
	TRITONBACKEND_ModelInstanceDeviceId(i, &device);
	TRITONBACKEND_ResponseSetIntParameter(p, "device", device);
	TRITONBACKEND_ModelInstanceHostPolicy(i, &message);
	TRITONBACKEND_ResponseSetStringParameter(p, "policy", content(message));
	char here[256];
	where(here, sizeof(here));
	TRITONBACKEND_ResponseSetStringParameter(p, "bound", here);
	TRITONBACKEND_ResponseSetStringParameter(p, "initialized", started);
	TRITONBACKEND_BackendConfig(b, &message);
	TRITONBACKEND_ResponseSetStringParameter(p, "config", content(message));
	TRITONBACKEND_BackendArtifacts(b, &type, &text);
	TRITONBACKEND_ResponseSetStringParameter(p, "artifacts", text);
	TRITONBACKEND_ModelRepository(m, &type, &text);
	TRITONBACKEND_ResponseSetStringParameter(p, "repository", text);
	TRITONBACKEND_ModelVersion(m, &number);
	TRITONBACKEND_ResponseSetIntParameter(p, "version", number);
	TRITONBACKEND_RequestParameterCount(r, &count);
	TRITONBACKEND_ResponseSetBoolParameter(p, "parameters", count == 1);
	TRITONBACKEND_RequestId(r, &text);
	TRITONBACKEND_ResponseSetStringParameter(p, "id", text);
	TRITONBACKEND_ResponseSetDoubleParameter(p, "half", 0.5);
	TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL);
	TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
}

#ifndef NO_EXECUTE
EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **all, const uint32_t count) {
	const char *mode = state_of(i)->mode;
	uint64_t begin = now();
	if (strcmp(mode, "error") == 0) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "not this batch");
	}
	for (uint32_t k = 0; k < count; k++) {
		TRITONBACKEND_Request *r = all[k];
		TRITONBACKEND_ResponseFactory *f;
		TRITONBACKEND_Response *p;
		if (strcmp(mode, "late") == 0) {
			start(answer_late, r, 0);
		} else if (strcmp(mode, "stream") == 0) {
			start(stream, r, 3);
		} else if (strcmp(mode, "cancel") == 0) {
			start(await_cancel, r, 0);
		} else if (strcmp(mode, "silent") == 0) {
			TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
		} else if (strcmp(mode, "no-final") == 0) {
			TRITONBACKEND_ResponseFactoryNew(&f, r);
			TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
			TRITONBACKEND_ResponseFactoryDelete(f);
		} else if (strcmp(mode, "twice") == 0) {
			TRITONBACKEND_ResponseNew(&p, r);
			send(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, fill(p, r));
			TRITONBACKEND_ResponseNew(&p, r);
			send(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL);
			TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
		} else if (strcmp(mode, "misuse") == 0) {
			misuse(i, r);
		} else if (strcmp(mode, "describe") == 0) {
			describe(i, r);
		} else if (strcmp(mode, "both") == 0) {
			both(r);
		} else if (strcmp(mode, "no-type") == 0) {
			answer_with(r, (TRITONSERVER_DataType)257, 1, 0);
		} else if (strcmp(mode, "negative") == 0) {
			answer_with(r, TRITONSERVER_TYPE_BYTES, 1, -1);
		} else if (strcmp(mode, "overflow") == 0) {
			answer_with(r, TRITONSERVER_TYPE_BYTES, INT64_MAX, INT64_MAX);
		} else if (strcmp(mode, "no-bytes") == 0) {
			answer_with(r, TRITONSERVER_TYPE_BYTES, 1, 1000000000);
		} else {
			uint64_t compute = now();
			TRITONBACKEND_ResponseNew(&p, r);
			send(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, fill(p, r));
			TRITONBACKEND_ModelInstanceReportStatistics(i, r, true, begin, compute, now(), now());
			TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
		}
	}
	TRITONBACKEND_ModelInstanceReportBatchStatistics(i, count, begin, begin, now(), now());
	return NULL;
}
#endif
