// Puts the theme that was chosen before on the page; without a choice the system decides.
(function () {
  "use strict";
  try {
    const chosen = localStorage.getItem("septet-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be switched off: then the system decides.
  }
})();
