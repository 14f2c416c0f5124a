// Choosing items for a release: all of a page at once, ranges with Shift, and how many are chosen.
(() => {
  "use strict";

  const table = document.querySelector(".wb-picks");
  const said = document.querySelector("[data-chosen]");
  if (!table || !said) return;
  const boxes = [...table.querySelectorAll("input[name=n]")];
  const page = document.querySelector("#pick-page");
  const before = Number(said.dataset.chosen) - boxes.filter((box) => box.defaultChecked).length;
  let last = -1;

  function show() {
    const ticked = boxes.filter((box) => box.checked).length;
    said.textContent = said.dataset.text.replace("{n}", before + ticked);
    page.checked = boxes.length > 0 && ticked === boxes.length;
    page.indeterminate = ticked > 0 && ticked < boxes.length;
  }
  table.addEventListener("click", (event) => {
    const at = boxes.indexOf(event.target);
    if (at < 0) return;
    if (event.shiftKey && last >= 0) {
      for (const box of boxes.slice(Math.min(at, last), Math.max(at, last) + 1)) box.checked = event.target.checked;
    }
    last = at;
    show();
  });
  page.addEventListener("change", () => {
    for (const box of boxes) box.checked = page.checked;
    show();
  });
  window.addEventListener("pageshow", show);
})();
