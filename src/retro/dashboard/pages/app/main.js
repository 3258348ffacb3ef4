"use strict";
// Where to go, and the theme.
(function () {
  const { h } = retro;
  const PAGES = [["", "Overview"], ["cost", "Cost"], ["signals", "Signals"], ["patterns", "Patterns"], ["memory", "Memory"], ["measure", "Measure"], ["capture", "Capture"]];
  const main = document.getElementById("main");
  let stop = null;
  let last = null;

  retro.themeButton = () => {
    const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const button = h("button", { class: "button icon", type: "button", "aria-label": "Switch between light and dark", title: "Light or dark", onclick: () => {
      const next = dark() ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      try { localStorage.setItem("retro-theme", next); } catch { /* then it lasts as long as the page */ }
      button.textContent = dark() ? "☀" : "☾";
      document.dispatchEvent(new CustomEvent("retro-theme"));
    } }, dark() ? "☀" : "☾");
    return button;
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new CustomEvent("retro-theme")));

  retro.show = () => {
    const place = retro.place();
    const name = place.path[0] || "";
    const view = name === "" ? "overview" : name;
    if (stop) stop();
    stop = null;
    document.title = (PAGES.find(([key]) => key === name) || [0, "retro"])[1] + " · retro";
    retro.clear(document.getElementById("nav"), PAGES.map(([key, label]) => h("a", { href: retro.link(key ? [key] : [], key === "" || key === "cost" ? retro.along({}) : {}), "aria-current": key === name || (key === "cost" && name === "day") ? "page" : null }, label)));
    const draw = Object.hasOwn(retro.views, view) ? retro.views[view] : null;
    if (draw) stop = draw(main, place) || null;
    else retro.clear(main, retro.empty("There is no such page."));
    const path = place.path.join("/");
    if (last !== null && last !== path) { scrollTo(0, 0); main.focus({ preventScroll: true }); }
    last = path;
  };

  // Served live: every commit to the index brings the figures up to date, without a jump.
  function live() {
    const mark = h("span", { class: "live", role: "status", title: "Live: new sessions appear as they are written" }, "live");
    document.querySelector(".mark").after(mark);
    const source = new EventSource("events");
    let due = 0;
    source.onmessage = () => { clearTimeout(due); due = setTimeout(renew, 300); };
    source.onerror = () => { mark.textContent = "not connected"; mark.classList.add("off"); };
    source.onopen = () => { mark.textContent = "live"; mark.classList.remove("off"); };
    addEventListener("pagehide", () => source.close());
    async function renew() {
      const place = retro.place();
      retro.all = await retro.load("overview", true);
      const typing = /^(input|select)$/i.test(document.activeElement.tagName);
      retro.forget();
      retro.firstRows();
      if (["session", "search"].includes(place.path[0]) || typing) return;
      const [x, y] = [scrollX, scrollY];
      retro.show();
      scrollTo(x, y);
      retro.say("Updated.");
    }
  }

  if (!self.DecompressionStream) { retro.clear(main, retro.empty("This browser is too old for these pages: Chromium 80, Firefox 113, Safari 16.4 or a newer one shows them.")); return; }
  retro.load("overview").then((all) => {
    retro.all = all;
    retro.show();
    addEventListener("hashchange", retro.show);
    if (location.protocol.startsWith("http")) live();
  }).catch(() => retro.clear(main, retro.empty("The data of this dashboard is missing. To build it again:", "retro dashboard build")));
})();
