//go:build cgo && linux

#include "_cgo_export.h"
#include "objects.h"

// Options are a list of settings, which Go reads when the server starts. Only what Triton checks
// at once is checked here.

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerOptionsNew(TRITONSERVER_ServerOptions** options) {
  CAPI_REQUIRE(options);
  *options = calloc(1, sizeof **options);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerOptionsDelete(TRITONSERVER_ServerOptions* options) {
  if (options == NULL) {
    return NULL;
  }
  for (size_t i = 0; i < options->count; i++) {
    capi_setting* s = &options->settings[i];
    free(s->name);
    for (int k = 0; k < 3; k++) {
      free(s->text[k]);
    }
  }
  free(options->settings);
  free(options);
  return NULL;
}

// add adds a setting. Its texts are copied.
static TRITONSERVER_Error* add(TRITONSERVER_ServerOptions* options, capi_setting s) {
  CAPI_REQUIRE(options);
  capi_setting* larger = realloc(options->settings, (options->count + 1) * sizeof *larger);
  if (larger == NULL) {
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for server options");
  }
  options->settings = larger;
  s.name = capi_copy(s.name);
  for (int k = 0; k < 3; k++) {
    s.text[k] = s.text[k] == NULL ? NULL : capi_copy(s.text[k]);
  }
  larger[options->count++] = s;
  return NULL;
}

#define SETTER(function) TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerOptions##function

#define TEXT(function, setting) \
  SETTER(function)(TRITONSERVER_ServerOptions* options, const char* value) { \
    CAPI_REQUIRE(value); \
    return add(options, (capi_setting){.name = setting, .text = {(char*)value}}); \
  }

#define NUMBER(function, setting, type) \
  SETTER(function)(TRITONSERVER_ServerOptions* options, type value) { \
    return add(options, (capi_setting){.name = setting, .number = (int64_t)value}); \
  }

TEXT(SetServerId, "server-id")
TEXT(SetModelRepositoryPath, "model-repository")
TEXT(SetStartupModel, "load-model")
TEXT(SetModelConfigName, "model-config-name")
TEXT(SetCacheDirectory, "cache-directory")
TEXT(SetBackendDirectory, "backend-directory")
TEXT(SetRepoAgentDirectory, "repoagent-directory")

NUMBER(SetStrictModelConfig, "strict-model-config", bool)
NUMBER(SetExitOnError, "exit-on-error", bool)
NUMBER(SetStrictReadiness, "strict-readiness", bool)
NUMBER(SetExitTimeout, "exit-timeout", unsigned int)
NUMBER(SetBufferManagerThreadCount, "buffer-manager-thread-count", unsigned int)
NUMBER(SetModelLoadThreadCount, "model-load-thread-count", unsigned int)
NUMBER(SetModelLoadRetryCount, "model-load-retry-count", unsigned int)
NUMBER(SetModelNamespacing, "model-namespacing", bool)
NUMBER(SetEnablePeerAccess, "enable-peer-access", bool)
NUMBER(SetPinnedMemoryPoolByteSize, "pinned-memory-pool-byte-size", uint64_t)
NUMBER(SetMetrics, "allow-metrics", bool)
NUMBER(SetGpuMetrics, "allow-gpu-metrics", bool)
NUMBER(SetCpuMetrics, "allow-cpu-metrics", bool)
NUMBER(SetMetricsInterval, "metrics-interval-ms", uint64_t)

SETTER(SetModelControlMode)(TRITONSERVER_ServerOptions* options, TRITONSERVER_ModelControlMode mode) {
  if ((unsigned)mode > TRITONSERVER_MODEL_CONTROL_EXPLICIT) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "unknown control mode '%d'", (int)mode);
  }
  return add(options, (capi_setting){.name = "model-control-mode", .number = mode});
}

SETTER(SetRateLimiterMode)(TRITONSERVER_ServerOptions* options, TRITONSERVER_RateLimitMode mode) {
  if ((unsigned)mode > TRITONSERVER_RATE_LIMIT_EXEC_COUNT) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "unknown rate limit mode '%d'", (int)mode);
  }
  return add(options, (capi_setting){.name = "rate-limit", .number = mode});
}

SETTER(AddRateLimiterResource)(
    TRITONSERVER_ServerOptions* options, const char* resource_name, const size_t resource_count, const int device) {
  CAPI_REQUIRE(resource_name);
  return add(options, (capi_setting){.name = "rate-limit-resource", .text = {(char*)resource_name}, .number = (int64_t)resource_count,
                                     .fraction = device});
}

