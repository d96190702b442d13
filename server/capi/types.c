//go:build cgo && linux

#include "value.h"

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ApiVersion(uint32_t* major, uint32_t* minor) {
  CAPI_REQUIRE(major);
  CAPI_REQUIRE(minor);
  *major = TRITONSERVER_API_VERSION_MAJOR;
  *minor = TRITONSERVER_API_VERSION_MINOR;
  return NULL;
}

static const struct {
  const char* name;
  uint32_t size;
} data_types[] = {
    [TRITONSERVER_TYPE_INVALID] = {"<invalid>", 0}, [TRITONSERVER_TYPE_BOOL] = {"BOOL", 1},
    [TRITONSERVER_TYPE_UINT8] = {"UINT8", 1},       [TRITONSERVER_TYPE_UINT16] = {"UINT16", 2},
    [TRITONSERVER_TYPE_UINT32] = {"UINT32", 4},     [TRITONSERVER_TYPE_UINT64] = {"UINT64", 8},
    [TRITONSERVER_TYPE_INT8] = {"INT8", 1},         [TRITONSERVER_TYPE_INT16] = {"INT16", 2},
    [TRITONSERVER_TYPE_INT32] = {"INT32", 4},       [TRITONSERVER_TYPE_INT64] = {"INT64", 8},
    [TRITONSERVER_TYPE_FP16] = {"FP16", 2},         [TRITONSERVER_TYPE_FP32] = {"FP32", 4},
    [TRITONSERVER_TYPE_FP64] = {"FP64", 8},         [TRITONSERVER_TYPE_BYTES] = {"BYTES", 0},
    [TRITONSERVER_TYPE_BF16] = {"BF16", 2},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

TRITONSERVER_DECLSPEC const char* TRITONSERVER_DataTypeString(TRITONSERVER_DataType datatype) {
  return (unsigned)datatype < COUNT(data_types) ? data_types[datatype].name : "<invalid>";
}

TRITONSERVER_DECLSPEC TRITONSERVER_DataType TRITONSERVER_StringToDataType(const char* dtype) {
  for (unsigned i = TRITONSERVER_TYPE_BOOL; dtype != NULL && i < COUNT(data_types); i++) {
    if (strcmp(dtype, data_types[i].name) == 0) {
      return (TRITONSERVER_DataType)i;
    }
  }
  return TRITONSERVER_TYPE_INVALID;
}

TRITONSERVER_DECLSPEC uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType datatype) {
  return (unsigned)datatype < COUNT(data_types) ? data_types[datatype].size : 0;
}

// name returns the name of an enum's value.
static const char* name(const char* const* names, size_t count, unsigned value, const char* unknown) {
  return value < count && names[value] != NULL ? names[value] : unknown;
}

#define NAME(unknown, value, ...) \
  static const char* const names[] = {__VA_ARGS__}; \
  return name(names, COUNT(names), (unsigned)(value), unknown)

TRITONSERVER_DECLSPEC const char* TRITONSERVER_MemoryTypeString(TRITONSERVER_MemoryType memtype) {
  NAME("<invalid>", memtype, "CPU", "CPU_PINNED", "GPU");
}

TRITONSERVER_DECLSPEC const char* TRITONSERVER_ParameterTypeString(TRITONSERVER_ParameterType paramtype) {
  NAME("<invalid>", paramtype, "STRING", "INT", "BOOL", "DOUBLE", "BYTES");
}

TRITONSERVER_DECLSPEC const char* TRITONSERVER_InstanceGroupKindString(TRITONSERVER_InstanceGroupKind kind) {
  NAME("<invalid>", kind, "AUTO", "CPU", "GPU", "MODEL");
}

TRITONSERVER_DECLSPEC const char* TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_InferenceTraceLevel level) {
  NAME("<unknown>", level, "DISABLED", "MIN", "MAX", NULL, "TIMESTAMPS", NULL, NULL, NULL, "TENSORS");
}

TRITONSERVER_DECLSPEC const char* TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_InferenceTraceActivity activity) {
  NAME("<unknown>", activity, "REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START",
       "COMPUTE_END", "REQUEST_END", "TENSOR_QUEUE_INPUT", "TENSOR_BACKEND_INPUT", "TENSOR_BACKEND_OUTPUT", "CUSTOM_ACTIVITY");
}
