"use strict";
// Bars by day, a calendar, lines as small as a word.
(function () {
  const { h } = retro;
  const COLORS = 7;
  // An agent has its colour everywhere; anything else the colour of its place.
  const color = (one, at) => (one.color === undefined ? Math.min(at, COLORS - 1) : one.color);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  retro.spark = (values, label) => {
    const least = Math.min(...values, 0);
    const wide = Math.max(...values, 0) - least;
    const step = 100 / Math.max(values.length - 1, 1);
    const points = values.map((value, at) => (at * step).toFixed(1) + "," + (21 - (wide ? (value - least) / wide * 19 : 0)).toFixed(1)).join(" ");
    return h("svg", { class: "spark", viewBox: "0 0 100 22", preserveAspectRatio: "none", role: "img", "aria-label": label },
      h("polyline", { points: "0,22 " + points + " 100,22", fill: "currentColor", stroke: "none", "data-area": "1" }),
      h("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": "1.5", "stroke-linejoin": "round" }));
  };

  retro.bars = (rows, format) => {
    const most = Math.max(...rows.map((row) => row.value), 0);
    return h("div", { class: "bars" }, rows.map((row) => h("div", { class: "barline" },
      h("span", { title: row.name }, row.link ? h("a", { href: row.link }, row.name) : row.name),
      h("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, h("rect", { x: 0, y: 0, width: most ? Math.max(row.value / most * 100, 0.4) : 0, height: 8, fill: "currentColor" })),
      h("span", { class: "num" }, row.shown || format(row.value), row.note ? h("span", { class: "muted" }, " " + row.note) : null))));
  };

  // Many days are drawn as weeks or months, so that a bar stays wide enough to be seen.
  retro.coarse = (days, series) => {
    if (days.length <= 130) return { days, series, unit: "day", name: retro.fullDay };
    const monthly = days.length > 730;
    const begin = monthly ? (day) => { const at = new Date(day * 864e5); return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1) / 864e5; } : (day) => day - (day + 3) % 7;
    const starts = [...new Set(days.map(begin))];
    const place = new Map(starts.map((day, at) => [day, at]));
    const sum = (values) => { const sums = starts.map(() => 0); values.forEach((value, at) => { sums[place.get(begin(days[at]))] += value; }); return sums; };
    const name = monthly ? (day) => new Date(day * 864e5).toLocaleString("en-US", { month: "long", year: "numeric", timeZone: "UTC" }) : (day) => "week of " + retro.fullDay(day);
    return { days: starts, series: series.map((one) => ({ ...one, values: sum(one.values) })), unit: monthly ? "month" : "week", name };
  };

  // Stacked bars: series are {name, values}, days are whole numbers in order.
  // `named` is for anything else than days: {name, tick}; `choose` is what a click on a bar does.
  retro.stacked = (given, bands, format, describe, choose, named) => {
    const { days: names, series, name: nameOf } = named ? { days: given, series: bands, name: named.name } : retro.coarse(given, bands);
    const tick = named ? named.tick : retro.day;
    const days = names.map((_, at) => at);
    const box = h("div", { class: "chart", role: "img", "aria-label": describe });
    const tip = h("div", { class: "tip" });
    tip.hidden = true;
    let plot = null;
    const sums = [];
    let below = days.map(() => 0);
    for (const one of series) { below = below.map((sum, at) => sum + one.values[at]); sums.push(below); }

    function draw() {
      if (plot) plot.destroy();
      const axis = { stroke: style("--faint"), grid: { stroke: style("--line"), width: 1 }, ticks: { show: false }, font: "11px " + style("--sans"), size: 28 };
      const options = {
        width: Math.max(box.clientWidth, 200), height: Math.max(box.clientHeight, 120), legend: { show: false }, padding: [8, 18, 0, 0],
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: { x: { time: false, range: () => [-0.6, days.length - 0.4] }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.06 : 1] } },
        axes: [
          { ...axis, grid: { show: false }, splits: (u, at, low, high) => (named ? days.filter((place) => place % Math.max(Math.ceil(days.length / (u.width / 80)), 1) === 0) : ticks(Math.ceil(low), Math.floor(high), u.width)), values: (u, splits) => splits.map((at) => tick(names[at])) },
          { ...axis, size: 58, values: (u, splits) => splits.map((value) => format(value, true)) },
        ],
        series: [{}, ...[...series.keys()].reverse().map((at) => ({
          fill: style("--s" + color(series[at], at)), width: 0, points: { show: false },
          paths: uPlot.paths.bars({ size: [0.72, 46], radius: 0.12 }),
        }))],
        hooks: { setCursor: [(u) => hover(u)] },
      };
      plot = new uPlot(options, [days, ...[...sums].reverse()], box);
      if (choose) { plot.over.classList.add("pick"); plot.over.addEventListener("click", () => { const at = plot.cursor.idx; if (at !== null && at !== undefined) choose(names[at], names[at + 1]); }); }
      box.append(tip);
    }

    function hover(u) {
      const at = u.cursor.idx;
      if (at === null || at === undefined || u.cursor.left < 0) { tip.hidden = true; return; }
      const rows = series.map((one, index) => [one.name, one.values[at], index]).filter((row) => row[1] > 0);
      const total = series.reduce((sum, one) => sum + one.values[at], 0);
      retro.clear(tip, h("b", null, nameOf(names[at]) + " · " + format(total)),
        rows.map(([name, value, index]) => h("div", null, h("span", null, h("i", { class: "c" + color(series[index], index) }), name), h("span", null, format(value)))));
      tip.hidden = false;
      const left = u.valToPos(days[at], "x") + u.bbox.left / devicePixelRatio;
      tip.style.top = "4px";
      tip.style.left = left > box.clientWidth / 2 ? "" : left + 14 + "px";
      tip.style.right = left > box.clientWidth / 2 ? box.clientWidth - left + 14 + "px" : "";
    }

    let width = "";
    const watch = new ResizeObserver(() => { const now = box.clientWidth + "x" + box.clientHeight; if (box.clientWidth && now !== width) { width = now; draw(); } });
    watch.observe(box);
    const repaint = () => box.isConnected && draw();
    document.addEventListener("retro-theme", repaint);
    box.stop = () => { watch.disconnect(); document.removeEventListener("retro-theme", repaint); if (plot) plot.destroy(); };
    return box;
  };

  function ticks(low, high, width) {
    const step = Math.max(Math.ceil((high - low + 1) / Math.max(Math.floor(width / 100), 1)), 1);
    const found = [];
    for (let at = high; at >= low; at -= step) found.unshift(at);
    return found;
  }

  retro.legend = (series) => h("ul", { class: "legend" }, series.map((one, at) => h("li", null, h("i", { class: "c" + color(one, at) }), one.name)));

  // A calendar: one square a day, the last column is this week.
  retro.calendar = (values, today, weeks, format, choose) => {
    const first = today - (today + 3) % 7 - (weeks - 1) * 7;
    const sorted = [...values.entries()].filter(([day, value]) => day >= first && value > 0).map(([, value]) => value).sort((a, b) => a - b);
    const level = (value) => (value > 0 ? 1 + Math.min(3, Math.floor(4 * sorted.findIndex((one) => one >= value) / sorted.length)) : 0);
    const cells = [];
    let month = "";
    const labels = [];
    for (let week = 0; week < weeks; week++) {
      const name = new Date((first + week * 7 + 6) * 864e5).toLocaleString("en-US", { month: "short", timeZone: "UTC" });
      if (name !== month) { if (week < weeks - 2 && (week > 0 || new Date((first + 6) * 864e5).getUTCDate() < 21)) labels.push(h("text", { x: week * 13, y: 8 }, name)); month = name; }
      for (let weekday = 0; weekday < 7; weekday++) {
        const day = first + week * 7 + weekday;
        if (day > today) continue;
        const value = values.get(day) || 0;
        cells.push(h("rect", { x: week * 13, y: 13 + weekday * 13, width: 11, height: 11, class: "l" + level(value), "data-day": day }, h("title", null, retro.fullDay(day) + ": " + format(value))));
      }
    }
    const active = sorted.length;
    const long = weeks > 40;
    return h("svg", { class: long ? "heat long" : "heat", viewBox: `0 ${long ? -7 : 0} ${weeks * 13 - 2} ${long ? 111 : 104}`, role: "img", "aria-label": `Calendar: ${active} active days in the last ${weeks} weeks`,
      onclick: (event) => { const day = event.target.dataset && event.target.dataset.day; if (day && choose) choose(Number(day)); } }, labels, cells);
  };
})();