SETTER(SetCudaMemoryPoolByteSize)(TRITONSERVER_ServerOptions* options, int gpu_device, uint64_t size) {
  return add(options, (capi_setting){.name = "cuda-memory-pool-byte-size", .number = (int64_t)size, .fraction = gpu_device});
}

SETTER(SetCudaVirtualAddressSize)(TRITONSERVER_ServerOptions* options, int gpu_device, size_t cuda_virtual_address_size) {
  return add(options, (capi_setting){.name = "cuda-virtual-address-size", .number = (int64_t)cuda_virtual_address_size, .fraction = gpu_device});
}

SETTER(SetCacheConfig)(TRITONSERVER_ServerOptions* options, const char* cache_name, const char* config_json) {
  CAPI_REQUIRE(cache_name);
  CAPI_REQUIRE(config_json);
  return add(options, (capi_setting){.name = "cache-config", .text = {(char*)cache_name, (char*)config_json}});
}

SETTER(SetResponseCacheByteSize)(TRITONSERVER_ServerOptions* options, uint64_t size) {
  return size == 0 ? NULL : add(options, (capi_setting){.name = "response-cache-byte-size", .number = (int64_t)size});
}

SETTER(SetMinSupportedComputeCapability)(TRITONSERVER_ServerOptions* options, double cc) {
  return add(options, (capi_setting){.name = "min-supported-compute-capability", .fraction = cc});
}

SETTER(SetModelLoadDeviceLimit)(
    TRITONSERVER_ServerOptions* options, const TRITONSERVER_InstanceGroupKind kind, const int device_id, const double fraction) {
  if (device_id < 0) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "expects device ID >= 0, got %d", device_id);
  }
  if (!(fraction >= 0 && fraction <= 1)) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "expects limit fraction to be in range [0.0, 1.0], got %f", fraction);
  }
  if (kind != TRITONSERVER_INSTANCEGROUPKIND_GPU) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "given device kind is not supported, got: %s", TRITONSERVER_InstanceGroupKindString(kind));
  }
  return add(options, (capi_setting){.name = "model-load-gpu-limit", .number = device_id, .fraction = fraction});
}

// triple adds a setting of three texts.
static TRITONSERVER_Error* triple(TRITONSERVER_ServerOptions* options, const char* setting_name, const char* name, const char* setting, const char* value) {
  CAPI_REQUIRE(name);
  CAPI_REQUIRE(setting);
  CAPI_REQUIRE(value);
  return add(options, (capi_setting){.name = (char*)setting_name, .text = {(char*)name, (char*)setting, (char*)value}});
}

SETTER(SetBackendConfig)(TRITONSERVER_ServerOptions* options, const char* backend_name, const char* setting, const char* value) {
  return triple(options, "backend-config", backend_name, setting, value);
}

SETTER(SetMetricsConfig)(TRITONSERVER_ServerOptions* options, const char* name, const char* setting, const char* value) {
  return triple(options, "metrics-config", name, setting, value);
}

SETTER(SetHostPolicy)(TRITONSERVER_ServerOptions* options, const char* policy_name, const char* setting, const char* value) {
  CAPI_REQUIRE(setting);
  if (strcmp(setting, "numa-node") != 0 && strcmp(setting, "cpu-cores") != 0) {
    return capi_error(TRITONSERVER_ERROR_UNSUPPORTED,
                      "Unsupported host policy setting '%s' is specified, supported settings are 'numa-node', 'cpu-cores'", setting);
  }
  return triple(options, "host-policy", policy_name, setting, value);
}

// The log is the process's: its settings apply at once, and to all servers.

#define LOG(function, setting, type) \
  SETTER(function)(TRITONSERVER_ServerOptions* options, type value) { \
    (void)options; \
    return capiSetLog(setting, NULL, (int64_t)value); \
  }

LOG(SetLogInfo, "info", bool)
LOG(SetLogWarn, "warning", bool)
LOG(SetLogError, "error", bool)
LOG(SetLogVerbose, "verbose", int)
LOG(SetLogFormat, "format", const TRITONSERVER_LogFormat)

SETTER(SetLogFile)(TRITONSERVER_ServerOptions* options, const char* file) {
  (void)options;
  return capiSetLog("file", (char*)(file == NULL ? "" : file), 0);
}
