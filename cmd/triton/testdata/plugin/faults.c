// A backend that breaks the rules of the API but not its process: what it does has to be
// refused, or to cost this request only.
#include <pthread.h>
#include <unistd.h>

#include "backend.h"

static void send_again(test_call *c) {
	TRITONBACKEND_Response *p = fill(c, response(c));
	must(TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL));
	note("send_again", TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL));
	finish(c);
}

static void two_finals(test_call *c) {
	TRITONBACKEND_Response *second = fill(c, response(c));
	answer(c);
	note("two_finals", TRITONBACKEND_ResponseSend(second, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL));
	finish(c);
}

static void flags_after_final(test_call *c) {
	TRITONBACKEND_ResponseFactory *f;
	must(TRITONBACKEND_ResponseFactoryNew(&f, c->request));
	answer(c);
	note("flags_after_final", TRITONBACKEND_ResponseFactorySendFlags(f, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
	must(TRITONBACKEND_ResponseFactoryDelete(f));
	finish(c);
}

static void send_null(test_call *c) {
	note("send_null", TRITONBACKEND_ResponseSend(NULL, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL));
	answer(c);
	finish(c);
}

static void no_answer(test_call *c) { finish(c); }

static void kept_response(test_call *c) {
	response(c);
	finish(c);
}

static void no_final(test_call *c) {
	must(TRITONBACKEND_ResponseSend(fill(c, response(c)), 0, NULL));
	finish(c);
}

static void factory_without_final(test_call *c) {
	TRITONBACKEND_ResponseFactory *f;
	must(TRITONBACKEND_ResponseFactoryNew(&f, c->request));
	finish(c);
	must(TRITONBACKEND_ResponseFactoryDelete(f));
}

static void factory_deleted_twice(test_call *c) {
	TRITONBACKEND_ResponseFactory *f;
	must(TRITONBACKEND_ResponseFactoryNew(&f, c->request));
	must(TRITONBACKEND_ResponseFactoryDelete(f));
	note("factory_deleted_twice", TRITONBACKEND_ResponseFactoryDelete(f));
	answer(c);
	finish(c);
}

static void release_twice(test_call *c) {
	answer(c);
	finish(c);
	note("release_twice", TRITONBACKEND_RequestRelease(c->request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

static void read_after_release(test_call *c) {
	uint32_t n;
	const char *id;
	TRITONBACKEND_Input *in;
	TRITONBACKEND_Response *p;
	TRITONBACKEND_ResponseFactory *f;
	answer(c);
	finish(c);
	note("read_after_release", TRITONBACKEND_RequestInputCount(c->request, &n));
	note("read_after_release", TRITONBACKEND_RequestId(c->request, &id));
	note("read_after_release", TRITONBACKEND_RequestInput(c->request, "INPUT", &in));
	note("read_after_release", TRITONBACKEND_ResponseNew(&p, c->request));
	note("read_after_release", TRITONBACKEND_ResponseFactoryNew(&f, c->request));
}

static void report_after_release(test_call *c) {
	answer(c);
	finish(c);
	note("report_after_release", TRITONBACKEND_ModelInstanceReportStatistics(c->instance, c->request, true, 1, 2, 3, 4));
}

static void reschedule(test_call *c) {
	answer(c);
	note("reschedule", TRITONBACKEND_RequestRelease(c->request, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
	finish(c);
}

static TRITONSERVER_Error *error_after_all(test_call *c) {
	answer(c);
	finish(c);
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "an error of requests that are gone");
}

static TRITONSERVER_Error *error_with_code(test_call *c) {
	return TRITONSERVER_ErrorNew((TRITONSERVER_Error_Code)1234, "an error with an unknown code");
}

static TRITONSERVER_Error *error_without_text(test_call *c) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, NULL); }

static void wrong_values(test_call *c) {
	TRITONBACKEND_Response *p = response(c);
	TRITONBACKEND_Output *o;
	void *to = NULL;
	TRITONSERVER_MemoryType type = (TRITONSERVER_MemoryType)77;
	int64_t id = -5;
	TRITONSERVER_LogMessage((TRITONSERVER_LogLevel)42, "file.c", -1, "a message of an unknown level");
	note("wrong_values: no data type", TRITONBACKEND_ResponseOutput(p, &o, "OUTPUT", (TRITONSERVER_DataType)99, c->shape, 1));
	if (o != NULL) {
		note("wrong_values: no memory type", TRITONBACKEND_OutputBuffer(o, &to, 4, &type, &id));
	}
	note("wrong_values: flags of a response", TRITONBACKEND_ResponseSend(p, 0xfffffffe, NULL));
	note("wrong_values: flags of a release", TRITONBACKEND_RequestRelease(c->request, 0x80));
	note("wrong_values: policy", TRITONBACKEND_BackendSetExecutionPolicy(NULL, (TRITONBACKEND_ExecutionPolicy)9));
}

static void null_arguments(test_call *c) {
	TRITONBACKEND_Input *in;
	const char *text;
	TRITONBACKEND_Response *p = response(c);
	TRITONBACKEND_Output *o;
	note("null_arguments", TRITONBACKEND_RequestInput(c->request, NULL, &in));
	note("null_arguments", TRITONBACKEND_RequestInputName(c->request, 1u << 31, &text));
	note("null_arguments", TRITONBACKEND_ResponseOutput(p, &o, NULL, TRITONSERVER_TYPE_INT32, c->shape, 1));
	note("null_arguments", TRITONBACKEND_ResponseSetStringParameter(p, NULL, "x"));
	note("null_arguments", TRITONBACKEND_ResponseSetStringParameter(p, "x", NULL));
	note("null_arguments", TRITONBACKEND_RequestInputCount(NULL, NULL));
	note("null_arguments", TRITONBACKEND_ModelName(NULL, &text));
	note("null_arguments", TRITONBACKEND_ModelConfig(c->model, 2, NULL));
	must(TRITONBACKEND_ResponseDelete(p));
	answer(c);
	finish(c);
}

// other_object gives functions objects of another kind.
static void other_object(test_call *c) {
	uint32_t n;
	const char *text;
	note("other_object", TRITONBACKEND_RequestInputCount((TRITONBACKEND_Request *)c->model, &n));
	note("other_object", TRITONBACKEND_ModelName((TRITONBACKEND_Model *)c->instance, &text));
	note("other_object", TRITONBACKEND_RequestRelease((TRITONBACKEND_Request *)c->instance, TRITONSERVER_REQUEST_RELEASE_ALL));
	answer(c);
	finish(c);
}

static void huge_output(test_call *c) {
	TRITONBACKEND_Response *p = response(c);
	TRITONBACKEND_Output *o;
	void *to = NULL;
	TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
	int64_t id = 0;
	const int64_t shape[3] = {INT64_MAX, INT64_MAX, 2};
	note("huge_output: shape", TRITONBACKEND_ResponseOutput(p, &o, "OUTPUT", TRITONSERVER_TYPE_INT32, shape, 3));
	if (o != NULL) {
		note("huge_output: buffer", TRITONBACKEND_OutputBuffer(o, &to, UINT64_MAX - 8, &type, &id));
	}
	TRITONSERVER_Error *err = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "no memory for the output");
	must(TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, err));
	TRITONSERVER_ErrorDelete(err);
	finish(c);
}

static void sent_without(test_call *c, const char *name, const int64_t *shape, uint64_t size) {
	TRITONBACKEND_Response *p = response(c);
	TRITONBACKEND_Output *o;
	void *to = NULL;
	TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
	int64_t id = 0;
	must(TRITONBACKEND_ResponseOutput(p, &o, "OUTPUT", TRITONSERVER_TYPE_INT32, shape, 1));
	if (size > 0) {
		must(TRITONBACKEND_OutputBuffer(o, &to, size, &type, &id));
		memset(to, 0, size);
	}
	note(name, TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL));
	finish(c);
}

static void unknown_output(test_call *c) {
	TRITONBACKEND_Response *p = response(c);
	TRITONBACKEND_Output *o;
	note("unknown_output", TRITONBACKEND_ResponseOutput(p, &o, "NOT_OF_THE_MODEL", TRITONSERVER_TYPE_INT32, c->shape, 1));
	must(TRITONBACKEND_ResponseDelete(p));
	answer(c);
	finish(c);
}

static void buffer_twice(test_call *c) {
	TRITONBACKEND_Response *p = response(c);
	TRITONBACKEND_Output *o;
	void *to;
	TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
	int64_t id = 0;
	must(TRITONBACKEND_ResponseOutput(p, &o, "OUTPUT", TRITONSERVER_TYPE_INT32, c->shape, 1));
	must(TRITONBACKEND_OutputBuffer(o, &to, 4, &type, &id));
	note("buffer_twice", TRITONBACKEND_OutputBuffer(o, &to, 4, &type, &id));
	must(TRITONBACKEND_ResponseDelete(p));
	note("buffer_twice", TRITONBACKEND_OutputBuffer(o, &to, 4, &type, &id));
	answer(c);
	finish(c);
}

static void config_while_serving(test_call *c) {
	TRITONSERVER_Message *config;
	TRITONBACKEND_Backend *b;
	must(TRITONBACKEND_ModelConfig(c->model, 1, &config));
	note("config_while_serving", TRITONBACKEND_ModelSetConfig(c->model, 1, config));
	must(TRITONSERVER_MessageDelete(config));
	must(TRITONBACKEND_ModelBackend(c->model, &b));
	note("config_while_serving", TRITONBACKEND_BackendSetExecutionPolicy(b, TRITONBACKEND_EXECUTION_DEVICE_BLOCKING));
	answer(c);
	finish(c);
}

static void state_without(test_call *c) {
	TRITONBACKEND_State *s;
	note("state_without", TRITONBACKEND_StateNew(&s, c->request, "STATE", TRITONSERVER_TYPE_INT32, c->shape, 1));
	answer(c);
	finish(c);
}

// The metrics of other_models.
static TRITONSERVER_Metric *calls, *level, *sizes;

// other_models asks for another model, and answers with the error.
static void other_models(test_call *c) {
	must(TRITONSERVER_MetricIncrement(calls, 2));
	must(TRITONSERVER_MetricSet(level, 7.5));
	must(TRITONSERVER_MetricSet(level, 3.5));
	must(TRITONSERVER_MetricObserve(sizes, 8));
	TRITONSERVER_Server *server;
	bool ready = false;
	must(TRITONBACKEND_ModelServer(c->model, &server));
	TRITONSERVER_Error *err = TRITONSERVER_ServerModelIsReady(server, "none", 1, &ready);
	TRITONBACKEND_Response *p = response(c);
	if (err == NULL && ready) {
		p = fill(c, p);
	}
	must(TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, err));
	TRITONSERVER_ErrorDelete(err);
	finish(c);
}

