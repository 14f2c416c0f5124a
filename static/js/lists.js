// The item list: rows by key (j, k, x), ranges of ticks with Shift, how many are selected, the row one came from;
// and the order of its columns.
(() => {
  "use strict";

  // ---------- the order of the columns; without script it is typed ----------

  document.querySelector(".wb-columns")?.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move]");
    if (!button) return;
    const row = button.closest("li");
    if (button.dataset.move === "up") row.previousElementSibling?.before(row);
    else row.nextElementSibling?.after(row);
    [...row.parentElement.children].forEach((one, n) => { one.querySelector(".wb-place").value = n + 1; });
    button.focus();
    row.scrollIntoView({ block: "nearest" });
  });

  const table = document.querySelector(".wb-items");
  const bar = document.querySelector("#bulk");
  if (!table || !bar) return;
  const rows = [...table.tBodies[0].rows];
  const box = (row) => row.querySelector("input[name=n]");
  const boxes = rows.map(box);
  const page = document.querySelector("#pick-page");
  const every = bar.querySelector("input[name=all]");
  const said = bar.querySelector("[data-selected]");
  let last = -1;

  function show() {
    const ticked = boxes.filter((one) => one.checked).length;
    said.textContent = every?.checked ? said.dataset.all : said.dataset.some.replace("{n}", ticked);
    page.checked = ticked === boxes.length;
    page.indeterminate = ticked > 0 && ticked < boxes.length;
    const some = ticked > 0 || Boolean(every?.checked);
    bar.classList.toggle("wb-bulk", some);
    bar.classList.toggle("wb-card-f", !some);
    rows.forEach((row, n) => row.classList.toggle("is-picked", boxes[n].checked));
  }
  table.addEventListener("click", (event) => {
    const at = boxes.indexOf(event.target);
    if (at < 0) return;
    if (event.shiftKey && last >= 0) {
      const [from, to] = [Math.min(at, last), Math.max(at, last)];
      for (const one of boxes.slice(from, to + 1)) one.checked = event.target.checked;
    }
    last = at;
    show();
  });
  page.addEventListener("change", () => {
    for (const one of boxes) one.checked = page.checked;
    show();
  });
  every?.addEventListener("change", show);
  window.addEventListener("pageshow", show);

  // ---------- by key ----------

  const here = () => rows.findIndex((row) => row.contains(document.activeElement));
  const link = (row) => row.querySelector("a.wb-q");
  const go = {
    next: () => link(rows[Math.min(here() + 1, rows.length - 1)])?.focus(),
    previous: () => link(rows[Math.max(here() - 1, 0)])?.focus(),
    pick: () => { const at = here(); if (at >= 0) { boxes[at].checked = !boxes[at].checked; last = at; show(); } },
  };
  // A click must not take the focus from the row.
  for (const button of document.querySelectorAll("[data-row-key]")) {
    button.addEventListener("click", () => go[button.dataset.rowKey]());
  }

  // ---------- coming back ----------

  const place = `list ${location.pathname}${location.search}`;
  table.addEventListener("click", (event) => {
    const row = event.target.closest("a.wb-q")?.closest("tr");
    if (row) try { sessionStorage.setItem(place, box(row).value); } catch { /* the browser keeps the scroll */ }
  });
  try {
    const from = rows.find((row) => box(row).value === sessionStorage.getItem(place));
    if (from && performance.getEntriesByType("navigation")[0]?.type === "back_forward") link(from).focus();
  } catch { /* no storage, no place */ }
})();
