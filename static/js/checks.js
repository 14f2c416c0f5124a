// Quiet mode of the checks: while it is on, what they found shows when it is asked for. Without this script the links
// of the panel lead to the page with and without the findings.
(() => {
  "use strict";

  const bench = document.getElementById("workbench");
  if (!bench) return;
  const said = document.getElementById("checks-said");

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-show-checks], [data-hide-checks]");
    if (!link) return;
    event.preventDefault();
    const quiet = link.matches("[data-hide-checks]");
    bench.classList.toggle("is-quiet", quiet);
    const next = document.querySelector(quiet ? "[data-show-checks]" : "[data-hide-checks]");
    if (document.activeElement === link || link.contains(document.activeElement)) next?.focus({ preventScroll: true });
    said.textContent = quiet ? "" : document.querySelector("#checks .wb-panel-h > .wb-loud")?.innerText ?? "";
  });
  document.body.addEventListener("quiet-changed", () => {
    bench.classList.toggle("is-quiet", Boolean(document.querySelector("#checks[data-quiet]")));
    document.querySelector("#checks button[aria-pressed]")?.focus({ preventScroll: true });
  });
})();
