// Undo and redo of section forms: snapshots of their rows and fields, the last fifty. One stack holds what is done to
// rows and every committed change of a field; while a field holds text that is not committed, its own undo comes first.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;
  const MOST = 50;
  const words = $("#row-words").dataset;
  const put = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

  const histories = new WeakMap();
  const ticked = (field) => field.type === "checkbox" || field.type === "radio";
  const kept = (field) => field.name && !["hidden", "file", "submit", "button"].includes(field.type);

  const ROWS = ":scope > :is([data-row], [data-prop])"; // properties are the rows of a node

  function snapshot(form) {
    return {
      boxes: $$("[data-rows], [data-props]", form).map((box) => ({
        box,
        next: box.dataset.nextKey,
        rows: $$(ROWS, box).map((row) => [row, row.classList.contains("wb-spare")]),
      })),
      values: new Map([...form.elements].filter(kept).map((field) => [field, ticked(field) ? field.checked : field.value])),
    };
  }
  function same(one, other) {
    if (one.values.size !== other.values.size || one.boxes.length !== other.boxes.length) return false;
    for (const [field, value] of one.values) if (other.values.get(field) !== value) return false;
    return one.boxes.every(({ rows }, n) => rows.length === other.boxes[n].rows.length
      && rows.every(([row, spare], at) => other.boxes[n].rows[at][0] === row && other.boxes[n].rows[at][1] === spare));
  }

  function historyOf(form) {
    if (!histories.has(form)) histories.set(form, { past: [], future: [], now: snapshot(form) });
    return histories.get(form);
  }

  let inside = 0; // changes made of others are one

  // Whatever differs from the last snapshot becomes one step that can be undone. `field` is where it happened.
  function commit(form, label, field = document.activeElement) {
    if (inside) return false;
    const history = historyOf(form);
    const now = snapshot(form);
    if (same(history.now, now)) return false;
    history.past.push({ state: history.now, label, field });
    if (history.past.length > MOST) history.past.shift();
    history.future = [];
    history.now = now;
    show(form);
    return true;
  }

  function labelOf(field) {
    const label = field.labels?.[0]?.textContent.trim() || field.getAttribute("aria-label") || "";
    const row = $("legend", field.closest("[data-row]") ?? document.createElement("div"))?.textContent.trim();
    return row ? `${label}, ${row}` : label;
  }

  // What was typed and not committed yet is a step of its own before the next one.
  function settle(form) {
    const field = document.activeElement;
    commit(form, form.contains(field) && kept(field) ? put(words.change, { what: labelOf(field) }) : words.changes);
  }
  function change(form, label, act) {
    settle(form);
    inside += 1;
    try {
      return act();
    } finally {
      inside -= 1;
      commit(form, typeof label === "function" ? label() : label); // some know only then what they did
    }
  }

  // Rows and fields become what they were; returns where something changed, the fields first.
  function apply(form, state, field) {
    const places = [];
    for (const { box, next, rows } of state.boxes) {
      const wanted = rows.map(([row]) => row);
      const first = $(ROWS, box);
      let before = first ? first.previousElementSibling : $(":scope > .wb-rows-h", box);
      for (const row of $$(ROWS, box)) if (!wanted.includes(row)) row.remove();
      for (const row of wanted) {
        const after = before ? before.nextElementSibling : box.firstElementChild;
        if (after !== row) {
          if (!row.isConnected) places.push(row);
          if (before) before.after(row); else box.prepend(row);
        }
        before = row;
      }
      for (const [row, spare] of rows) row.classList.toggle("wb-spare", spare);
      if (next !== undefined) box.dataset.nextKey = next;
    }
    for (const [field, value] of state.values) {
      if ((ticked(field) ? field.checked : field.value) === value) continue;
      if (ticked(field)) field.checked = value; else field.value = value;
      places.unshift(field);
    }
    form.dispatchEvent(new CustomEvent("rows:restored", { bubbles: true, detail: { field } }));
    window.rows.changed($("input[name]", form));
    return places;
  }

  function step(form, from, to, word) {
    settle(form);
    const history = historyOf(form);
    const entry = history[from].pop();
    if (!entry) return;
    const focused = document.activeElement;
    history[to].push({ ...entry, state: history.now });
    history.now = entry.state;
    const places = apply(form, entry.state, entry.field);
    show(form);
    window.rows.say(put(word, { what: entry.label }));
    const inForm = (element) => element?.isConnected && form.contains(element) && element.getClientRects().length;
    const place = [entry.field, ...places, ...places.map((each) => window.rows.firstField(each))].find(inForm);
    if (focused?.matches("[data-undo], [data-redo]") || focused?.closest("svg")) focused.focus();
    else if (place?.matches("input, select, textarea, button")) place.focus();
    else (place ? window.rows.firstField(place) : focused?.isConnected ? focused : $("textarea, input:not([type=hidden])", form))?.focus();
    place?.scrollIntoView({ block: "nearest" });
  }
  const undo = (form) => step(form, "past", "future", words.undone);
  const redo = (form) => step(form, "future", "past", words.redone);

  function show(form) {
    const history = historyOf(form);
    const section = form.closest("[data-section]");
    for (const [name, stack, text, none] of [["undo", history.past, words.undo, words.undoNone], ["redo", history.future, words.redo, words.redoNone]]) {
      const button = section && $(`[data-${name}]`, section);
      if (!button) continue;
      const title = stack.length ? put(text, { what: stack.at(-1).label }) : none;
      button.title = title;
      button.setAttribute("aria-label", title);
      button.setAttribute("aria-disabled", String(!stack.length));
    }
  }

  const formOf = (element) => {
    const form = element?.closest?.("[data-section]")?.querySelector("[data-section-form]");
    return form && $("[data-rows]", form) ? form : null;
  };
  bench.addEventListener("click", (event) => {
    const button = event.target.closest("[data-undo], [data-redo]");
    if (button && button.getAttribute("aria-disabled") !== "true") (button.matches("[data-undo]") ? undo : redo)(formOf(button));
  });
  bench.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form && formOf(form) === form && kept(event.target)) commit(form, put(words.change, { what: labelOf(event.target) }), event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.altKey || !(event.ctrlKey || event.metaKey) || $("dialog[open]")) return;
    const key = event.key.toLowerCase();
    const again = key === "y" || (key === "z" && event.shiftKey);
    if (key !== "z" && !again) return;
    const field = document.activeElement;
    const form = formOf(field);
    if (!form) return;
    const history = historyOf(form);
    // the browser undoes what is being typed
    if (history.now.values.has(field) && !ticked(field) && history.now.values.get(field) !== field.value) return;
    if (!history[again ? "future" : "past"].length) return;
    event.preventDefault();
    event.stopPropagation();
    (again ? redo : undo)(form);
  }, true);

  function arrive(root) {
    for (const form of root.matches?.("[data-section-form]") ? [root] : $$("[data-section-form]", root)) {
      if (formOf(form) !== form) continue;
      historyOf(form);
      show(form);
    }
  }
  document.body.addEventListener("htmx:load", (event) => arrive(event.detail.elt));
  arrive(document);
  window.undo = { change, commit, settle };
})();
