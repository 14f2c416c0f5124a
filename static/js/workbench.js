// The item workbench: rows of section forms, keys while typing, the section in view, shortcuts, drafts kept in the
// browser. Without it everything is read, edited and saved by plain forms.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;
  const words = bench.dataset;
  const singleKeys = () => { try { return localStorage.getItem("shortcuts") !== "off"; } catch { return true; } };

  // ---------- rows of a form ----------

  const rowsOf = (box) => $$(":scope > [data-row]", box);
  const changed = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));

  // Prerequisites name rows by number: when rows move, the numbers in all of them follow.
  function renumber(box) {
    const after = new Map();
    rowsOf(box).forEach((row, place) => {
      const number = $("[data-number]", row);
      if (number) after.set(number.textContent.trim(), String(place + 1));
    });
    if ([...after].every(([old, now]) => old === now)) return;
    for (const row of rowsOf(box)) {
      const number = $("[data-number]", row);
      if (number) number.textContent = after.get(number.textContent.trim());
      const needs = $('input[name$="-prerequisites"]', row);
      if (needs) needs.value = needs.value.replace(/(?<![\w-])\d+(?![\w-])/g, (old) => after.get(old) ?? old);
    }
  }

  function addRow(box) {
    let row = $(":scope > .wb-spare", box);
    if (row) {
      row.classList.remove("wb-spare");
      return row;
    }
    row = $("template", box).content.firstElementChild.cloneNode(true);
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
    row.classList.remove("wb-spare");
    const rows = rowsOf(box);
    if (rows.length) rows.at(-1).after(row); else box.prepend(row);
    return row;
  }

  const firstField = (row) => $("textarea, input:not([type=hidden], [type=checkbox])", row);

  function moveRow(row, by) {
    const box = row.parentElement;
    const rows = rowsOf(box).filter((other) => !other.classList.contains("wb-spare"));
    const other = rows[rows.indexOf(row) + by];
    if (!other) return;
    if (by < 0) other.before(row); else other.after(row);
    renumber(box);
    changed(firstField(row));
  }

  bench.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches("[data-add]")) {
      const row = addRow(button.closest("[data-rows]"));
      firstField(row).focus();
      changed(firstField(row));
    } else if (button.matches("[data-move]")) {
      moveRow(button.closest("[data-row]"), Number(button.dataset.move));
      button.focus();
    } else if (button.matches("[data-pin]")) {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      follow();
    }
  });
  bench.addEventListener("change", (event) => {
    if (event.target.matches("[data-remove]")) {
      event.target.closest("[data-row]").classList.toggle("is-removed", event.target.checked);
    }
  });

  // Many lines pasted into the first field of a row become one row each.
  bench.addEventListener("paste", (event) => {
    const row = event.target.closest?.("[data-row]");
    const box = row?.closest("[data-rows]");
    if (!box || !["checklist", "sources"].includes(box.dataset.rows) || event.target !== firstField(row)) return;
    const lines = (event.clipboardData?.getData("text/plain") ?? "").split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
    if (lines.length < 2 || event.target.value.trim()) return;
    event.preventDefault();
    let at = row;
    lines.forEach((line, number) => {
      if (number) {
        const rows = rowsOf(box);
        const next = rows[rows.indexOf(at) + 1];
        at = next && next.classList.contains("wb-spare") ? next : addRow(box);
        at.classList.remove("wb-spare");
      }
      firstField(at).value = line.replace(/^\s*(?:[-*•·]|\d{1,3}[.):、])\s+/, "");
    });
    renumber(box);
    changed(event.target);
  });

  // ---------- picking prerequisites in the drawing: click into a step, then on the steps it needs ----------

  let picked = null;
  const keyOf = (row) => $("[data-key]", row).value;
  function showPicked() {
    for (const node of $$("[data-drawing] svg [data-key]")) {
      node.classList.toggle("is-picked", Boolean(picked?.isConnected) && node.dataset.key === keyOf(picked));
    }
  }
  bench.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("[data-rows=checklist] > [data-row]");
    if (!row) return;
    picked = row;
    showPicked();
  });
  // on pressing, not on the click: the drawing may be drawn anew in between, and the field keeps the focus
  bench.addEventListener("mousedown", (event) => {
    const node = event.target.closest("[data-drawing] svg [data-key]");
    if (!node || event.button || !picked?.isConnected) return;
    event.preventDefault();
    if (node.dataset.key === keyOf(picked)) return;
    const other = rowsOf(picked.parentElement).find((row) => keyOf(row) === node.dataset.key);
    const needs = $('input[name$="-prerequisites"]', picked);
    if (!other || !needs) return;
    const names = [$("[data-number]", other).textContent.trim(), node.dataset.key];
    const there = needs.value.split(/[\s,;]+/).filter(Boolean);
    const left = there.filter((name) => !names.includes(name));
    needs.value = (left.length < there.length ? left : [...there, names[0]]).join(", ");
    changed(needs);
  });

  // ---------- keys while typing: the list offers what may follow what is there ----------

  bench.addEventListener("focusin", offerKeys);
  bench.addEventListener("input", offerKeys);
  function offerKeys(event) {
    const input = event.target;
    if (!input.matches?.("input[data-keys]")) return;
    const list = document.getElementById(input.getAttribute("list"));
    if (!list) return;
    const before = input.value.replace(/[^,;\s]*$/, "");
    const there = new Set(before.split(/[,;\s]+/));
    for (const option of $$("option", list)) {
      option.dataset.code ??= option.value;
      option.value = before + option.dataset.code;
      option.disabled = there.has(option.dataset.code);
    }
  }

  // ---------- the section in view ----------

  const sections = () => $$("[data-section]", bench);
  const edge = () => ($("#item-head")?.getBoundingClientRect().bottom ?? 0) + 40;
  let inView = "";

  function look() {
    const line = Math.max(edge(), 100);
    const above = sections().filter((section) => section.getBoundingClientRect().top <= line);
    const name = (above.at(-1) ?? sections()[0])?.id ?? "";
    if (name !== inView) {
      inView = name;
      follow();
    }
  }
  function follow() {
    for (const link of $$("#outline a[href^='#']")) {
      if (link.hash === `#${inView}`) link.setAttribute("aria-current", "location"); else link.removeAttribute("aria-current");
    }
    const box = $("[data-groups]");
    if (!box) return;
    const pinned = $("[data-pin]")?.getAttribute("aria-pressed") === "true";
    const order = sections().map((section) => section.id);
    const groups = $$(":scope > [data-group]", box);
    const rank = (group) => (!pinned && group.dataset.group === inView ? -1 : order.indexOf(group.dataset.group));
    for (const group of groups) group.classList.toggle("is-inview", !pinned && group.dataset.group === inView);
    if (box.contains(document.activeElement) && document.activeElement !== box) return; // nothing moves under one's hands
    const sorted = [...groups].sort((a, b) => rank(a) - rank(b));
    if (sorted.some((group, place) => group !== groups[place])) {
      groups[0].before(...sorted);
      box.scrollTop = 0;
    }
  }
  let waiting = false;
  window.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; look(); });
  }, { passive: true });

  // ---------- moving and editing by keys ----------

  function go(by) {
    const stops = $$("[data-stop]", bench).filter((stop) => stop.getClientRects().length);
    const focused = document.activeElement?.closest?.("[data-stop]");
    let at = stops.indexOf(focused);
    if (at < 0) at = stops.findIndex((stop) => stop.id === inView);
    const stop = stops[Math.min(Math.max(at + by, 0), stops.length - 1)];
    stop?.focus({ preventScroll: true });
    stop?.scrollIntoView({ block: "start" });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-go]");
    if (button) go(Number(button.dataset.go));
  });

  const typing = (element) => element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file])");
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || $("dialog[open]")) return;
    const form = document.activeElement?.closest?.("[data-section-form]");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s" && form) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "e" && !event.ctrlKey && !event.metaKey && !event.altKey && !typing(event.target) && singleKeys()) {
      const section = document.activeElement?.closest?.("[data-section]") ?? document.getElementById(inView);
      const edit = section && $("[data-edit]", section);
      if (edit) {
        event.preventDefault();
        edit.click();
      }
    }
  }, true);

  // ---------- panel ----------

  document.body.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target } = event.detail;
    if (target?.id !== "panel-body" || !elt.matches("a")) return;
    for (const tab of $$("[data-panel-tabs] a")) {
      const current = tab === elt || (elt.dataset.panel && tab.href.includes(`panel=${elt.dataset.panel}`));
      if (current) tab.setAttribute("aria-current", "true"); else if (elt.closest("[data-panel-tabs]") || elt.dataset.panel) tab.removeAttribute("aria-current");
    }
    if (elt.dataset.panel) $("#panel").scrollIntoView({ block: "nearest" });
  });

  // ---------- cancelling ----------

  const clean = (form) => $("[data-save-state]", form)?.dataset.state === "saved";
  document.addEventListener("htmx:confirm", (event) => {
    const link = event.target.closest?.("[data-cancel]");
    if (!link) return;
    const form = link.closest("form");
    if (!clean(form)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    event.detail.issueRequest(true);
  }, true);

  // ---------- drafts: what is typed survives a closed tab, an expired log-in and a dead server ----------

  const draftName = (address) => `draft:${words.user}:${address}`;
  const drafts = {
    get: (address) => { try { return JSON.parse(localStorage.getItem(draftName(address))); } catch { return null; } },
    set: (address, body) => { try { localStorage.setItem(draftName(address), JSON.stringify({ at: Date.now(), body })); } catch { /* full or off */ } },
    drop: (address) => { try { localStorage.removeItem(draftName(address)); } catch { /* off */ } },
  };
  const textOf = (form) => {
    const fields = [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string");
    return new URLSearchParams(fields).toString();
  };
  let pause = 0;
  bench.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form?.matches("[data-draft]")) return;
    clearTimeout(pause);
    pause = setTimeout(() => {
      if (!form.isConnected) return;
      if (clean(form)) drafts.drop(form.dataset.draft); else drafts.set(form.dataset.draft, textOf(form));
    }, 300);
  });
  // A section that arrives as it is saved has no draft any more: it was saved, or dropped on purpose.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig?.elt?.closest?.("[data-draft]") ?? $("[data-draft]", event.detail.target);
    if (form && event.detail.xhr.status === 200 && event.detail.target.matches("[data-section]")) {
      clearTimeout(pause);
      drafts.drop(form.dataset.draft);
    }
  });

  function offerDraft(section) {
    const edit = $("[data-edit]", section);
    const address = edit?.getAttribute("hx-get");
    const draft = address && drafts.get(address);
    if (!draft || $(".wb-draftnote", section)) return;
    const note = document.createElement("div");
    note.className = "wb-note wb-note-amber wb-draftnote";
    const text = document.createElement("span");
    text.textContent = `${words.sayDraft} (${new Date(draft.at).toLocaleString()}) `;
    const button = (label, act) => {
      const element = document.createElement("button");
      Object.assign(element, { type: "button", className: "wb-linkbtn", textContent: label });
      element.addEventListener("click", act);
      return element;
    };
    text.append(
      button(words.sayOpen, () => {
        const values = new FormData();
        for (const [name, value] of new URLSearchParams(draft.body)) values.append(name, value);
        htmx.ajax("POST", address, { target: section, swap: "outerHTML", values });
      }),
      " ",
      button(words.sayDrop, () => { drafts.drop(address); note.remove(); }),
    );
    note.append(text);
    $(".wb-sec-h", section).after(note);
  }

  // ---------- new content ----------

  document.body.addEventListener("htmx:load", (event) => {
    const root = event.detail.elt;
    for (const section of root.matches("[data-section]") ? [root] : $$("[data-section]", root)) offerDraft(section);
    const wrong = $("[data-section-form] [aria-invalid=true]", root);
    if (wrong && !$("[role=alert]", root)) {
      wrong.closest("details")?.setAttribute("open", "");
      wrong.focus();
    }
    showPicked();
    look();
    follow();
  });
  for (const section of sections()) offerDraft(section);
  look();
  follow();
})();
