"use strict";
// Before anything is painted: the theme chosen on this computer, or the system's.
{
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() || (system.matches ? "dark" : "light");
    dispatchEvent(new Event("theme"));
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("toggle-theme", () => {
    try { localStorage.setItem("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark"); } catch { return; }
    apply();
  });
}
