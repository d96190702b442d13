//go:build cgo && linux

#include "value.h"

// new_parameter returns a parameter without a value.
static TRITONSERVER_Parameter* new_parameter(const char* name, TRITONSERVER_ParameterType type) {
  TRITONSERVER_Parameter* p = calloc(1, sizeof *p);
  if (p != NULL) {
    p->name = capi_copy(name);
    p->type = type;
  }
  return p;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(
    const char* name, const TRITONSERVER_ParameterType type, const void* value) {
  if (value == NULL || (unsigned)type > TRITONSERVER_PARAMETER_DOUBLE) {
    return NULL;
  }
  TRITONSERVER_Parameter* p = new_parameter(name, type);
  if (p == NULL) {
    return NULL;
  }
  switch (type) {
    case TRITONSERVER_PARAMETER_STRING:
      p->value.text = capi_copy(value);
      break;
    case TRITONSERVER_PARAMETER_INT:
      p->value.integer = *(const int64_t*)value;
      break;
    case TRITONSERVER_PARAMETER_BOOL:
      p->value.boolean = *(const bool*)value;
      break;
    default:
      p->value.number = *(const double*)value;
  }
  return p;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Parameter* TRITONSERVER_ParameterBytesNew(
    const char* name, const void* byte_ptr, const uint64_t size) {
  TRITONSERVER_Parameter* p = new_parameter(name, TRITONSERVER_PARAMETER_BYTES);
  if (p != NULL) {
    p->value.bytes = byte_ptr;
    p->size = size;
  }
  return p;
}

TRITONSERVER_DECLSPEC void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter) {
  if (parameter == NULL) {
    return;
  }
  if (parameter->type == TRITONSERVER_PARAMETER_STRING) {
    free(parameter->value.text);
  }
  free(parameter->name);
  free(parameter);
}

const void* capi_parameter_value(const TRITONSERVER_Parameter* p) {
  switch (p->type) {
    case TRITONSERVER_PARAMETER_STRING:
      return p->value.text;
    case TRITONSERVER_PARAMETER_BYTES:
      return p->value.bytes;
    default:
      return &p->value;
  }
}