// The model other_models has metrics of its own.
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *i) {
	TRITONBACKEND_Model *m;
	void *state;
	must(TRITONBACKEND_ModelInstanceModel(i, &m));
	must(TRITONBACKEND_ModelState(m, &state));
	if (strcmp(((test_call *)state)->fault, "other_models") == 0) {
		TRITONSERVER_MetricFamily *family;
		TRITONSERVER_Parameter *label = TRITONSERVER_ParameterNew("where", TRITONSERVER_PARAMETER_STRING, "here");
		must(TRITONSERVER_MetricFamilyNew(&family, TRITONSERVER_METRIC_KIND_COUNTER, "other_models_total", "Counts calls."));
		must(TRITONSERVER_MetricNew(&calls, family, (const TRITONSERVER_Parameter **)&label, 1));
		TRITONSERVER_ParameterDelete(label);
		must(TRITONSERVER_MetricFamilyNew(&family, TRITONSERVER_METRIC_KIND_GAUGE, "other_models_level", "A level."));
		must(TRITONSERVER_MetricNew(&level, family, NULL, 0));
		const double bounds[] = {5, 10};
		TRITONSERVER_MetricArgs *args;
		must(TRITONSERVER_MetricArgsNew(&args));
		must(TRITONSERVER_MetricArgsSetHistogram(args, bounds, 2));
		must(TRITONSERVER_MetricFamilyNew(&family, TRITONSERVER_METRIC_KIND_HISTOGRAM, "other_models_sizes", "Sizes."));
		must(TRITONSERVER_MetricNewWithArgs(&sizes, family, NULL, 0, args));
		must(TRITONSERVER_MetricArgsDelete(args));
	}
	return NULL;
}

