// The functions that need no server.
#include "check.h"

static void errors(void) {
  static const char* const names[] = {"Unknown", "Internal", "Not found", "Invalid argument", "Unavailable", "Unsupported", "Already exists",
                                      "Cancelled", "<invalid code>"};
  for (int code = 0; code < 9; code++) {
    TRITONSERVER_Error* e = TRITONSERVER_ErrorNew((TRITONSERVER_Error_Code)code, "a text");
    CHECK((int)TRITONSERVER_ErrorCode(e) == code);
    CHECK_TEXT(TRITONSERVER_ErrorCodeString(e), names[code]);
    CHECK_TEXT(TRITONSERVER_ErrorMessage(e), "a text");
    TRITONSERVER_ErrorDelete(e);
  }
  TRITONSERVER_ErrorDelete(NULL);
  char* text = malloc(100001);
  memset(text, 'x', 100000);
  text[100000] = 0;
  TRITONSERVER_Error* e = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, text);
  CHECK_TEXT(TRITONSERVER_ErrorMessage(e), text);
  TRITONSERVER_ErrorDelete(e);
  free(text);
}

static void types(void) {
  uint32_t major = 0, minor = 0;
  OK(TRITONSERVER_ApiVersion(&major, &minor));
  CHECK(major == TRITONSERVER_API_VERSION_MAJOR && minor == TRITONSERVER_API_VERSION_MINOR);
  FAILS(TRITONSERVER_ApiVersion(NULL, &minor), INVALID, "TRITONSERVER_ApiVersion: argument 'major' must not be null");
  static const struct {
    const char* name;
    uint32_t size;
  } all[] = {{"BOOL", 1},  {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4}, {"UINT64", 8}, {"INT8", 1},  {"INT16", 2},
             {"INT32", 4}, {"INT64", 8}, {"FP16", 2},   {"FP32", 4},   {"FP64", 8},   {"BYTES", 0}, {"BF16", 2}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    TRITONSERVER_DataType t = (TRITONSERVER_DataType)(i + 1);
    CHECK_TEXT(TRITONSERVER_DataTypeString(t), all[i].name);
    CHECK(TRITONSERVER_StringToDataType(all[i].name) == t);
    CHECK(TRITONSERVER_DataTypeByteSize(t) == all[i].size);
  }
  CHECK_TEXT(TRITONSERVER_DataTypeString(TRITONSERVER_TYPE_INVALID), "<invalid>");
  CHECK_TEXT(TRITONSERVER_DataTypeString((TRITONSERVER_DataType)15), "<invalid>");
  CHECK(TRITONSERVER_StringToDataType("STRING") == TRITONSERVER_TYPE_INVALID);
  CHECK(TRITONSERVER_StringToDataType("<invalid>") == TRITONSERVER_TYPE_INVALID);
  CHECK(TRITONSERVER_DataTypeByteSize((TRITONSERVER_DataType)-1) == 0);
  CHECK_TEXT(TRITONSERVER_MemoryTypeString(TRITONSERVER_MEMORY_CPU_PINNED), "CPU_PINNED");
  CHECK_TEXT(TRITONSERVER_MemoryTypeString((TRITONSERVER_MemoryType)3), "<invalid>");
  CHECK_TEXT(TRITONSERVER_ParameterTypeString(TRITONSERVER_PARAMETER_BYTES), "BYTES");
  CHECK_TEXT(TRITONSERVER_InstanceGroupKindString(TRITONSERVER_INSTANCEGROUPKIND_MODEL), "MODEL");
  CHECK_TEXT(TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_TRACE_LEVEL_TENSORS), "TENSORS");
  CHECK_TEXT(TRITONSERVER_InferenceTraceLevelString((TRITONSERVER_InferenceTraceLevel)3), "<unknown>");
  CHECK_TEXT(TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_TRACE_CUSTOM_ACTIVITY), "CUSTOM_ACTIVITY");
  CHECK_TEXT(TRITONSERVER_InferenceTraceActivityString((TRITONSERVER_InferenceTraceActivity)11), "<unknown>");
}

static void parameters(void) {
  int64_t integer = -5;
  double number = 0.5;
  bool yes = true;
  TRITONSERVER_ParameterDelete(TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_STRING, "text"));
  TRITONSERVER_ParameterDelete(TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_INT, &integer));
  TRITONSERVER_ParameterDelete(TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_DOUBLE, &number));
  TRITONSERVER_ParameterDelete(TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_BOOL, &yes));
  TRITONSERVER_ParameterDelete(TRITONSERVER_ParameterBytesNew("n", &integer, sizeof integer));
  TRITONSERVER_ParameterDelete(NULL);
  CHECK(TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_BYTES, "text") == NULL);
  CHECK(TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_STRING, NULL) == NULL);
}

