// Talking about an item: opening the panel at an element, names after @, preview, text kept until it is sent. All of
// it hangs on the panel of comments, beside the item or on the audit page; without script links and forms do the same.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const composing = (event) => event.isComposing || event.keyCode === 229;
  const typing = (element) => element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file])");
  const singleKeys = () => { try { return localStorage.getItem("shortcuts") !== "off"; } catch { return true; } };
  const panel = () => $("[data-talk-panel]");

  // ---------- the panel at an element ----------

  // The item's page has a place for panels; on other pages the panel itself is replaced.
  function load(link, query) {
    const place = $("#panel-body");
    const there = panel();
    const address = there?.dataset.talkPanel ?? $("[data-panel-tabs] [data-talk]")?.getAttribute("hx-get");
    if (!address) return false;
    const parameters = new URLSearchParams(query);
    if (there?.dataset.on) parameters.set("on", there.dataset.on);
    link.dataset.panel = "comments";
    const target = place ? { target: "#panel-body", swap: "innerHTML" } : { target: "#comments", swap: "outerHTML" };
    htmx.ajax("GET", `${address}?${parameters}`, { source: link, ...target });
    (place ?? there).scrollIntoView({ block: "nearest" });
    return true;
  }
  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const link = event.target.closest("a[data-talk], a[data-suggest]");
    if (!link || link.closest("[data-panel-tabs]")) return;
    const chosen = link.matches("[data-suggest-chosen]") && $("#comment-anchor")?.value;
    const query = link.dataset.suggest === undefined ? { anchor: link.dataset.talk } : { suggest: chosen || link.dataset.suggest };
    if (load(link, query)) event.preventDefault();
  });
  // c: about the element that has the focus, else about what the page shows
  document.addEventListener("keydown", (event) => {
    if (composing(event) || event.key !== "c" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!$("#workbench") || $("dialog[open]") || typing(event.target) || !singleKeys()) return;
    const focused = document.activeElement?.closest("tr, figure, [data-section]");
    const section = document.getElementById($("#outline a[aria-current]")?.hash.slice(1) ?? "");
    const link = $("a[data-talk]", focused ?? section ?? document);
    if (!link || !load(link, { anchor: link.dataset.talk })) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  // The marks on the page follow what the panel says is open.
  function mark() {
    const open = new Map((panel()?.dataset.open ?? "").split(" ").map((pair) => pair.split("=")));
    for (const link of $$(".wb-talk a[data-talk]")) {
      const count = open.get(link.dataset.talk) ?? "0";
      const shown = $(".wb-count", link);
      shown.textContent = count;
      shown.hidden = count === "0";
      link.parentElement.classList.toggle("has-talk", count !== "0");
    }
  }

  // ---------- preview, and sending by Ctrl+Enter ----------

  document.addEventListener("toggle", (event) => {
    const box = event.target.matches?.("[data-preview]") && event.target.open && $(event.target.dataset.preview);
    if (box) htmx.trigger(box, "preview");
  }, true);
  document.addEventListener("keydown", (event) => {
    if (composing(event) || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const form = event.target.closest?.("[data-talk-panel] form[data-keep]");
    if (!form) return;
    event.preventDefault();
    form.requestSubmit();
  });

  // ---------- text that is kept until it is sent ----------

  const field = (form) => $("textarea:not([readonly])", form);
  const nameOf = (form) => `talk:${panel().dataset.user}:${panel().dataset.talkPanel}:${form.dataset.keep}`;
  const kept = {
    get: (name) => { try { return localStorage.getItem(name); } catch { return null; } },
    set: (name, text) => { try { localStorage.setItem(name, text); } catch { /* full or off */ } },
    drop: (name) => { try { localStorage.removeItem(name); } catch { /* off */ } },
  };
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form?.matches("[data-talk-panel] form[data-keep]") || event.target !== field(form)) return;
    if (event.target.value !== event.target.defaultValue) kept.set(nameOf(form), event.target.value);
    else kept.drop(nameOf(form));
    $(".wb-keptnote", form)?.remove();
  });
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig?.elt;
    if (form?.matches?.("form[data-keep]") && event.detail.xhr.status === 200 && panel()) kept.drop(nameOf(form));
  });
  function restore() {
    for (const form of $$("[data-talk-panel] form[data-keep]")) {
      const text = kept.get(nameOf(form));
      const area = field(form);
      if (text === null || !area || area.value !== area.defaultValue || text === area.value) continue;
      area.value = text;
      const details = form.closest("details");
      if (details) details.open = true;
      const note = document.createElement("p");
      note.className = "wb-s wb-2c wb-keptnote";
      note.textContent = panel().dataset.sayKept;
      area.after(note);
    }
  }

  // ---------- names after @ ----------

  const list = document.createElement("ul");
  Object.assign(list, { id: "people-list", className: "wb-people", hidden: true });
  list.setAttribute("role", "listbox");
  document.body.append(list);
  let asking = null; // the textarea that is being completed

  function word(area) {
    const before = area.value.slice(0, area.selectionStart);
    return /(?:^|[\s(,;:])@([\w.@+-]*)$/u.exec(before);
  }
  function close() {
    if (!asking) return;
    asking.removeAttribute("aria-activedescendant");
    asking.removeAttribute("aria-controls");
    asking = null;
    list.hidden = true;
    list.replaceChildren();
  }
  function choose(option) {
    for (const other of $$("li", list)) other.setAttribute("aria-selected", String(other === option));
    asking.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }
  function offer(area) {
    const found = area.selectionStart === area.selectionEnd && word(area);
    if (!found) { close(); return; }
    const wanted = found[1].toLowerCase();
    const people = $$("li", $("[data-people-list]").content)
      .filter((person) => `${person.dataset.name} ${person.textContent}`.toLowerCase().split(/\s+/).some((part) => part.replace(/^@/, "").startsWith(wanted)))
      .slice(0, 8)
      .map((person, number) => Object.assign(person.cloneNode(true), { id: `person-${number}` }));
    if (!people.length) { close(); return; }
    asking = area;
    list.replaceChildren(...people);
    list.setAttribute("aria-label", area.getAttribute("aria-label") ?? "");
    const box = area.getBoundingClientRect();
    list.hidden = false;
    list.style.setProperty("left", `${Math.round(box.left + window.scrollX)}px`);
    list.style.setProperty("top", `${Math.round(box.bottom + window.scrollY + 2)}px`);
    list.style.setProperty("width", `${Math.round(Math.min(box.width, 360))}px`);
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", list.id);
    choose(people[0]);
  }
  function take(option) {
    const area = asking;
    const found = word(area);
    if (found) {
      const start = area.selectionStart - found[1].length;
      area.setRangeText(`${option.dataset.name} `, start, area.selectionStart, "end");
      close();
      area.dispatchEvent(new Event("input", { bubbles: true }));
    }
    area.focus();
  }
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("textarea[data-people]") && !event.isComposing) offer(event.target);
  });
  document.addEventListener("compositionend", (event) => {
    if (event.target.matches?.("textarea[data-people]")) offer(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (!asking || composing(event) || event.target !== asking) return;
    const options = $$("li", list);
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      choose(options.at((at + (event.key === "ArrowDown" ? 1 : -1)) % options.length));
    } else if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === "Tab") {
      take(options[at]);
    } else if (event.key === "Escape") {
      close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }, true);
  list.addEventListener("mousedown", (event) => {
    const option = event.target.closest("li");
    event.preventDefault(); // the field keeps the focus
    if (option) take(option);
  });
  document.addEventListener("focusout", (event) => { if (event.target === asking) close(); });

  // ---------- new content ----------

  function arrive(root) {
    if (!root.matches?.("[data-talk-panel]") && !$("[data-talk-panel]", root)) return;
    close();
    restore();
    mark();
    const wanted = location.hash.startsWith("#comment-") || location.hash.startsWith("#suggestion-");
    if (wanted && root === document.body) document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: "center" });
  }
  document.body.addEventListener("htmx:load", (event) => arrive(event.detail.elt));
})();
