// Sets the user's choice of light or dark before the first paint. Without a choice the system's
// theme applies.
"use strict";
try {
  const chosen = localStorage.getItem("garrick-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden. Then there is no stored choice.
}
