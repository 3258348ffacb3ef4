"use strict";
// What is remembered: by kind, scope and status, what proved useful, what happened to it, how it hangs together.
(function () {
  const { h } = retro;
  const STEPS = [["added", "learnt"], ["accepted", "accepted"], ["edited", "edited"], ["woven", "handed out"], ["withheld", "withheld"], ["credited", "credited"], ["rejected", "rejected"], ["archived", "put away"], ["restored", "restored"], ["forgotten", "forgotten"]];
  const LEVELS = { repository: "one repository", user: "you", global: "everywhere" };
  const base = (path) => path.replace(/\/+$/, "").split("/").pop();

  retro.views.memory = (main, place) => {
    const waiting = (text, command) => retro.clear(main, h("h1", { class: "sr" }, "Memory"), retro.card("Memory", null, retro.empty(text, command)));
    retro.clear(document.getElementById("tools"), retro.themeButton());
    if (!retro.all.sections.includes("memory")) { waiting(retro.all.strict ? "This dashboard was built without a word that stands in a session." : "Nothing is remembered yet. To learn from all sessions:", retro.all.strict ? "" : "retro memory init"); return null; }
    let gone = false;
    retro.load("memory").then((content) => {
      if (gone) return;
      const byId = new Map(content.memories.map((one) => [one.id, one]));
      for (const one of content.memories) fill(one);
      const wanted = byId.get(place.query.get("memory"));
      retro.clear(main, h("h1", { class: "sr" }, "Memory"), h("div", { class: "stack" }, figures(content), wanted ? retro.card("One memory", h("a", { href: "#/memory" }, "All memories"), memory(wanted, true), neighbours(content, byId, wanted)) : null,
        happenings(content, byId), list(content, place)));
    }).catch(() => { if (!gone) waiting("This file of the dashboard is missing. To build it again:", "retro dashboard build"); });
    return () => { gone = true; };
  };
  function fill(one) {
    const defaults = { when: "", unless: "", title: "", scope: "", origin: "mined", method: "", confidence: 0, priority: 0, risk: "low", q: 0.5, uses: 0, wins: 0, low: 0, high: 1, shown: 0, steps: [], findings: [], stale: "", note: "", last: "", sessions: [], evidence: [] };
    for (const [name, value] of Object.entries(defaults)) if (one[name] === undefined) one[name] = value;
  }

  function figures(content) {
    const of = (status) => content.statuses[status] || 0;
    const link = (status, text) => h("a", { href: retro.link(["memory"], { status }) }, text);
    const used = content.memories.filter((one) => one.uses);
    const rows = [["Memories", retro.count(content.total)], ["Accepted", link("accepted", retro.count(of("accepted")))], ["Candidates", link("candidate", retro.count(of("candidate")))], ["Need review", link("needs_review", retro.count(of("needs_review")))], ["Put away or rejected", retro.count(of("archived") + of("rejected"))], ["Uses that went well", used.length ? `${retro.count(used.reduce((sum, one) => sum + one.wins, 0))} of ${retro.count(used.reduce((sum, one) => sum + one.uses, 0))}` : "–"]];
    return h("dl", { class: "kpis" }, rows.map(([label, value]) => h("div", { class: "kpi" }, h("dt", null, label), h("dd", null, value))));
  }

  function happenings(content, byId) {
    if (content.happened.day.length || content.links.length || content.weaves.length) return h("div", { class: "columns broad" }, lifecycle(content), useful(content), graph(content, byId), handed(content, byId));
    return retro.card("Not used yet", null, h("p", { class: "muted" }, "They were mined, and nothing has happened to them since. Agents ask for them by themselves once ", h("code", null, "retro hooks install"), " has been run; ", h("code", null, "retro memory accept ID"), " keeps one for good."));
  }

  // What happened to memories: how many at each step, and when.
  function lifecycle(content) {
    const sums = new Map();
    for (let row = 0; row < content.happened.day.length; row++) sums.set(content.happened.what[row], (sums.get(content.happened.what[row]) || 0) + content.happened.memories[row]);
    const steps = STEPS.filter(([what]) => sums.get(what));
    if (!steps.length) return retro.card("Lifecycle", null, h("p", { class: "muted" }, "They were mined, and nothing has happened to them since: none was accepted, handed out or rejected."));
    const days = [...new Set(content.happened.day)].sort((a, b) => a - b);
    const span = [];
    for (let day = Math.max(Math.min(days[0], retro.all.today - 29), retro.all.today - 180); day <= retro.all.today; day++) span.push(day);
    const values = (what) => { const found = new Map(); content.happened.what.forEach((one, row) => { if (one === what) found.set(content.happened.day[row], content.happened.memories[row]); }); return span.map((day) => found.get(day) || 0); };
    return retro.card("Lifecycle", h("span", { class: "muted" }, "each step, and when it was taken"), h("div", { class: "bars" }, steps.map(([what, label]) => h("div", { class: "barline" }, h("span", null, retro.capital(label)), span.length > 1 ? retro.spark(values(what), `${label} by day`) : h("span"), h("span", { class: "num" }, retro.count(sums.get(what)))))));
  }

  function useful(content) {
    const used = content.memories.filter((one) => one.uses).sort((a, b) => b.low - a.low || b.uses - a.uses).slice(0, 10);
    if (!used.length) return retro.card("What proved useful", null, h("p", { class: "muted" }, "No use was credited yet. Sessions credit the memories that they were handed when they end; so does ", h("code", null, "retro memory update-utility"), "."));
    const x = (value) => (2 + 116 * value).toFixed(1);
    return retro.card("What proved useful", h("span", { class: "muted" }, "uses that went well, with 95 % intervals"), retro.plain([["Memory"], ["Went well", 1], ["", 0, "Interval"]], used.map((one) => [h("a", { href: retro.link(["memory"], { memory: one.id }) }, retro.line(one.text, 90)), `${one.wins} of ${one.uses}`,
      h("svg", { class: "interval", viewBox: "0 0 120 12", role: "img", "aria-label": `between ${retro.percent(one.low)} and ${retro.percent(one.high)}` }, h("line", { class: "zero", x1: 2, x2: 118, y1: 6, y2: 6 }), h("line", { x1: x(one.low), x2: x(one.high), y1: 6, y2: 6 }), h("circle", { cx: x(one.wins / one.uses), cy: 6, r: 3 }))])));
  }

  // Memories that name each other, or that come from the same session, around a circle.
  function graph(content, byId) {
    const links = content.links.filter(([one, other]) => byId.has(one) && byId.has(other));
    const degree = new Map();
    for (const ends of links) for (const id of ends) degree.set(id, (degree.get(id) || 0) + 1);
    const nodes = [...degree].sort((a, b) => b[1] - a[1]).slice(0, 60).map(([id]) => id).sort();
    if (!nodes.length) return retro.card("Links", null, h("p", { class: "muted" }, "No memory names another one. Written ones do with [[its title]]."));
    const wide = Math.min(1, 0.45 + nodes.length / 30);
    const named = nodes.length <= 16;
    const at = new Map(nodes.map((id, place) => [id, [210 + 118 * wide * Math.cos(place / nodes.length * 2 * Math.PI), 130 + 112 * wide * Math.sin(place / nodes.length * 2 * Math.PI)]]));
    const label = (id) => { const [x, y] = at.get(id); const left = x < 205; return h("text", { x: (x + (left ? -12 : 12)).toFixed(1), y: (y + 3).toFixed(1), "text-anchor": left ? "end" : "start" }, retro.line(byId.get(id).title || byId.get(id).text, 24)); };
    const shown = links.filter(([one, other]) => at.has(one) && at.has(other));
    return retro.card("Links", h("span", { class: "muted" }, `${retro.many(links.length, "link")} between ${retro.many(degree.size, "memory").replace("memorys", "memories")}`), h("svg", { class: "graph", viewBox: "0 0 420 260", role: "group", "aria-label": "Links between memories" },
      shown.map(([one, other]) => h("line", { x1: at.get(one)[0].toFixed(1), y1: at.get(one)[1].toFixed(1), x2: at.get(other)[0].toFixed(1), y2: at.get(other)[1].toFixed(1) })),
      nodes.map((id) => { const one = byId.get(id); return h("a", { href: retro.link(["memory"], { memory: id }), "aria-label": retro.line(one.title || one.text, 80) }, h("circle", { cx: at.get(id)[0].toFixed(1), cy: at.get(id)[1].toFixed(1), r: Math.min(4 + degree.get(id), 11), class: one.status }, h("title", null, retro.line(one.title || one.text, 120))), named ? label(id) : null); })));
  }
  function neighbours(content, byId, one) {
    const near = content.links.filter((ends) => ends.includes(one.id)).map(([from, to]) => [from === one.id ? "names" : "is named by", byId.get(from === one.id ? to : from)]).filter(([, other]) => other);
    return near.length ? h("ul", { class: "lists" }, near.map(([how, other]) => h("li", null, h("span", { class: "muted" }, how), h("a", { class: "grow", href: retro.link(["memory"], { memory: other.id }) }, retro.line(other.title || other.text, 100))))) : null;
  }

  function handed(content, byId) {
    if (!content.weaves.length) return retro.card("Handed out", null, h("p", { class: "muted" }, "No memory was handed to a session yet. Agents ask for them once ", h("code", null, "retro hooks install"), " has been run."));
    return retro.card("Handed out", h("span", { class: "muted" }, "the newest"), retro.plain([["When"], ["Session"], ["Memories", 1], [""]], content.weaves.slice(0, 12).map((one) => [retro.moment(one.at), one.session ? h("a", { href: retro.link(["session", one.host, one.session, "memory"]) }, retro.line(one.title || one.session, 70)) : "(no session)", h("span", { title: one.memories.map((id) => byId.get(id)).filter(Boolean).map((memory) => retro.line(memory.text, 100)).join("\n") }, retro.count(one.memories.length)), one.credited ? h("span", { class: "tag good" }, "credited") : ""])));
  }

  function list(content, place) {
    const get = (key) => place.query.get(key) || "";
    const choices = (label, key, names, words) => retro.select(label, [["", label], ...names.map((name) => [name, words ? words(name) : retro.words(name)])], get(key), (value) => { retro.refine({ [key]: value || null }); retro.show(); });
    const kinds = [...new Set(content.memories.map((one) => one.kind))].sort();
    const scopes = [...new Set(content.memories.map((one) => one.scope || one.level))].sort();
    const search = h("input", { class: "search", type: "search", placeholder: "Search", "aria-label": "Search memories", value: get("q"), oninput: () => { retro.refine({ q: search.value }); draw(); } });
    const box = h("div");
    const draw = () => {
      const words = search.value.toLowerCase();
      const shown = content.memories.filter((one) => (!get("kind") || one.kind === get("kind")) && (!get("status") || one.status === get("status")) && (!get("scope") || (one.scope || one.level) === get("scope")) && (!words || `${one.title} ${one.text} ${one.when}`.toLowerCase().includes(words)));
      retro.clear(box, shown.length ? shown.slice(0, 60).map((one) => memory(one)) : retro.empty("None fits."), shown.length > 60 ? h("p", { class: "muted" }, `and ${retro.count(shown.length - 60)} more; filters and the search narrow them down`) : null);
    };
    draw();
    return retro.card(get("status") === "needs_review" ? "To be looked at" : "Memories", [search, choices("Every kind", "kind", kinds), choices("Every scope", "scope", scopes, (name) => LEVELS[name] || base(name)), choices("Every status", "status", Object.keys(content.statuses))], box);
  }

  function memory(one, whole) {
    const facts = [retro.words(one.kind), one.scope ? base(one.scope) : LEVELS[one.level], one.origin === "authored" ? "written by you" : one.method ? retro.words(one.method) : "mined", one.shown ? `handed out ${retro.many(one.shown, "time")}` : "", one.uses ? `${one.wins} of ${retro.many(one.uses, "use")} went well` : ""].filter(Boolean).join(" · ");
    const against = [...one.findings, ...(one.stale ? [one.stale] : [])];
    return h("article", { class: "memory" }, h("div", { class: "grow" }, h("p", null, whole ? h("b", null, retro.inline(one.text)) : h("a", { href: retro.link(["memory"], { memory: one.id }) }, retro.inline(one.text))), h("p", { class: "muted" }, facts),
      against.length ? h("p", { class: "warn" }, against.join("; ")) : null,
      whole ? [one.steps.length ? h("ol", { class: "steps" }, one.steps.map((step) => h("li", { class: "mono" }, step))) : null,
        retro.pairs([["Use it", one.when || "–"], ["Do not use it", one.unless || "–"], ["Sure", `${retro.percent(one.confidence)}, priority ${one.priority}, risk ${one.risk}`], one.uses ? ["Worth", `${one.q.toFixed(2)}; between ${retro.percent(one.low)} and ${retro.percent(one.high)} of uses go well`] : null, one.note ? ["Note", one.note] : null, ["Id", h("span", { class: "mono" }, one.id)]].filter(Boolean)),
        one.evidence.length ? h("p", { class: "muted" }, "Rests on ", one.evidence.map(([host, id, event], at) => [at ? ", " : "", h("a", { href: retro.link(["session", host, id, "transcript"], { event }) }, `${host} ${id.slice(0, 8)}`)])) : null,
        against.length || one.status === "candidate" ? h("p", { class: "muted" }, "To decide: ", h("code", null, `retro memory accept ${one.id}`), " or ", h("code", null, `retro memory reject ${one.id}`)) : null] : null),
      retro.status(one.status));
  }
})();
