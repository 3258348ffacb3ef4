"use strict";
// Before anything is painted: the theme that the person chose, else that of the system.
(function () {
  let chosen = null;
  try { chosen = localStorage.getItem("retro-theme"); } catch { /* a browser may forbid it */ }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
