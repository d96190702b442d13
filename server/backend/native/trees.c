//go:build cgo && linux

#include "trees.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

trt_trees_table trt_trees_tables[3];

// Functions by their place in the tables.
#define XGB(i, ...) (*(int (*)(__VA_ARGS__))trt_trees_tables[TRT_XGBOOST].function[i])
#define LGB(i, ...) (*(int (*)(__VA_ARGS__))trt_trees_tables[TRT_LIGHTGBM].function[i])
#define TL(i, ...) (*(int (*)(__VA_ARGS__))trt_trees_tables[TRT_TREELITE].function[i])
#define XGBCreate XGB(1, const void *, uint64_t, void **)
#define XGBFree XGB(2, void *)
#define XGBLoadModel XGB(3, void *, const char *)
#define XGBSetParam XGB(4, void *, const char *, const char *)
#define XGBSaveJsonConfig XGB(5, void *, uint64_t *, const char **)
#define XGBGetNumFeature XGB(6, void *, uint64_t *)
#define XGBPredictFromDense XGB(7, void *, const char *, const char *, void *, const uint64_t **, uint64_t *, const float **)
#define LGBCreateFromModelfile LGB(1, const char *, int *, void **)
#define LGBFree LGB(2, void *)
#define LGBGetNumFeature LGB(3, void *, int *)
#define LGBNumModelPerIteration LGB(4, void *, int *)
#define LGBPredictForMat LGB(5, void *, const void *, int, int32_t, int32_t, int, int, int, int, const char *, int64_t *, double *)
#define LGBFastInit LGB(6, void *, int, int, int, int, int32_t, const char *, void **)
#define LGBPredictFast LGB(7, void *, const void *, int64_t *, double *)
#define LGBFastFree LGB(8, void *)
#define TLDeserialize TL(1, const char *, void **)
#define TLFree TL(2, void *)
#define TLQueryNumFeature TL(3, void *, int *)
#define TLGetInputType TL(4, void *, const char **)
#define TLParseConfig TL(5, const char *, void **)
#define TLGetOutputShape TL(6, void *, uint64_t, void *, const uint64_t **, uint64_t *)
#define TLPredict TL(7, void *, const void *, const char *, uint64_t, void *, void *)
#define TLDeleteConfig TL(8, void *)

static int fail(char error[512], const char *why) {
	snprintf(error, 512, "%s", why);
	return -1;
}

// check keeps the library's text, which belongs to the thread, of a call that failed.
static int check(char error[512], int engine, int code) {
	if (code == 0) {
		return 0;
	}
	return fail(error, ((const char *(*)(void))trt_trees_tables[engine].function[0])());
}

#define TRY(engine, call) \
	if (check(error, engine, call) != 0) { \
		return -1; \
	}

static int load_xgboost(trt_forest *f, const char *path, char error[512]) {
	TRY(TRT_XGBOOST, XGBCreate(NULL, 0, &f->handle))
	TRY(TRT_XGBOOST, XGBLoadModel(f->handle, path))
	char threads[16];
	snprintf(threads, sizeof threads, "%d", (int)f->threads);
	TRY(TRT_XGBOOST, XGBSetParam(f->handle, "nthread", threads))
	uint64_t n = 0, features = 0;
	const char *about = NULL;
	TRY(TRT_XGBOOST, XGBSaveJsonConfig(f->handle, &n, &about))
	f->about = strdup(about);
	TRY(TRT_XGBOOST, XGBGetNumFeature(f->handle, &features))
	f->features = (int32_t)features;
	return 0;
}

static int load_lightgbm(trt_forest *f, const char *path, char error[512]) {
	int iterations = 0, features = 0, groups = 0;
	TRY(TRT_LIGHTGBM, LGBCreateFromModelfile(path, &iterations, &f->handle))
	TRY(TRT_LIGHTGBM, LGBGetNumFeature(f->handle, &features))
	TRY(TRT_LIGHTGBM, LGBNumModelPerIteration(f->handle, &groups))
	f->features = features;
	f->groups = groups;
	return 0;
}

static int load_treelite(trt_forest *f, const char *path, char error[512]) {
	int features = 0;
	const char *type = NULL;
	char config[64];
	snprintf(config, sizeof config, "{\"predict_type\": \"default\", \"nthread\": %d}", (int)f->threads);
	TRY(TRT_TREELITE, TLDeserialize(path, &f->handle))
	TRY(TRT_TREELITE, TLQueryNumFeature(f->handle, &features))
	TRY(TRT_TREELITE, TLGetInputType(f->handle, &type))
	TRY(TRT_TREELITE, TLParseConfig(config, &f->config))
	f->features = features;
	f->wide = strcmp(type, "float64") == 0;
	return 0;
}

int trt_forest_load(trt_forest *f, const char *path) {
	switch (f->engine) {
	case TRT_XGBOOST:
		return load_xgboost(f, path, f->error);
	case TRT_LIGHTGBM:
		return load_lightgbm(f, path, f->error);
	}
	return load_treelite(f, path, f->error);
}

