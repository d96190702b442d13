//go:build cgo && linux

#include "_cgo_export.h"
#include "value.h"

struct TRITONSERVER_MetricFamily {
  uintptr_t handle;
  TRITONSERVER_MetricKind kind;
  atomic_int metrics;
};

struct TRITONSERVER_Metric {
  TRITONSERVER_MetricFamily* family;
  uintptr_t handle;
};

struct TRITONSERVER_MetricArgs {
  bool histogram;
  double* bounds;
  uint64_t count;
};

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(
    TRITONSERVER_MetricFamily** family, const TRITONSERVER_MetricKind kind, const char* name, const char* description) {
  CAPI_REQUIRE(family);
  CAPI_REQUIRE(name);
  if ((unsigned)kind > TRITONSERVER_METRIC_KIND_HISTOGRAM) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "Unsupported kind passed to MetricFamily constructor.");
  }
  uintptr_t handle;
  TRITONSERVER_Error* err = capiFamily((char*)name, (char*)(description == NULL ? "" : description), (int)kind, &handle);
  if (err != NULL) {
    return err;
  }
  TRITONSERVER_MetricFamily* f = calloc(1, sizeof *f);
  f->handle = handle;
  f->kind = kind;
  *family = f;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family) {
  if (family == NULL) {
    return NULL;
  }
  if (atomic_load(&family->metrics) > 0) {
    return capi_error(TRITONSERVER_ERROR_INTERNAL, "Must call MetricDelete on all dependent metrics before calling MetricFamilyDelete.");
  }
  capiFamilyRelease(family->handle);
  free(family);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_GetMetricFamilyKind(TRITONSERVER_MetricFamily* family, TRITONSERVER_MetricKind* kind) {
  CAPI_REQUIRE(family);
  CAPI_REQUIRE(kind);
  *kind = family->kind;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricArgsNew(TRITONSERVER_MetricArgs** args) {
  CAPI_REQUIRE(args);
  *args = calloc(1, sizeof **args);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricArgsSetHistogram(
    TRITONSERVER_MetricArgs* args, const double* buckets, const uint64_t buckets_count) {
  CAPI_REQUIRE(args);
  if (buckets_count > 0) {
    CAPI_REQUIRE(buckets);
  }
  double* bounds = calloc(buckets_count + 1, sizeof *bounds);
  if (bounds == NULL) {
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for bucket boundaries");
  }
  if (buckets_count > 0) {
    memcpy(bounds, buckets, buckets_count * sizeof *bounds);
  }
  free(args->bounds);
  args->bounds = bounds;
  args->count = buckets_count;
  args->histogram = true;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricArgsDelete(TRITONSERVER_MetricArgs* args) {
  if (args != NULL) {
    free(args->bounds);
    free(args);
  }
  return NULL;
}

// check returns why a family cannot have a metric.
static TRITONSERVER_Error* check(
    const TRITONSERVER_MetricFamily* family, const TRITONSERVER_Parameter** labels, uint64_t count, const TRITONSERVER_MetricArgs* args) {
  for (uint64_t i = 0; i < count; i++) {
    if (labels[i]->type != TRITONSERVER_PARAMETER_STRING) {
      return capi_error(TRITONSERVER_ERROR_INVALID_ARG,
                        "Parameter [%s] must have a type of TRITONSERVER_PARAMETER_STRING to be added as a label.", labels[i]->name);
    }
  }
  const char* problem = NULL;
  switch (family->kind) {
    case TRITONSERVER_METRIC_KIND_COUNTER:
      problem = args != NULL ? "Unexpected args found in counter Metric constructor." : NULL;
      break;
    case TRITONSERVER_METRIC_KIND_GAUGE:
      problem = args != NULL ? "Unexpected args found in gauge Metric constructor." : NULL;
      break;
    default:
      problem = args == NULL       ? "Bucket boundaries not found in Metric args."
                : !args->histogram ? "Metric args not set to histogram kind."
                                   : NULL;
  }
  return problem == NULL ? NULL : capi_error(TRITONSERVER_ERROR_INVALID_ARG, "%s", problem);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricNewWithArgs(
    TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family, const TRITONSERVER_Parameter** labels,
    const uint64_t label_count, const TRITONSERVER_MetricArgs* args) {
  CAPI_REQUIRE(metric);
  CAPI_REQUIRE(family);
  if (label_count > 0) {
    CAPI_REQUIRE(labels);
  }
  TRITONSERVER_Error* err = check(family, labels, label_count, args);
  if (err != NULL) {
    return err;
  }
  const char** pairs = calloc(2 * label_count + 1, sizeof *pairs);
  for (uint64_t i = 0; i < label_count; i++) {
    pairs[2 * i] = labels[i]->name;
    pairs[2 * i + 1] = labels[i]->value.text;
  }
  uintptr_t handle;
  err = capiMetric(family->handle, (char**)pairs, label_count, args == NULL ? NULL : args->bounds, args == NULL ? 0 : args->count, &handle);
  free(pairs);
  if (err != NULL) {
    return err;
  }
  TRITONSERVER_Metric* m = calloc(1, sizeof *m);
  m->family = family;
  m->handle = handle;
  atomic_fetch_add(&family->metrics, 1);
  *metric = m;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricNew(
    TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family, const TRITONSERVER_Parameter** labels, const uint64_t label_count) {
  return TRITONSERVER_MetricNewWithArgs(metric, family, labels, label_count, NULL);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric) {
  if (metric != NULL) {
    capiMetricRelease(metric->handle);
    atomic_fetch_sub(&metric->family->metrics, 1);
    free(metric);
  }
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricValue(TRITONSERVER_Metric* metric, double* value) {
  CAPI_REQUIRE(metric);
  CAPI_REQUIRE(value);
  return capiMetricValue(metric->handle, value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric, double value) {
  CAPI_REQUIRE(metric);
  return capiMetricIncrement(metric->handle, value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value) {
  CAPI_REQUIRE(metric);
  return capiMetricSet(metric->handle, value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricObserve(TRITONSERVER_Metric* metric, double value) {
  CAPI_REQUIRE(metric);
  return capiMetricObserve(metric->handle, value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_GetMetricKind(TRITONSERVER_Metric* metric, TRITONSERVER_MetricKind* kind) {
  CAPI_REQUIRE(metric);
  CAPI_REQUIRE(kind);
  *kind = metric->family->kind;
  return NULL;
}