static void attributes(void) {
  TRITONSERVER_BufferAttributes* a = NULL;
  OK(TRITONSERVER_BufferAttributesNew(&a));
  int64_t id = 7;
  size_t size = 7;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_GPU;
  void* handle = &id;
  OK(TRITONSERVER_BufferAttributesMemoryTypeId(a, &id));
  OK(TRITONSERVER_BufferAttributesByteSize(a, &size));
  OK(TRITONSERVER_BufferAttributesMemoryType(a, &type));
  OK(TRITONSERVER_BufferAttributesCudaIpcHandle(a, &handle));
  CHECK(id == 0 && size == 0 && type == TRITONSERVER_MEMORY_CPU && handle == NULL);
  char bytes[64];
  memset(bytes, 3, sizeof bytes);
  OK(TRITONSERVER_BufferAttributesSetMemoryTypeId(a, 2));
  OK(TRITONSERVER_BufferAttributesSetByteSize(a, 100));
  OK(TRITONSERVER_BufferAttributesSetMemoryType(a, TRITONSERVER_MEMORY_CPU_PINNED));
  OK(TRITONSERVER_BufferAttributesSetCudaIpcHandle(a, bytes));
  memset(bytes, 4, sizeof bytes);
  OK(TRITONSERVER_BufferAttributesMemoryTypeId(a, &id));
  OK(TRITONSERVER_BufferAttributesByteSize(a, &size));
  OK(TRITONSERVER_BufferAttributesMemoryType(a, &type));
  OK(TRITONSERVER_BufferAttributesCudaIpcHandle(a, &handle));
  CHECK(id == 2 && size == 100 && type == TRITONSERVER_MEMORY_CPU_PINNED && ((char*)handle)[63] == 3);
  OK(TRITONSERVER_BufferAttributesSetCudaIpcHandle(a, NULL));
  OK(TRITONSERVER_BufferAttributesCudaIpcHandle(a, &handle));
  CHECK(handle == NULL);
  FAILS(TRITONSERVER_BufferAttributesByteSize(NULL, &size), INVALID,
        "TRITONSERVER_BufferAttributesByteSize: argument 'buffer_attributes' must not be null");
  OK(TRITONSERVER_BufferAttributesDelete(a));
  OK(TRITONSERVER_BufferAttributesDelete(NULL));
}

static void messages(void) {
  TRITONSERVER_Message* m = NULL;
  OK(TRITONSERVER_MessageNewFromSerializedJson(&m, "{\"a\":1}xxx", 7));
  const char* base = NULL;
  size_t size = 0;
  OK(TRITONSERVER_MessageSerializeToJson(m, &base, &size));
  CHECK(size == 7);
  CHECK_TEXT(base, "{\"a\":1}");  // and the zero byte
  OK(TRITONSERVER_MessageDelete(m));
  OK(TRITONSERVER_MessageDelete(NULL));
  OK(TRITONSERVER_MessageNewFromSerializedJson(&m, NULL, 0));
  OK(TRITONSERVER_MessageSerializeToJson(m, &base, &size));
  CHECK(size == 0 && *base == 0);
  OK(TRITONSERVER_MessageDelete(m));
  FAILS(TRITONSERVER_MessageNewFromSerializedJson(&m, NULL, 1), INVALID,
        "TRITONSERVER_MessageNewFromSerializedJson: argument 'base' must not be null");
}

static void* increment(void* metric) {
  for (int i = 0; i < 1000; i++) {
    TRITONSERVER_ErrorDelete(TRITONSERVER_MetricIncrement(metric, 1));
  }
  return NULL;
}

