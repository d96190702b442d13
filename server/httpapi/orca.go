package httpapi

import (
	"fmt"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// Load reports tell a load balancer how full the server is, in the format that it requests.
// Their values are metrics of the server.
const (
	reportFormat = "endpoint-load-metrics-format"
	reportHeader = "endpoint-load-metrics"
	reportFamily = "nv_trt_llm_kv_cache_block_metrics"
	reportLabel  = "kv_cache_block_type"
)

// addLoadReport adds the report to the reply if the client requests one.
func (x *exchange) addLoadReport() {
	from := x.api.opts.Metrics
	if from == nil {
		return
	}
	format := x.Get(reportFormat)
	if format == "" {
		return
	}
	families, err := from.Gather()
	if err != nil {
		x.api.log.Error("cannot read metrics for a load report", "error", err)
		return
	}
	text, err := loadReport(format, families)
	if err != nil {
		x.api.log.Error("no load report", "error", err)
		return
	}
	x.addHeader(reportHeader, text)
}

// loadReport returns the utilization of the key-value cache and its capacity in tokens.
func loadReport(format string, families []*dto.MetricFamily) (string, error) {
	blocks := map[string]float64{}
	for _, f := range families {
		if f.GetName() != reportFamily {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == reportLabel {
					blocks[l.GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
	}
	for _, kind := range []string{"tokens_per", "used", "max"} {
		if _, ok := blocks[kind]; !ok {
			return "", fmt.Errorf("no metric %s of kind %s", reportFamily, kind)
		}
	}
	used := 0.0
	if blocks["max"] > 0 {
		used = blocks["used"] / blocks["max"]
	}
	capacity := uint64(max(blocks["max"]*blocks["tokens_per"], 0))
	switch format {
	case "json":
		return fmt.Sprintf(`JSON {"named_metrics":{"kv_cache_utilization":%s,"max_token_capacity":%d}}`,
			decimal(used), capacity), nil
	case "text":
		return fmt.Sprintf("TEXT named_metrics.kv_cache_utilization=%f, named_metrics.max_token_capacity=%d", used, capacity), nil
	}
	return "", fmt.Errorf("unknown load report format %q", format)
}

func decimal(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if f == float64(int64(f)) {
		s += ".0"
	}
	return s
}
