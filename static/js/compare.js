// Walking through a difference: j and k, or the buttons, lead from change to change.
(() => {
  "use strict";

  const place = document.getElementById("change-place");
  if (!place) return;
  const changes = () => [...document.querySelectorAll("tr[data-change]")];

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-change-step]");
    if (!button) return;
    const all = changes();
    const at = all.indexOf(document.activeElement?.closest?.("tr[data-change]") ?? document.querySelector("tr.is-here"));
    const next = Math.min(Math.max(at < 0 ? (button.dataset.changeStep > 0 ? 0 : all.length - 1) : at + Number(button.dataset.changeStep), 0), all.length - 1);
    for (const row of all) row.classList.toggle("is-here", row === all[next]);
    if (document.activeElement !== button) all[next].focus({ preventScroll: true });
    all[next].scrollIntoView({ block: "center" });
    place.textContent = `${next + 1} / ${all.length}`;
  });
})();
