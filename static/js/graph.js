// The Node-Relation graph: two nodes clicked (or Enter on each) make a relation, arrows move, Delete removes, properties
// are rows of a node, steps light up what they cover. Without it the graph is edited as rows.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;
  const changed = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);

  // ---------- what belongs together lights up ----------

  const parts = (key) => $$(`#graph [data-element="${CSS.escape(key)}"], #graph svg [data-key="${CSS.escape(key)}"]`);
  function light(elements) {
    for (const lit of $$(".is-lit", bench)) lit.classList.remove("is-lit");
    for (const element of elements) element.classList.add("is-lit");
  }
  function lightFor(target) {
    const step = target.closest?.("#graph [data-step]");
    if (step) return light($$(`#graph [data-steps~="${CSS.escape(step.dataset.step)}"]`));
    const part = target.closest?.("#graph [data-element], #graph svg [data-key]");
    const row = target.closest?.("[data-graph-form] [data-row]");
    const key = part ? part.dataset.element ?? part.dataset.key : row && keyOf(row);
    light(key ? parts(key) : []);
  }
  bench.addEventListener("mouseover", (event) => lightFor(event.target));
  bench.addEventListener("focusin", (event) => lightFor(event.target));

  // ---------- rows ----------

  const formOf = (element) => element.closest("[data-graph-form]");
  const keyOf = (row) => $("[data-key]", row)?.value ?? "";
  const rowsIn = (form, name) => $$(`[data-rows=${name}] > [data-row]:not(.wb-spare)`, form);
  const live = (row) => !$("[data-remove]", row).checked;
  const rowOf = (form, key) => [...rowsIn(form, "nodes"), ...rowsIn(form, "relations")].find((row) => keyOf(row) === key);
  const field = (row, name) => $(`[name$="-${name}"]`, row);

  function goTo(form, key) {
    const row = rowOf(form, key);
    const first = row && (field(row, "entity") ?? field(row, "via"));
    first?.focus({ preventScroll: true });
    show(row);
  }
  // In view, under the drawing that stays in sight.
  function show(row) {
    if (!row) return;
    const top = $(".wb-graphdraw", formOf(row)).getBoundingClientRect().bottom + 8;
    const at = row.getBoundingClientRect();
    if (at.top < top) scrollBy(0, at.top - top); else if (at.bottom > innerHeight - 64) scrollBy(0, at.top - top);
  }
  function addRow(form, name) {
    $(`[data-rows=${name}] [data-add]`, form).click();
    return document.activeElement.closest("[data-row]");
  }

  // ---------- saying, and taking back ----------

  function tell(form, text) {
    $("[data-graph-status]", form).textContent = text;
  }
  // One step of the form's undo, whatever it is made of.
  const change = (form, say, act) => {
    window.undo.change(form.closest("form"), () => say().split(/[.。]/)[0], act);
    tell(form, say());
  };
  document.addEventListener("rows:restored", (event) => {
    const form = $("[data-graph-form]", event.target);
    if (!form) return;
    at = event.detail.field?.dataset.key || at; // the part of the drawing where it was done
    from = "";
    tell(form, form.dataset.sayBack);
  });
  function setRemoved(row, removed) {
    const box = $("[data-remove]", row);
    if (box.checked === removed) return;
    box.checked = removed;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // ---------- the drawing ----------

  let at = ""; // key of the part that has, or last had, the focus
  let from = ""; // key of the node that a relation is to start from

  const partOf = (form, key) => $(`[data-graph-drawing] svg [data-key="${CSS.escape(key)}"]`, form);
  function decorate(form) {
    const svg = $("[data-graph-drawing] svg", form);
    if (!svg) return;
    svg.setAttribute("role", "group");
    const all = $$("[data-key]", svg);
    if (!all.some((part) => part.dataset.key === at)) at = all.find((part) => !part.matches("[data-relation]"))?.dataset.key ?? "";
    for (const part of all) {
      part.setAttribute("role", "button");
      part.setAttribute("tabindex", part.dataset.key === at ? "0" : "-1");
      if (part.matches("[data-relation]")) {
        const hit = $("path", part).cloneNode(); // wide enough to be clicked
        hit.setAttribute("class", "g-hit");
        hit.removeAttribute("marker-end");
        hit.removeAttribute("marker-start");
        $("path", part).before(hit);
      }
    }
    showFrom(form);
  }
  function showFrom(form) {
    for (const part of $$("[data-graph-drawing] svg [data-key]:not([data-relation])", form)) {
      part.classList.toggle("is-picked", part.dataset.key === from);
      part.setAttribute("aria-pressed", String(part.dataset.key === from));
    }
  }
  function focusPart(form, key) {
    const part = partOf(form, key);
    if (!part) return;
    for (const other of $$("[data-graph-drawing] svg [tabindex='0']", form)) other.setAttribute("tabindex", "-1");
    part.setAttribute("tabindex", "0");
    at = key;
    part.focus({ preventScroll: true });
    part.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function choose(form, key) {
    const part = partOf(form, key);
    if (part.matches("[data-relation]")) {
      from = "";
      goTo(form, key);
    } else if (!from) {
      from = key;
      focusPart(form, key);
      tell(form, fill(form.dataset.sayPicked, { key }));
      show(rowOf(form, key));
    } else if (from === key) {
      from = "";
      goTo(form, key);
    } else {
      relate(form, from, key);
    }
    showFrom(form);
  }

  function relate(form, start, end) {
    from = "";
    const twin = rowsIn(form, "relations").find((row) => live(row) && field(row, "from").value.trim() === start && field(row, "to").value.trim() === end && !field(row, "via").value.trim());
    if (twin) {
      tell(form, fill(form.dataset.sayTwin, { key: keyOf(twin), from: start, to: end }));
      return;
    }
    let row;
    change(form, () => fill(form.dataset.sayMade, { key: keyOf(row), from: start, to: end }), () => {
      row = addRow(form, "relations");
      field(row, "from").value = start;
      field(row, "to").value = end;
    });
    at = keyOf(row);
    refocus = true;
    changed(field(row, "to"));
    focusPart(form, end);
    at = keyOf(row);
    show(row);
  }

  function remove(form, key) {
    const gone = [key, ...rowsIn(form, "relations").filter((row) => live(row) && [field(row, "from").value.trim(), field(row, "to").value.trim()].includes(key)).map(keyOf)];
    const rows = gone.map((one) => rowOf(form, one)).filter(Boolean);
    change(form, () => fill(form.dataset.sayRemoved, { keys: gone.join(", ") }), () => { for (const row of rows) setRemoved(row, true); });
    if (from === key) from = "";
    refocus = true;
    if (rows[0].isConnected) changed($("[data-remove]", rows[0])); else changed($("input[name]", form));
  }

  // The next part in a direction: near, and not far to the side.
  function neighbour(form, key, dx, dy) {
    const middle = (part) => {
      const path = part.matches("[data-relation]") && $("path", part);
      if (path) { const p = path.getPointAtLength(path.getTotalLength() / 2); return [p.x, p.y]; }
      const box = part.getBBox();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const here = middle(partOf(form, key));
    let best = null;
    for (const part of $$("[data-graph-drawing] svg [data-key]", form)) {
      const [x, y] = middle(part);
      const along = (x - here[0]) * dx + (y - here[1]) * dy;
      const aside = Math.abs((x - here[0]) * dy) + Math.abs((y - here[1]) * dx);
      if (part.dataset.key === key || along < 4 || aside > along * 3) continue;
      const cost = along + 2 * aside;
      if (!best || cost < best.cost) best = { cost, key: part.dataset.key };
    }
    return best?.key;
  }

  const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  bench.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    const part = event.target.closest("[data-graph-drawing] svg [data-key]");
    if (!part) return;
    const form = formOf(part);
    const key = part.dataset.key;
    const command = event.ctrlKey || event.metaKey;
    if (command || event.altKey) return;
    if (ARROWS[event.key]) {
      const next = neighbour(form, key, ...ARROWS[event.key]);
      if (next) focusPart(form, next);
    } else if (event.key === "Enter" || event.key === " ") choose(form, key);
    else if (event.key === "Delete" || event.key === "Backspace") remove(form, key);
    else if (event.key === "Insert") addRow(form, "nodes");
    else if (event.key === "Escape" && from) { from = ""; showFrom(form); tell(form, ""); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  bench.addEventListener("click", (event) => {
    const form = event.target.closest("[data-graph-form]");
    if (!form) return;
    const part = event.target.closest("[data-graph-drawing] svg [data-key]");
    const link = event.target.closest("a[href^='#node-'], a[href^='#relation-']");
    const note = event.target.closest("[data-note-for]");
    if (part) choose(form, part.dataset.key);
    else if (event.target.closest("[data-graph-drawing] svg")) { from = ""; showFrom(form); }
    else if (link) { event.preventDefault(); goTo(form, link.textContent.trim()); }
    else if (note) goTo(form, note.dataset.noteFor);
    else if (event.target.closest("[data-graph-node]")) addRow(form, "nodes");
    else if (event.target.closest("[data-add-prop]")) addProperty(event.target.closest("[data-props]"));
    else if (event.target.closest("[data-drop-prop]")) dropProperty(event.target.closest("[data-prop]"));
  });

  // A new drawing keeps the focus where it was; what is amiss stands in its row too.
  let refocus = false;
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.matches?.("[data-graph-drawing]")) refocus ||= event.detail.target.contains(document.activeElement);
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    const drawing = event.detail.target;
    if (!drawing.matches?.("[data-graph-drawing]")) return;
    const form = formOf(drawing);
    decorate(form);
    if (refocus && at) focusPart(form, at);
    refocus = false;
    for (const old of $$("[data-row-note]", form)) old.remove();
    for (const note of $$("[data-note-for]", drawing)) {
      const row = rowOf(form, note.dataset.noteFor);
      if (!row) continue;
      const copy = document.createElement("div");
      copy.className = note.className;
      copy.dataset.rowNote = "";
      copy.append(...[...note.childNodes].map((child) => child.cloneNode(true)));
      $(".wb-fgrid", row).append(copy);
    }
  });

  // ---------- properties ----------

  function addProperty(box) {
    let property = $(":scope > .wb-spare", box);
    if (property) property.classList.remove("wb-spare");
    else {
      property = $("[data-prop-template]", formOf(box)).content.firstElementChild.cloneNode(true);
      const node = field(box.closest("[data-row]"), "entity").name.split("-")[1];
      const number = `p${Date.now().toString(36)}`;
      for (const element of $$("[id], [name], [for]", property)) {
        for (const name of ["id", "name", "for"]) {
          const value = element.getAttribute(name);
          if (value) element.setAttribute(name, value.replace("nodes-new-prop-1-", `nodes-${node}-prop-${number}-`));
        }
      }
      property.classList.remove("wb-spare");
      const all = $$(":scope > [data-prop]", box);
      if (all.length) all.at(-1).after(property); else box.prepend(property);
    }
    field(property, "name").focus();
  }
  function dropProperty(property) {
    const form = formOf(property);
    const next = property.nextElementSibling;
    change(form, () => form.dataset.sayProperty, () => property.remove());
    $("input, button", next).focus();
    changed(next.closest("[data-row]").querySelector("textarea, input"));
  }
  // Enter in a property begins the next one; it must not save the section.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const property = event.target.closest?.("[data-graph-form] [data-prop]");
    if (!property || event.target.matches("button, select")) return;
    event.preventDefault();
    event.stopPropagation();
    addProperty(property.closest("[data-props]"));
  }, true);

  // A relation travels on a property of the node it starts from: those are offered.
  bench.addEventListener("focusin", (event) => {
    if (!event.target.matches?.("[data-rows=relations] [name$='-via']")) return;
    const form = formOf(event.target);
    const node = rowOf(form, field(event.target.closest("[data-row]"), "from").value.trim());
    const names = node ? $$("[data-prop] [name$='-name']", node).map((input) => input.value.trim()).filter(Boolean) : [];
    $("#keys-via").replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), { value: name })));
  });
})();
