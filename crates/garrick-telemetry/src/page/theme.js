// Sets light or dark before the first paint, when somebody chose once. Without a choice the system's holds.
"use strict";
try {
  const chosen = localStorage.getItem("garrick-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden. Then nothing is remembered.
}
