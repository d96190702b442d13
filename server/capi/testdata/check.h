// What the tests in C share: they return the text of the first failure.
#pragma once

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "triton/core/tritonserver.h"

static char failure[4096];

static inline void fail(const char* file, int line, const char* format, ...) {
  if (*failure != 0) {
    return;
  }
  int n = snprintf(failure, sizeof failure, "%s:%d: ", file, line);
  va_list args;
  va_start(args, format);
  vsnprintf(failure + n, sizeof failure - (size_t)n, format, args);
  va_end(args);
}

// CHECK fails the test unless a condition holds.
#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fail(__FILE__, __LINE__, "%s", #condition); \
      return; \
    } \
  } while (0)

#define CHECK_TEXT(got, want) \
  do { \
    const char* got_ = (got); \
    if (got_ == NULL || strcmp(got_, (want)) != 0) { \
      fail(__FILE__, __LINE__, "got %s, want %s", got_ == NULL ? "null" : got_, want); \
      return; \
    } \
  } while (0)

// OK fails the test if a call returns an error.
#define OK(call) \
  do { \
    TRITONSERVER_Error* e_ = (call); \
    if (e_ != NULL) { \
      fail(__FILE__, __LINE__, "%s: %s: %s", #call, TRITONSERVER_ErrorCodeString(e_), TRITONSERVER_ErrorMessage(e_)); \
      TRITONSERVER_ErrorDelete(e_); \
      return; \
    } \
  } while (0)

// FAILS fails the test unless a call returns an error of a code and with a text.
#define FAILS(call, code, text) \
  do { \
    TRITONSERVER_Error* e_ = (call); \
    if (e_ == NULL) { \
      fail(__FILE__, __LINE__, "%s: no error, want %s", #call, text); \
      return; \
    } \
    if (TRITONSERVER_ErrorCode(e_) != (code) || strcmp(TRITONSERVER_ErrorMessage(e_), (text)) != 0) { \
      fail(__FILE__, __LINE__, "%s: got %s: %s; want %s", #call, TRITONSERVER_ErrorCodeString(e_), TRITONSERVER_ErrorMessage(e_), text); \
    } \
    TRITONSERVER_ErrorDelete(e_); \
  } while (0)

#define INVALID TRITONSERVER_ERROR_INVALID_ARG

// STEP runs one test and returns from run if it failed.
#define STEP(call) \
  do { \
    call; \
    if (*failure != 0) { \
      return strdup(failure); \
    } \
  } while (0)
