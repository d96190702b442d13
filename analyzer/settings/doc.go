// Package settings holds the options of `triton analyze profile` and `triton analyze report`: their
// names, types and defaults, the reader of Model Analyzer's YAML files, and the checks of values and
// of combinations. It reads no models and starts nothing.
package settings
