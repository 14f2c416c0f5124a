// A list whose rows are walked through by j and k; Enter opens the one that has the focus. Without script they are links.
(() => {
  "use strict";

  const table = document.querySelector("[data-row-keys]");
  if (!table) return;
  const links = [...table.tBodies[0].rows].map((row) => row.querySelector("a"));
  const here = () => links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const go = {
    next: () => links[Math.min(here() + 1, links.length - 1)].focus(),
    previous: () => links[Math.max(here() - 1, 0)].focus(),
  };
  for (const button of document.querySelectorAll("[data-row-key]")) {
    button.addEventListener("click", () => go[button.dataset.rowKey]());
  }
})();
