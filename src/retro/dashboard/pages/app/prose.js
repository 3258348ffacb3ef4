"use strict";
// Text of sessions as something to read: a little markdown, made of elements, never of markup. Links stay text.
(function () {
  const { h } = retro;

  // `code` and **bold** within a line.
  function inline(text) {
    const parts = [];
    const pattern = /`([^`\n]+)`|\*\*((?:[^*\n]|\*(?!\*))+)\*\*/g;
    let last = 0;
    for (const match of text.matchAll(pattern)) {
      if (match.index > last) parts.push(text.slice(last, match.index));
      parts.push(match[1] !== undefined ? h("code", null, match[1]) : h("strong", null, inline(match[2])));
      last = match.index + match[0].length;
    }
    parts.push(text.slice(last));
    return parts;
  }

  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  retro.inline = (text) => inline(text || "");

  retro.prose = (text) => {
    const root = h("div", { class: "prose" });
    const lines = (text || "").split("\n");
    let paragraph = [];
    let list = null;
    const close = () => {
      if (paragraph.length) root.append(h("p", null, paragraph.flatMap((line, at) => (at ? [h("br"), ...inline(line)] : inline(line)))));
      paragraph = [];
      list = null;
    };
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at];
      const fence = /^\s*(```|~~~)/.exec(line);
      const heading = /^#{1,6}\s+(.*)/.exec(line);
      const item = /^\s*([-*•]|\d{1,3}[.)])\s+(.*)/.exec(line);
      if (fence) {
        close();
        const code = [];
        for (at++; at < lines.length && !lines[at].trim().startsWith(fence[1]); at++) code.push(lines[at]);
        root.append(h("pre", { tabindex: "0" }, h("code", null, code.join("\n"))));
      } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] || "") && lines[at + 1].includes("-")) {
        close();
        const head = cells(line);
        const rows = [];
        for (at += 2; at < lines.length && lines[at].includes("|"); at++) rows.push(cells(lines[at]));
        at--;
        root.append(h("div", { class: "wide", tabindex: "0" }, h("table", { class: "plain" }, h("thead", null, h("tr", null, head.map((cell) => h("th", { scope: "col" }, inline(cell))))), h("tbody", null, rows.map((row) => h("tr", null, head.map((_, place) => h("td", null, inline(row[place] || "")))))))));
      } else if (heading) { close(); root.append(h("h3", null, inline(heading[1]))); }
      else if (item) {
        if (!list) { close(); list = h(/\d/.test(item[1]) ? "ol" : "ul"); root.append(list); }
        list.append(h("li", null, inline(item[2])));
      } else if (!line.trim()) close();
      else { list = null; paragraph.push(line); }
    }
    close();
    return root;
  };

  // The newline at the end of a text begins no line.
  retro.lines = (text) => (text || "").replace(/\n$/, "").split("\n");

  // Lines of a change, coloured.
  retro.diff = (text, whole) => h("pre", { class: "diff", tabindex: "0" }, retro.lines(text).map((line) =>
    h("span", { class: whole || line.startsWith("+") ? "a" : line.startsWith("-") ? "d" : null }, line || " ")));
})();
