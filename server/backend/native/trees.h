// The C APIs of XGBoost, LightGBM and Treelite, and one way to call them.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TRT_XGBOOST, TRT_LIGHTGBM, TRT_TREELITE };

// The functions in the order of the names in trees_forest.go. Their declarations are in trees.c.
typedef struct {
	void *function[9];
} trt_trees_table;

extern trt_trees_table trt_trees_tables[3];

// trt_forest is a loaded model. Any number of runs may use it at the same time.
typedef struct {
	int32_t engine;
	int32_t margin; // XGBoost: the sums of the leaves, for an objective that returns classes
	int32_t wide;   // Treelite: it takes doubles
	int32_t features;
	int32_t groups; // LightGBM: values of a row
	int32_t threads;
	void *handle;
	void *config; // Treelite
	char *about;  // XGBoost: its configuration in JSON
	char error[512];
} trt_forest;

// trt_prediction is what one instance needs for its runs.
typedef struct {
	const trt_forest *forest;
	void *fast; // LightGBM: the settings of single rows
	double *x;  // rows for models that take doubles
	double *y;  // results, n of them
	uint64_t x_capacity, y_capacity, n;
	char error[512];
} trt_prediction;

// They return 0, or -1 with a text in error.
int trt_forest_load(trt_forest *f, const char *path);
int trt_predict(trt_prediction *p, const float *x, uint64_t rows, uint64_t columns);

void trt_forest_free(trt_forest *f);
void trt_prediction_free(trt_prediction *p);
