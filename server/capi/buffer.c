//go:build cgo && linux

#include "value.h"

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesNew(TRITONSERVER_BufferAttributes** buffer_attributes) {
  CAPI_REQUIRE(buffer_attributes);
  *buffer_attributes = calloc(1, sizeof **buffer_attributes);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesDelete(TRITONSERVER_BufferAttributes* buffer_attributes) {
  free(buffer_attributes);
  return NULL;
}

#define SETTER(name, type, field) \
  TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesSet##name(TRITONSERVER_BufferAttributes* buffer_attributes, type value) { \
    CAPI_REQUIRE(buffer_attributes); \
    buffer_attributes->field = value; \
    return NULL; \
  }

#define GETTER(name, type, field) \
  TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributes##name(TRITONSERVER_BufferAttributes* buffer_attributes, type* value) { \
    CAPI_REQUIRE(buffer_attributes); \
    CAPI_REQUIRE(value); \
    *value = buffer_attributes->field; \
    return NULL; \
  }

SETTER(MemoryTypeId, int64_t, id)
SETTER(MemoryType, TRITONSERVER_MemoryType, type)
SETTER(ByteSize, size_t, size)
GETTER(MemoryTypeId, int64_t, id)
GETTER(MemoryType, TRITONSERVER_MemoryType, type)
GETTER(ByteSize, size_t, size)

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetCudaIpcHandle(
    TRITONSERVER_BufferAttributes* buffer_attributes, void* cuda_ipc_handle) {
  CAPI_REQUIRE(buffer_attributes);
  buffer_attributes->has_handle = cuda_ipc_handle != NULL;
  if (cuda_ipc_handle != NULL) {
    memcpy(buffer_attributes->handle, cuda_ipc_handle, CAPI_IPC_HANDLE_SIZE);
  }
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesCudaIpcHandle(
    TRITONSERVER_BufferAttributes* buffer_attributes, void** cuda_ipc_handle) {
  CAPI_REQUIRE(buffer_attributes);
  CAPI_REQUIRE(cuda_ipc_handle);
  *cuda_ipc_handle = buffer_attributes->has_handle ? buffer_attributes->handle : NULL;
  return NULL;
}
