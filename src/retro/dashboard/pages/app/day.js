"use strict";
// One day: what it cost, when, and what made it so; and what a search over all text finds, where the page is served.
(function () {
  const { h } = retro;
  const BY = [["session", "Session"], ["model", "Model"], ["project", "Project"], ["host", "Agent"]];

  retro.views.day = (main, place) => {
    const day = retro.fromIso(place.path[1]);
    let stop = null;
    let gone = false;
    retro.clear(document.getElementById("tools"), retro.themeButton());
    if (day === null) { retro.clear(main, retro.empty("There is no such day.")); return null; }
    const month = `days/${retro.iso(day).slice(0, 7)}`;
    const draw = (content) => { if (!gone) stop = show(main, place, day, spent(content, day, retro.period(place.query))); };
    if (!retro.all.months.includes(month)) draw(null);
    else {
      retro.clear(main, h("p", { class: "empty", role: "status" }, "Loading …"));
      retro.load(month).then(draw).catch(() => retro.clear(main, retro.empty("This file of the dashboard is missing. To build it again:", "retro dashboard build")));
    }
    return () => { gone = true; if (stop) stop(); };
  };

  // The requests of a day as rows: {session, host, id, title, project, model, hour, …}.
  function spent(month, day, period) {
    const found = [];
    if (!month) return found;
    for (let row = 0; row < month.day.length; row++) {
      if (month.day[row] !== day) continue;
      const [host, id, title, project] = month.sessions[month.session[row]];
      if ((period.project && project !== period.project) || (period.host && host !== period.host)) continue;
      const one = { host, id, title: title || id, project: project || "(none)", session: `${host}/${id}`, model: month.models[month.model[row]] || "(none)", hour: month.hour[row] % 24 };
      for (const key of ["requests", "input", "cache_write", "cache_read", "output", "cost", "unpriced_requests", "lower_bound_requests"]) one[key] = month[key][row];
      one.tokens = one.input + one.cache_write + one.cache_read + one.output;
      found.push(one);
    }
    return found;
  }

  const total = (rows, key) => rows.reduce((sum, row) => sum + row[key], 0);
  function grouped(rows, key) {
    const found = new Map();
    for (const row of rows) {
      if (!found.has(row[key])) found.set(row[key], { ...row, requests: 0, input: 0, cache_write: 0, cache_read: 0, output: 0, tokens: 0, cost: 0, unpriced_requests: 0, lower_bound_requests: 0, rows: [] });
      const one = found.get(row[key]);
      one.rows.push(row);
      for (const name of ["requests", "input", "cache_write", "cache_read", "output", "tokens", "cost", "unpriced_requests", "lower_bound_requests"]) one[name] += row[name];
    }
    return [...found.values()].sort((a, b) => b.cost - a.cost || b.tokens - a.tokens);
  }
  const median = (values) => { const sorted = [...values].sort((a, b) => a - b); return sorted.length ? (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2 : 0; };

  // What is usual: the median of the thirty days with requests before this one.
  function usual(day, period) {
    const all = retro.all.days;
    const of = (value) => { const sums = retro.byDay(all, { ...period, since: -Infinity }, value); return [...sums].filter(([at]) => at >= 0 && at < day).sort((a, b) => b[0] - a[0]).slice(0, 30).map(([, sum]) => sum); };
    const costs = of((row) => all.cost[row]);
    return { days: costs.length, cost: median(costs), requests: median(of((row) => all.requests[row])) };
  }

  function show(main, place, day, rows) {
    const period = retro.period(place.query);
    const link = (at) => retro.link(["day", retro.iso(at)], { project: period.project, host: period.host });
    const head = h("header", { class: "daily" }, h("p", { class: "crumbs" }, h("a", { href: retro.link([], retro.along({})) }, "Overview"), " / ", h("a", { href: retro.link(["cost"], retro.along({})) }, "Cost")),
      h("div", null, h("h1", null, `${retro.weekday(day)}, ${retro.fullDay(day)}`), h("nav", { "aria-label": "Days" }, h("a", { class: "button", href: link(day - 1), title: retro.fullDay(day - 1) }, "← Day before"), day < retro.all.today ? h("a", { class: "button", href: link(day + 1), title: retro.fullDay(day + 1) }, "Day after →") : null)),
      period.project || period.host ? h("p", { class: "muted" }, [period.project, period.host].filter(Boolean).join(", "), " only. ", h("a", { href: retro.link(["day", retro.iso(day)]) }, "Show all")) : null);
    document.title = `${retro.fullDay(day)} · retro`;
    if (!rows.length) { retro.clear(main, head, retro.empty("No request was made on this day.")); return null; }
    const before = usual(day, period);
    const cost = total(rows, "cost");
    const tokens = total(rows, "tokens");
    const read = total(rows, "cache_read");
    const given = tokens - total(rows, "output");
    const sessions = grouped(rows, "session");
    const unsure = rows.some((row) => row.unpriced_requests || row.lower_bound_requests);
    const figures = [["Cost", retro.money(cost) + (unsure ? "+" : "")], ["A usual day", before.days ? retro.money(Math.round(before.cost)) : "–"], ["Sessions", retro.count(sessions.length)], ["Requests", retro.count(total(rows, "requests"))], ["Tokens", retro.short(tokens)], ["Input cached", given ? retro.percent(read / given) : "–"]];
    const chart = h("section", { class: "card", "aria-label": "By hour" });
    const parts = h("div", { class: "columns" });
    retro.clear(main, head, h("div", { class: "stack" }, h("dl", { class: "kpis" }, figures.map(([label, value]) => h("div", { class: "kpi" }, h("dt", null, label), h("dd", null, value)))),
      retro.card("What made it so", null, h("ul", { class: "reasons" }, reasons(rows, sessions, before, cost).map((text) => h("li", null, text)))),
      chart, retro.card("Sessions of this day", h("span", { class: "muted" }, "what each spent on this day alone"), table(sessions, cost)), parts));
    for (const [key, label] of BY.slice(1)) {
      const lines = grouped(rows, key).map((one) => ({ name: one[key], value: one.cost, note: cost ? retro.percent(one.cost / cost) : "" }));
      if (lines.length > 1) parts.append(retro.card("By " + label.toLowerCase(), null, retro.bars(lines.slice(0, 10), retro.money)));
    }
    const stops = [];
    byHour(chart, rows, stops);
    return () => { for (const stop of stops) stop(); };
  }

  function reasons(rows, sessions, before, cost) {
    const said = [];
    const times = (share) => (share >= 10 ? share.toFixed(0) : share.toFixed(1)) + "×";
    if (before.days >= 3 && before.cost > 0) {
      const share = cost / before.cost;
      said.push(share >= 1.25 ? `It cost ${times(share)} as much as a usual day (the median of the ${before.days} days with requests before it).` : share <= 0.8 ? `It cost ${retro.percent(share)} of a usual day.` : "It cost about as much as a usual day.");
      const requests = total(rows, "requests");
      const each = cost / Math.max(requests, 1) / (before.cost / Math.max(before.requests, 1));
      if (before.requests) said.push(`${retro.many(requests, "request")}, ${times(requests / before.requests)} as many as usual, each ${each >= 1.15 ? times(each) + " as dear" : each <= 0.85 ? "cheaper, " + times(each) : "about as dear"}.`);
    }
    let sum = 0;
    let few = 0;
    while (few < sessions.length && sum < cost / 2) sum += sessions[few++].cost;
    if (cost > 0 && sessions.length > 1) said.push([few === 1 ? "One session" : `${few} of ${retro.count(sessions.length)} sessions`, ` made up ${retro.percent(sum / cost)}: `, sessions.slice(0, Math.min(few, 3)).map((one, at) => [at ? ", " : "", h("a", { href: retro.link(["session", one.host, one.id]) }, retro.line(one.title, 60)), ` (${retro.money(one.cost)})`]), few > 3 ? " …" : "", "."]);
    const models = grouped(rows, "model");
    if (cost > 0 && models.length > 1) said.push(`${models[0].model} took ${retro.percent(models[0].cost / cost)} of it.`);
    const [first] = sessions;
    if (first && first.tokens) {
      const most = [["cache reads", first.cache_read], ["cache writes", first.cache_write], ["new input", first.input], ["output", first.output]].sort((a, b) => b[1] - a[1])[0];
      said.push(`The dearest session used ${retro.short(first.tokens)} tokens here, ${retro.percent(most[1] / first.tokens)} of them ${most[0]}.`);
    }
    return said;
  }

  function table(sessions, cost) {
    const columns = [["Session"], ["Project"], ["Agent"], ["Model"], ["Requests", 1], ["Input", 1], ["Cache write", 1], ["Cache read", 1], ["Output", 1], ["Cost", 1], ["Share", 1]];
    return retro.plain(columns, sessions.slice(0, 200).map((one) => [
      h("a", { href: retro.link(["session", one.host, one.id]) }, retro.line(one.title, 80)), one.project, one.host, grouped(one.rows, "model")[0].model, retro.count(one.requests), retro.count(one.input), retro.count(one.cache_write), retro.count(one.cache_read), retro.count(one.output),
      h("b", null, one.unpriced_requests === one.requests ? "unpriced" : retro.money(one.cost) + (one.unpriced_requests || one.lower_bound_requests ? "+" : "")), cost ? retro.percent(one.cost / cost) : ""]));
  }

  function byHour(card, rows, stops) {
    const asked = retro.place().query.get("by");
    const by = BY.some(([key]) => key === asked) ? asked : "session";
    const priced = total(rows, "cost") > 0;
    const hours = [...Array(24).keys()];
    const sorted = grouped(rows, by);
    const series = sorted.slice(0, 6).map((one) => ({ name: by === "session" ? retro.line(one.title, 40) : one[by], values: hours.map((hour) => total(one.rows.filter((row) => row.hour === hour), priced ? "cost" : "tokens")) }));
    const rest = sorted.slice(6);
    if (rest.length) series.push({ name: `${rest.length} more`, values: hours.map((hour) => total(rest.flatMap((one) => one.rows).filter((row) => row.hour === hour), priced ? "cost" : "tokens")) });
    const clock = (hour) => `${String(hour).padStart(2, "0")}:00`;
    while (stops.length) stops.pop()();
    const body = retro.stacked(hours, series, priced ? retro.dollars : retro.short, `${priced ? "Cost" : "Tokens"} by hour`, null, { name: clock, tick: clock });
    stops.push(body.stop);
    retro.clear(card, h("header", null, h("h2", null, `${priced ? "Cost" : "Tokens"} by hour`), h("span", { class: "muted" }, retro.all.timezone), retro.segments("Stacked by", BY, by, (value) => { retro.refine({ by: value === "session" ? null : value }); byHour(card, rows, stops); })), h("div", { class: "body" }, body, retro.legend(series)));
  }

  // --- search in everything that was said and done: only where there is an index to ask ---
  retro.views.search = (main, place) => {
    const query = place.query.get("q") || "";
    retro.clear(document.getElementById("tools"), retro.themeButton());
    if (!location.protocol.startsWith("http")) {
      retro.clear(main, retro.card("Search", null, retro.empty("Pages on the disk cannot search in all text. The live ones can, and so can", "retro search WORDS"), retro.empty("To open them:", "retro dashboard serve --open")));
      return null;
    }
    const input = h("input", { class: "search wide", type: "search", value: query, placeholder: "Words, \"phrases\", -unwanted", "aria-label": "Search in all text" });
    const box = h("div", { class: "stack", "aria-live": "polite" });
    const form = h("form", { class: "asking", role: "search", onsubmit: (event) => { event.preventDefault(); location.hash = retro.link(["search"], { q: input.value }); } }, input, h("button", { class: "button", type: "submit" }, "Search"));
    retro.clear(main, h("h1", { class: "sr" }, "Search"), form, box);
    if (!query.trim()) { input.focus(); return null; }
    retro.clear(box, h("p", { class: "empty" }, "Loading …"));
    let gone = false;
    retro.load(`search/${query}`, true).then((told) => {
      if (gone) return;
      const notes = [told.missing.length ? `${told.missing.join(", ")}: stands nowhere.` : "", told.hits.length && !told.all_words ? "No turn has all of the words; these have some." : ""].filter(Boolean).join(" ");
      retro.clear(box, notes ? h("p", { class: "muted" }, notes) : null, told.hits.length ? retro.card("Turns", h("span", { class: "muted" }, `the best ${retro.count(told.hits.length)}`), told.hits.map(hit)) : retro.empty("Nothing fits."));
    }).catch(() => { if (!gone) retro.clear(box, retro.empty("The search failed. Is the server still running?")); });
    return () => { gone = true; };
  };
  function hit(one) {
    return h("article", { class: "pattern" }, h("div", null, h("a", { class: "strong", href: retro.link(["session", one.host, one.id, "transcript"], { event: one.event }) }, retro.line(one.title || one.prompt || one.id, 120))),
      h("p", { class: "muted" }, [one.host, one.project, one.turn ? `turn ${one.turn}` : null].filter(Boolean).join(" · "), one.started ? [" · ", retro.moment(one.started)] : null),
      one.prompt ? h("p", null, retro.line(one.prompt, 200)) : null, one.pieces.map((piece) => h("p", { class: "mono snippet" }, marked(piece))));
  }
  function marked(piece) {
    const parts = [];
    let last = 0;
    const letters = [...piece.text];
    for (const [from, to] of piece.marks) { parts.push(letters.slice(last, from).join(""), h("mark", null, letters.slice(from, to).join(""))); last = to; }
    return [...parts, letters.slice(last).join("")];
  }
})();
