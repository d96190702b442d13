// Whether verbose lines are written: the argument is "on" or "off".
#include "check.h"

static void verbose(const char* want) { CHECK(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE) == (strcmp(want, "on") == 0)); }

char* run(const char* want) {
  STEP(verbose(want));
  return NULL;
}
