//go:build cgo && linux

#include "_cgo_export.h"
#include "objects.h"

// The functions of a server. Their work is done in Go.

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerNew(TRITONSERVER_Server** server, TRITONSERVER_ServerOptions* options) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(options);
  void* s = NULL;
  TRITONSERVER_Error* err = capiStart(options, &s);
  if (err == NULL) {
    *server = s;
  }
  return err;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerDelete(TRITONSERVER_Server* server) {
  return server == NULL ? NULL : capiDelete(server);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerStop(TRITONSERVER_Server* server) {
  return server == NULL ? NULL : capiStop(server->handle);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerSetExitTimeout(TRITONSERVER_Server* server, unsigned int timeout) {
  return server == NULL ? NULL : capiSetExitTimeout(server->handle, timeout);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerRegisterModelRepository(
    TRITONSERVER_Server* server, const char* repository_path, const TRITONSERVER_Parameter** name_mapping, const uint32_t mapping_count) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(repository_path);
  if (name_mapping == NULL && mapping_count != 0) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "model mappings are not provided while mapping count is non-zero");
  }
  for (uint32_t i = 0; i < mapping_count; i++) {
    CAPI_REQUIRE(name_mapping[i]);
    if (name_mapping[i]->type != TRITONSERVER_PARAMETER_STRING) {
      return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "Mapped model name must be a string, found another type for %s", name_mapping[i]->name);
    }
  }
  return capiRegister(server->handle, (char*)repository_path, (TRITONSERVER_Parameter**)name_mapping, mapping_count);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerUnregisterModelRepository(TRITONSERVER_Server* server, const char* repository_path) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(repository_path);
  return capiUnregister(server->handle, (char*)repository_path);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerPollModelRepository(TRITONSERVER_Server* server) {
  CAPI_REQUIRE(server);
  return capiPoll(server->handle);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerIsLive(TRITONSERVER_Server* server, bool* live) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(live);
  return capiIsLive(server->handle, live);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerIsReady(TRITONSERVER_Server* server, bool* ready) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(ready);
  return capiIsReady(server->handle, ready);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelIsReady(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, bool* ready) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  CAPI_REQUIRE(ready);
  return capiModelIsReady(server->handle, (char*)model_name, model_version, ready);
}

// properties stores one of two flags, which depends on the model.
static TRITONSERVER_Error* properties(
    TRITONSERVER_Server* server, const char* model_name, int64_t model_version, uint32_t* flags, void** voidp, bool transaction) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  CAPI_REQUIRE(flags);
  if (voidp != NULL) {
    *voidp = NULL;
  }
  bool batches = false, decoupled = false;
  TRITONSERVER_Error* err = capiProperties(server->handle, (char*)model_name, model_version, &batches, &decoupled);
  if (err != NULL) {
    return err;
  }
  if (transaction) {
    *flags = decoupled ? TRITONSERVER_TXN_DECOUPLED : TRITONSERVER_TXN_ONE_TO_ONE;
  } else {
    *flags = batches ? TRITONSERVER_BATCH_FIRST_DIM : TRITONSERVER_BATCH_UNKNOWN;
  }
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelBatchProperties(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, uint32_t* flags, void** voidp) {
  return properties(server, model_name, model_version, flags, voidp, false);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelTransactionProperties(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, uint32_t* txn_flags, void** voidp) {
  return properties(server, model_name, model_version, txn_flags, voidp, true);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerMetadata(TRITONSERVER_Server* server, TRITONSERVER_Message** server_metadata) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(server_metadata);
  return capiMetadata(server->handle, (void**)server_metadata);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelMetadata(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, TRITONSERVER_Message** model_metadata) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  CAPI_REQUIRE(model_metadata);
  return capiModelMetadata(server->handle, (char*)model_name, model_version, (void**)model_metadata);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelStatistics(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, TRITONSERVER_Message** model_stats) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  CAPI_REQUIRE(model_stats);
  return capiModelStatistics(server->handle, (char*)model_name, model_version, (void**)model_stats);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelConfig(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, const uint32_t config_version,
    TRITONSERVER_Message** model_config) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  CAPI_REQUIRE(model_config);
  return capiModelConfig(server->handle, (char*)model_name, model_version, config_version, (void**)model_config);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelIndex(
    TRITONSERVER_Server* server, uint32_t flags, TRITONSERVER_Message** model_index) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_index);
  return capiModelIndex(server->handle, (flags & TRITONSERVER_INDEX_FLAG_READY) != 0, (void**)model_index);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerLoadModelWithParameters(
    TRITONSERVER_Server* server, const char* model_name, const TRITONSERVER_Parameter** parameters, const uint64_t parameter_count) {
  if (parameters == NULL && parameter_count != 0) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "load parameters are not provided while parameter count is non-zero");
  }
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  return capiLoad(server->handle, (char*)model_name, (void**)parameters, parameter_count);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerLoadModel(TRITONSERVER_Server* server, const char* model_name) {
  return TRITONSERVER_ServerLoadModelWithParameters(server, model_name, NULL, 0);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerUnloadModel(TRITONSERVER_Server* server, const char* model_name) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  return capiUnload(server->handle, (char*)model_name, false);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerUnloadModelAndDependents(TRITONSERVER_Server* server, const char* model_name) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  return capiUnload(server->handle, (char*)model_name, true);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerMetrics(TRITONSERVER_Server* server, TRITONSERVER_Metrics** metrics) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(metrics);
  *metrics = calloc(1, sizeof **metrics);
  (*metrics)->server = server->handle;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricsDelete(TRITONSERVER_Metrics* metrics) {
  if (metrics != NULL) {
    free(metrics->text);
    free(metrics);
  }
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricsFormatted(
    TRITONSERVER_Metrics* metrics, TRITONSERVER_MetricFormat format, const char** base, size_t* byte_size) {
  CAPI_REQUIRE(metrics);
  CAPI_REQUIRE(base);
  CAPI_REQUIRE(byte_size);
  if (format != TRITONSERVER_METRIC_PROMETHEUS) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "unknown metrics format '%d'", (int)format);
  }
  char* text = NULL;
  TRITONSERVER_Error* err = capiMetrics(metrics->server, &text);
  if (err != NULL) {
    return err;
  }
  free(metrics->text);
  metrics->text = text;
  *base = text;
  *byte_size = strlen(text);
  return NULL;
}
