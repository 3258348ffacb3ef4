"use strict";
// Sums over the overview's columns: what a period, a project and a host amount to.
(function () {
  const FIELDS = ["requests", "input", "cache_write_5m", "cache_write_1h", "cache_read", "output", "reasoning", "cost", "unpriced_requests", "unpriced_tokens", "lower_bound_requests"];
  const TOKENS = ["input", "cache_write_5m", "cache_write_1h", "cache_read", "output"];

  retro.PERIODS = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "Year"], ["all", "All"]];
  retro.period = (query) => {
    const all = retro.all;
    const from = retro.fromIso(query.get("from"));
    const to = retro.fromIso(query.get("to"));
    const filters = { project: query.get("project") || "", host: query.get("host") || "" };
    if (from !== null || to !== null) {
      const until = to === null ? all.today : to;
      const since = from === null ? -Infinity : from;
      return { name: "custom", since, until, before: from === null ? null : since - (until - since + 1), ...filters };
    }
    const asked = query.get("period");
    const chosen = retro.PERIODS.some(([key]) => key === asked) ? asked : retro.usual();
    const since = chosen === "all" ? -Infinity : all.today - Number(chosen) + 1;
    return { name: chosen, since, until: all.today, before: chosen === "all" ? null : since - Number(chosen), ...filters };
  };
  // A moment in seconds within the period, by the days of the dashboard's zone.
  retro.inPeriod = (period, seconds) => {
    if (seconds === null || seconds === undefined) return period.since === -Infinity;
    const at = seconds + retro.all.offset;
    return at >= period.since * 86400 && at < (period.until + 1) * 86400;
  };
  // What of where one is goes along to another page.
  retro.along = (more) => {
    const query = retro.place().query;
    return { ...Object.fromEntries(["period", "from", "to", "project", "host"].map((key) => [key, query.get(key)])), ...more };
  };
  // The shortest of the periods in which something happened.
  retro.usual = () => {
    const all = retro.all;
    const last = Math.max(...all.ended.day, ...all.activity.day, -1);
    for (const days of [30, 90, 365]) if (last > all.today - days) return String(days);
    return "all";
  };

  const at = (names, text) => (text ? names.indexOf(text) : null);
  function matcher(table, period) {
    const project = at(retro.all.projects, period.project);
    const host = at(retro.all.hosts, period.host);
    return (row) => (project === null || table.project[row] === project) && (host === null || table.host[row] === host);
  }
  const within = (day, since, until) => (day < 0 ? since === -Infinity : day >= since && day <= until);

  // One sum over the rows of a table that a period and its filters choose.
  retro.sum = (table, period, value, since = period.since, until = period.until) => {
    const fits = matcher(table, period);
    let total = 0;
    for (let row = 0; row < table.day.length; row++) if (within(table.day[row], since, until) && fits(row)) total += value(row);
    return total;
  };
  retro.tokens = (row) => TOKENS.reduce((sum, name) => sum + retro.all.days[name][row], 0);

  // Days from the first to the last that a chart shows, without holes.
  retro.span = (period) => {
    const all = retro.all;
    let first = period.since;
    if (first === -Infinity || period.until - first > 40000) first = Math.min(...[...all.days.day, ...all.activity.day, ...all.ended.day].filter((day) => day >= 0), all.today);
    const days = [];
    for (let day = first; day <= period.until; day++) days.push(day);
    return days;
  };

  retro.byDay = (table, period, value, days) => {
    const fits = matcher(table, period);
    const sums = new Map();
    for (let row = 0; row < table.day.length; row++) if (fits(row)) sums.set(table.day[row], (sums.get(table.day[row]) || 0) + value(row));
    return days ? days.map((day) => sums.get(day) || 0) : sums;
  };

  // An agent's colour is that of its place among all agents, by how many sessions they have.
  retro.agentColor = (host) => Math.max(retro.all.kept.findIndex((one) => one.host === retro.all.hosts[host]), 0) % 6;

  // Series for a stacked chart: the largest six by name, the rest together.
  retro.series = (table, period, value, days, by) => {
    const names = { host: retro.all.hosts, project: retro.all.projects, model: retro.all.models }[by];
    const column = table[by] || table.host;
    const fits = matcher(table, period);
    const place = new Map(days.map((day, index) => [day, index]));
    const found = new Map();
    for (let row = 0; row < table.day.length; row++) {
      const index = place.get(table.day[row]);
      if (index === undefined || !fits(row)) continue;
      const amount = value(row);
      if (!amount) continue;
      const key = column[row];
      if (!found.has(key)) found.set(key, { name: key < 0 ? "(none)" : names[key], values: days.map(() => 0), total: 0, color: by === "host" ? retro.agentColor(key) : undefined });
      const one = found.get(key);
      one.values[index] += amount;
      one.total += amount;
    }
    const sorted = [...found.values()].sort((a, b) => b.total - a.total);
    if (sorted.length <= 7) return sorted;
    const rest = { name: `${sorted.length - 6} more`, values: days.map(() => 0), total: 0, color: 6 };
    for (const one of sorted.slice(6)) { rest.total += one.total; one.values.forEach((amount, index) => { rest.values[index] += amount; }); }
    return [...sorted.slice(0, 6), rest];
  };

  // All figures of the ledger, grouped by a column or by a function of the day.
  retro.grouped = (period, name) => {
    const table = retro.all.days;
    const fits = matcher(table, period);
    const found = new Map();
    for (let row = 0; row < table.day.length; row++) {
      if (!within(table.day[row], period.since, period.until) || !fits(row)) continue;
      const key = name(row);
      if (!found.has(key)) found.set(key, Object.fromEntries(FIELDS.map((field) => [field, 0])));
      const one = found.get(key);
      for (const field of FIELDS) one[field] += table[field][row];
    }
    return found;
  };

  // --- sessions, which come in portions ---
  retro.rows = { ready: false, columns: null };
  retro.firstRows = () => {
    retro.rows = { ready: !retro.all.chunks.length, columns: retro.all.sessions };
    return retro.rows.columns;
  };
  retro.allRows = async () => {
    if (retro.rows.ready) return retro.rows.columns;
    const portions = await Promise.all(retro.all.chunks.map((name) => retro.load(name)));
    if (retro.rows.ready) return retro.rows.columns;
    const joined = {};
    for (const name of Object.keys(retro.all.sessions)) joined[name] = [retro.all.sessions, ...portions].flatMap((portion) => portion[name]);
    retro.rows = { ready: true, columns: joined };
    return joined;
  };

  // --- one session, which stands in two files with its neighbours: what it is, and what was said ---
  const PHASES = ["looking", "changing", "checking"];
  const STEPS = ["at", "line", "turn", "begun"];

  // Rows of a table by column: a column may be one value for all rows, or hold each value as a step from the one before.
  function rowsOf(table, first, names) {
    const rows = table[first] || [];
    const columns = names.map((name) => {
      const column = table[name] || 0;
      const values = Array.isArray(column) ? column : rows.map(() => column);
      let sum = 0;
      return STEPS.includes(name) ? values.map((step) => (sum += step)) : values;
    });
    return rows.map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at][row]])));
  }
  const TURN = ["event", "turn", "begun", "took", "actions", "edits", "errors", "tokens"];
  const REQUEST = ["at", "model", "input", "cache_write_5m", "cache_write_1h", "cache_read", "output", "cost", "source", "line", "turn", "agent", "note"];
  const PHASE = ["event", "kind", "begun", "took", "steps", "failed"];

  retro.session = async (host, id) => {
    const [bundle, file] = await place(host, id);
    // Where pages are served, nothing but this session is made.
    const [content, talk] = await Promise.all(["session", "talk"].map((kind) => retro.load(`${kind}/${bundle}` + (location.protocol.startsWith("http") ? `/${host}/${file}` : ""))));
    const at = content.names.indexOf(`${host}/${file}`);
    if (at < 0) throw new Error(id);
    const said = talk.said[at] || [[], []];
    const [of, values, confidence, reasons, evidence] = content.readings[at] || [-1, []];
    return {
      ...content.pages[at],
      turns: rowsOf(content.turns[at], "event", TURN).map((turn, place) => ({ ...turn, prompt: said[0][place], answer: said[1][place] })),
      requests: rowsOf(content.requests[at], "at", REQUEST),
      texts: content.requests[at].names || [""],
      readings: values.map((value, place) => ({ name: content.signals[of][place], value, confidence: confidence[place], reason: reasons[place], evidence: evidence[place] })),
      phases: rowsOf(content.phases[at], "event", PHASE).map((phase) => ({ ...phase, kind: PHASES[phase.kind] })),
    };
  };
  // In which bundle a session stands, and what it is called there; the newest are at hand.
  async function place(host, id) {
    const find = (columns) => {
      const row = columns.id.findIndex((one, at) => one === id && retro.all.hosts[columns.host[at]] === host);
      return row < 0 ? null : [columns.bundle[row], columns.file[row] || id];
    };
    const found = find(retro.all.sessions) || find(await retro.allRows());
    if (!found) throw new Error(id);
    return found;
  }
})();
