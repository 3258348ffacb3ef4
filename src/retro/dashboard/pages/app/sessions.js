"use strict";
// The table of sessions: filters that stand in the address, sorting, search, the keyboard.
(function () {
  const { h } = retro;
  retro.sessionLink = (columns, row) => retro.link(["session", retro.all.hosts[columns.host[row]], columns.id[row]]);
  retro.verdict = (said, chance) => (said === "s" ? h("span", { class: "tag good" }, "success") : said === "f" ? h("span", { class: "tag bad" }, "failure") : chance >= 0 ? h("span", { class: "muted", title: "Not sure enough to say" }, chance + " %") : "");

  const COSTS = [["", "Any cost"], ["0.1", "$0.10 and more"], ["1", "$1 and more"], ["5", "$5 and more"], ["20", "$20 and more"], ["none", "Unpriced"]];
  const OUTCOMES = [["", "Every outcome"], ["s", "Succeeded"], ["f", "Failed"], ["u", "Unsure"], ["e", "With errors"]];

  retro.sessionTable = (period, again) => {
    const all = retro.all;
    let columns = retro.firstRows();
    const name = (names, at) => (at < 0 ? "" : names[at]);
    const query = () => retro.place().query;
    const cells = described(() => columns, name);
    const known = cells.map((one) => one.key);
    const asked = query().get("sort") || "";
    const status = h("span", { class: "muted", role: "status" });
    const grid = retro.table({
      label: "Sessions", columns: cells, sort: known.includes(asked.replace("-", "")) ? asked : "-when",
      link: (row) => retro.sessionLink(columns, row), open: (row) => { location.hash = retro.sessionLink(columns, row); },
      card: (row) => [retro.when(columns.ended[row]), all.hosts[columns.host[row]], name(all.projects, columns.project[row])].filter(Boolean).join(" · "),
      onsort: (by) => { retro.refine({ sort: by === "-when" ? null : by }); filter(); },
    });

    // --- the filters ---
    const change = (changes) => { retro.refine(changes); filter(); };
    const pick = (label, key, choices, wide) => retro.select(label, choices, query().get(key) || "", (value) => (wide ? again({ [key]: value }) : change({ [key]: value })));
    const listed = (first, names) => [["", first], ...names.map((one) => [one, one])];
    const models = [...new Set(columns.model)].filter((at) => at >= 0).map((at) => all.models[at]).sort();
    const date = (label, key) => h("label", { class: "field" }, label, h("input", { type: "date", value: query().get(key) || "", onchange: (event) => again({ [key]: event.target.value }) }));
    const branches = h("span");
    const more = h("div", { class: "bar second" }, branches, pick("Cost", "cost", COSTS), date("From", "from"), date("To", "to"),
      h("button", { class: "button quiet", type: "button", onclick: () => { retro.refine(Object.fromEntries(["host", "model", "outcome", "branch", "cost", "from", "to", "q"].map((key) => [key, null]))); retro.show(); } }, "Clear all filters"));
    more.hidden = !["branch", "cost", "from", "to"].some((key) => query().get(key));
    const toggle = h("button", { class: "button", type: "button", "aria-expanded": String(!more.hidden), onclick: () => { more.hidden = !more.hidden; toggle.setAttribute("aria-expanded", String(!more.hidden)); if (!more.hidden) ready().then(drawBranches); } }, "More filters");
    const search = h("input", { class: "search", type: "search", placeholder: "Search   /", "aria-label": "Search sessions by title, project, branch or id", value: query().get("q") || "", oninput: () => { retro.refine({ q: search.value }); later(); } });
    const deep = location.protocol.startsWith("http") && !all.strict ? h("button", { class: "button", type: "button", title: "Search in everything that was said and done", onclick: () => { location.hash = retro.link(["search"], { q: search.value }); } }, "In all text") : null;
    let timer = 0;
    const later = () => { clearTimeout(timer); timer = setTimeout(filter, 80); };
    const bar = h("div", { class: "bar" }, h("h2", null, "Sessions"), status, all.hosts.length > 1 ? pick("Agent", "host", listed("Every agent", [...all.hosts].sort()), true) : null,
      models.length > 1 ? pick("Model", "model", listed("Every model", models)) : null, pick("Outcome", "outcome", OUTCOMES), toggle, search, deep);

    function drawBranches() {
      const counts = new Map();
      for (const branch of columns.branch) if (branch) counts.set(branch, (counts.get(branch) || 0) + 1);
      const chosen = query().get("branch");
      const shown = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 200).map(([branch]) => branch);
      if (chosen && !shown.includes(chosen)) shown.push(chosen);
      retro.clear(branches, pick("Branch", "branch", listed("Every branch", shown.sort((a, b) => a.localeCompare(b)))));
    }
    drawBranches();

    async function ready() {
      if (retro.rows.ready) { columns = retro.rows.columns; return; }
      status.textContent = "Loading …";
      try { columns = await retro.allRows(); } catch { retro.say("Some files of this dashboard are missing: build it again."); status.textContent = "incomplete: build again"; }
    }
    function needsAll(q) {
      const last = all.sessions.ended[all.sessions.ended.length - 1] || 0;
      return !retro.rows.ready && (retro.inPeriod(period(), last) || (q.get("sort") && q.get("sort") !== "-when") || period().since === -Infinity);
    }
    async function filter() {
      if (needsAll(query())) await ready();
      const found = matching(columns, query(), period());
      sorted(found, query().get("sort") || "-when");
      const inAll = found.length === all.total_sessions;
      const spent = found.reduce((sum, row) => sum + Math.max(columns.cost[row], 0), 0);
      status.textContent = (inAll ? retro.count(found.length) : `${retro.count(found.length)} of ${retro.count(all.total_sessions)}`) + (spent ? ` · ${retro.money(spent)}` : "");
      // A column in which none of them has anything is left out.
      grid.node.classList.toggle("no-branch", !found.some((row) => columns.branch[row]));
      grid.node.classList.toggle("no-outcome", !found.some((row) => columns.outcome[row] >= 0));
      grid.show(found, found.length ? "" : "No session matches these filters.");
      if (!found.length) retro.say("No session matches.");
    }
    function sorted(found, by) {
      if (by === "-when") return;  // as they come
      const column = cells.find((one) => one.key === by.replace("-", "")) || cells[0];
      const sign = by.startsWith("-") ? -1 : 1;
      const values = new Map(found.map((row) => [row, column.value(row)]));
      found.sort((a, b) => { const x = values.get(a); const y = values.get(b); return x < y ? -sign : x > y ? sign : a - b; });
    }

    const keys = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/" && !/^(input|select|textarea)$/i.test(event.target.tagName)) { search.focus(); event.preventDefault(); }
      else if (event.key === "Escape" && event.target === search) { search.value = ""; retro.refine({ q: null }); filter(); grid.focus(); }
      else if (event.key === "ArrowDown" && event.target === search) { grid.focus(); event.preventDefault(); }
      else if (event.key === "Enter" && event.target === search && deep) deep.click();
    };
    document.addEventListener("keydown", keys);
    return { node: h("section", { class: "grid", "aria-label": "Sessions" }, bar, more, grid.node), filter, stop: () => { clearTimeout(timer); grid.stop(); document.removeEventListener("keydown", keys); } };
  };

  // The rows that the address asks for.
  function matching(columns, query, period) {
    const all = retro.all;
    const words = (query.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const place = (names, key) => (query.get(key) ? names.indexOf(query.get(key)) : null);
    const [project, host, model] = [place(all.projects, "project"), place(all.hosts, "host"), place(all.models, "model")];
    const [outcome, branch, cost] = [query.get("outcome"), query.get("branch"), query.get("cost")];
    const least = cost && cost !== "none" ? Number(cost) * 1e6 : null;
    const verdict = { s: "s", f: "f", u: "" };
    const found = [];
    for (let row = 0; row < columns.id.length; row++) {
      if (project !== null && columns.project[row] !== project) continue;
      if (host !== null && columns.host[row] !== host) continue;
      if (model !== null && columns.model[row] !== model) continue;
      if (branch && columns.branch[row] !== branch) continue;
      if (!retro.inPeriod(period, columns.ended[row])) continue;
      if (outcome === "e" ? !columns.errors[row] : outcome && columns.verdict[row] !== verdict[outcome]) continue;
      if (cost === "none" ? !(columns.flags[row] & 1) : least !== null && columns.cost[row] < least) continue;
      if (words.length) {
        const text = `${columns.title[row] || ""} ${columns.id[row]} ${columns.project[row] < 0 ? "" : all.projects[columns.project[row]]} ${columns.branch[row] || ""}`.toLowerCase();
        if (!words.every((word) => text.includes(word))) continue;
      }
      found.push(row);
    }
    return found;
  }

  // What each column shows and is sorted by.
  function described(of, name) {
    const all = retro.all;
    const text = (get) => (row) => get(row).toLowerCase();
    const project = (row) => name(all.projects, of().project[row]);
    const model = (row) => name(all.models, of().model[row]);
    const title = (row) => of().title[row] || (all.strict ? `session ${of().id[row]}` : of().id[row]);
    const branch = (row) => of().branch[row] || "";
    const money = (row) => (of().tokens[row] ? retro.money(of().cost[row]) + (of().flags[row] & 3 && of().cost[row] >= 0 ? "+" : "") : "");
    return [
      { key: "when", name: "Last active", cell: (row) => ["small", retro.when(of().ended[row]), retro.utc(of().ended[row])], value: (row) => of().ended[row] ?? -1 },
      { key: "host", name: "Agent", cell: (row) => [`small agent a${retro.agentColor(of().host[row])}`, all.hosts[of().host[row]]], value: (row) => all.hosts[of().host[row]] },
      { key: "project", name: "Project", cell: (row) => ["small", project(row), project(row)], value: text(project) },
      { key: "title", name: "Session", cell: (row) => ["title", title(row), of().title[row]], value: text(title) },
      { key: "branch", name: "Branch", cell: (row) => ["small", branch(row), branch(row)], value: text(branch) },
      { key: "model", name: "Model", cell: (row) => ["small", model(row), model(row)], value: text(model) },
      { key: "turns", name: "Turns", right: true, cell: (row) => ["", retro.short(of().turns[row])], value: (row) => of().turns[row] },
      { key: "errors", name: "Errors", right: true, cell: (row) => [of().errors[row] ? "bad" : "", of().errors[row] ? retro.short(of().errors[row]) : ""], value: (row) => of().errors[row] },
      { key: "tokens", name: "Tokens", right: true, cell: (row) => ["", of().tokens[row] ? retro.short(of().tokens[row]) : ""], value: (row) => of().tokens[row] },
      { key: "cost", name: "Cost", right: true, cell: (row) => ["cost", money(row)], value: (row) => (of().tokens[row] ? of().cost[row] : -2) },
      { key: "outcome", name: "Outcome", right: true, cell: (row) => ["", retro.verdict(of().verdict[row], of().outcome[row])], value: (row) => of().outcome[row] },
    ];
  }
})();
