"use strict";
// What is kept of each agent, what of it could not be read, and what the space is used for.
(function () {
  const { h } = retro;
  retro.views.capture = (main) => {
    const all = retro.all;
    retro.clear(document.getElementById("tools"), retro.themeButton());
    const held = all.space;
    const bulk = held.raw + held.normalised + held.rendered;
    const cap = held.soft_cap || held.hard_cap;
    const sum = (name) => all.kept.reduce((total, one) => total + one[name], 0);
    const source = sum("source_bytes");
    const lost = sum("unknown_bytes") + sum("malformed_bytes");
    const figures = [["Sessions", retro.count(sum("sessions"))], ["Agents wrote", retro.bytes(source)], ["In the archive", retro.bytes(sum("archive_bytes"))], ["Of the source", source ? retro.percent(sum("archive_bytes") / source) : "–"], ["Not understood", lost ? retro.bytes(lost) : "nothing"], ["Budget", cap ? `${retro.percent(bulk / cap)} of ${retro.bytes(cap)}` : "none"]];
    const used = [["What the agents wrote", held.raw], ["Events", held.normalised], ["Rendered", held.rendered], ["Digests, ledger, memories", held.distilled]].map(([name, value]) => ({ name, value }));
    const columns = [["Agent"], ["Sessions", 1], ["Turns", 1], ["Written", 1], ["In the archive", 1], ["", 0, "Share of the source"], ["Unknown", 1], ["Unreadable", 1], ["Last captured"]];
    const rows = all.kept.map((one) => [h("a", { href: retro.link([], { host: one.host, period: "all" }) }, one.host), retro.count(one.sessions), retro.count(one.turns), retro.bytes(one.source_bytes),
      `${retro.bytes(one.archive_bytes)} (${retro.percent(one.source_bytes ? one.archive_bytes / one.source_bytes : 0)})`, retro.meter(one.source_bytes ? Math.min(one.archive_bytes / one.source_bytes, 1) : 0),
      one.unknown_records ? h("span", { class: "tag warn" }, `${retro.count(one.unknown_records)} (${retro.bytes(one.unknown_bytes)})`) : "none", one.malformed_records ? h("span", { class: "tag bad" }, `${retro.count(one.malformed_records)} (${retro.bytes(one.malformed_bytes)})`) : "none", retro.moment(one.captured)]);
    const notices = all.attention.filter((one) => ["retention", "gaps", "space"].includes(one.kind));
    retro.clear(main, h("h1", { class: "sr" }, "Capture"), h("div", { class: "stack" },
      h("dl", { class: "kpis" }, figures.map(([label, value]) => h("div", { class: "kpi" }, h("dt", null, label), h("dd", null, value)))),
      notices.length ? retro.card("Gaps and risks", null, h("ul", { class: "lists" }, notices.map((one) => h("li", { class: "tall" }, h("span", { class: "tag " + ({ red: "bad", amber: "warn" }[one.level] || "") }, { retention: "will be deleted", gaps: "gap", space: "space" }[one.kind]), h("div", { class: "grow" }, h("div", null, one.title), h("div", { class: "muted" }, one.detail || "", one.command ? [" ", h("code", null, one.command)] : null)))))) : null,
      retro.card("What is kept", h("span", { class: "muted" }, "every byte is a record that retro knows, or is kept and counted here"), rows.length ? retro.plain(columns, rows) : retro.empty("Nothing yet:", "retro sweep")),
      h("div", { class: "columns" },
        retro.card("Space", h("span", { class: "muted" }, cap ? `${retro.bytes(bulk)} of ${retro.bytes(cap)}` : "no budget"), retro.bars(used, retro.bytes), cap ? null : h("p", { class: "muted after" }, "Without a budget nothing is ever given up. To set one, write ", h("code", null, "raw_soft_cap_bytes"), " into the file that ", h("code", null, "retro config"), " names.")),
        retro.card("Given up next", held.next.length ? h("span", { class: "muted" }, retro.bytes(held.next.reduce((total, one) => total + one[3], 0))) : null, held.next.length ? retro.plain([["Session"], ["Agent"], ["Size", 1]], held.next.map(([host, id, title, size]) => [h("a", { href: retro.link(["session", host, id]) }, retro.line(title || id, 80)), host, retro.bytes(size)])) : h("p", { class: "muted" }, cap ? "Nothing: the archive is within its budget." : "Nothing: no budget is set.")))));
  };
})();
