// Rows of section forms: added, moved, dragged, removed, pasted; keys offered and explained while typing.
// Without it rows are edited and saved by plain forms. `window.rows` is for the checklist's script.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;
  const words = $("#row-words").dataset;
  const put = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const formOf = (element) => element.closest("[data-section-form]");
  const change = (element, label, act) => window.undo.change(formOf(element), label, act);

  // Screen readers hear it; a text said twice is said anew.
  const ear = document.createElement("div");
  ear.className = "wb-sr";
  ear.setAttribute("role", "status");
  bench.append(ear);
  function say(text) {
    ear.textContent = "";
    requestAnimationFrame(() => { ear.textContent = text; });
  }

  // ---------- rows ----------

  const rowsOf = (box) => $$(":scope > [data-row]", box);
  const used = (box) => rowsOf(box).filter((row) => !row.classList.contains("wb-spare"));
  const changed = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));
  const firstField = (row) => $("textarea, input:not([type=hidden], [type=checkbox])", row);
  const fieldOf = (row, name) => $(`[name$="-${name}"]`, row);
  const numberOf = (row) => $("[data-number]", row)?.textContent.trim() ?? "";
  const keyOf = (row) => $("[data-key]", row)?.value ?? "";
  const nameOf = (row) => put(row.parentElement.dataset.rowName, { number: numberOf(row), key: keyOf(row) });
  const isNew = (row) => !$("[data-key]", row)?.name.endsWith("-key");
  const isEmpty = (row) => isNew(row) && $$("textarea, input:not([type=hidden], [type=checkbox])", row).every((field) => !field.value.trim());
  const SEPARATORS = /[\s,;，；、]+/;
  const tokens = (text) => text.split(SEPARATORS).filter(Boolean);

  function name(row) {
    const text = nameOf(row);
    $("legend", row).textContent = text;
    for (const button of $$("[data-label]", row)) button.setAttribute("aria-label", put(button.dataset.label, { name: text }));
  }

  // Prerequisites name rows by number: when rows move, the numbers in all of them follow.
  function renumber(box) {
    const after = new Map();
    rowsOf(box).forEach((row, place) => {
      const number = $("[data-number]", row);
      if (number) after.set(number.textContent.trim(), String(place + 1));
    });
    if ([...after].every(([old, now]) => old === now)) return;
    for (const row of rowsOf(box)) {
      $("[data-number]", row).textContent = after.get(numberOf(row));
      for (const field of [fieldOf(row, "prerequisites"), fieldOf(row, "merged_into")]) {
        if (field) field.value = field.value.replace(/(?<![\w-])\d+(?![\w-])/g, (old) => after.get(old) ?? old);
      }
      name(row);
    }
  }

  function addRow(box, before = null) {
    let row = $(":scope > .wb-spare", box);
    if (!row) {
      const blank = $(":scope > template", box);
      if (!blank) return null;
      row = blank.content.firstElementChild.cloneNode(true);
      const place = rowsOf(box).length + 1;
      const index = `x${Date.now().toString(36)}${place}`.slice(0, 12);
      for (const element of $$("[id], [name], [for], [aria-describedby]", row)) {
        for (const attribute of ["id", "name", "for", "aria-describedby"]) {
          const value = element.getAttribute(attribute);
          if (value) element.setAttribute(attribute, value.replace("-new-", `-${index}-`));
        }
      }
      const number = $("[data-number]", row);
      if (number) number.textContent = place;
      const key = box.dataset.nextKey;
      const hidden = $("[data-key]", row);
      if (hidden && key) {
        hidden.value = key;
        $("[data-shown-key]", row).textContent = key;
        box.dataset.nextKey = key[0] + (Number(key.slice(1)) + 1);
      }
      const rows = rowsOf(box);
      if (rows.length) rows.at(-1).after(row); else box.prepend(row);
      name(row);
    }
    row.classList.remove("wb-spare");
    const last = before ?? used(box).filter((each) => each !== row).at(-1);
    if (last && last.nextElementSibling !== row) {
      last.after(row);
      renumber(box);
    }
    return row;
  }

  function addAfter(box, before) {
    const row = change(box, words.added, () => addRow(box, before));
    if (!row) return;
    firstField(row).focus();
    changed(firstField(row));
    say(put(words.sayAdded, { name: nameOf(row) }));
  }

  function moveRow(row, by) {
    const box = row.parentElement;
    const rows = used(box);
    const other = rows[rows.indexOf(row) + by];
    const focused = document.activeElement;
    if (!other) return say(put(by < 0 ? words.first : words.last, { name: nameOf(row) }));
    change(box, put(words.moved, { name: nameOf(row) }), () => {
      if (by < 0) other.before(row); else other.after(row);
      renumber(box);
    });
    if (row.contains(focused)) focused.focus(); // a field that moves loses the focus
    changed(firstField(row));
    row.scrollIntoView({ block: "nearest" });
    say(put(words.sayMoved, { name: nameOf(row), place: used(box).indexOf(row) + 1, of: used(box).length }));
  }

  // A row that was never saved goes at once, unless others name it; one that was saved is marked, and goes with the save.
  function removeRow(row) {
    const box = row.parentElement;
    const rows = used(box);
    const next = rows[rows.indexOf(row) + 1] ?? rows[rows.indexOf(row) - 1];
    const text = nameOf(row);
    change(box, put(words.removed, { name: text }), () => {
      row.remove();
      renumber(box);
    });
    (next ? firstField(next) : $("[data-add]", box))?.focus();
    changed($("input[name]", formOf(box)));
    say(put(words.sayRemoved, { name: text }));
  }
  const dependents = (row) => used(row.parentElement).filter((other) => {
    const needs = other !== row && !$("[data-remove]", other).checked && fieldOf(other, "prerequisites");
    return needs && tokens(needs.value).some((token) => token === numberOf(row) || token === keyOf(row));
  });

  function showState(row) {
    row.classList.toggle("is-removed", $("[data-remove]", row).checked);
    const strike = fieldOf(row, "strike");
    if (strike) row.classList.toggle("is-struck", Boolean(strike.value));
  }

  bench.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches("[data-add]")) {
      addAfter(button.closest("[data-rows]"), null);
    } else if (button.matches("[data-move]")) {
      moveRow(button.closest("[data-row]"), Number(button.dataset.move));
    }
  });
  bench.addEventListener("change", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    if (event.target.matches("[data-remove]") && event.target.checked && isNew(row) && keyOf(row) && !dependents(row).length) {
      event.target.checked = false;
      event.stopPropagation();
      removeRow(row);
    } else if (event.target.matches("[data-remove], [name$='-strike']")) {
      showState(row);
    }
  }, true);
  document.addEventListener("rows:restored", (event) => {
    for (const box of $$("[data-rows]", event.target)) {
      rowsOf(box).forEach((row, place) => {
        const number = $("[data-number]", row);
        if (number) number.textContent = place + 1;
        name(row);
        showState(row);
      });
    }
  });

  // ---------- keys ----------

  bench.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey) return;
    const row = event.target.closest?.("[data-rows] > [data-row]");
    if (!row) return;
    const box = row.parentElement;
    const field = event.target;
    const text = field.matches("textarea, input:not([type=checkbox])");
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      if (field.matches("select") || !$("[data-move]", row)) return; // Alt+Down opens a list of choices
      event.preventDefault();
      moveRow(row, event.key === "ArrowUp" ? -1 : 1);
    } else if (event.altKey || event.shiftKey || !text) {
      return;
    } else if (event.key === "Enter" && (field === firstField(row) || field.matches("input"))) {
      if (!$(":scope > template", box)) return;
      event.preventDefault();
      if (!event.repeat) addAfter(box, row);
    } else if (event.key === "Backspace" && field === firstField(row) && isEmpty(row) && !dependents(row).length) {
      event.preventDefault();
      const before = used(box)[used(box).indexOf(row) - 1];
      removeRow(row);
      if (before) {
        const last = firstField(before);
        last.focus();
        last.setSelectionRange?.(last.value.length, last.value.length);
      }
    }
  });

  // ---------- dragging ----------

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  function drag(box) {
    if (box.dataset.drag !== undefined || !$("[data-handle]", box) || !window.Sortable) return;
    box.dataset.drag = "";
    window.Sortable.create(box, {
      handle: "[data-handle]",
      draggable: "[data-row]:not(.wb-spare)",
      forceFallback: true, // one way for mouse, pen and touch
      fallbackOnBody: true, // the copy that is dragged is no row of the form
      fallbackTolerance: 3,
      animation: still.matches ? 0 : 120,
      ghostClass: "is-dragged",
      onStart: () => window.undo.settle(formOf(box)),
      onEnd: ({ item, oldIndex, newIndex }) => {
        if (oldIndex === newIndex) return;
        const was = nameOf(item);
        renumber(box);
        window.undo.commit(formOf(box), put(words.moved, { name: was }), firstField(item));
        changed(firstField(item));
        say(put(words.sayMoved, { name: was, place: used(box).indexOf(item) + 1, of: used(box).length }));
      },
    });
  }

  // ---------- pasting: many lines or cells of a spreadsheet into an empty first field become a row each ----------

  bench.addEventListener("paste", async (event) => {
    const field = event.target;
    const row = field.closest?.("[data-row]");
    const box = row?.closest("[data-rows]");
    if (!box?.dataset.paste || field !== firstField(row) || field.value.trim()) return;
    const text = (event.clipboardData?.getData("text/plain") ?? "").replace(/\s+$/, "");
    if (!/[\n\t]/.test(text)) return;
    event.preventDefault();
    const body = new URLSearchParams({ text, before: String(rowsOf(box).indexOf(row)) });
    const token = $('meta[name="csrf-token"]').content;
    let pasted;
    try {
      const reply = await fetch(box.dataset.paste, { method: "POST", body, headers: { "X-CSRFToken": token } });
      pasted = await reply.json();
    } catch {
      change(box, words.pasted, () => { field.value = text; });
      changed(field);
      document.body.dispatchEvent(new CustomEvent("toast", { detail: { text: words.pasteFailed, level: "warning" } }));
      return;
    }
    if (!row.isConnected || !pasted.rows.length) return;
    change(box, put(words.pasted, { n: pasted.rows.length }), () => {
      let at = row;
      const filled = pasted.rows.map((values, number) => {
        if (number) at = addRow(box, at);
        return [at, values];
      });
      for (const [each, values] of filled) {
        for (const [column, value] of Object.entries(values)) {
          const control = fieldOf(each, column);
          if (control && (control.tagName !== "SELECT" || [...control.options].some((option) => option.value === value))) control.value = value;
        }
      }
    });
    const label = (column) => fieldOf(row, column)?.labels[0]?.textContent.trim();
    const what = pasted.columns.map(label).filter(Boolean).join(", ");
    let said = put(words.sayPasted, { n: pasted.rows.length, columns: what });
    if (pasted.unread.length) said += ` ${put(words.sayUnread, { cells: pasted.unread.join(", ") })}`;
    document.body.dispatchEvent(new CustomEvent("toast", { detail: { text: said, level: pasted.unread.length ? "warning" : "info" } }));
    changed(field);
  });

  // ---------- keys while typing: what may follow is offered, what is there is explained ----------

  function listOf(input, fresh) {
    const list = document.getElementById(input.getAttribute("list"));
    const box = input.closest("[data-rows=checklist]");
    if (list && box && list.id === "keys-checklist" && (fresh || list.dataset.of !== input.id)) {
      list.dataset.of = input.id;
      const own = input.closest("[data-row]");
      const options = used(box).filter((row) => row !== own && !isEmpty(row)).map((row) => {
        const option = document.createElement("option");
        option.dataset.code = numberOf(row);
        option.dataset.key = keyOf(row);
        option.textContent = firstField(row).value.slice(0, 60);
        return option;
      });
      list.replaceChildren(...options);
    }
    return list;
  }
  function offer(input, list) {
    const before = input.value.replace(/[^,;，；、\s]*$/, "");
    const there = new Set(tokens(before));
    for (const option of $$("option", list)) {
      option.dataset.code ??= option.value;
      option.value = before + option.dataset.code;
      option.disabled = there.has(option.dataset.code);
    }
  }
  function explain(input, list) {
    const field = input.closest(".wb-field");
    let chips = $(":scope > .wb-means", field);
    if (!chips) {
      chips = document.createElement("div");
      chips.className = "wb-means";
      chips.id = `${input.id}-is`;
      field.append(chips);
      input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby") ?? ""} ${chips.id}`.trim());
    }
    const options = $$("option", list);
    chips.replaceChildren(...tokens(input.value).map((token) => {
      const option = options.find(({ dataset }) => dataset.code === token || dataset.key === token);
      const chip = document.createElement("div");
      chip.className = option ? "wb-mean" : "wb-mean is-unknown";
      const code = document.createElement("span");
      code.className = "wb-key";
      code.textContent = token;
      chip.append(code, ` ${option ? option.textContent : words.unknown}`);
      return chip;
    }));
  }
  for (const kind of ["focusin", "input", "pointerover"]) {
    bench.addEventListener(kind, (event) => {
      const input = event.target;
      if (!input.matches?.("input[data-keys]")) return;
      const list = listOf(input, kind !== "input");
      if (!list) return;
      offer(input, list);
      explain(input, list);
    });
  }

  function arrive(root) {
    for (const box of $$("[data-rows]", root)) drag(box);
  }
  document.body.addEventListener("htmx:load", (event) => arrive(event.detail.elt));
  arrive(document);
  window.rows = { addRow, rowsOf, used, changed, firstField, fieldOf, numberOf, keyOf, nameOf, isNew, isEmpty, tokens, dependents, removeRow, showState, change, say, put, words, formOf };
})();