// late answers from a thread of the backend, after the execution, which is allowed.
static void *answer_late(void *arg) {
	test_call *c = arg;
	usleep(50000);
	answer(c);
	finish(c);
	free(c);
	return NULL;
}

static void late(test_call *c) {
	pthread_t thread;
	test_call *copy = malloc(sizeof *copy);
	*copy = *c;
	pthread_create(&thread, NULL, answer_late, copy);
	pthread_detach(thread);
}

// after_end goes on with the objects of the model after it was unloaded.
static void *use_after_end(void *arg) {
	test_call *c = arg;
	const char *text;
	uint32_t n;
	void *state;
	for (int k = 0; k < 400; k++) { // four seconds: the test unloads the model in between
		TRITONSERVER_Error *err = TRITONBACKEND_ModelInstanceName(c->instance, &text);
		if (err != NULL) {
			note("after_end", err);
			note("after_end", TRITONBACKEND_ModelName(c->model, &text));
			note("after_end", TRITONBACKEND_ModelState(c->model, &state));
			note("after_end", TRITONBACKEND_RequestInputCount(c->request, &n));
			note("after_end", TRITONBACKEND_ModelInstanceReportBatchStatistics(c->instance, 1, 1, 2, 3, 4));
			break;
		}
		usleep(10000);
	}
	free(c);
	return NULL;
}

