"use strict";
// What every page needs: data by name, elements without markup, figures as a person reads them, where one is.
const retro = {};
(function () {
  // --- data: scripts that hand over an object, compressed; a page opened from a file may load nothing else ---
  const held = new Map();
  const waiting = new Map();

  retro.data = (name, packed) => {
    const waiter = waiting.get(name);
    unpacked(packed).then((content) => {
      held.set(name, content);
      if (waiter) { waiting.delete(name); waiter.done(content); }
    }, (error) => { if (waiter) { waiting.delete(name); waiter.failed(error); } });
  };
  function unpacked(packed) {
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(packed) : Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }

  retro.load = (name, fresh) => {
    if (fresh) held.delete(name);
    if (held.has(name)) return Promise.resolve(held.get(name));
    if (waiting.has(name)) return waiting.get(name).promise;
    const waiter = {};
    waiter.promise = new Promise((done, failed) => { waiter.done = done; waiter.failed = failed; });
    waiting.set(name, waiter);
    const script = document.createElement("script");
    script.src = "data/" + name.split("/").map(encodeURIComponent).join("/") + ".js" + (fresh ? "?" + Date.now() : "");
    script.onload = () => script.remove();
    script.onerror = () => { script.remove(); waiting.delete(name); waiter.failed(new Error(name)); };
    document.head.append(script);
    return waiter.promise;
  };

  // What was loaded of sessions is asked for again the next time: it may have grown.
  retro.forget = () => { for (const name of held.keys()) if (name !== "overview") held.delete(name); };

  // --- elements: text is always text ---
  const ATTRIBUTES = new Set(["class", "id", "role", "type", "title", "placeholder", "value", "for", "colspan", "tabindex", "scope",
    "viewBox", "d", "x", "y", "width", "height", "points", "fill", "stroke", "stroke-width", "preserveAspectRatio", "datetime", "open", "selected", "stroke-linejoin", "text-anchor",
    "cx", "cy", "r", "x1", "x2", "y1", "y2", "min", "max", "step", "disabled", "colspan", "rowspan", "name"]);
  const SVG = new Set(["svg", "path", "rect", "text", "title", "polyline", "g", "line", "circle"]);
  const NS = "http://www.w3.org/2000/svg";

  function element(tag, attributes, children) {
    // A link around a part of a drawing is one of the drawing's own.
    const drawn = SVG.has(tag) || (tag === "a" && children.flat(3).some((child) => child instanceof SVGElement && child.tagName !== "svg"));
    const node = drawn ? document.createElementNS(NS, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name === "href") { if (String(value).startsWith("#")) node.setAttribute("href", value); }
      else if (ATTRIBUTES.has(name) || name.startsWith("aria-") || name.startsWith("data-")) node.setAttribute(name, value === true ? "" : value);
      else throw new Error("attribute " + name);
    }
    for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) node.append(child);
    return node;
  }
  const h = (tag, attributes, ...children) => element(tag, attributes, children);
  retro.h = h;
  retro.clear = (node, ...children) => { node.replaceChildren(...children.flat(3).filter((child) => child)); return node; };

  // --- figures ---
  const whole = new Intl.NumberFormat("en-US");
  const cents = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const millionths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 4, maximumFractionDigits: 6 });
  const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
  const day = new Intl.DateTimeFormat("en-US", { timeZone: "UTC", month: "short", day: "numeric" });
  const year = new Intl.DateTimeFormat("en-US", { timeZone: "UTC", year: "numeric", month: "short", day: "numeric" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const local = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric" });
  const localYear = new Intl.DateTimeFormat("en-US", { year: "numeric", month: "short", day: "numeric" });

  retro.count = (number) => whole.format(number);
  retro.short = (number) => (Math.abs(number) < 10000 ? whole.format(number) : compact.format(number));
  retro.money = (micro) => {
    if (micro < 0) return "unpriced";
    const dollars = micro / 1e6;
    if (dollars > 0 && dollars < 0.005) return "<$0.01";
    return "$" + cents.format(dollars);
  };
  retro.exactMoney = (micro) => (micro < 0 ? "unpriced" : "$" + millionths.format(micro / 1e6));
  retro.bytes = (size) => {
    for (const unit of ["B", "kB", "MB", "GB"]) {
      if (size < 999.5) return (unit !== "B" && size < 9.95 ? size.toFixed(1) : Math.round(size)) + " " + unit;
      size /= 1000;
    }
    return size.toFixed(1) + " TB";
  };
  retro.percent = (share) => (share * 100).toFixed(share < 0.1 && share > 0 ? 1 : 0) + " %";
  retro.duration = (seconds) => {
    if (seconds < 60) return Math.round(seconds) + "s";
    if (seconds < 3600) return Math.floor(seconds / 60) + "m";
    if (seconds < 86400) return Math.floor(seconds / 3600) + "h " + String(Math.floor(seconds % 3600 / 60)).padStart(2, "0") + "m";
    return Math.floor(seconds / 86400) + "d " + Math.floor(seconds % 86400 / 3600) + "h";
  };
  retro.day = (number) => (number < 0 ? "no time" : (Math.abs(number - retro.today()) < 300 ? day : year).format(number * 864e5));
  retro.shortDay = (number) => day.format(number * 864e5);
  retro.fullDay = (number) => (number < 0 ? "no time" : year.format(number * 864e5));
  retro.today = () => (retro.all ? retro.all.today : Math.floor(Date.now() / 864e5));
  // A day's name is the same for all of its moments, as far as a clock is not set: said once for each hour.
  const hours = new Map();
  function hour(moment, near) {
    const key = Math.floor(moment / 36e5) * 2 + Number(near);
    let said = hours.get(key);
    if (said === undefined) { said = [(near ? local : localYear).format(moment), clock.format(moment).slice(0, 3)]; hours.set(key, said); }
    return said;
  }
  const halved = new Date().getTimezoneOffset() % 60 !== 0;
  retro.when = (seconds) => {
    if (seconds === null || seconds === undefined) return "no time";
    const moment = new Date(seconds * 1000);
    const age = (Date.now() - moment) / 1000;
    if (age < 60 && age > -60) return "just now";
    if (age < 3600 && age > 0) return Math.floor(age / 60) + " min ago";
    const near = Math.abs(age) < 300 * 86400;
    if (halved) return near ? local.format(moment) + ", " + clock.format(moment) : localYear.format(moment);
    const [day, begun] = hour(moment, near);
    return near ? `${day}, ${begun}${String(moment.getMinutes()).padStart(2, "0")}` : day;
  };
  retro.dated = (seconds) => localYear.format(seconds * 1000) + ", " + clock.format(seconds * 1000);
  retro.utc = (seconds) => (seconds === null || seconds === undefined ? "" : new Date(seconds * 1000).toISOString().replace(".000Z", " UTC").replace("T", " "));
  retro.seconds = (text) => { const at = text ? Date.parse(text) : NaN; return Number.isNaN(at) ? null : Math.floor(at / 1000); };
  retro.moment = (text) => {
    const seconds = retro.seconds(text);
    return retro.h("time", { title: retro.utc(seconds), datetime: text || "" }, retro.when(seconds));
  };
  retro.clock = (text) => { const at = Date.parse(text); return Number.isNaN(at) ? "" : clock.format(at); };
  retro.line = (text, most) => { const flat = (text || "").replace(/\s+/g, " ").trim(); return flat.length > most ? flat.slice(0, most - 1) + "…" : flat; };
  // A reading in the unit that a person would use.
  retro.reading = (value, unit) => {
    if (unit === "microdollars") return retro.money(value);
    if (unit === "seconds") return retro.duration(value);
    if (unit === "ratio") return retro.percent(value);
    const shown = Math.abs(value) >= 20 ? Math.round(value) : Math.round(value * 10) / 10;
    return retro.short(shown) + (unit && unit !== "count" ? " " + (shown === 1 ? unit.replace(/s$/, "") : unit) : "");
  };
  retro.words = (name) => name.replaceAll("_", " ");
  retro.capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  retro.iso = (day) => new Date(day * 864e5).toISOString().slice(0, 10);
  retro.fromIso = (text) => { const at = Date.parse((text || "") + "T00:00:00Z"); return Number.isNaN(at) ? null : at / 864e5; };
  retro.weekday = (day) => new Date(day * 864e5).toLocaleString("en-US", { weekday: "long", timeZone: "UTC" });
  retro.many = (number, noun) => whole.format(number) + " " + noun + (number === 1 ? "" : "s");

  // --- where one is: all of it stands behind the # ---
  retro.place = () => {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
    return { path: path.split("/").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } }), query: new URLSearchParams(query || "") };
  };
  retro.link = (path, query) => {
    const text = new URLSearchParams(Object.entries(query || {}).filter(([, value]) => value !== null && value !== undefined && value !== "")).toString();
    return "#/" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
  };
  // A filter that changes replaces where one is; the back button leaves the page, not the last letter typed.
  retro.refine = (changes) => {
    if (changes.period) changes = { ...changes, from: null, to: null };
    const here = retro.place();
    const query = Object.fromEntries(here.query);
    for (const [name, value] of Object.entries(changes)) { if (value === null || value === "") delete query[name]; else query[name] = value; }
    history.replaceState(null, "", retro.link(here.path, query));
    return query;
  };
  retro.say = (text) => { document.getElementById("live").textContent = text; };

  retro.segments = (label, choices, chosen, choose) => retro.h("div", { class: "segments", role: "group", "aria-label": label },
    choices.map(([value, name]) => retro.h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: (event) => {
      for (const other of event.currentTarget.parentNode.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      choose(value);
    } }, name)));
  retro.select = (label, choices, chosen, choose) => retro.h("select", { class: "select", "aria-label": label, onchange: (event) => choose(event.target.value) },
    choices.map(([value, name]) => retro.h("option", { value, selected: value === chosen }, name)));
  retro.card = (title, tools, ...body) => retro.h("section", { class: "card", "aria-label": title }, retro.h("header", null, retro.h("h2", null, title), tools || null), retro.h("div", { class: "body" }, body));
  // columns: [name, right, name for those who only hear it, whether a 0 says nothing]; one in which no row says anything is left out
  const EMPTY = new Set(["", "–", null, undefined]);
  retro.plain = (given, all, end) => {
    const said = given.map(([, , , spare], at) => at === 0 || !all.length || all.some((row) => !EMPTY.has(row[at]) && !(spare && row[at] === "0")));
    const keep = (row) => row && row.filter((_, at) => said[at]);
    return table(keep(given), all.map(keep), keep(end));
  };
  const table = (columns, rows, foot) => retro.h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" }, retro.h("table", { class: "plain" },
    retro.h("thead", null, retro.h("tr", null, columns.map(([name, right, heard]) => retro.h("th", { scope: "col", class: right ? "num" : heard ? "drawn" : null }, name || retro.h("span", { class: "sr" }, heard || "More"))))),
    retro.h("tbody", null, rows.map((row) => retro.h("tr", null, row.map((cell, at) => retro.h("td", { class: columns[at][1] ? "num" : null }, cell))))),
    foot ? retro.h("tfoot", null, retro.h("tr", null, foot.map((cell, at) => retro.h("td", { class: columns[at][1] ? "num" : null }, cell)))) : null));
  retro.meter = (share) => retro.h("svg", { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, retro.h("rect", { class: "track", x: 0, y: 0, width: 100, height: 6 }), retro.h("rect", { class: "mark", x: 0, y: 0, width: Math.max(Math.min(share || 0, 1) * 100, share ? 0.6 : 0).toFixed(1), height: 6 }));
  const STATUS = { accepted: "good", candidate: "", needs_review: "warn", rejected: "bad", archived: "" };
  retro.status = (status) => h("span", { class: "tag " + (STATUS[status] || "") }, retro.words(status));
  retro.empty = (text, command) => retro.h("p", { class: "empty" }, text, command ? [" ", retro.h("code", null, command)] : null);
  retro.views = {};
})();
