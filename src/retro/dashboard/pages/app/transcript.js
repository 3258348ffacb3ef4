"use strict";
// A session to read: prompts and answers in full, everything else folded to a line with what came of it.
(function () {
  const { h } = retro;
  const SHOWN = [["", "All"], ["talk", "Talk"], ["changes", "Changes"], ["errors", "Errors"]];
  const LABELS = { command: "ran", file_read: "read", file_edit: "edited", web_search: "searched", tool_call: "called", subagent_start: "sub-agent", tool_result: "result" };

  retro.transcript = (body, page, place, here) => {
    if (!page.parts) {
      retro.clear(body, retro.empty(page.given_up ? "Its events were given up to stay within the budget; the summary is what is left." : "The transcript of this session was not built. To read it:", page.given_up ? "" : `retro render ${page.id}`),
        page.given_up ? null : retro.empty("To have every transcript here:", "retro dashboard build --transcripts all"));
      return null;
    }
    const list = h("div", { class: "transcript" });
    const entries = h("div");
    const more = h("p", { class: "empty", role: "status" }, "Loading …");
    const search = h("input", { class: "search", type: "search", placeholder: "Search within", "aria-label": "Search within this transcript" });
    const found = h("span", { class: "muted", role: "status" });
    const show = SHOWN.some(([key]) => key === place.query.get("show")) ? place.query.get("show") : "";
    const file = place.query.get("file") || "";
    const folds = h("button", { class: "button", type: "button", onclick: () => { const open = folds.textContent === "Unfold all"; for (const one of entries.querySelectorAll("details")) one.open = open; folds.textContent = open ? "Fold all" : "Unfold all"; } }, "Unfold all");
    const errors = h("button", { class: "button", type: "button", onclick: () => jump(".failed") }, "Next error");
    const choose = (value) => { retro.refine({ show: value || null, file: null, event: null }); retro.show(); };
    list.append(h("div", { class: "bar" }, retro.segments("Show", SHOWN, show, choose), file ? h("button", { class: "button chip", type: "button", onclick: () => { retro.refine({ file: null }); retro.show(); } }, `${file} ×`) : null, h("span", { class: "grow" }), found, search, show === "errors" ? null : errors, folds), entries, more);
    let drawn = 0;
    const wanted = place.query.get("event");
    const outline = h("nav", { class: "outline", "aria-label": "Turns" }, h("h2", null, "Turns"), h("ol", null, page.turns.map((turn) => h("li", { class: turn.errors ? "failed" : null },
      h("a", { href: retro.link(here("transcript"), { event: turn.event }), title: retro.line(turn.prompt, 300) }, h("span", { class: "muted" }, turn.turn), " ", retro.line(turn.prompt, 70) || "(no text)")))));
    retro.clear(body, h("div", { class: "beside" }, list, page.turns.length > 1 ? outline : null));
    let next = 0;
    let busy = null;
    let stopped = false;
    let turn = 0;
    let group = null;
    let asked = null;

    function loadPart() {
      if (busy || next >= page.parts || stopped) return busy || Promise.resolve();
      busy = retro.load(`transcript/${page.host}/${page.file}/${next}`).then((part) => {
        next++;
        busy = null;
        for (const entry of part.entries) append(entry);
        more.hidden = next >= page.parts;
        if (next >= page.parts && !drawn) { more.hidden = false; more.textContent = show === "changes" ? "Nothing was changed by this agent's own tools." : show === "errors" ? "Nothing failed." : "Nothing to show."; }
      }).catch(() => { busy = null; stopped = true; more.textContent = "A part of this transcript is missing: build the dashboard again."; });
      return busy;
    }
    function append(entry) {
      if (entry.turn && entry.turn !== turn) turn = entry.turn;
      if (!fits(entry, show, file, page.cwd)) return;
      const brief = show === "changes";
      const node = draw(brief && !entry.failed ? { ...entry, result: null } : entry, here, page, brief);
      if (!node) return;
      if (brief && entry.kind === "message") { asked = node; return; }  // shown once something was changed for it
      if (asked) { entries.append(asked); asked = null; group = null; }
      drawn++;
      if (entry.agent) {
        if (!group || group.agent !== entry.agent) {
          const inner = h("div", { class: "agent-group" });
          group = { agent: entry.agent, inner };
          entries.append(inner);
        }
        group.inner.append(node);
      } else { group = null; entries.append(node); }
    }
    const watch = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) loadPart().then(() => { if (!stopped && next < page.parts) { watch.unobserve(more); watch.observe(more); } }); }, { rootMargin: "1200px" });

    async function reveal(id) {
      for (;;) {
        const node = document.getElementById("e-" + id);
        if (node) {
          const entry = node.closest(".entry") || node;
          const folded = entry.querySelector("details");
          if (folded) folded.open = true;
          entry.classList.add("target");
          entry.scrollIntoView({ block: "center" });
          return;
        }
        if (next >= page.parts || stopped) { retro.say("That event is not in this transcript."); return; }
        await loadPart();
      }
    }
    let at = -1;
    function jump(selector) {
      const all = [...entries.querySelectorAll(selector)];
      if (!all.length) { if (next < page.parts && !stopped) loadPart().then(() => jump(selector)); else found.textContent = "none"; return; }
      at = (at + 1) % all.length;
      all[at].scrollIntoView({ block: "center" });
      found.textContent = `${at + 1} of ${all.length}`;
    }
    let timer = 0;
    search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(seek, 200); });
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") jump(".hit"); });
    async function seek() {
      const word = search.value.toLowerCase();
      retro.refine({ q: search.value || null });
      while (word && next < page.parts && !stopped) await loadPart();
      let hits = 0;
      for (const node of entries.querySelectorAll(".entry")) {
        const hit = Boolean(word) && node.textContent.toLowerCase().includes(word);
        node.classList.toggle("hit", hit);
        hits += hit;
      }
      at = -1;
      found.textContent = word ? retro.many(hits, "place") + (hits ? ", Enter for the next" : "") : "";
    }
    search.value = place.query.get("q") || "";
    loadPart().then(() => { watch.observe(more); if (wanted) reveal(wanted); else if (search.value) seek().then(() => jump(".hit")); });
    return () => { stopped = true; watch.disconnect(); };
  };

  // What a choice of what to show leaves.
  function fits(entry, show, file, cwd) {
    if (file && !(entry.paths || []).some((path) => path === file || relative(path, cwd) === file || path.endsWith("/" + file))) return false;
    if (show === "talk") return entry.kind === "message" && (entry.actor === "assistant" || entry.origin === "human");
    if (show === "changes") return entry.kind === "file_edit" || (entry.kind === "message" && entry.origin === "human" && !file);
    if (show === "errors") return Boolean(entry.failed) || entry.kind === "error";
    return true;
  }

  function draw(entry, here, page, open) {
    const kind = entry.kind;
    const said = kind === "message" && (entry.actor === "assistant" || entry.actor === "subagent");
    const prompt = kind === "message" && entry.actor === "user" && entry.origin === "human";
    const type = prompt ? "prompt" : said ? "answer" : kind === "reasoning" ? "reasoning" : kind in LABELS ? "call" : "aside";
    const node = h("article", { class: `entry ${type}` + (entry.failed ? " failed" : ""), id: "e-" + entry.id });
    const stamp = h("a", { class: "when", href: retro.link(here("transcript"), { event: entry.id }), title: `${entry.at || "no time"} · ${entry.source}:${entry.line}` }, entry.at ? retro.clock(entry.at) : "§");
    if (prompt || said) { node.append(stamp, retro.prose(entry.text)); note(node, entry, page); return node; }
    if (kind === "reasoning") {
      if (!(entry.text || "").trim()) return null;
      node.append(stamp, fold([h("b", null, "thought"), retro.line(entry.text, 160)], retro.prose(entry.text)));
      return node;
    }
    if (kind in LABELS) {
      const what = entry.command || bare(entry) || (entry.paths || []).map((path) => relative(path, page.cwd)).join(", ") || entry.tool || retro.line(entry.text, 200);
      const inner = [];
      if (entry.command && (entry.command.length > 100 || entry.command.includes("\n"))) inner.push(h("pre", { tabindex: "0" }, entry.command));
      if (kind === "file_edit") inner.push(retro.diff(entry.text, entry.change === "write"));
      else if (entry.text && entry.text !== entry.command && kind !== "file_read") inner.push(h("pre", { tabindex: "0" }, entry.text));
      if (entry.cut) inner.push(rest(entry, page));
      if (entry.result) inner.push(h("pre", { tabindex: "0", class: entry.failed ? "bad" : null }, entry.result));
      const size = kind === "file_edit" ? changed(entry) : null;
      const end = entry.failed ? h("span", { class: "tag bad" }, entry.exit_code ? `exit ${entry.exit_code}` : "failed") : entry.ms > 10000 ? h("span", { class: "tag" }, retro.duration(entry.ms / 1000)) : null;
      const label = LABELS[kind] + (kind === "tool_call" && entry.tool ? ` ${entry.tool}` : "");
      node.append(stamp, inner.length ? fold([h("b", null, label), retro.line(what, 240)], inner, [size, end], kind === "file_edit" && !entry.failed && (open || (entry.text || "").split("\n").length < 30)) : h("div", null, h("b", { class: "muted" }, label + " "), h("span", { class: "mono" }, retro.line(what, 240)), " ", end));
      if (entry.result_id) node.append(h("span", { id: "e-" + entry.result_id }));
      return node;
    }
    const text = retro.line(entry.text, 200);
    if (!text && !entry.failed) return null;
    const label = kind === "message" ? (entry.origin || entry.actor) : kind.replaceAll("_", " ");
    node.append(stamp, (entry.text || "").length > 200 ? fold([h("b", null, label), text], h("pre", { tabindex: "0" }, entry.text)) : h("div", null, h("b", { class: "muted" }, label + " "), text));
    return node;
  }
  // What a call is, without the name of its tool, which stands before it.
  const bare = (entry) => (entry.kind === "tool_call" && entry.tool && entry.summary && entry.summary.startsWith(entry.tool + " ") ? entry.summary.slice(entry.tool.length + 1) : entry.summary);
  // How many lines a change adds and takes away.
  function changed(entry) {
    const lines = retro.lines(entry.text);
    const whole = entry.change === "write";
    const added = whole ? lines.length : lines.filter((line) => line.startsWith("+")).length;
    const removed = whole ? 0 : lines.filter((line) => line.startsWith("-")).length;
    return added || removed ? h("span", { class: "sizes" }, added ? h("span", { class: "good" }, `+${added}`) : null, added && removed ? " " : null, removed ? h("span", { class: "bad" }, `−${removed}`) : null) : null;
  }
  const fold = (line, inner, end, open) => h("details", { open: Boolean(open) }, h("summary", null, h("span", { class: "what" }, line), end || null), inner);
  const rest = (entry, page) => h("p", { class: "muted" }, "Shortened. All of it: ", h("code", null, `retro raw ${page.id.slice(0, 8)} --event ${entry.id}`));
  const note = (node, entry, page) => { if (entry.cut) node.append(rest(entry, page)); };
  const relative = (path, cwd) => (cwd && path.startsWith(cwd + "/") ? path.slice(cwd.length + 1) : path);
})();
