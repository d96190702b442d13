//go:build cgo && linux

#include "value.h"

TRITONSERVER_Message* capi_message(const char* text, size_t size) {
  TRITONSERVER_Message* m = malloc(sizeof *m + size + 1);
  if (m != NULL) {
    m->size = size;
    if (size > 0) {
      memcpy(m->text, text, size);
    }
    m->text[size] = 0;
  }
  return m;
}

// The text is not parsed, as in Triton: whoever reads the message reports mistakes in it.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(
    TRITONSERVER_Message** message, const char* base, size_t byte_size) {
  CAPI_REQUIRE(message);
  if (byte_size > 0) {
    CAPI_REQUIRE(base);
  }
  *message = capi_message(base, byte_size);
  return *message != NULL ? NULL : capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for a message of %zu bytes", byte_size);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  free(message);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(
    TRITONSERVER_Message* message, const char** base, size_t* byte_size) {
  CAPI_REQUIRE(message);
  CAPI_REQUIRE(base);
  CAPI_REQUIRE(byte_size);
  *base = message->text;
  *byte_size = message->size;
  return NULL;
}
