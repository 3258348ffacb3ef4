"use strict";
// One session: summary, transcript, receipt, signals, memory.
(function () {
  const { h } = retro;
  const TABS = [["", "Summary"], ["transcript", "Transcript"], ["models", "Models"], ["signals", "Signals"], ["memory", "Memory"]];

  retro.views.session = (main, place) => {
    const [, host, id, tab = ""] = place.path;
    retro.clear(document.getElementById("tools"), retro.themeButton());
    retro.clear(main, h("p", { class: "empty", role: "status" }, "Loading …"));
    let stop = null;
    let gone = false;
    const stopped = () => { gone = true; if (stop) stop(); };
    retro.session(host, id).then((page) => {
      if (gone) return;
      const here = (path) => ["session", host, id, ...(path ? [path] : [])];
      const current = TABS.some(([key]) => key === tab) ? tab : "";
      const body = h("div", { role: "tabpanel", "aria-label": TABS.find(([key]) => key === current)[1] });
      retro.clear(main, head(page), h("div", { class: "tabs", role: "tablist", "aria-label": "Views of this session" },
        TABS.map(([key, label]) => h("a", { role: "tab", href: retro.link(here(key)), "aria-selected": String(key === current) }, label))), body);
      document.title = `${page.title || id} · retro`;
      const view = { "": summary, transcript: retro.transcript, models, signals, memory }[current];
      stop = view(body, page, place, here) || null;
    }).catch(() => retro.clear(main, h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Overview")), retro.empty("This session is not in the dashboard. It may have been forgotten, or captured since: build it again with", "retro dashboard build")));
    return stopped;
  };

  function head(page) {
    const took = retro.seconds(page.ended) - retro.seconds(page.started);
    const facts = [
      `${page.host} ${page.versions[page.versions.length - 1] || ""}`.trim(),
      page.project ? h("a", { href: retro.link([], { project: page.project, period: "all" }) }, page.repository || page.project) : null,
      page.branch ? `branch ${page.branch}` : null,
      page.models.join(", ") || null,
      page.started ? [retro.moment(page.started), took > 0 ? ` · ${retro.duration(took)}` : ""] : null,
      page.parent ? h("a", { href: retro.link(["session", page.host, page.parent]) }, "its parent") : null,
    ].filter(Boolean);
    return h("header", null, h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Overview"), " / ", h("span", { class: "mono" }, page.id)),
      h("h1", null, page.title || "(untitled)"), h("div", { class: "facts" }, facts.map((fact) => h("span", null, fact))));
  }

  function summary(body, page, place, here) {
    const cost = page.amounts.reduce((sum, one) => sum + one.cost, 0);
    const tokens = page.amounts.reduce((sum, one) => sum + one.input + one.cache_write_5m + one.cache_write_1h + one.cache_read + one.output, 0);
    const unpriced = page.amounts.reduce((sum, one) => sum + one.unpriced_requests, 0);
    const kept = page.accounting;
    const gaps = kept.unknown + kept.malformed;
    const figures = [
      ["Turns", retro.count(page.counts.turns)], ["Commands", retro.count(page.counts.commands)], ["Edits", retro.count(page.counts.edits)],
      ["Errors", retro.count(page.counts.errors)], ["Tokens", retro.short(tokens)], ["Cost", retro.money(cost) + (unpriced ? "+" : "")],
    ];
    const capture = [
      ["Captured", [retro.moment(page.captured), `, ${retro.bytes(kept.size)} in ${retro.bytes(page.archive_bytes)}`]],
      ["Accounted", gaps ? `${retro.bytes(gaps)} not understood, kept whole` : "every byte is a record that retro knows"],
      page.given_up ? ["Given up", page.given_up === "raw" ? "raw bytes, to stay within the budget" : "events, to stay within the budget"] : null,
      page.pinned ? ["Pinned", "never given up"] : null,
      page.cwd ? ["Folder", h("span", { class: "mono" }, page.cwd)] : null,
    ].filter(Boolean);
    const digest = page.digest ? digestCards(page, here) : [];
    retro.clear(body, h("div", { class: "stack" },
      h("dl", { class: "kpis" }, figures.map(([name, value]) => h("div", { class: "kpi" }, h("dt", null, name), h("dd", null, value)))),
      digest,
      timeline(page, here),
      page.turns.length ? retro.card("Turns", null, h("ol", { class: "turns" }, page.turns.map((turn) => turnLine(turn, here))), page.turns_left_out ? h("p", { class: "muted" }, `and ${retro.count(page.turns_left_out)} more in the transcript`) : null) : retro.empty("No turns: nobody typed a prompt in this session, or its words are left out."),
      h("div", { class: "columns" },
        retro.card("Capture", null, pairs(capture)),
        page.children.length ? retro.card("Sessions that came of it", null, h("ul", { class: "turns" }, page.children.map(([id, title]) => h("li", null, h("span"), h("a", { href: retro.link(["session", page.host, id]) }, title || id))))) : null)));
  }

  // What the digest says: aim and result, how it went and why, what was done, what went wrong.
  function digestCards(page, here) {
    const digest = page.digest;
    const said = digest.outcome;
    const told = [["Aim", digest.goal], ["Result", digest.result]].filter(([, text]) => text).map(([name, text]) => [name, retro.prose(text)]);
    if (said) told.push(["Outcome", [said.said === "success" ? h("span", { class: "tag good" }, "success") : said.said === "failure" ? h("span", { class: "tag bad" }, "failure") : h("span", { class: "tag" }, "unknown"),
      said.probability !== undefined && said.probability !== null ? ` ${Math.round(said.probability * 100)} % chance of success` : "", said.reasons && said.reasons.length ? h("ul", null, said.reasons.map((reason) => h("li", null, reason))) : null]]);
    const tests = digest.tests;
    if (tests) told.push(["Tests", `${retro.many(tests.runs, "run")}, ${retro.count(tests.failed || 0)} failed` + (tests.ended_well === true ? ", the last one went well" : tests.ended_well === false ? ", the last one failed" : "")]);
    if (digest.commits) told.push(["Commits", h("ul", null, digest.commits.map((text) => h("li", null, text)))]);
    const list = (title, rows, tools) => (rows && rows.length ? retro.card(title, tools || null, h("ul", { class: "lists" }, rows)) : null);
    return [
      told.length ? retro.card("Digest", null, pairs(told)) : null,
      h("div", { class: "flow" },
        list("Changed", (digest.files || []).map(([path, edits]) => h("li", null, page.parts ? h("a", { class: "mono grow", href: retro.link(here("transcript"), { show: "changes", file: path }) }, path) : h("span", { class: "mono grow" }, path), h("span", { class: "muted" }, edits > 1 ? `${edits}×` : ""))), page.parts ? h("a", { href: retro.link(here("transcript"), { show: "changes" }) }, "What changed, line by line") : null),
        list("Commands that mattered", (digest.commands || []).map(([command, kind, runs, failed]) => h("li", null, h("span", { class: "mono grow" }, command), h("span", { class: "muted" }, kind + (runs > 1 ? ` ${runs}×` : "")), failed ? h("span", { class: "tag bad" }, `${failed} failed`) : null))),
        list("What went wrong", (digest.problems || []).map(([signature, where, times, resolved]) => h("li", { class: "tall" }, h("div", { class: "grow" }, h("div", { class: "mono" }, signature), h("div", { class: "muted" }, [page.cwd ? where.replace(page.cwd + "/", "") : where, times > 1 ? ` ${times}×` : "", resolved === null || resolved === undefined ? " · not seen to be resolved" : resolved.length ? ` · resolved by ${resolved.join(", ")}` : " · went right the next time"]))))),
        list("Corrected by the person", (digest.corrections || []).map(([turn, text]) => h("li", { class: "tall" }, h("span", { class: "muted" }, String(turn)), h("span", { class: "grow" }, text))))),
    ];
  }

  const pairs = (rows) => h("dl", { class: "pairs" }, rows.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
  retro.pairs = pairs;

  // An answer in two lines, without its markup.
  const gist = (text) => retro.line(text.replace(/```[^]*?(```|$)/g, " ").replace(/^\s*#+\s*|\*\*|^\s*\|.*$|`/gm, ""), 300);
  function turnLine(turn, here) {
    const did = [turn.actions ? retro.many(turn.actions, "tool") : null, turn.edits ? retro.many(turn.edits, "edit") : null, turn.tokens ? retro.short(turn.tokens) + " tokens" : null].filter(Boolean);
    const took = turn.took;
    return h("li", null, h("a", { href: retro.link(here("transcript"), { event: turn.event }), class: "muted", "aria-label": `Turn ${turn.turn} in the transcript` }, String(turn.turn)),
      h("div", null, h("div", { class: "said" }, retro.line(turn.prompt, 400) || "(no text)"), turn.answer ? h("div", { class: "said answer" }, gist(turn.answer)) : null),
      h("div", { class: "did" }, h("div", null, did.join(", ")), turn.errors ? h("div", { class: "bad" }, retro.many(turn.errors, "error")) : null, h("div", null, took > 0 ? retro.duration(took) : "")));
  }

  // What was done when: phases where the track has them, else turns. Long pauses are drawn short.
  function timeline(page, here) {
    if (page.phases.length > 1) return phases(page, here);
    const turns = page.turns.filter((turn) => turn.begun >= 0 && turn.took >= 0);
    if (turns.length < 2) return null;
    const most = Math.max(...turns.map((turn) => turn.actions), 1);
    const spans = shortened(turns.map((turn) => [turn.begun, turn.begun + turn.took]));
    return retro.card("Timeline", h("span", { class: "muted" }, "turns: width is time, height is tool calls"), lane(spans.map(([x, width], at) => {
      const turn = turns[at];
      return [x, width, 6 + 38 * turn.actions / most, turn.errors ? "failed" : "changing", turn.event, `Turn ${turn.turn}: ${retro.line(turn.prompt, 80)} (${retro.many(turn.actions, "tool call")}, ${retro.many(turn.errors, "error")})`];
    }), here));
  }
  function phases(page, here) {
    const most = Math.max(...page.phases.map((phase) => phase.steps));
    const spans = shortened(page.phases.map((phase) => [phase.begun, phase.begun < 0 ? -1 : phase.begun + phase.took]));
    const key = ["looking", "changing", "checking"].filter((kind) => page.phases.some((phase) => phase.kind === kind));
    return retro.card("Timeline", h("ul", { class: "legend" }, key.map((kind) => h("li", null, h("i", { class: kind }), kind)), page.phases.some((phase) => phase.failed) ? h("li", null, h("i", { class: "failed" }), "with a failure") : null), lane(spans.map(([x, width], at) => {
      const { kind, begun, took, steps, failed, event } = page.phases[at];
      return [x, width, 12 + 32 * Math.sqrt(steps / most), kind, event, `${retro.capital(kind)}: ${retro.many(steps, "step")}${failed ? `, ${retro.count(failed)} failed` : ""}, ${begun >= 0 ? retro.duration(took) : "no time"}`, failed];
    }), here));
  }
  function shortened(spans) {
    const found = [];
    let at = 0;
    let last = null;
    for (const [begun, ended] of spans) {
      if (last !== null && begun >= 0) at += Math.min(Math.max(begun - last, 0), 300);
      const long = Math.max(begun >= 0 ? ended - begun : 0, 8);
      found.push([at, long]);
      at += long;
      if (begun >= 0) last = Math.max(ended, begun);
    }
    return found.map(([begun, long]) => [begun / at * 1000, Math.max(long / at * 1000 - 1.5, 2)]);
  }
  const lane = (parts, here) => h("svg", { class: "timeline", viewBox: "0 0 1000 48", preserveAspectRatio: "none", role: "group", "aria-label": "Timeline" },
    parts.map(([x, width, height, kind, event, title, failed]) => h("a", { href: retro.link(here("transcript"), { event }), "aria-label": title },
      h("rect", { class: kind, x: x.toFixed(1), y: (44 - height).toFixed(1), width: width.toFixed(1), height: height.toFixed(1) }, h("title", null, title)),
      failed ? h("rect", { class: "failed", x: x.toFixed(1), y: 45, width: width.toFixed(1), height: 3 }) : null)));

  function models(body, page, place, here) {
    if (!page.amounts.length) { retro.clear(body, retro.empty("This agent wrote no tokens into this session.")); return; }
    const columns = [["Model"], ["Requests", 1], ["Input", 1], ["Cache write 5 min", 1, "", 1], ["Cache write 1 h", 1, "", 1], ["Cache read", 1], ["Output", 1], ["Total", 1], ["Cost", 1]];
    const total = (one) => one.input + one.cache_write_5m + one.cache_write_1h + one.cache_read + one.output;
    const add = (value) => page.amounts.reduce((sum, one) => sum + value(one), 0);
    const line = (name, get, cost) => [name, retro.count(get((o) => o.requests)), ...["input", "cache_write_5m", "cache_write_1h", "cache_read", "output"].map((key) => retro.count(get((o) => o[key]))), retro.count(get(total)), cost];
    const rows = page.amounts.map((one) => line(one.model, (value) => value(one), one.unpriced_requests === one.requests ? h("span", { class: "tag warn" }, "unpriced") : retro.exactMoney(one.cost)));
    const lower = add((one) => one.lower_bound_requests);
    const cached = add((one) => one.cache_read);
    const given = cached + add((one) => one.input + one.cache_write_5m + one.cache_write_1h);
    retro.clear(body, h("div", { class: "stack" },
      retro.card("By model", given ? h("span", { class: "muted" }, `${retro.percent(cached / given)} of what the models read came from their caches`) : null,
        retro.plain(columns, rows, page.amounts.length > 1 ? line("Together", add, retro.exactMoney(add((one) => one.cost))) : null),
        lower ? h("p", { class: "muted" }, `${retro.many(lower, "request")} logged only the beginning of the answer: output and cost are lower bounds.`) : null),
      page.requests.length ? requests(page, here) : null));
  }

  // Each request, a hundred at a time.
  function requests(page, here) {
    const table = page.requests;
    const count = table.length;
    const name = (column, one) => page.texts[one[column]];
    const columns = [["#", 1], ["When"], ["Model"], ["Input", 1], ["Cache write", 1], ["Cache read", 1], ["Output", 1], ["Cost", 1], ["Turn", 1], ["Line"]];
    const line = (one, row) => [
      String(row + 1), one.at >= 0 ? h("time", { title: retro.utc(one.at) }, retro.dated(one.at)) : "no time",
      [name("model", one), one.agent ? [" ", h("span", { class: "tag" }, "sub-agent")] : null, one.note ? [" ", h("span", { class: "tag warn" }, name("note", one).replaceAll("_", " "))] : null],
      retro.count(one.input), retro.count(one.cache_write_5m + one.cache_write_1h), retro.count(one.cache_read), retro.count(one.output), retro.exactMoney(one.cost),
      one.turn ? String(one.turn) : "", h("span", { class: "mono muted" }, `${name("source", one)}:${one.line}`)];
    const box = h("div");
    const draw = (most) => retro.clear(box, retro.plain(columns, table.slice(0, most).map(line)),
      most < count ? h("p", { class: "more" }, h("button", { class: "button", type: "button", onclick: () => draw(most + 500) }, `Show more of ${retro.count(count)}`)) : null,
      page.requests_left_out && most >= count ? h("p", { class: "muted" }, `and ${retro.count(page.requests_left_out)} more: `, h("code", null, `retro cost why ${page.id}`)) : null);
    draw(100);
    return retro.card("Each request", h("span", { class: "muted" }, "of every copy the one that counts, with its line in the agent's file"), box);
  }

  function signals(body, page, place, here) {
    if (!page.readings.length) { retro.clear(body, retro.empty("No readings yet:", `retro signal run --session-id ${page.id}`)); return; }
    const draw = (told) => {
      const about = new Map(told.signals.map((one) => [one.name, one]));
      const usual = told.usual[page.project || ""] || {};
      const readings = page.readings.map((one) => ({ ...one, group: "", kind: "categorical", unit: "", description: "", ...pick(about.get(one.name)) }));
      readings.sort((a, b) => order(about, a) - order(about, b));
      const known = readings.filter((one) => one.value !== null);
      const missing = readings.filter((one) => one.value === null);
      const say = (one) => (one.kind === "boolean" ? (one.value ? "yes" : "no") : typeof one.value === "number" ? retro.reading(one.value, one.unit) : String(one.value).replaceAll("_", " "));
      const side = (one) => { const range = usual[one.name]; return !range || typeof one.value !== "number" ? 0 : one.value > range[2] ? 1 : one.value < range[0] ? -1 : 0; };
      const row = (one) => [h("span", { title: retro.explained(one) }, retro.label(one.name)), say(one), span(usual[one.name], one, side(one)),
        (one.evidence || []).slice(0, 6).map((event, at) => [at ? " " : "", h("a", { class: "ref", href: retro.link(here("transcript"), { event }), "aria-label": `Evidence ${at + 1} of ${retro.label(one.name)}` }, String(at + 1))])];
      const columns = [["Signal"], ["Value", 1], ["Usual here"], ["Evidence"]];
      const odd = known.filter((one) => far(one, usual[one.name]) > 1.5).sort((a, b) => far(b, usual[b.name]) - far(a, usual[a.name])).slice(0, 8);
      const groups = retro.groups(new Set(known.map((one) => one.group)));
      const nothing = (one) => one.value === 0 && !side(one);
      const shown = (group) => known.filter((one) => one.group === group && !nothing(one) && !retro.category(one.name));
      const quiet = known.filter((one) => nothing(one) && !retro.category(one.name));
      const shares = known.filter((one) => (retro.category(one.name) || {}).kind === "ratio" && one.value > 0).sort((a, b) => b.value - a.value);
      const count = (one) => known.find((other) => other.name === one.name.replace("ratio", "count"));
      retro.clear(body, h("div", { class: "stack" },
        odd.length ? retro.card("Unusual here", h("span", { class: "muted" }, "furthest from the middle half of this project's sessions"), retro.plain(columns, odd.map(row))) : null,
        h("div", { class: "flow broad" }, groups.map(([group, name]) => (shown(group).length ? retro.card(name, null, retro.plain(columns, shown(group).map(row))) : null)),
          shares.length ? retro.card("What the steps were for", null, retro.plain([["Kind of step"], ["Steps", 1], ["Share", 1], ["Usual here"], ["Evidence"]], shares.map((one) => { const [, value, range] = row(one); const steps = count(one); return [h("span", { title: retro.explained(one) }, retro.label(one.name).replace(", share of steps", "")), steps ? retro.count(steps.value) : "", value, range, steps ? row(steps)[3] : ""]; }))) : null,
          quiet.length ? retro.card("Nothing of", null, h("p", { class: "quiet-list" }, quiet.map((one, at) => [at ? ", " : "", h("span", { title: retro.explained(one) }, retro.label(one.name))]))) : null,
          missing.length ? retro.card("Not known", null, h("ul", { class: "lists" }, missing.map((one) => h("li", null, h("span", null, retro.label(one.name)), h("span", { class: "muted grow" }, one.reason || ""))))) : null)));
    };
    const none = { signals: [], usual: {} };
    if (retro.all.sections.includes("signals")) retro.load("signals").then((told) => { if (body.isConnected) draw(told); }).catch(() => draw(none));
    else draw(none);
  }
  const pick = (about) => (about ? { group: about.group, kind: about.kind, unit: about.unit, description: about.description } : {});
  const order = (about, one) => { const at = [...about.keys()].indexOf(one.name); return at < 0 ? about.size : at; };

  // How far a value lies outside of the middle half, in its widths.
  function far(one, range) {
    if (!range || typeof one.value !== "number" || range[2] <= range[0]) return 0;
    return Math.max(one.value - range[2], range[0] - one.value) / (range[2] - range[0]);
  }

  // Where a value lies beside the middle half of what is usual.
  function span(range, one, side) {
    if (!range || typeof one.value !== "number") return "";
    const bare = (value) => retro.reading(value, ["microdollars", "seconds", "ratio"].includes(one.unit) ? one.unit : "");
    const low = Math.min(range[0], one.value);
    const high = Math.max(range[2], one.value);
    const at = (value) => (high > low ? 4 + 92 * (value - low) / (high - low) : 50);
    const text = `${bare(range[0])} – ${bare(range[2])}`;
    return h("span", { class: "range" + (side ? " odd" : "") }, h("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      h("rect", { class: "track", x: at(range[0]).toFixed(1), y: 3, width: Math.max(at(range[2]) - at(range[0]), 2).toFixed(1), height: 4 }), h("rect", { class: "mark", x: (at(one.value) - 1.5).toFixed(1), y: 0, width: 3, height: 10 })),
      h("span", { class: "muted" }, text), side ? h("span", { class: "sr" }, side > 0 ? ", this one is above" : ", this one is below") : null);
  }

  function memory(body, page, place, here) {
    const had = page.memory;
    if (!had) { retro.clear(body, retro.empty("Nothing was mined from this session, and nothing was handed to it. To mine it:", `retro mine ${page.host} ${page.id}`)); return; }
    const uses = (one) => (one.uses ? `${one.wins || 0} of ${retro.many(one.uses, "use")} went well` : "not used yet");
    const said = (one, end) => h("li", { class: "tall" }, h("div", { class: "grow" }, h("div", null, h("a", { href: retro.link(["memory"], { memory: one.id }) }, one.text)), h("div", { class: "muted" }, [retro.words(one.kind), " · ", uses(one), end || null])), retro.status(one.status));
    const why = (one) => ((one.events || []).length ? [" · from ", one.events.map((event, at) => [at ? " " : "", h("a", { class: "ref", href: retro.link(here("transcript"), { event }), "aria-label": `Evidence ${at + 1}` }, String(at + 1))])] : null);
    const reward = (handed, one) => { const value = (handed.rewards || {})[one.id]; return value === undefined ? null : [" · ", h("span", { class: value >= 0.5 ? "good" : "bad" }, `credited ${value.toFixed(2)}`)]; };
    retro.clear(body, h("div", { class: "stack" },
      retro.card("Handed to this session", had.handed.length ? h("span", { class: "muted" }, retro.many(had.handed.length, "time")) : null, had.handed.length
        ? had.handed.map((handed) => h("div", { class: "handed" }, h("p", { class: "muted" }, retro.moment(handed.at), handed.note ? ` · ${handed.note}` : ""), h("ul", { class: "lists" }, handed.memories.map((one) => said(one, reward(handed, one))))))
        : retro.empty("No memory was handed to it.")),
      retro.card("Learnt from this session", had.mined.length ? h("span", { class: "muted" }, retro.count(had.mined.length)) : null, had.mined.length ? h("ul", { class: "lists" }, had.mined.map((one) => said(one, why(one)))) : retro.empty("Nothing was mined from it."))));
  }
})();
