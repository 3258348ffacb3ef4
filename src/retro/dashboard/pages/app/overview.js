"use strict";
// The first screen: how it went, what it cost, what needs a look; the sessions are in sessions.js.
(function () {
  const { h } = retro;
  retro.dollars = (value, brief) => (brief && value >= 1e7 ? "$" + retro.short(Math.round(value / 1e6)) : retro.money(value));
  const METRICS = {
    cost: ["Cost", "days", (row) => retro.all.days.cost[row], retro.dollars],
    tokens: ["Tokens", "days", (row) => retro.tokens(row), retro.short],
    sessions: ["Sessions", "ended", (row) => retro.all.ended.sessions[row], retro.short],
    turns: ["Turns", "activity", (row) => retro.all.activity.turns[row], retro.short],
    actions: ["Tool calls", "activity", (row) => retro.all.activity.actions[row], retro.short],
    errors: ["Errors", "activity", (row) => retro.all.activity.errors[row], retro.short],
  };

  // Period and project, for every page that has them.
  retro.filters = (period, again) => {
    const projects = [["", "All projects"], ...[...retro.all.projects].sort((a, b) => a.localeCompare(b)).map((name) => [name, name])];
    retro.clear(document.getElementById("tools"), retro.segments("Period", retro.PERIODS, period.name, (value) => again({ period: value })),
      retro.all.projects.length > 1 ? retro.select("Project", projects, period.project, (value) => again({ project: value })) : null, retro.themeButton());
  };

  retro.views.overview = (main, place) => {
    const all = retro.all;
    if (!all.total_sessions) {
      retro.clear(document.getElementById("tools"), retro.themeButton());
      retro.clear(main, h("h1", { class: "sr" }, "Overview"), h("section", { class: "card welcome" }, h("h2", null, "Nothing is captured yet"), h("p", { class: "muted" }, "To keep every session of every agent that is on this machine:"), h("pre", null, "retro sweep"), h("p", { class: "muted" }, "Then build this page again, or let it run live:"), h("pre", null, "retro dashboard build --open\nretro dashboard serve --open")));
      return () => {};
    }
    let period = retro.period(place.query);
    const stops = [];
    const kpis = h("dl", { class: "kpis eight" });
    const chart = h("section", { class: "card", "aria-label": "By day" });
    const heat = h("div", { class: "body" });
    const table = retro.sessionTable(() => period, again);
    const tools = () => retro.filters(period, again);

    function again(changes) {
      period = retro.period(new URLSearchParams(retro.refine(changes)));
      if ("from" in changes || "to" in changes || changes.period) tools();
      draw();
      table.filter();
    }
    function draw() {
      drawKpis(kpis, period);
      drawChart(chart, period, stops, again);
      const busy = retro.byDay(all.activity, { ...period, since: -Infinity }, (row) => all.activity.turns[row]);
      const long = period.since < all.today - 210 && Math.min(...[...busy.keys()].filter((day) => day >= 0), all.today) < all.today - 210;
      retro.clear(heat, retro.calendar(busy, all.today, long ? 53 : 30, (value) => retro.many(value, "turn"), openDay));
    }
    const right = h("div", { class: "side" }, retro.card("Activity", h("span", { class: "muted" }, "turns a day"), heat), attention());
    tools();
    retro.clear(main, h("h1", { class: "sr" }, "Overview"), h("div", { class: "stack" }, kpis, h("div", { class: "first" }, chart, right), table.node));
    draw();
    table.filter();
    return () => { table.stop(); for (const stop of stops) stop(); };
  };
  const openDay = (day) => { location.hash = retro.link(["day", retro.iso(day)], retro.along({ period: null, from: null, to: null })); };

  function drawKpis(node, period) {
    const all = retro.all;
    const days = retro.span(period);
    const { activity, ended } = all;
    const both = (table, value) => [retro.sum(table, period, value), period.before === null ? null : retro.sum(table, period, value, period.before, period.since - 1)];
    const trend = (table, value) => buckets(retro.byDay(table, period, value, days));
    const sum = (table, name) => retro.sum(table, period, (row) => table[name][row]);
    const cost = (row) => all.days.cost[row];
    const turns = retro.byDay(activity, period, (row) => activity.turns[row]);
    const active = days.filter((day) => turns.get(day)).length;
    const unpriced = sum(all.days, "unpriced_tokens");
    const lower = sum(all.days, "lower_bound_requests");
    const errors = sum(activity, "errors");
    const read = sum(all.days, "cache_read");
    const given = read + sum(all.days, "input") + sum(all.days, "cache_write_5m") + sum(all.days, "cache_write_1h");
    const tokens = both(all.days, retro.tokens);
    const money = both(all.days, cost);
    const unsure = [unpriced ? retro.short(unpriced) + " tokens unpriced" : "", lower ? retro.short(lower) + " lower bounds" : ""].filter(Boolean).join(", ");
    const handed = all.woven ? sum(all.woven, "used") : 0;
    const sessions = both(ended, (row) => ended.sessions[row]);
    retro.clear(node,
      kpi("Sessions", sessions, retro.short, "last active here", trend(ended, (row) => ended.sessions[row])),
      kpi("Active days", [active, null], retro.count, "of " + retro.count(days.length), buckets(days.map((day) => (turns.get(day) ? 1 : 0)))),
      kpi("Events", both(activity, (row) => activity.events[row]), retro.short, retro.short(sum(activity, "turns")) + " turns", trend(activity, (row) => activity.events[row])),
      kpi("Tool calls", both(activity, (row) => activity.actions[row]), retro.short, errors ? retro.short(errors) + " errors" : "no errors", trend(activity, (row) => activity.actions[row])),
      kpi("Tokens", tokens, retro.short, given ? retro.percent(read / given) + " of input cached" : "", trend(all.days, retro.tokens)),
      kpi("Cost", money, (value) => retro.money(value) + (unpriced || lower ? "+" : ""), unsure || (money[0] ? "every request has a price" : ""), trend(all.days, cost), unsure ? "A lower bound: " + unsure : null),
      outcome(sessions[0], sum(ended, "success"), sum(ended, "failure")),
      kpi("Memories used", [handed, null], retro.count, all.woven ? "handed to sessions" : "none handed out yet", all.woven ? trend(all.woven, (row) => all.woven.used[row]) : null));
  }

  function kpi(name, [now, before], format, note, values, title) {
    return h("div", { class: "kpi" }, h("dt", null, name), h("dd", { title: title || null }, format(now), change(now, before)), h("dd", { class: "note", title: title || null }, h("span", null, note || ""), values ? retro.spark(values, `${name}, trend`) : null));
  }
  function outcome(sessions, success, failure) {
    const known = success + failure;
    const bar = h("div", { class: "split", "aria-hidden": "true" });
    for (const [kind, value] of [["good", success], ["bad", failure], ["", sessions - known]]) {
      if (!value) continue;
      const part = h("i", { class: kind });
      part.style.flexGrow = value;
      bar.append(part);
    }
    const note = known ? `${retro.count(failure)} failed, ${retro.count(sessions - known)} unsure` : "no outcome known";
    return h("div", { class: "kpi" }, h("dt", null, "Succeeded"), h("dd", null, known ? retro.count(success) : "–"), h("dd", { class: "note" }, h("span", null, note), bar));
  }
  function change(now, before) {
    if (before === null || before === undefined || !before) return null;
    const share = (now - before) / before;
    const text = (share >= 0 ? "↑" : "↓") + (share > 98 ? ">99×" : Math.abs(share) >= 10 ? (Math.abs(share) + 1).toFixed(0) + "×" : Math.abs(share * 100).toFixed(0) + "%");
    return h("span", { class: "change", title: "against as many days before" }, text);
  }
  function buckets(values) {
    const most = 40;
    if (values.length <= most) return values;
    const size = Math.ceil(values.length / most);
    const found = [];
    for (let at = 0; at < values.length; at += size) found.push(values.slice(at, at + size).reduce((sum, value) => sum + value, 0));
    return found;
  }

  function drawChart(card, period, stops, again) {
    const query = retro.place().query;
    const metric = Object.hasOwn(METRICS, query.get("metric") || "") ? query.get("metric") : "cost";
    const [name, table, value, format] = METRICS[metric];
    const choices = [["host", "Agent"], ["project", "Project"], ...(table === "days" ? [["model", "Model"]] : [])];
    const by = choices.some(([key]) => key === query.get("by")) ? query.get("by") : "host";
    const days = retro.span(period);
    const series = retro.series(retro.all[table], period, value, days, by);
    const redraw = (changes) => { retro.refine(changes); drawChart(card, period, stops, again); };
    while (stops.length) stops.pop()();
    const total = series.reduce((sum, one) => sum + one.total, 0);
    const unit = retro.coarse(days, []).unit;
    const describe = `${name} by ${unit} and ${by}: ${format(total)} in all; ` + series.map((one) => `${one.name} ${format(one.total)}`).join(", ");
    const choose = (day, next) => { if (unit === "day") openDay(day); else again({ from: retro.iso(day), to: retro.iso(Math.min((next || retro.all.today + 1) - 1, retro.all.today)) }); };
    const body = series.length ? retro.stacked(days, series, format, describe, choose) : retro.empty("Nothing in this period.");
    if (body.stop) stops.push(body.stop);
    const custom = period.name === "custom" ? h("button", { class: "button chip", type: "button", onclick: () => again({ from: null, to: null }) }, `${period.since === -Infinity ? "…" : retro.fullDay(period.since)} – ${retro.fullDay(period.until)} ×`) : null;
    retro.clear(card,
      h("header", null, h("h2", null, `${name} by ${unit}`), custom,
        retro.select("Figure", Object.entries(METRICS).map(([key, one]) => [key, one[0]]), metric, (key) => redraw({ metric: key === "cost" ? null : key })),
        retro.segments("Stacked by", choices, by, (key) => redraw({ by: key === "host" ? null : key }))),
      h("div", { class: "body" }, body, series.length > 1 || by !== "host" ? retro.legend(series) : null));
  }

  function attention() {
    const list = retro.all.attention;
    return h("section", { class: "card", "aria-label": "Needs attention" }, h("header", null, h("h2", null, "Needs attention"), h("span", { class: "muted" }, list.length ? retro.count(list.length) : "")),
      list.length ? h("ul", { class: "attention", tabindex: "0" }, list.map((one) => h("li", { class: one.level }, h("span", { class: "dot", title: { red: "urgent", amber: "soon", info: "to know" }[one.level] }),
        h("div", null, h("p", null, one.link ? h("a", { href: one.link }, one.title) : one.title), h("p", { class: "muted" }, one.detail || "", one.command ? [" ", h("code", null, one.command)] : null)))))
        : h("p", { class: "empty" }, "Nothing. Every session is captured, and every byte of it accounted for."));
  }
})();
