//go:build cgo && linux

#include <stdio.h>

#include "value.h"

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  char text[];
};

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* msg) {
  if (msg == NULL) {
    msg = "";
  }
  size_t n = strlen(msg) + 1;
  TRITONSERVER_Error* e = malloc(sizeof *e + n);
  if (e != NULL) {
    e->code = code;
    memcpy(e->text, msg, n);
  }
  return e;
}

TRITONSERVER_DECLSPEC void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) { free(error); }

TRITONSERVER_DECLSPEC TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) {
  return error == NULL ? TRITONSERVER_ERROR_UNKNOWN : error->code;
}

TRITONSERVER_DECLSPEC const char* TRITONSERVER_ErrorCodeString(TRITONSERVER_Error* error) {
  static const char* const names[] = {"Unknown",     "Internal",    "Not found",      "Invalid argument",
                                      "Unavailable", "Unsupported", "Already exists", "Cancelled"};
  unsigned code = error == NULL ? 0 : (unsigned)error->code;
  return code < sizeof names / sizeof *names ? names[code] : "<invalid code>";
}

TRITONSERVER_DECLSPEC const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) {
  return error == NULL ? "" : error->text;
}

TRITONSERVER_Error* capi_error(TRITONSERVER_Error_Code code, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n < (int)sizeof text) {
    return TRITONSERVER_ErrorNew(code, text);
  }
  TRITONSERVER_Error* e = malloc(sizeof *e + (size_t)n + 1);
  if (e != NULL) {
    e->code = code;
    va_start(args, format);
    vsnprintf(e->text, (size_t)n + 1, format, args);
    va_end(args);
  }
  return e;
}

char* capi_copy(const char* text) { return strdup(text == NULL ? "" : text); }