static void after_end(test_call *c) {
	pthread_t thread;
	test_call *copy = malloc(sizeof *copy);
	*copy = *c;
	answer(c);
	finish(c);
	pthread_create(&thread, NULL, use_after_end, copy);
	pthread_detach(thread);
}

static void silent(test_call *c) {}

static const struct {
	const char *name;
	void (*run)(test_call *);
} faults[] = {
	{"send_again", send_again},
	{"two_finals", two_finals},
	{"flags_after_final", flags_after_final},
	{"send_null", send_null},
	{"no_answer", no_answer},
	{"kept_response", kept_response},
	{"no_final", no_final},
	{"factory_without_final", factory_without_final},
	{"factory_deleted_twice", factory_deleted_twice},
	{"release_twice", release_twice},
	{"read_after_release", read_after_release},
	{"report_after_release", report_after_release},
	{"reschedule", reschedule},
	{"wrong_values", wrong_values},
	{"null_arguments", null_arguments},
	{"other_object", other_object},
	{"huge_output", huge_output},
	{"unknown_output", unknown_output},
	{"buffer_twice", buffer_twice},
	{"config_while_serving", config_while_serving},
	{"state_without", state_without},
	{"late", late},
	{"other_models", other_models},
	{"after_end", after_end},
	{"silent", silent},
};

static TRITONSERVER_Error *run(test_call *c) {
	static const int64_t negative[1] = {-3};
	if (strcmp(c->fault, "error_after_all") == 0) {
		return error_after_all(c);
	}
	if (strcmp(c->fault, "error_with_code") == 0) {
		return error_with_code(c);
	}
	if (strcmp(c->fault, "error_without_text") == 0) {
		return error_without_text(c);
	}
	if (strcmp(c->fault, "no_buffer") == 0) {
		sent_without(c, "no_buffer", c->shape, 0);
		return NULL;
	}
	if (strcmp(c->fault, "short_buffer") == 0) {
		sent_without(c, "short_buffer", c->shape, 1);
		return NULL;
	}
	if (strcmp(c->fault, "negative_shape") == 0) {
		sent_without(c, "negative_shape", negative, 4);
		return NULL;
	}
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		if (strcmp(c->fault, faults[i].name) == 0) {
			faults[i].run(c);
			return NULL;
		}
	}
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the test backend knows no such fault");
}
