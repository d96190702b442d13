"use strict";
// Draws the charts of the page from the JSON of #data. The tables of the page have the same
// figures, so that nothing is lost without this script.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data.series.length) return;
  const dashes = [[], [8, 4], [2, 3], [12, 4, 2, 4]];
  const colors = 8;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = (i) => css("--c" + (i % colors));
  const dash = (i) => dashes[Math.floor(i / colors + i) % dashes.length];
  const format = (v) => (v === 0 ? "0" : Math.abs(v) >= 1000 ? v.toFixed(0) : String(+v.toPrecision(4)));
  const one = (list) => (list.length === 1 ? list[0] : "Level");

  const metric = document.getElementById("metric");
  for (const m of data.metrics) metric.add(new Option(m.label, m.key));
  metric.value = (data.metrics.find((m) => m.key === "p99") || data.metrics[0]).key;
  const level = document.getElementById("level");
  for (const l of new Set(data.series.flatMap((s) => s.levels.map((x) => x.label)))) level.add(new Option(l, l));
  level.selectedIndex = level.options.length - 1;

  const groups = [...new Set(data.series.map((s) => s.group))].map((n) => data.series.find((s) => s.group === n));
  const shown = groups.map((s, i) => {
    const box = document.createElement("input");
    const label = document.createElement("label");
    const swatch = document.createElement("span");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", draw);
    swatch.className = "swatch";
    swatch.setAttribute("aria-hidden", "true");
    swatch.style.borderTopColor = "var(--c" + (i % colors) + ")";
    swatch.style.borderTopStyle = dash(i).length ? (dash(i)[0] > 4 ? "dashed" : "dotted") : "solid";
    label.append(box, swatch, s.name);
    document.getElementById("shown").append(label);
    return box;
  });

  // Each chart returns its lines: {i, dash, name, x: [...], y: [...], labels: [...], ranges: [...]}. Charts of levels
  // show means of repeats, charts of one level show the repeats.
  const visible = () => data.series.filter((s) => shown[s.group].checked);
  const means = () => visible().filter((s) => !s.repeat);
  const present = (x, y) => x.map((v, k) => [v, y[k], k]).filter((p) => p[1] >= 0);
  const line = (s, points) => {
    return {
      i: s.group, dash: s.repeat ? dashes[(s.repeat - 1) % dashes.length] : dash(s.group), name: s.name,
      x: points.map((p) => p[0]), y: points.map((p) => p[1]), labels: points.map((p) => p[2]), ranges: points.map((p) => p[3]),
    };
  };
  const range = (l, key) => (l.range || {})[key];
  const named = () => metric.options[metric.selectedIndex].label + " latency, " + data.unit;
  const charts = [
    {
      id: "by-latency", x: named, y: () => "inferences/s", path: true,
      lines: () => means().map((s) => line(s, s.levels.map((l) => [l.latency[metric.value], l.throughput, l.label, range(l, "throughput")]).filter((p) => p[0] >= 0))),
    },
    {
      id: "by-load", x: () => one([...new Set(data.series.map((s) => s.loadName))]), y: named,
      lines: () => means().map((s) => line(s, s.levels.map((l) => [l.load, l.latency[metric.value], l.label, range(l, metric.value)]).filter((p) => p[1] >= 0).sort((a, b) => a[0] - b[0]))),
    },
    {
      id: "over-time", x: () => "seconds since the start of the level", y: named,
      lines: () => atLevel((s, l) => line(s, present(l.seconds || [], l.over[metric.value] || []))),
    },
    {
      id: "distribution", x: () => "percentile", y: () => "latency, " + data.unit, percentiles: true,
      lines: () => atLevel((s, l) => line(s, cumulative(l))),
    },
  ];
  function atLevel(f) {
    return visible().flatMap((s) => s.levels.filter((l) => l.label === level.value).slice(-1).map((l) => f(s, l)));
  }
  // cumulative returns points (1/(1-p), latency): nines of percentiles are equally far apart.
  function cumulative(l) {
    const total = (l.counts || []).reduce((a, b) => a + b, 0);
    let seen = 0;
    const points = [];
    (l.counts || []).forEach((n, k) => {
      seen += n;
      points.push([total / Math.max(total - seen, 0.5), l.edges[k]]);
    });
    return points;
  }
  const percentile = (x) => +(100 * (1 - 1 / x)).toPrecision(Math.max(3, Math.ceil(Math.log10(x)) + 2)) + " %";

  const plots = new Map();
  for (const c of charts) {
    const figure = document.getElementById(c.id);
    const title = figure.querySelector("h3");
    title.id = c.id + "-title";
    const plot = document.createElement("div");
    plot.className = "plot";
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-labelledby", title.id);
    const values = document.createElement("p");
    values.className = "values";
    values.setAttribute("role", "status");
    figure.append(plot, values);
    plot.addEventListener("keydown", (e) => step(c, e));
    plots.set(c, { plot, values, u: null });
  }
  document.getElementById("charts").hidden = false;

  // Counts, such as a concurrency, have no fractions on their axis.
  const whole = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e));
  function axes(c, lines) {
    const common = { stroke: css("--fg"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    const numbers = (u, splits) => splits.map((v) => (v === null ? "" : format(v)));
    return [
      { ...common, label: c.x(), labelSize: 20, ...(lines.every((l) => l.x.every(Number.isInteger)) ? { incrs: whole } : {}), values: c.percentiles ? (u, splits) => splits.map((v) => (v === null ? "" : percentile(v))) : numbers },
      { ...common, label: c.y(), labelSize: 20, size: 70, values: numbers },
    ];
  }
  const highs = (lines) => lines.map((l) => [...l.y, ...l.ranges.filter(Boolean).map((r) => r[1])]);
  const top = (lists) => Math.max(...lists.flat(), 0) * 1.06 || 1;

  function draw() {
    for (const c of charts) {
      const p = plots.get(c);
      if (p.u) p.u.destroy();
      p.u = null;
      p.lines = c.lines().filter((l) => l.x.length);
      p.at = -1;
      p.values.textContent = p.lines.length ? "" : "This level has no such figures.";
      if (!p.lines.length) {
        p.plot.replaceChildren();
        continue;
      }
      const size = { width: Math.max(280, p.plot.clientWidth), height: 300 };
      const common = {
        ...size, axes: axes(c, p.lines), legend: { show: false }, padding: [10, 20, 0, 0],
        hooks: { setCursor: [(u) => show(c, u)], draw: [(u) => intervals(u, p.lines)] },
      };
      p.u = c.path ? pathChart(c, p, common) : lineChart(c, p, common);
      const canvas = p.plot.querySelector("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", c.y() + " by " + c.x() + ": " + p.lines.map((l) => l.name).join("; ") + ". The tables have the figures.");
    }
  }

  // intervals draws the 95 % intervals of points.
  function intervals(u, lines) {
    const ctx = u.ctx, ratio = devicePixelRatio, cap = 4 * ratio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.lineWidth = 1.5 * ratio;
    for (const l of lines) {
      ctx.strokeStyle = color(l.i);
      ctx.beginPath();
      l.x.forEach((v, k) => {
        if (!l.ranges[k]) return;
        const x = u.valToPos(v, "x", true), [low, high] = l.ranges[k].map((y) => u.valToPos(y, "y", true));
        for (const [from, to] of [[[x, low], [x, high]], [[x - cap, low], [x + cap, low]], [[x - cap, high], [x + cap, high]]]) {
          ctx.moveTo(...from);
          ctx.lineTo(...to);
        }
      });
      ctx.stroke();
    }
    ctx.restore();
  }

  // lineChart draws lines whose points ascend in x.
  function lineChart(c, p, common) {
    const joined = uPlot.join(p.lines.map((l) => {
      const unique = new Map(l.x.map((x, k) => [x, l.y[k]])); // of equal x the last
      return [[...unique.keys()], [...unique.values()]];
    }));
    const all = p.lines.map((l) => l.x).flat();
    const low = Math.min(...all), high = Math.max(...all), margin = (high - low) * 0.03 || high * 0.1 || 1;
    const x = c.percentiles ? { time: false, distr: 3, range: () => [1, Math.max(10, high)] } : { time: false, range: () => [Math.max(0, low - margin), high + margin] };
    return new uPlot({
      ...common,
      scales: { x, y: { range: () => [0, top(highs(p.lines))] } },
      series: [{}, ...p.lines.map((l) => ({ label: l.name, stroke: color(l.i), width: 2, dash: l.dash, spanGaps: true, points: { show: !c.percentiles, size: 6, fill: color(l.i) } }))],
    }, joined, p.plot);
  }

  // pathChart draws points in the order of the levels, with a line between neighbours and the
  // load beside each point: the curve may turn back.
  function pathChart(c, p, common) {
    const paths = (u, i) => {
      uPlot.orient(u, i, (series, xs, ys, scaleX, scaleY, toX, toY, left, above, width, height) => {
        const ctx = u.ctx, l = p.lines[i - 1], ratio = devicePixelRatio;
        const at = (k) => [toX(xs[k], scaleX, width, left), toY(ys[k], scaleY, height, above)];
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = color(l.i);
        ctx.lineWidth = 2 * ratio;
        ctx.setLineDash(l.dash.map((n) => n * ratio));
        ctx.beginPath();
        xs.forEach((_, k) => ctx[k ? "lineTo" : "moveTo"](...at(k)));
        ctx.stroke();
        ctx.setLineDash([]);
        ctx.textAlign = "left";
        ctx.textBaseline = "alphabetic";
        ctx.font = 11 * ratio + "px system-ui, sans-serif";
        xs.forEach((_, k) => {
          const [x, y] = at(k);
          ctx.beginPath();
          ctx.arc(x, y, 4 * ratio, 0, 2 * Math.PI);
          ctx.fill();
          ctx.fillText(l.labels[k].replace(/^\D* /, ""), x + 6 * ratio, y - 6 * ratio);
        });
        ctx.restore();
      });
      return null;
    };
    return new uPlot({
      ...common, mode: 2, cursor: { points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: () => [0, top(p.lines.map((l) => l.x))] },
        y: { range: () => [0, top(highs(p.lines))] },
      },
      series: [{}, ...p.lines.map((l) => ({ label: l.name, stroke: color(l.i), paths, facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }] }))],
    }, [null, ...p.lines.map((l) => [l.x, l.y])], p.plot);
  }

  // points returns all points of a chart from left to right.
  const points = (p) => p.lines.flatMap((l) => l.x.map((x, k) => ({ x, y: l.y[k], name: l.name, label: l.labels[k], range: l.ranges[k] }))).sort((a, b) => a.x - b.x || a.y - b.y);
  function step(c, e) {
    const p = plots.get(c), by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (!p.u || by === undefined) return;
    e.preventDefault();
    const all = points(p);
    p.at = Math.min(all.length - 1, Math.max(0, p.at + by));
    p.keyed = true;
    const at = all[p.at];
    p.u.setCursor({ left: p.u.valToPos(at.x, "x"), top: p.u.valToPos(at.y, "y") });
    p.keyed = false;
    tell(c, p, at);
  }
  // show tells the point next to the mouse.
  function show(c, u) {
    const p = plots.get(c);
    if (!p || !p.u || p.keyed || !(u.cursor.left >= 0)) return;
    let best = null, nearest = Infinity;
    points(p).forEach((at, k) => {
      const d = Math.hypot(u.valToPos(at.x, "x") - u.cursor.left, u.valToPos(at.y, "y") - u.cursor.top);
      if (d < nearest) [best, nearest, p.at] = [at, d, k];
    });
    if (best) tell(c, p, best);
  }
  function tell(c, p, at) {
    const x = c.percentiles ? percentile(at.x) : format(at.x);
    const label = typeof at.label === "string" ? ", " + at.label : "";
    p.values.textContent = at.name + label + ": " + c.x() + " " + x + ", " + c.y() + " " + format(at.y) +
      (at.range ? " (95 % interval " + format(at.range[0]) + " to " + format(at.range[1]) + ")" : "");
  }

  metric.addEventListener("change", draw);
  level.addEventListener("change", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let timer = 0;
  new ResizeObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      for (const p of plots.values()) if (p.u && p.u.width !== Math.max(280, p.plot.clientWidth)) p.u.setSize({ width: Math.max(280, p.plot.clientWidth), height: 300 });
    }, 100);
  }).observe(document.getElementById("charts"));
  draw();
})();
