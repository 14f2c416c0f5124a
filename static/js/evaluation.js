// A run or study that is watched: says once when the server does not answer, instead of every two seconds.
// A person's own verdict: how many marks are set, and the next unmarked step after each mark.
(() => {
  "use strict";

  const watched = ["run-progress", "study-progress"];
  const isWatching = (event) => [event.detail.elt?.id, event.detail.target?.id].some((id) => watched.includes(id));
  function unheard(event) {
    event.stopPropagation();
    const note = document.querySelector("[data-stale]");
    if (note) note.hidden = false;
  }
  for (const kind of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.addEventListener(kind, (event) => { if (isWatching(event)) unheard(event); }, true);
  }
  document.addEventListener("htmx:beforeSwap", (event) => {
    // a whole page in place of the part is the log-in page
    if (!isWatching(event) || !/^\s*<!doctype/i.test(event.detail.xhr.responseText)) return;
    event.detail.shouldSwap = false;
    unheard(event);
  }, true);

  const form = document.querySelector("form[data-marks]");
  if (!form) return;
  const groups = [...form.querySelectorAll("fieldset")];
  const said = document.querySelector("[data-marked]");
  const isMarked = (group) => group.querySelector("input:checked") !== null;

  function count() {
    if (!said) return;
    said.textContent = said.dataset.marked
      .replace("{n}", groups.filter(isMarked).length)
      .replace("{of}", groups.length);
  }
  form.addEventListener("change", count);
  count();

  // y and n mark the step in focus, or the first unmarked one, and go on to the next.
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key !== "y" && event.key !== "n") return;
    if (event.target.matches("input:not([type=radio]), textarea, select") || document.querySelector("dialog[open]")) return;
    if (form.getClientRects().length === 0 || localStorage.getItem("shortcuts") === "off") return;
    const group = groups.find((one) => one.contains(document.activeElement)) ?? groups.find((one) => !isMarked(one));
    if (!group) return;
    event.preventDefault();
    group.querySelectorAll("input")[event.key === "y" ? 0 : 1].click();
    (groups[groups.indexOf(group) + 1]?.querySelector("input") ?? form.querySelector("button")).focus();
  });
})();
