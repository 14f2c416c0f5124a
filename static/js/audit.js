// The audit page: which criterion and which row the keys 1-5, p, f, c and y, n act on. The first open one, the one that
// has the focus, or after an answer the next open one. Without script everything is still there to click and post.
(() => {
  "use strict";

  const keyed = (element) => element.querySelectorAll("[data-key]");

  function setCurrent(group, chosen) {
    for (const element of group.querySelectorAll("[data-shortcut]")) element.removeAttribute("data-shortcut");
    for (const element of group.querySelectorAll(".is-now")) element.classList.remove("is-now");
    if (!chosen) return;
    chosen.classList.add("is-now");
    for (const element of keyed(chosen)) element.dataset.shortcut = element.dataset.key;
  }

  const parts = (group) => [...group.querySelectorAll("li[id], tr[id]")];
  const firstOpen = (group) => parts(group).find((part) => "open" in part.dataset);

  function nextOpen(group, after) {
    const all = parts(group);
    const position = all.indexOf(after);
    return all.slice(position + 1).find((part) => "open" in part.dataset) ?? firstOpen(group);
  }

  for (const group of document.querySelectorAll("[data-judge]")) {
    group.classList.add("is-live");
    setCurrent(group, firstOpen(group));
    const choose = (event) => {
      const part = event.target.closest("li[id], tr[id]");
      if (part && keyed(part).length) setCurrent(group, part);
    };
    group.addEventListener("input", (event) => event.target.closest("li[id]")?.classList.add("is-dirty"));
    // not on a pointer's focusin: the list would move between pressing and releasing the button
    group.addEventListener("click", choose);
    group.addEventListener("focusin", (event) => { if (event.target.matches(":focus-visible")) choose(event); });
  }

  // j and k: the criterion in work; in the table of ticks, when the focus is there, its rows. Ctrl+Enter saves.
  const scopeOf = (element) => element?.closest?.("[data-judge=tick]") ?? document.querySelector("[data-judge=criterion]");
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-judge-step]");
    if (!button) return;
    const group = scopeOf(document.activeElement);
    const all = group ? parts(group).filter((part) => keyed(part).length) : [];
    const now = all.findIndex((part) => part.matches(".is-now"));
    const next = all[Math.max(0, Math.min(all.length - 1, now + Number(button.dataset.judgeStep)))];
    if (!next) return;
    const focused = group.contains(document.activeElement);
    setCurrent(group, next);
    next.scrollIntoView({ block: "nearest" });
    if (focused) keyed(next)[0].focus({ preventScroll: true });
  });
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    if (document.querySelector("dialog[open]")) return;
    const own = event.target.closest?.("form");
    const form = own?.querySelector("textarea") ? own : document.querySelector("[data-judge=criterion] .is-now form");
    if (!form || form.closest("[data-talk-panel]")) return;
    event.preventDefault();
    form.requestSubmit();
  });

  // One more row in the list of what to mend.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-add-point]");
    if (!button) return;
    const rows = button.form.querySelectorAll("[data-row]");
    const row = rows[rows.length - 1].cloneNode(true);
    const [text, place, criterion] = row.querySelectorAll("[name]");
    text.value = place.value = criterion.value = "";
    text.setAttribute("aria-label", `${button.dataset.say} ${rows.length + 1}`);
    place.setAttribute("aria-label", `${button.dataset.sayWhere} ${rows.length + 1}`);
    rows[rows.length - 1].after(row);
    text.focus();
  });

  document.body.addEventListener("htmx:load", (event) => {
    const part = event.detail.elt;
    const group = part.matches?.("li[id], tr[id]") && part.closest("[data-judge]");
    if (!group) return; // other parts of the page that the answer changed
    const moved = "saved" in part.dataset;
    const next = moved ? nextOpen(group, part) : part;
    setCurrent(group, next);
    if (moved) next?.scrollIntoView({ block: "nearest" });
    // the focus was on what is gone: keep the place for the keyboard
    if (document.activeElement === document.body) {
      (keyed(next ?? part)[0] ?? part).focus({ preventScroll: true });
    }
  });
})();
