"use strict";
// What it cost: by model, project, time and five-hour block; what the caches saved; what a session of a kind costs.
(function () {
  const { h } = retro;
  const TOKENS = ["input", "cache_write_5m", "cache_write_1h", "cache_read", "output"];
  const tokens = (one) => TOKENS.reduce((sum, name) => sum + one[name], 0);
  const given = (one) => tokens(one) - one.output;
  const written = (one) => one.cache_write_5m + one.cache_write_1h;
  const cached = (one) => (given(one) ? one.cache_read / given(one) : null);
  const unsure = (one) => one.unpriced_requests > 0 || one.lower_bound_requests > 0;
  const money = (one) => (one.unpriced_requests === one.requests && one.requests ? "unpriced" : retro.money(one.cost) + (unsure(one) ? "+" : ""));
  const month = (day) => { const at = new Date(day * 864e5); return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1) / 864e5; };
  const GROUPS = { day: (day) => day, week: (day) => day - (day + 3) % 7, month };
  const KINDS = [["project", "Project"], ["host", "Agent"], ["model", "Model"], ["size", "Length"], ["outcome", "Outcome"]];

  retro.views.cost = (main, place) => {
    let period = retro.period(place.query);
    const box = h("div");
    const again = (changes) => { period = retro.period(new URLSearchParams(retro.refine(changes))); if (changes.period) retro.filters(period, again); draw(box, period); };
    retro.filters(period, again);
    retro.clear(main, h("h1", { class: "sr" }, "Cost"), box);
    draw(box, period);
  };

  function draw(box, period) {
    const total = retro.grouped(period, () => 0).get(0);
    if (!total) { retro.clear(box, retro.card("Cost", null, retro.empty("No request was made in this period."))); return; }
    const active = [...retro.byDay(retro.all.days, period, (row) => retro.all.days.requests[row])].filter(([day, count]) => count && day >= 0 && (period.since === -Infinity || day >= period.since) && day <= period.until).length;
    const figures = [["Cost", retro.money(total.cost) + (unsure(total) ? "+" : "")], ["Per active day", active ? retro.money(Math.round(total.cost / active)) : "–"], ["Tokens", retro.short(tokens(total))], ["Requests", retro.short(total.requests)],
      ["Input cached", cached(total) === null ? "–" : retro.percent(cached(total))], ["Unpriced tokens", retro.short(total.unpriced_tokens)], ["Lower bounds", retro.short(total.lower_bound_requests)]];
    const kinds = h("section", { class: "card", "aria-label": "What a session costs" });
    const blocks = h("div");
    retro.clear(box, h("div", { class: "stack" },
      h("dl", { class: "kpis" }, figures.map(([label, value]) => h("div", { class: "kpi" }, h("dt", null, label), h("dd", null, value)))),
      h("div", { class: "columns" }, bars(period, "model", "By model"), bars(period, "project", "By project"), kinds),
      byTime(period), caches(period), blocks));
    drawKinds(kinds, period);
    if (retro.all.sections.includes("blocks")) retro.load("blocks").then((content) => retro.clear(blocks, fiveHours(content))).catch(() => {});
  }

  function bars(period, column, title) {
    const names = { model: retro.all.models, project: retro.all.projects }[column];
    const found = [...retro.grouped(period, (row) => retro.all.days[column][row])].sort((a, b) => b[1].cost - a[1].cost);
    const link = (at) => (at < 0 ? null : column === "project" ? retro.link(["cost"], retro.along({ project: names[at] })) : retro.link([], retro.along({ model: names[at] })));
    const lines = found.slice(0, 10).map(([at, one]) => ({ name: at < 0 ? "(none)" : names[at], value: one.cost, shown: money(one), link: link(at) }));
    const rest = found.slice(10);
    if (rest.length) lines.push({ name: `${rest.length} more`, value: rest.reduce((sum, [, one]) => sum + one.cost, 0) });
    return retro.card(title, null, retro.bars(lines, retro.money));
  }

  // Every figure of a day leads to that day.
  function byTime(period) {
    const asked = retro.place().query.get("per");
    const per = Object.hasOwn(GROUPS, asked || "") ? asked : "day";
    const all = retro.all;
    const rows = [...retro.grouped(period, (row) => (all.days.day[row] < 0 ? -1 : GROUPS[per](all.days.day[row])))].sort((a, b) => b[0] - a[0]);
    const most = Math.max(...rows.map(([, one]) => one.cost), 1);
    const last = (at) => (per === "day" ? at : per === "week" ? at + 6 : month(at + 35) - 1);
    const name = (at) => (at < 0 ? "no time" : per === "month" ? new Date(at * 864e5).toLocaleString("en-US", { month: "long", year: "numeric", timeZone: "UTC" }) : per === "week" ? `week of ${retro.fullDay(at)}` : `${retro.weekday(at).slice(0, 3)}, ${retro.fullDay(at)}`);
    const link = (at) => (at < 0 ? name(at) : h("a", { href: per === "day" ? retro.link(["day", retro.iso(at)], retro.along({ period: null, from: null, to: null })) : retro.link(["cost"], retro.along({ period: null, from: retro.iso(at), to: retro.iso(last(at)), per: "day" })) }, name(at)));
    const line = (first, one) => [first, retro.meter(one.cost / most), money(one), retro.count(one.requests), retro.count(one.input), retro.count(written(one)), retro.count(one.cache_read), retro.count(one.output), retro.count(tokens(one))];
    const columns = [[retro.capital(per)], ["", 0, "Share of the dearest"], ["Cost", 1], ["Requests", 1], ["Input", 1], ["Cache write", 1], ["Cache read", 1], ["Output", 1], ["Tokens", 1]];
    const whole = retro.grouped(period, () => 0).get(0);
    const box = h("div");
    const show = (count) => retro.clear(box, retro.plain(columns, rows.slice(0, count).map(([at, one]) => line(link(at), one)), [...line("Together", whole).slice(0, 1), "", ...line("", whole).slice(2)]),
      rows.length > count ? h("p", { class: "more" }, h("button", { class: "button", type: "button", onclick: () => show(count + 200) }, `Show more of ${retro.count(rows.length)}`)) : null);
    show(31);
    return retro.card("By time", retro.segments("Per", [["day", "Day"], ["week", "Week"], ["month", "Month"]], per, (value) => { retro.refine({ per: value === "day" ? null : value }); retro.show(); }), box);
  }

  // How much of what models read came from their caches, and how often what was written was read again.
  function caches(period) {
    const all = retro.all;
    const rows = [...retro.grouped(period, (row) => all.days.model[row])].map(([at, one]) => [at < 0 ? "(none)" : all.models[at], one]).filter(([, one]) => one.cache_read || written(one)).sort((a, b) => given(b[1]) - given(a[1]));
    if (!rows.length) return null;
    const columns = [["Model"], ["", 0, "Share from the cache"], ["From the cache", 1], ["Cache read", 1], ["Written, 5 min", 1, "", 1], ["Written, 1 h", 1, "", 1], ["New input", 1], ["Read per token written", 1]];
    return retro.card("Cache efficiency", h("span", { class: "muted" }, "a cached token costs about a tenth of a new one"), retro.plain(columns, rows.slice(0, 15).map(([name, one]) => [name, retro.meter(cached(one)), retro.percent(cached(one)), retro.count(one.cache_read), retro.count(one.cache_write_5m), retro.count(one.cache_write_1h), retro.count(one.input), written(one) ? (one.cache_read / written(one)).toFixed(1) + "×" : "–"])));
  }

  const quantile = (sorted, share) => sorted[Math.floor((sorted.length - 1) * share)];
  function drawKinds(card, period) {
    const asked = retro.place().query.get("kind");
    const kind = KINDS.some(([key]) => key === asked) ? asked : "project";
    const box = h("div", { class: "body" }, h("p", { class: "muted" }, "Loading …"));
    retro.clear(card, h("header", null, h("h2", null, "What a session costs"), retro.select("Kind of session", KINDS.map(([key, label]) => [key, "By " + label.toLowerCase()]), kind, (value) => { retro.refine({ kind: value === "project" ? null : value }); drawKinds(card, period); })), box);
    retro.allRows().then((rows) => {
      const name = (names, at) => (at < 0 ? "(none)" : names[at]);
      const of = { project: (row) => name(retro.all.projects, rows.project[row]), host: (row) => retro.all.hosts[rows.host[row]], model: (row) => name(retro.all.models, rows.model[row]),
        size: (row) => { const turns = rows.turns[row]; return turns <= 1 ? "1 turn" : turns <= 5 ? "2 to 5 turns" : turns <= 20 ? "6 to 20 turns" : "more than 20 turns"; }, outcome: (row) => ({ s: "success", f: "failure" }[rows.verdict[row]] || "unsure") }[kind];
      const found = new Map();
      for (let row = 0; row < rows.id.length; row++) {
        if (rows.cost[row] <= 0 || !retro.inPeriod(period, rows.ended[row])) continue;
        if ((period.project && name(retro.all.projects, rows.project[row]) !== period.project) || (period.host && retro.all.hosts[rows.host[row]] !== period.host)) continue;
        const key = of(row);
        if (!found.has(key)) found.set(key, []);
        found.get(key).push(rows.cost[row]);
      }
      const lines = [...found].map(([key, costs]) => { costs.sort((a, b) => a - b); return { key, costs, median: quantile(costs, 0.5) }; }).sort((a, b) => b.costs.length - a.costs.length).slice(0, 10);
      retro.clear(box, lines.length ? retro.plain([[KINDS.find(([key]) => key === kind)[1]], ["Sessions", 1], ["Median", 1], ["9 of 10 below", 1]], lines.map((one) => [one.key, retro.count(one.costs.length), h("b", null, retro.money(one.median)), retro.money(quantile(one.costs, 0.9))])) : retro.empty("No session with a price ended in this period."));
    }).catch(() => retro.clear(box, retro.empty("Some files of this dashboard are missing. To build it again:", "retro dashboard build")));
  }

  function fiveHours(content) {
    const columns = [["Begins"], ["Agent"], ["Requests", 1], ["Tokens", 1], ["Cost", 1], ["Per hour", 1], ["Projected", 1]];
    return retro.card("Five-hour blocks", h("span", { class: "muted" }, "of all projects, as providers count them"), retro.plain(columns, content.blocks.slice(0, 20).map((one) => [
      [h("time", { title: retro.utc(one.start) }, retro.when(one.start)), one.active ? [" ", h("span", { class: "tag good" }, "active")] : null], one.host, retro.count(one.requests), retro.count(one.tokens), retro.money(one.cost),
      one.cost_per_hour === null ? "–" : retro.money(Math.round(one.cost_per_hour)), one.projected === null ? "–" : retro.money(one.projected)])));
  }
})();
