"use strict";
// What sessions teach: signals, patterns, memory, and whether memory helps.
(function () {
  const { h } = retro;
  const waiting = (main, title, text, command) => {
    retro.clear(document.getElementById("tools"), retro.themeButton());
    retro.clear(main, h("h1", { class: "sr" }, title), retro.card(title, null, retro.empty(text, command)));
  };
  // A page whose data may not be there yet.
  const page = (name, title, text, command, draw) => (main, place) => {
    if (!retro.all.sections.includes(name)) { waiting(main, title, retro.all.strict ? "This dashboard was built without a word that stands in a session." : text, retro.all.strict ? "" : command); return null; }
    retro.clear(document.getElementById("tools"), retro.themeButton());
    let gone = false;
    retro.load(name).then((content) => { if (gone) return; retro.clear(main, h("h1", { class: "sr" }, title)); draw(main, content, place); })
      .catch(() => { if (!gone) waiting(main, title, "This file of the dashboard is missing. To build it again:", "retro dashboard build"); });
    return () => { gone = true; };
  };
  const refined = (key) => (value) => { retro.refine({ [key]: value || null }); retro.show(); };

  // --- signals: what stands out first, then how each is distributed ---
  const bare = (value, unit) => retro.reading(value, ["microdollars", "seconds", "ratio"].includes(unit) ? unit : "");
  retro.views.signals = page("signals", "Signals", "No readings yet. They are made by every sweep:", "retro sweep", (main, content, place) => {
    const one = place.path[1] && content.signals.find((signal) => signal.name === place.path[1]);
    if (place.path[1]) { main.append(one ? detail(one, content) : retro.empty("There is no such signal.")); return; }
    const group = place.query.get("group") || "";
    const groups = retro.groups(new Set(content.signals.map((signal) => signal.group)));
    const far = standOut(content.signals).slice(0, 8);
    const quiet = content.signals.filter((signal) => !retro.category(signal.name) && says(signal) === 0);
    const told = (key) => content.signals.filter((signal) => signal.group === key && !retro.category(signal.name) && says(signal) > 0);
    const heads = h("div", { class: "signal heads", "aria-hidden": "true" }, ["Signal", "Median", "Middle half", "Distribution", "By week"].map((text, at) => h("div", { class: at === 1 || at === 2 ? "num" : null }, text)));
    main.append(h("div", { class: "stack" },
      h("header", { class: "intro" }, h("p", { class: "muted" }, `What ${retro.many(content.of, "session")} were like.` + (content.newest < content.of ? ` Trends are of the newest ${retro.count(content.newest)}.` : "")), retro.segments("Group", [["", "All"], ...groups], group, refined("group"))),
      far.length && !group ? retro.card("Sessions that stand out", h("span", { class: "muted" }, "far above what is usual"), h("ul", { class: "lists" }, far.map(({ out, why }) => h("li", null, h("a", { class: "grow cut", href: retro.link(["session", out.host, out.id, "signals"]) }, retro.line(out.title || out.id, 120)),
        h("span", { class: "whys" }, why.slice(0, 3).map(([name, text]) => h("span", { class: "tag" }, `${name} `, h("b", null, text)))))))) : null,
      groups.filter(([key]) => !group || key === group).map(([key, name]) => [told(key).length ? retro.card(name, null, heads.cloneNode(true), told(key).map(line)) : null, key === "activity" ? steps(content) : null]),
      quiet.length && !group ? retro.card("Never seen", h("span", { class: "muted" }, "0, or no, in every session of which it is known"), h("p", { class: "quiet-list" }, quiet.map((one, at) => [at ? ", " : "", h("a", { href: retro.link(["signals", one.name]), title: retro.explained(one) }, retro.label(one.name))]))) : null));
  });
  // Whether a signal says anything: 0 where no session differs from nothing.
  const says = (one) => (one.quartiles ? Math.max(Math.abs(one.most), Math.abs(one.least)) : one.kind === "boolean" ? one.shares.yes || 0 : Object.keys(one.shares).length);
  // What the agents' steps were for: all categories in one table.
  function steps(content) {
    const shares = content.signals.filter((one) => (retro.category(one.name) || {}).kind === "ratio" && one.quartiles);
    const rows = shares.filter((one) => one.most > 0).sort((a, b) => b.mean - a.mean);
    if (!rows.length) return null;
    return retro.card("What the steps were for", h("span", { class: "muted" }, "share of a session's steps"), h("div", { class: "signal heads", "aria-hidden": "true" }, ["Kind of step", "Median", "Middle half", "Distribution", "By week"].map((text, at) => h("div", { class: at === 1 || at === 2 ? "num" : null }, text))), rows.map(line));
  }
  // Outliers of what matters, by session; token counts that say the same are said once.
  function standOut(signals) {
    const found = new Map();
    for (const one of signals.filter((signal) => ["outcome", "risk", "cost"].includes(signal.group) && !/_tokens$/.test(signal.name))) {
      for (const out of one.outliers) {
        const key = out.host + "/" + out.id;
        if (!found.has(key)) found.set(key, { out, why: [] });
        found.get(key).why.push([retro.label(one.name), bare(out.value, one.unit)]);
      }
    }
    return [...found.values()].sort((a, b) => b.why.length - a.why.length);
  }
  function figure(one) {
    if (one.quartiles) return [h("div", { class: "num" }, h("b", null, retro.reading(one.quartiles[1], one.unit))), h("div", { class: "num muted" }, one.quartiles[0] === one.quartiles[2] ? "" : `${bare(one.quartiles[0], one.unit)} – ${bare(one.quartiles[2], one.unit)}`)];
    const known = Object.values(one.shares).reduce((sum, count) => sum + count, 0);
    if (one.kind === "boolean") return [h("div", { class: "num" }, h("b", null, retro.percent((one.shares.yes || 0) / known)), " yes"), h("span")];
    const shown = Object.entries(one.shares).slice(0, 3);
    return [h("div", { class: "num" }, h("b", null, retro.percent(shown[0][1] / known)), ` ${retro.words(shown[0][0])}`), h("div", { class: "num muted" }, shown.slice(1).map(([value, count], at) => `${at ? ", " : ""}${retro.words(value)} ${retro.percent(count / known)}`))];
  }
  const line = (one) => h("div", { class: "signal" }, h("div", null, h("a", { class: "strong", href: retro.link(["signals", one.name]) }, retro.label(one.name).replace(", share of steps", "")), h("p", { class: "muted" }, retro.explained(one), one.missing ? ` · unknown in ${retro.count(one.missing)}` : "")),
    figure(one), one.bins.length > 1 ? bins(one, 30) : h("span"), one.trend.length > 1 ? retro.spark(one.trend.map(([, value]) => value), `${retro.label(one.name)} by week`) : h("span"));
  function bins(one, height) {
    const most = Math.max(...one.bins.map((bin) => bin[2]), 1);
    const wide = 240 / one.bins.length;
    return h("svg", { class: "bins", viewBox: `0 0 240 ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `Distribution of ${retro.label(one.name)}` },
      one.bins.map(([from, to, count], at) => h("rect", { x: (at * wide).toFixed(2), y: (height - 1 - (height - 2) * count / most).toFixed(2), width: Math.max(wide - 1.5, 1).toFixed(2), height: (count ? Math.max((height - 2) * count / most, 1) : 0).toFixed(2), fill: "currentColor" },
        h("title", null, `${bare(from, one.unit)} to ${bare(at === one.bins.length - 1 ? one.most : to, one.unit)}: ${retro.many(count, "session")}`))));
  }
  function detail(one, content) {
    const usual = Object.entries(content.usual).filter(([, ranges]) => ranges[one.name]).map(([project, ranges]) => [project || "(none)", ranges[one.name]]).sort((a, b) => b[1][1] - a[1][1]);
    const facts = [["Sessions with a value", retro.count(one.sessions - one.missing)], ["Unknown in", retro.count(one.missing)], ...(one.quartiles ? [["Median", retro.reading(one.quartiles[1], one.unit)], ["Middle half", `${bare(one.quartiles[0], one.unit)} – ${bare(one.quartiles[2], one.unit)}`], ["Mean", retro.reading(one.mean, one.unit)], ["Least", bare(one.least, one.unit)], ["Most", bare(one.most, one.unit)]] : [])];
    return h("div", { class: "stack" }, h("header", null, h("p", { class: "crumbs" }, h("a", { href: "#/signals" }, "Signals"), ` / ${retro.capital(one.group)}`), h("h1", null, retro.label(one.name)), h("p", { class: "muted" }, retro.explained(one), " ", h("code", null, one.name))),
      h("dl", { class: "kpis" }, facts.map(([label, value]) => h("div", { class: "kpi" }, h("dt", null, label), h("dd", null, value)))),
      h("div", { class: "columns broad" },
        one.bins.length > 1 ? retro.card("Distribution", null, h("div", { class: "tall-bins" }, bins(one, 120)), h("div", { class: "ends muted" }, h("span", null, bare(one.bins[0][0], one.unit)), h("span", null, `${bare(one.most, one.unit)}`))) : Object.keys(one.shares).length ? retro.card("Values", null, retro.bars(Object.entries(one.shares).slice(0, 12).map(([name, value]) => ({ name: retro.words(name), value })), retro.count)) : null,
        one.trend.length > 1 ? retro.card("By week", h("span", { class: "muted" }, one.kind === "boolean" ? "share of yes" : "median"), trend(one)) : null,
        one.outliers.length ? retro.card("Far above what is usual", null, h("ul", { class: "lists" }, one.outliers.map((out) => h("li", null, h("a", { class: "grow", href: retro.link(["session", out.host, out.id, "signals"]) }, retro.line(out.title || out.id, 90)), h("b", null, retro.reading(out.value, one.unit)))))) : null,
        usual.length ? retro.card("Usual by project", h("span", { class: "muted" }, "the middle half of its sessions"), retro.plain([["Project"], ["Lower", 1], ["Median", 1], ["Upper", 1]], usual.slice(0, 20).map(([project, range]) => [project, ...range.map((value) => bare(value, one.unit))]))) : null,
        Object.keys(one.reasons).length ? retro.card("Why it is unknown", content.newest < content.of ? h("span", { class: "muted" }, `in the newest ${retro.count(content.newest)}`) : null, retro.bars(Object.entries(one.reasons).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([name, value]) => ({ name: name || "nothing says so", value })), retro.count)) : null));
  }
  function trend(one) {
    const weeks = one.trend;
    const days = weeks.map(([day]) => day);
    return retro.stacked(days, [{ name: retro.label(one.name), values: weeks.map(([, value]) => value) }], (value) => bare(value, one.unit), `${retro.label(one.name)} by week`, null, { name: (day) => "week of " + retro.fullDay(day), tick: retro.shortDay });
  }

  // --- patterns ---
  const STATES = { new: "", confirmed: "good", ignored: "", resolved: "good" };
  const KINDS = { problem: "Problems", success: "Successes", correction: "Corrections" };
  retro.views.patterns = page("patterns", "Patterns", "No patterns yet. To look for what recurs:", "retro detect", (main, content, place) => {
    const kind = place.query.get("kind") || "";
    const host = place.query.get("host") || "";
    const wanted = place.query.get("pattern");
    const words = (place.query.get("q") || "").toLowerCase();
    const kinds = [...new Set(content.patterns.map((one) => one.kind))];
    const hosts = [...new Set(content.patterns.flatMap((one) => one.hosts))].sort();
    const list = h("div");
    const search = h("input", { class: "search", type: "search", placeholder: "Search", "aria-label": "Search patterns", value: place.query.get("q") || "", oninput: () => { retro.refine({ q: search.value }); draw(search.value.toLowerCase()); } });
    const draw = (text) => {
      const fits = (one) => (one.id === wanted || one.state !== "ignored") && (!kind || one.kind === kind) && (!host || (host === "several" ? one.hosts.length > 1 : one.hosts.includes(host))) && (!text || `${one.program} ${one.signature} ${one.example} ${one.resolution}`.toLowerCase().includes(text));
      const shown = content.patterns.filter(fits);
      shown.sort((a, b) => (b.id === wanted) - (a.id === wanted));
      retro.clear(list, shown.length ? shown.slice(0, 100).map((one) => pattern(one, one.id === wanted)) : retro.empty("None of this kind."), shown.length > 100 ? h("p", { class: "muted" }, `and ${retro.count(shown.length - 100)} more: `, h("code", null, "retro detect --all")) : null);
    };
    main.append(retro.card("What recurs", [search, hosts.length > 1 ? retro.select("Agent", [["", "Every agent"], ["several", "Several agents"], ...hosts.map((name) => [name, name])], host, refined("host")) : null,
      retro.segments("Kind", [["", "All"], ...kinds.map((name) => [name, KINDS[name] || name])], kind, refined("kind"))], list));
    draw(words);
  });
  function pattern(one, chosen) {
    const places = one.repositories.slice(0, 3).map((name) => name.split("/").slice(-2).join("/")).join(", ") + (one.repositories.length > 3 ? ` and ${one.repositories.length - 3} more` : "");
    const seen = one.first_seen && one.last_seen ? `${one.first_seen.slice(0, 10)} to ${one.last_seen.slice(0, 10)}` : "";
    return h("article", { class: "pattern" + (chosen ? " chosen" : "") }, h("div", { class: "mass" }, h("b", null, retro.count(one.sessions)), h("span", { class: "muted" }, one.sessions === 1 ? "session" : "sessions")),
      h("div", { class: "grow" },
        h("div", { class: "mono strong" }, one.program ? `${one.program}: ` : "", h("a", { href: retro.link(["patterns"], { pattern: one.id }) }, one.signature)),
        h("p", { class: "muted" }, h("span", { class: "tag " + (one.kind === "problem" ? "bad" : one.kind === "success" ? "good" : "") }, one.kind), " ", one.hosts.length > 1 ? [h("span", { class: "tag warn" }, "across agents"), " "] : null, one.state !== "new" ? [h("span", { class: "tag " + STATES[one.state] }, one.state), " "] : null,
          [one.hosts.join(", "), places, seen, one.occurrences > one.sessions ? retro.many(one.occurrences, "time") : ""].filter(Boolean).join(" · ")),
        one.example && !plain(one.signature).startsWith(plain(one.example)) ? h("pre", { tabindex: "0" }, retro.line(one.example.replace(/^<\w+>|<\/\w+>$/g, ""), 600)) : null,
        one.resolution ? h("p", null, h("span", { class: "tag good" }, "fixed by"), " ", h("b", null, one.resolution), h("span", { class: "muted" }, ` worked in ${one.worked} of ${one.tried} sessions that tried it`)) : one.kind === "problem" ? h("p", { class: "muted" }, "Nothing that reliably resolves it was seen.") : null,
        one.note ? h("p", null, one.note) : null,
        one.seen.length ? h("p", { class: "muted" }, "Seen in ", seenIn(one.seen.slice(0, chosen ? 40 : 5)), one.seen.length > 5 && !chosen ? h("a", { href: retro.link(["patterns"], { pattern: one.id }) }, ` and ${one.seen.length - 5} more`) : null) : null));
  }

  const plain = (text) => text.replace(/<[^>]*>|[\d.\s]+/g, "").toLowerCase();
  // Sessions by title; by id where another one is called the same.
  function seenIn(places) {
    const said = new Set();
    return places.map((where, at) => {
      const title = retro.line(where.title || "", 44);
      const name = title && !said.has(title) ? title : `${where.host} ${where.id.slice(0, 8)}`;
      said.add(title);
      return [at ? ", " : "", h("a", { href: retro.link(["session", where.host, where.id, "transcript"], { event: where.events[0] }) }, name)];
    });
  }

  // --- whether memory helps ---
  const VERDICTS = { helps: ["good", "It helps", "The interval of the primary endpoint leaves no room for no effect."], hurts: ["bad", "It hurts", "The interval of the primary endpoint leaves no room for no effect."], no_difference_shown: ["", "No difference is shown", "The interval holds no effect at all as well as what it ends at."], not_enough: ["warn", "Nothing is concluded yet", ""] };
  retro.views.measure = page("measure", "Measure", "No experiment was started: every session is handed its memories. To find out whether they help:", "retro measure start", (main, content) => {
    const told = content.result;
    const { plan } = told.experiment;
    const [kind, title, text] = VERDICTS[told.verdict];
    const left = [[told.going_on, "still go on"], [told.continued, "continue others and do not count"], [told.lost, "are not in the archive"]].filter(([count]) => count).map(([count, what]) => `${retro.count(count)} ${what}`).join("; ");
    const share = Math.min(told.counted / Math.max(told.needed, 1), 1);
    main.append(h("div", { class: "stack" },
      retro.card("The experiment as it stands", h("span", { class: "muted mono" }, plan.id),
        h("p", { class: "verdict" }, h("span", { class: "tag " + kind }, title), " ", text || `${retro.words(plan.endpoint)} is known of ${retro.count(told.counted)} sessions that are over, of ${retro.count(told.needed)} that are needed.`),
        h("div", { class: "progress" }, retro.meter(share), h("span", { class: "muted" }, `${retro.count(told.counted)} of ${retro.count(told.needed)} sessions`)),
        retro.pairs([["Begun", [retro.moment(told.experiment.started), told.experiment.stopped ? [", ended ", retro.moment(told.experiment.stopped)] : ", runs"]], ["By lot", `${retro.percent(plan.share)} of sessions get no memory`], ["Decided by", `${retro.words(plan.endpoint)}: ${(content.endpoints[plan.endpoint] || [""])[0]}`], ["Looked for", `a difference of ${(content.endpoints[plan.endpoint] || [])[1] ? retro.percent(plan.effect) : plan.effect} or more`], ["Drawn", retro.many(told.assigned, "session") + (left ? `; ${left}` : "")]])),
      told.assigned === 0 ? retro.empty("No session had a prompt yet that a memory spoke to.") : retro.card("Woven against withheld", h("span", { class: "muted" }, "differences with their 95 % intervals; only the first endpoint is concluded from"), compared(told.comparisons.map((one) => [one.endpoint, one]), content, "Endpoint")),
      parts("By repository", told.repositories, plan.endpoint, content), parts("By kind of memory", told.kinds, plan.endpoint, content),
      content.earlier.length ? retro.card("Earlier experiments", null, retro.plain([["Experiment"], ["Decided by"], ["Begun"], ["Ended"]], content.earlier.map(([id, endpoint, begun, ended]) => [h("span", { class: "mono" }, id), retro.words(endpoint), retro.moment(begun), ended ? retro.moment(ended) : ""]))) : null));
  });
  const parts = (title, found, endpoint, content) => (found.length > 1 ? retro.card(title, h("span", { class: "muted" }, "to be looked at, not to be concluded from"), compared(found.slice(0, 20).map((part) => [part.name || "(none)", part.comparisons.find((one) => one.endpoint === endpoint)]).filter(([, one]) => one), content, "Part")) : null);
  function compared(rows, content, first) {
    const most = Math.max(...rows.flatMap(([, one]) => [Math.abs(one.low || 0), Math.abs(one.high || 0)]), 1e-9);
    const mean = (group) => [group.mean === null ? "–" : group.mean < 100 ? group.mean.toFixed(2) : retro.count(Math.round(group.mean)), h("span", { class: "muted" }, ` of ${retro.count(group.known)}`)];
    const differs = (one, value) => ((content.endpoints[one.endpoint] || [])[1] ? (value >= 0 ? "+" : "−") + retro.percent(Math.abs(value)) : (value >= 0 ? "+" : "−") + Math.abs(value).toFixed(2));
    return retro.plain([[first], ["Woven", 1], ["Withheld", 1], ["Difference", 1], ["95 % interval", 1], ["", 0, "Interval"], ["Needed", 1]], rows.map(([name, one]) => [retro.words(name), mean(one.woven), mean(one.withheld),
      one.difference === null ? "–" : h("b", null, differs(one, one.difference)), one.low === null ? h("span", { class: "muted" }, "too few") : `${differs(one, one.low)} to ${differs(one, one.high)}`, one.low === null ? "" : interval(one.low, one.difference, one.high, most), retro.count(one.needed)]));
  }
  function interval(low, middle, high, most) {
    const x = (value) => (60 + 56 * value / most).toFixed(1);
    return h("svg", { class: "interval", viewBox: "0 0 120 12", "aria-hidden": "true" }, h("line", { class: "zero", x1: 60, x2: 60, y1: 0, y2: 12 }), h("line", { x1: x(low), x2: x(high), y1: 6, y2: 6 }), h("circle", { cx: x(middle), cy: 6, r: 3 }));
  }
})();
