// @ts-check
"use strict";
// Runs before the first paint: sets the theme chosen on this computer, or the system's; light when printing.
{
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* a private window stores nothing */ }
  /** @param {string} [theme] */
  const apply = (theme) => {
    root.dataset.theme = theme ?? chosen ?? (system.matches ? "dark" : "light");
    dispatchEvent(new Event("theme"));
  };
  apply();
  system.addEventListener("change", () => apply());
  addEventListener("beforeprint", () => apply("light"));
  addEventListener("afterprint", () => apply());
  addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).id !== "theme") return;
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", chosen); } catch { /* as above */ }
    apply();
  });
}
