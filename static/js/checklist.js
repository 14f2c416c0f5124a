// The checklist: its counter, bulk edits and questions about removed steps; edges made in the drawing by two clicks or
// by keys; what breaks without a step. Without it the form alone does all of this, and the server says the rest.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;
  const { used, changed, firstField, fieldOf, numberOf, keyOf, nameOf, isNew, isEmpty, tokens, dependents, removeRow, showState, change, say, put, words, formOf } = window.rows;

  const boxOf = () => $("[data-rows=checklist]", bench);
  const steps = () => { const box = boxOf(); return box ? used(box).filter((row) => !isEmpty(row)) : []; };
  const goes = (row) => $("[data-remove]", row).checked || Boolean(fieldOf(row, "strike").value);
  const rowCalled = (name) => steps().find((row) => numberOf(row) === name || keyOf(row) === name);
  // Each row with the rows that it needs.
  function needsOf(rows) {
    const called = new Map(rows.flatMap((row) => [[numberOf(row), row], [keyOf(row), row]]));
    return new Map(rows.map((row) => [row, tokens(fieldOf(row, "prerequisites").value).map((name) => called.get(name)).filter(Boolean)]));
  }
  const numbers = (rows) => rows.map(numberOf).join(", ");
  const button = (label, act, kind = "btn btn-sm") => {
    const element = document.createElement("button");
    Object.assign(element, { type: "button", className: kind, textContent: label });
    element.addEventListener("click", act);
    return element;
  };

  // ---------- counter ----------

  function count() {
    const counter = $("[data-counter]");
    if (!counter) return;
    const rows = steps().filter((row) => !$("[data-remove]", row).checked);
    const before = Number(counter.dataset.struck);
    const kept = rows.filter((row) => !goes(row)).length;
    const all = rows.length + before;
    const text = kept === all ? put(words.steps, { n: all }) : put(words.candidates, { n: all, kept });
    if (counter.textContent !== text) counter.textContent = text;
  }
  let pause = 0;
  bench.addEventListener("input", (event) => {
    if (!event.target.closest?.("[data-section-form]") || !boxOf()) return;
    clearTimeout(pause);
    pause = setTimeout(count, 120);
  });

  // ---------- what is merged asks for its target ----------

  function showTarget(row) {
    fieldOf(row, "merged_into")?.closest(".wb-field").classList.toggle("wb-off", fieldOf(row, "strike").value !== "merged");
  }
  bench.addEventListener("change", (event) => {
    const row = event.target.closest("[data-rows=checklist] > [data-row]");
    if (!row) return;
    if (event.target.matches("[name$='-strike']")) {
      showTarget(row);
      say(put(event.target.value ? words.sayStruck : words.sayKept, { name: nameOf(row) }));
      count();
    } else if (event.target.matches("[data-remove]")) {
      ask(row);
      count();
    }
  });

  // ---------- a removed step that others need: how do they go on? ----------

  function ask(row) {
    $(".wb-ask", row)?.remove();
    if (!$("[data-remove]", row).checked) return;
    const rest = dependents(row);
    if (!rest.length) return;
    const own = fieldOf(row, "prerequisites").value.trim();
    const box = document.createElement("div");
    box.className = "wb-ask";
    box.setAttribute("role", "group");
    const text = document.createElement("span");
    text.textContent = put(words.asks, { name: nameOf(row), steps: numbers(rest) });
    box.setAttribute("aria-label", text.textContent);
    const settle = (inherit) => {
      change(row, put(inherit ? words.inherited : words.lost, { name: nameOf(row) }), () => {
        for (const other of rest) {
          const field = fieldOf(other, "prerequisites");
          const names = tokens(field.value).flatMap((name) => (rowCalled(name) !== row ? [name] : inherit ? tokens(own) : []));
          field.value = [...new Set(names)].join(", ");
        }
      });
      box.remove();
      if (isNew(row)) return removeRow(row);
      $("[data-remove]", row).focus();
      changed(fieldOf(rest[0], "prerequisites"));
      say(put(inherit ? words.sayInherited : words.sayLost, { steps: numbers(rest) }));
    };
    box.append(text, button(own ? put(words.inherit, { steps: own }) : words.inheritNone, () => settle(true)), button(words.lose, () => settle(false)));
    row.append(box);
    say(text.textContent);
  }

  // ---------- many at once ----------

  let lastTick = null;
  const ticks = () => $$("[data-rows=checklist] > [data-row]:not(.wb-spare) [data-select]", bench);
  const chosen = () => used(boxOf()).filter((row) => $("[data-select]", row)?.checked);

  function showChosen() {
    const bar = $("[data-bulk]");
    if (!bar) return;
    const all = ticks();
    const n = all.filter((tick) => tick.checked).length;
    $("[data-bulk-count]", bar).textContent = put(words.selected, { n });
    const whole = $("[data-bulk-all]", bar);
    whole.checked = n > 0 && n === all.length;
    whole.indeterminate = n > 0 && n < all.length;
    for (const control of $$("[data-bulk-set], [data-bulk-add], [data-bulk-remove]", bar)) control.disabled = !n;
    for (const tick of all) tick.closest("[data-row]").classList.toggle("is-chosen", tick.checked);
  }
  function together(label, act) {
    const rows = chosen();
    change(boxOf(), put(label, { n: rows.length }), () => rows.forEach(act));
    changed(firstField(rows[0]));
    say(put(words.sayBulk, { n: rows.length }));
  }
  bench.addEventListener("click", (event) => {
    const many = event.target.closest("[data-many]");
    if (many) {
      const on = many.getAttribute("aria-pressed") !== "true";
      many.setAttribute("aria-pressed", String(on));
      boxOf().classList.toggle("is-many", on);
      $("[data-bulk]").hidden = !on;
      if (!on) for (const tick of ticks()) tick.checked = false;
      lastTick = null;
      showChosen();
      if (on) $("[data-bulk-all]").focus();
      return;
    }
    const tick = event.target.closest("[data-select]");
    if (tick) {
      const all = ticks();
      if (event.shiftKey && lastTick?.isConnected && lastTick !== tick) {
        const [from, to] = [all.indexOf(lastTick), all.indexOf(tick)].sort((a, b) => a - b);
        for (const each of all.slice(from, to + 1)) each.checked = tick.checked;
      }
      lastTick = tick;
      showChosen();
    }
    const add = event.target.closest("[data-bulk-add]");
    if (add) {
      const input = $(`[data-bulk-keys=${add.dataset.bulkAdd}]`);
      const keys = tokens(input.value);
      if (!keys.length) return input.focus();
      together(words.bulkAdded, (row) => {
        const field = fieldOf(row, add.dataset.bulkAdd);
        field.value = [...new Set([...tokens(field.value), ...keys])].join(", ");
      });
      input.value = "";
    } else if (event.target.closest("[data-bulk-remove]")) {
      together(words.bulkRemoved, (row) => {
        $("[data-remove]", row).checked = true;
        showState(row);
      });
      for (const row of chosen()) ask(row);
      count();
    }
  });
  bench.addEventListener("change", (event) => {
    if (event.target.matches("[data-bulk-all]")) {
      for (const tick of ticks()) tick.checked = event.target.checked;
      showChosen();
    } else if (event.target.matches("[data-bulk-set]")) {
      const { bulkSet } = event.target.dataset;
      const value = event.target.value;
      event.target.value = "keep";
      if (value === "keep") return;
      together(words.bulkSet, (row) => {
        fieldOf(row, bulkSet).value = value;
        showState(row);
        showTarget(row);
      });
      count();
    }
  });
  bench.addEventListener("keydown", (event) => {
    const tick = event.target.closest?.("[data-select]");
    if (!tick || !["ArrowDown", "ArrowUp"].includes(event.key) || event.altKey || event.ctrlKey) return;
    event.preventDefault();
    const all = ticks();
    const next = all[all.indexOf(tick) + (event.key === "ArrowDown" ? 1 : -1)];
    if (!next) return;
    if (event.shiftKey) next.checked = tick.checked = true;
    lastTick = next;
    next.focus();
    showChosen();
  });

  // ---------- edges: a step, then what it needs ----------

  let start = null; // the row an edge begins at
  const drawing = () => $("[data-drawing]", bench);
  const nodes = () => $$("svg [data-key]", drawing() ?? document.createElement("div"));
  const tell = (text, wrong = false) => {
    const line = $("[data-drawing-says]");
    if (line) {
      line.textContent = text;
      line.classList.toggle("c-red", wrong);
    }
  };

  function showStart() {
    if (start && !start.isConnected) start = null;
    for (const node of nodes()) {
      const picked = Boolean(start) && node.dataset.key === keyOf(start);
      node.classList.toggle("is-picked", picked);
      node.setAttribute("aria-pressed", String(picked));
    }
  }
  function begin(row, aloud) {
    start = row;
    showStart();
    const text = row ? put(words.picked, { name: nameOf(row) }) : words.pick;
    tell(text);
    if (aloud) say(row ? text : words.sayPickedNone);
  }

  // The shortest way from a step to another along what each needs; null when there is none.
  function way(from, to, needs) {
    const cameFrom = new Map([[from, null]]);
    for (const step of cameFrom.keys()) { // a Map also walks over what is added on the way
      if (step === to) {
        const path = [];
        for (let at = to; at; at = cameFrom.get(at)) path.unshift(at);
        return path;
      }
      for (const needed of needs.get(step)) if (!cameFrom.has(needed)) cameFrom.set(needed, step);
    }
    return null;
  }
  const circle = (path) => path.map(keyOf).join(" -> ");

  function toggle(row, needed) {
    const field = fieldOf(row, "prerequisites");
    const there = tokens(field.value);
    const left = there.filter((name) => rowCalled(name) !== needed);
    const values = { step: nameOf(row), needed: numberOf(needed) };
    if (left.length === there.length) {
      const back = way(needed, row, needsOf(steps()));
      if (back) {
        const text = put(words.circle, { circle: circle([row, ...back]) });
        tell(text, true);
        say(text);
        return;
      }
    }
    const added = left.length === there.length;
    change(row, put(added ? words.edgeAdded : words.edgeRemoved, values), () => {
      field.value = (added ? [...there, numberOf(needed)] : left).join(", ");
    });
    changed(field);
    const text = put(added ? words.sayEdgeAdded : words.sayEdgeRemoved, values);
    tell(text);
    say(text);
  }

  function press(node, typing) {
    const row = steps().find((each) => keyOf(each) === node.dataset.key);
    if (!row) return;
    if (!start) return begin(row, true);
    if (row === start) {
      if (!typing) begin(null, true);
      return;
    }
    toggle(start, row);
    if (typing) return; // the field has the focus: more may follow
    start = null;
    showStart();
  }
  const inNeeds = () => document.activeElement?.matches("[data-rows=checklist] [name$='-prerequisites']");

  bench.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-rows=checklist] [name$='-prerequisites']")) begin(event.target.closest("[data-row]"), false);
  });
  bench.addEventListener("focusout", (event) => {
    if (event.target.matches("[data-rows=checklist] [name$='-prerequisites']")) begin(null, false);
  });
  // on pressing, not on the click: the drawing may be drawn anew in between, and the field keeps the focus
  bench.addEventListener("mousedown", (event) => {
    const node = event.target.closest("[data-drawing] svg [data-key]");
    if (!node || event.button) return;
    event.preventDefault();
    const typing = inNeeds();
    if (!typing) enter(node);
    press(node, typing);
  });

  // Arrow keys walk over the drawing: up and down by level, left and right within one.
  const middle = (node) => {
    const box = node.querySelector("circle, rect").getBBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  function neighbour(node, key) {
    const [x, y] = middle(node);
    const aside = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    let best = null;
    for (const other of nodes()) {
      const [ox, oy] = middle(other);
      const along = (aside ? ox - x : oy - y) * sign;
      const across = Math.abs(aside ? oy - y : ox - x);
      if (other === node || along < 5 || (aside && across > 5)) continue;
      const distance = aside ? along : along * 1000 + across;
      if (!best || distance < best[0]) best = [distance, other];
    }
    return best?.[1];
  }
  function enter(node) {
    for (const each of nodes()) each.setAttribute("tabindex", each === node ? "0" : "-1");
    node.focus();
  }
  bench.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && start && event.target.closest("[data-drawing], [data-rows=checklist]")) {
      begin(null, true);
      return;
    }
    const node = event.target.closest("[data-drawing] svg [data-key]");
    if (!node) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      press(node, false);
    } else if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      const next = neighbour(node, event.key);
      if (next) enter(next);
    }
  });

  // A circle that is typed is said at once; the server refuses it too.
  bench.addEventListener("input", (event) => {
    if (!event.target.matches?.("[data-rows=checklist] [name$='-prerequisites']")) return;
    const row = event.target.closest("[data-row]");
    const needs = needsOf(steps());
    let path = null;
    for (const needed of needs.get(row) ?? []) {
      const back = way(needed, row, needs);
      if (back && (!path || back.length < path.length)) path = back;
    }
    const wrong = event.target.matches("[data-circle]");
    if (path) {
      const text = put(words.circle, { circle: circle([row, ...path]) });
      event.target.dataset.circle = "";
      event.target.setAttribute("aria-invalid", "true");
      tell(text, true);
      say(text);
    } else if (wrong) {
      delete event.target.dataset.circle;
      event.target.removeAttribute("aria-invalid");
      tell(put(words.picked, { name: nameOf(row) }));
    }
  });

  // ---------- what breaks without a step ----------

  let shownKey = "";
  function without(section, key) {
    if (key === shownKey) return;
    shownKey = key;
    const said = key && $(`[data-breaks="${CSS.escape(key)}"]`, section);
    const below = said ? said.dataset.below.split(" ") : [];
    for (const node of $$("svg [data-key]", section)) {
      node.classList.toggle("is-without", Boolean(said) && node.dataset.key === key);
      node.classList.toggle("is-broken", below.includes(node.dataset.key));
    }
    const line = $("[data-breaks-said]", section);
    if (line) line.textContent = said ? said.textContent.trim() : "";
  }
  const keyAt = (element) => {
    const place = element.closest?.("#checklist svg [data-key], #checklist tr[data-stop], [data-rows=checklist] > [data-row]");
    if (!place) return "";
    return place.matches("tr") ? place.id.replace("step-", "") : place.matches("[data-row]") ? keyOf(place) : place.dataset.key;
  };
  for (const kind of ["pointerover", "focusin"]) {
    bench.addEventListener(kind, (event) => {
      const section = event.target.closest("#checklist");
      if (!section) return shownKey && without($("#checklist"), "");
      const key = keyAt(event.target);
      if (key) without(section, key); // between two steps the last one stays, so that nothing jumps
    });
  }

  // ---------- new content ----------

  let focusedKey = "";
  let opened = false;
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.detail.target.matches?.("[data-drawing]")) return;
    const node = document.activeElement?.closest?.("[data-drawing] svg [data-key]");
    focusedKey = node?.dataset.key ?? "";
    opened = Boolean($(".wb-breaks", event.detail.target)?.open);
  });
  function arrive() {
    const all = nodes();
    if (all.length && !all.some((node) => node.getAttribute("tabindex") === "0")) all[0].setAttribute("tabindex", "0");
    // unless somebody has gone on to a field in the meantime
    const lost = document.activeElement === document.body;
    const again = focusedKey && lost && all.find((node) => node.dataset.key === focusedKey);
    if (again) enter(again);
    const breaks = opened && $("[data-drawing] .wb-breaks", bench);
    if (breaks) breaks.open = true;
    opened = false;
    focusedKey = "";
    showStart();
    const key = shownKey;
    shownKey = "";
    if (key && $("#checklist")) without($("#checklist"), key);
    count();
    for (const row of steps()) showTarget(row);
    showChosen();
  }
  document.addEventListener("rows:restored", () => {
    for (const row of steps()) {
      showTarget(row);
      if (!$("[data-remove]", row).checked) $(".wb-ask", row)?.remove();
    }
    count();
  });
  document.body.addEventListener("htmx:load", arrive);
  arrive();
})();