void trt_forest_free(trt_forest *f) {
	if (f->handle != NULL) {
		switch (f->engine) {
		case TRT_XGBOOST:
			XGBFree(f->handle);
			break;
		case TRT_LIGHTGBM:
			LGBFree(f->handle);
			break;
		default:
			TLFree(f->handle);
		}
	}
	if (f->config != NULL) {
		TLDeleteConfig(f->config);
	}
	free(f->about);
	free(f);
}

void trt_prediction_free(trt_prediction *p) {
	if (p->fast != NULL) {
		LGBFastFree(p->fast);
	}
	free(p->x);
	free(p->y);
	free(p);
}

// reserve makes room for n numbers.
static int reserve(double **numbers, uint64_t *capacity, uint64_t n, char error[512]) {
	if (n <= *capacity) {
		return 0;
	}
	double *more = n > SIZE_MAX / sizeof(double) ? NULL : realloc(*numbers, n * sizeof(double));
	if (more == NULL) {
		return fail(error, "no memory for the results");
	}
	*numbers = more;
	*capacity = n;
	return 0;
}

static int predict_xgboost(trt_prediction *p, const float *x, uint64_t rows, uint64_t columns, char error[512]) {
	const trt_forest *f = p->forest;
	char array[160], options[192];
	snprintf(array, sizeof array, "{\"data\":[%" PRIuPTR ",true],\"shape\":[%" PRIu64 ",%" PRIu64 "],\"typestr\":\"<f4\",\"version\":3}",
	         (uintptr_t)x, rows, columns);
	snprintf(options, sizeof options,
	         "{\"type\":%d,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false,\"missing\":NaN,\"cache_id\":0}",
	         f->margin ? 1 : 0);
	const uint64_t *shape = NULL;
	const float *result = NULL; // belongs to the thread
	uint64_t rank = 0, n = 1;
	TRY(TRT_XGBOOST, XGBPredictFromDense(f->handle, array, options, NULL, &shape, &rank, &result))
	for (uint64_t i = 0; i < rank; i++) {
		n *= shape[i];
	}
	if (reserve(&p->y, &p->y_capacity, n, error) != 0) {
		return -1;
	}
	for (uint64_t i = 0; i < n; i++) {
		p->y[i] = result[i];
	}
	p->n = n;
	return 0;
}

static int predict_lightgbm(trt_prediction *p, const float *x, uint64_t rows, uint64_t columns, char error[512]) {
	enum { FLOAT32 = 0, NORMAL = 0 };
	const trt_forest *f = p->forest;
	if (rows > INT32_MAX || columns > INT32_MAX) {
		return fail(error, "too many rows");
	}
	if (reserve(&p->y, &p->y_capacity, rows * (uint64_t)f->groups, error) != 0) {
		return -1;
	}
	char options[32];
	snprintf(options, sizeof options, "num_threads=%d", (int)f->threads);
	int64_t n = 0;
	if (rows == 1) {
		if (p->fast == NULL) {
			TRY(TRT_LIGHTGBM, LGBFastInit(f->handle, NORMAL, 0, -1, FLOAT32, (int32_t)columns, options, &p->fast))
		}
		TRY(TRT_LIGHTGBM, LGBPredictFast(p->fast, x, &n, p->y))
	} else {
		TRY(TRT_LIGHTGBM, LGBPredictForMat(f->handle, x, FLOAT32, (int32_t)rows, (int32_t)columns, 1, NORMAL, 0, -1, options, &n, p->y))
	}
	p->n = (uint64_t)n;
	return 0;
}

static int predict_treelite(trt_prediction *p, const float *x, uint64_t rows, uint64_t columns, char error[512]) {
	const trt_forest *f = p->forest;
	const uint64_t *shape = NULL; // belongs to the thread
	uint64_t rank = 0, n = 1, all = rows * columns;
	TRY(TRT_TREELITE, TLGetOutputShape(f->handle, rows, f->config, &shape, &rank))
	for (uint64_t i = 0; i < rank; i++) {
		n *= shape[i];
	}
	if (reserve(&p->y, &p->y_capacity, n, error) != 0) {
		return -1;
	}
	p->n = n;
	if (f->wide) {
		if (reserve(&p->x, &p->x_capacity, all, error) != 0) {
			return -1;
		}
		for (uint64_t i = 0; i < all; i++) {
			p->x[i] = x[i];
		}
		return check(error, TRT_TREELITE, TLPredict(f->handle, p->x, "float64", rows, p->y, f->config));
	}
	TRY(TRT_TREELITE, TLPredict(f->handle, x, "float32", rows, p->y, f->config))
	const float *narrow = (const float *)p->y; // widened in place, from the end
	for (uint64_t i = n; i-- > 0;) {
		float v;
		memcpy(&v, &narrow[i], sizeof v);
		p->y[i] = v;
	}
	return 0;
}

int trt_predict(trt_prediction *p, const float *x, uint64_t rows, uint64_t columns) {
	p->n = 0;
	switch (p->forest->engine) {
	case TRT_XGBOOST:
		return predict_xgboost(p, x, rows, columns, p->error);
	case TRT_LIGHTGBM:
		return predict_lightgbm(p, x, rows, columns, p->error);
	}
	return predict_treelite(p, x, rows, columns, p->error);
}
