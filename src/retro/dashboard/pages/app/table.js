"use strict";
// A table of any length: only the rows in sight exist. Arrow keys move, Enter opens.
(function () {
  const { h } = retro;
  const SPARE = 6;

  // columns: {name, key, right, cell(index) -> [class, content], compare(a, b)}
  retro.table = ({ label, columns, open, link, card, sort, onsort }) => {
    let shown = [];
    let active = -1;
    const rows = h("div", { class: "rows", role: "rowgroup" });
    const head = h("div", { class: "head", role: "row" });
    const scroll = h("div", { class: "scroll", role: "grid", tabindex: "0", "aria-label": label, "aria-rowcount": "0" }, head, rows);
    const none = h("p", { class: "empty" });
    none.hidden = true;
    const node = h("div", { class: "tabled" }, scroll, none);
    const existing = new Map();
    const height = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 38;
    let size = height();

    function drawHead() {
      retro.clear(head, columns.map((column) => {
        const by = sort.replace("-", "") === column.key;
        return h("div", { role: "columnheader", class: column.right ? "num" : null, "aria-sort": by ? (sort.startsWith("-") ? "descending" : "ascending") : null },
          h("button", { type: "button", tabindex: "-1", onclick: () => {
            sort = by && sort.startsWith("-") ? column.key : by ? "-" + column.key : (column.right || column.key === "when" ? "-" : "") + column.key;
            drawHead();
            onsort(sort);
          } }, column.name + (by ? (sort.startsWith("-") ? " ↓" : " ↑") : "")));
      }));
    }

    // Rows that went out of sight are filled again for those that come into it.
    function draw() {
      const from = Math.max(Math.floor(scroll.scrollTop / size) - SPARE, 0);
      const to = Math.min(Math.ceil((scroll.scrollTop + scroll.clientHeight) / size) + SPARE, shown.length);
      const spare = [];
      for (const [at, row] of existing) if (at < from || at >= to) { spare.push(row); existing.delete(at); }
      for (let at = from; at < to; at++) {
        if (existing.has(at)) continue;
        const row = spare.pop() || blank();
        fill(row, at);
        existing.set(at, row);
        if (!row.isConnected) rows.append(row);
      }
      for (const row of spare) row.remove();
    }
    const blank = () => h("a", { class: "row", role: "row", tabindex: "-1" }, columns.map((column) => h("span", { role: "gridcell" })), h("span", { class: "meta small", role: "gridcell" }));
    function fill(row, at) {
      const index = shown[at];
      row.id = "row-" + at;
      row.setAttribute("href", link(index));
      row.setAttribute("aria-rowindex", String(at + 2));
      row.className = "row" + (at === active ? " active" : "");
      row.style.transform = `translateY(${at * size}px)`;
      columns.forEach((column, place) => {
        const [kind, content, title] = column.cell(index);
        const cell = row.childNodes[place];
        cell.className = (column.right ? "num " : "") + (kind || "");
        if (typeof content === "string") cell.textContent = content;
        else cell.replaceChildren(content);
        if (title) cell.title = title;
        else if (cell.title) cell.removeAttribute("title");
      });
      row.lastChild.textContent = card(index);
    }

    function move(to) {
      active = Math.max(0, Math.min(to, shown.length - 1));
      const top = active * size;
      const header = head.offsetHeight;
      if (top < scroll.scrollTop) scroll.scrollTop = top;
      else if (top + size > scroll.scrollTop + scroll.clientHeight - header) scroll.scrollTop = top + size - scroll.clientHeight + header;
      draw();
      for (const [at, row] of existing) row.classList.toggle("active", at === active);
      scroll.setAttribute("aria-activedescendant", "row-" + active);
    }

    let due = false;
    scroll.addEventListener("scroll", () => { if (!due) { due = true; requestAnimationFrame(() => { due = false; draw(); }); } }, { passive: true });
    scroll.addEventListener("keydown", (event) => {
      const page = Math.max(Math.floor(scroll.clientHeight / size) - 1, 1);
      const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in steps) move(active < 0 ? 0 : active + steps[event.key]);
      else if (event.key === "Home") move(0);
      else if (event.key === "End") move(shown.length - 1);
      else if (event.key === "Enter" && active >= 0) open(shown[active]);
      else return;
      event.preventDefault();
    });
    const resized = () => { size = height(); rows.style.height = shown.length * size + "px"; for (const row of existing.values()) row.remove(); existing.clear(); draw(); };
    const watch = new ResizeObserver(resized);
    watch.observe(scroll);
    drawHead();
    return {
      node,
      focus: () => scroll.focus(),
      stop: () => watch.disconnect(),
      show: (indices, nothing) => {
        shown = indices;
        active = -1;
        none.textContent = nothing || "";
        none.hidden = !nothing;
        scroll.setAttribute("aria-rowcount", String(shown.length + 1));
        scroll.scrollTop = 0;
        resized();
      },
    };
  };
})();