static void metrics(void) {
  TRITONSERVER_MetricFamily *counters = NULL, *same = NULL, *gauges = NULL, *histograms = NULL;
  OK(TRITONSERVER_MetricFamilyNew(&counters, TRITONSERVER_METRIC_KIND_COUNTER, "capi_counter", "Counts"));
  OK(TRITONSERVER_MetricFamilyNew(&same, TRITONSERVER_METRIC_KIND_COUNTER, "capi_counter", "Counts"));
  OK(TRITONSERVER_MetricFamilyNew(&gauges, TRITONSERVER_METRIC_KIND_GAUGE, "nv_trt_llm_capi_gauge", ""));
  OK(TRITONSERVER_MetricFamilyNew(&histograms, TRITONSERVER_METRIC_KIND_HISTOGRAM, "capi_histogram", ""));
  TRITONSERVER_MetricFamily* none = NULL;
  FAILS(TRITONSERVER_MetricFamilyNew(&none, (TRITONSERVER_MetricKind)3, "capi_none", ""), INVALID,
        "Unsupported kind passed to MetricFamily constructor.");
  FAILS(TRITONSERVER_MetricFamilyNew(&none, TRITONSERVER_METRIC_KIND_GAUGE, "no name", ""), INVALID, "Invalid metric name");
  FAILS(TRITONSERVER_MetricFamilyNew(&none, TRITONSERVER_METRIC_KIND_GAUGE, "capi_counter", ""), INVALID,
        "Family name already exists with different type");
  FAILS(TRITONSERVER_MetricFamilyNew(&none, TRITONSERVER_METRIC_KIND_GAUGE, "nv_inference_count", ""), INVALID,
        "Family name already exists with different type");
  TRITONSERVER_MetricKind kind = TRITONSERVER_METRIC_KIND_COUNTER;
  OK(TRITONSERVER_GetMetricFamilyKind(histograms, &kind));
  CHECK(kind == TRITONSERVER_METRIC_KIND_HISTOGRAM);

  TRITONSERVER_Parameter* label = TRITONSERVER_ParameterNew("model", TRITONSERVER_PARAMETER_STRING, "m");
  int64_t one = 1;
  TRITONSERVER_Parameter* integer = TRITONSERVER_ParameterNew("number", TRITONSERVER_PARAMETER_INT, &one);
  const TRITONSERVER_Parameter *labels[] = {label}, *wrong[] = {integer};
  TRITONSERVER_Metric *a = NULL, *b = NULL, *g = NULL, *h = NULL;
  OK(TRITONSERVER_MetricNew(&a, counters, labels, 1));
  OK(TRITONSERVER_MetricNew(&b, same, labels, 1));
  OK(TRITONSERVER_MetricNew(&g, gauges, NULL, 0));
  FAILS(TRITONSERVER_MetricNew(&h, gauges, wrong, 1), INVALID,
        "Parameter [number] must have a type of TRITONSERVER_PARAMETER_STRING to be added as a label.");
  FAILS(TRITONSERVER_MetricNew(&h, histograms, NULL, 0), INVALID, "Bucket boundaries not found in Metric args.");
  TRITONSERVER_MetricArgs* args = NULL;
  OK(TRITONSERVER_MetricArgsNew(&args));
  FAILS(TRITONSERVER_MetricNewWithArgs(&h, histograms, NULL, 0, args), INVALID, "Metric args not set to histogram kind.");
  double falling[] = {2, 1}, rising[] = {1, 2};
  OK(TRITONSERVER_MetricArgsSetHistogram(args, falling, 2));
  FAILS(TRITONSERVER_MetricNewWithArgs(&h, histograms, NULL, 0, args), INVALID, "Bucket Boundaries must be strictly sorted");
  OK(TRITONSERVER_MetricArgsSetHistogram(args, rising, 2));
  OK(TRITONSERVER_MetricNewWithArgs(&h, histograms, NULL, 0, args));
  FAILS(TRITONSERVER_MetricNewWithArgs(&h, counters, NULL, 0, args), INVALID, "Unexpected args found in counter Metric constructor.");
  FAILS(TRITONSERVER_MetricNewWithArgs(&h, gauges, NULL, 0, args), INVALID, "Unexpected args found in gauge Metric constructor.");
  OK(TRITONSERVER_MetricArgsDelete(args));

  double value = 0;
  OK(TRITONSERVER_MetricIncrement(a, 2.5));
  OK(TRITONSERVER_MetricValue(b, &value));
  CHECK(value == 2.5);
  FAILS(TRITONSERVER_MetricIncrement(a, -1), INVALID,
        "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.");
  FAILS(TRITONSERVER_MetricSet(a, 1), TRITONSERVER_ERROR_UNSUPPORTED, "TRITONSERVER_METRIC_KIND_COUNTER does not support Set");
  FAILS(TRITONSERVER_MetricObserve(g, 1), TRITONSERVER_ERROR_UNSUPPORTED, "TRITONSERVER_METRIC_KIND_GAUGE does not support Observe");
  FAILS(TRITONSERVER_MetricValue(h, &value), TRITONSERVER_ERROR_UNSUPPORTED, "TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value");
  OK(TRITONSERVER_MetricSet(g, 4));
  OK(TRITONSERVER_MetricIncrement(g, -1));
  OK(TRITONSERVER_MetricValue(g, &value));
  CHECK(value == 3);
  OK(TRITONSERVER_MetricObserve(h, 1.5));
  OK(TRITONSERVER_GetMetricKind(h, &kind));
  CHECK(kind == TRITONSERVER_METRIC_KIND_HISTOGRAM);

  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    CHECK(pthread_create(&threads[i], NULL, increment, i % 2 == 0 ? a : b) == 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
  }
  OK(TRITONSERVER_MetricValue(a, &value));
  CHECK(value == 4002.5);

  FAILS(TRITONSERVER_MetricFamilyDelete(counters), TRITONSERVER_ERROR_INTERNAL,
        "Must call MetricDelete on all dependent metrics before calling MetricFamilyDelete.");
  OK(TRITONSERVER_MetricDelete(a));
  OK(TRITONSERVER_MetricDelete(b));
  OK(TRITONSERVER_MetricDelete(g));
  OK(TRITONSERVER_MetricDelete(h));
  OK(TRITONSERVER_MetricFamilyDelete(counters));
  OK(TRITONSERVER_MetricFamilyDelete(same));
  OK(TRITONSERVER_MetricFamilyDelete(gauges));
  OK(TRITONSERVER_MetricFamilyDelete(histograms));
  TRITONSERVER_ParameterDelete(label);
  TRITONSERVER_ParameterDelete(integer);
}

