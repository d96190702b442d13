//go:build cgo && linux

#include "_cgo_export.h"
#include "value.h"

// enabled has a bit for each level that is written; all but verbose lines until a log is set.
static atomic_uint enabled = 1u << TRITONSERVER_LOG_INFO | 1u << TRITONSERVER_LOG_WARN | 1u << TRITONSERVER_LOG_ERROR;

void capi_log_enable(unsigned levels) { atomic_store_explicit(&enabled, levels, memory_order_relaxed); }

TRITONSERVER_DECLSPEC bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel level) {
  return (unsigned)level <= TRITONSERVER_LOG_VERBOSE && (atomic_load_explicit(&enabled, memory_order_relaxed) >> level & 1);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_LogMessage(
    TRITONSERVER_LogLevel level, const char* filename, const int line, const char* msg) {
  if ((unsigned)level > TRITONSERVER_LOG_VERBOSE) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "unknown logging level '%d'", (int)level);
  }
  if (TRITONSERVER_LogIsEnabled(level)) {
    capiLog((int)level, (char*)(filename == NULL ? "" : filename), line, (char*)(msg == NULL ? "" : msg));
  }
  return NULL;
}