static int activities;

static void activity(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity, uint64_t ns, void* userp) {
  const char* context = NULL;
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceTraceContext(trace, &context));
  if (activity == TRITONSERVER_TRACE_CUSTOM_ACTIVITY && ns == 9 && userp == &activities && strstr(context, "\"9\":\"mine\"") != NULL) {
    activities++;
  }
}

static void traces(void) {
  TRITONSERVER_InferenceTrace *t = NULL, *child = NULL;
  uint64_t id = 0, child_id = 0, parent = 7;
  int64_t version = 7;
  const char *context = NULL, *name = NULL;
  OK(TRITONSERVER_InferenceTraceNew(&t, TRITONSERVER_TRACE_LEVEL_MAX, 0, activity, NULL, &activities));
  OK(TRITONSERVER_InferenceTraceId(t, &id));
  OK(TRITONSERVER_InferenceTraceParentId(t, &parent));
  CHECK(id > 0 && parent == 0);
  OK(TRITONSERVER_InferenceTraceModelName(t, &name));
  CHECK_TEXT(name, "");
  OK(TRITONSERVER_InferenceTraceRequestId(t, &name));
  CHECK_TEXT(name, "");
  OK(TRITONSERVER_InferenceTraceModelVersion(t, &version));
  OK(TRITONSERVER_InferenceTraceContext(t, &context));
  CHECK_TEXT(context, "");
  OK(TRITONSERVER_InferenceTraceSetContext(t, "{\"traceparent\":\"x\"}"));
  OK(TRITONSERVER_InferenceTraceReportActivity(t, 9, "mine"));
  OK(TRITONSERVER_InferenceTraceContext(t, &context));
  CHECK_TEXT(context, "{\"traceparent\":\"x\",\"9\":\"mine\"}");
  OK(TRITONSERVER_InferenceTraceSpawnChildTrace(t, &child));
  OK(TRITONSERVER_InferenceTraceId(child, &child_id));
  OK(TRITONSERVER_InferenceTraceParentId(child, &parent));
  CHECK(child_id != id && parent == id);
  OK(TRITONSERVER_InferenceTraceReportActivity(child, 9, "mine"));
  CHECK(activities == 2);
  OK(TRITONSERVER_InferenceTraceDelete(child));
  OK(TRITONSERVER_InferenceTraceDelete(t));
  OK(TRITONSERVER_InferenceTraceSpawnChildTrace(NULL, &child));
  CHECK(child == NULL);
  OK(TRITONSERVER_InferenceTraceReportActivity(NULL, 9, "mine"));
}

static void logs(void) {
  OK(TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "/a/b/file.cc", 12, "a line of C"));
  FAILS(TRITONSERVER_LogMessage((TRITONSERVER_LogLevel)4, "f", 1, "x"), INVALID, "unknown logging level '4'");
  CHECK(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_ERROR));
  CHECK(!TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE));
  CHECK(!TRITONSERVER_LogIsEnabled((TRITONSERVER_LogLevel)4));
}

char* run(const char* argument) {
  (void)argument;
  STEP(errors());
  STEP(types());
  STEP(parameters());
  STEP(attributes());
  STEP(messages());
  STEP(metrics());
  STEP(traces());
  STEP(logs());
  return NULL;
}
