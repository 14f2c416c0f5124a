// Markdown with an item's elements in it: `[[` offers them, a card says what a key stands for, the preview scrolls
// along. Coarser words for the question are put into its field. Without it the keys are links, and what they stand for is read where they lead.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  // ---------- cards ----------

  let shown = null;
  function show(ref) {
    if (shown === ref) return;
    hide();
    shown = ref;
    $(".wb-refcard", ref).classList.add("is-shown");
    put();
  }
  function put() {
    const card = $(".wb-refcard", shown);
    const link = shown.firstElementChild.getBoundingClientRect();
    const box = card.getBoundingClientRect();
    const below = link.bottom + box.height < innerHeight || link.top < box.height;
    card.style.left = `${Math.max(8, Math.min(link.left, document.documentElement.clientWidth - box.width - 8))}px`;
    card.style.top = `${below ? link.bottom : link.top - box.height}px`;
  }
  function hide() {
    if (shown) $(".wb-refcard", shown)?.classList.remove("is-shown");
    shown = null;
  }
  const refAt = (target) => target.closest?.(".wb-ref");
  document.addEventListener("mouseover", (event) => {
    const ref = refAt(event.target);
    if (ref) show(ref); else if (shown && !shown.contains(document.activeElement)) hide();
  });
  document.addEventListener("focusin", (event) => {
    const ref = refAt(event.target);
    if (ref) show(ref); else hide();
  });
  document.addEventListener("scroll", () => { if (shown?.isConnected) put(); }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && shown) hide();
  });

  // ---------- the preview scrolls along ----------

  document.addEventListener("scroll", (event) => {
    const field = event.target;
    const view = field.matches?.("[data-preview]") && document.getElementById(field.dataset.preview);
    if (!view) return;
    const share = field.scrollTop / Math.max(1, field.scrollHeight - field.clientHeight);
    view.scrollTop = share * (view.scrollHeight - view.clientHeight);
  }, true);
  // The reply replaces what is in the view: where one was reading stays.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const view = event.detail.target;
    if (!view.matches?.(".wb-preview")) return;
    const at = view.scrollTop;
    requestAnimationFrame(() => { view.scrollTop = at; });
  });

  // ---------- `[[` offers the elements ----------

  const MOST = 10;
  let list = null; // {box, field, from, to, options, at}

  // Where the text before the caret asks for a key: [start of what is typed of it, what comes after the key].
  function wanted(field) {
    const before = field.value.slice(0, field.selectionStart);
    const found = /\[\[([\w-]*)$/.exec(before) ?? /!\[[^\]\n]*\]\(([\w-]*)$/.exec(before);
    if (!found || field.selectionStart !== field.selectionEnd) return null;
    return { from: before.length - found[1].length, typed: found[1].toLowerCase(), picture: found[0][0] === "!" };
  }

  function elements() {
    const lists = ["nodes", "relations", "checklist", "sources", "images"].map((name) => `#keys-${name} option`);
    return lists.flatMap((name) => $$(name)).map((option) => ({
      key: option.dataset.key ?? option.dataset.code ?? option.value,
      text: option.textContent,
      picture: option.parentElement.id === "keys-images",
    }));
  }

  function close() {
    if (!list) return;
    list.box.remove();
    for (const name of ["aria-controls", "aria-activedescendant"]) list.field.removeAttribute(name);
    list = null;
  }

  function mark(at) {
    list.at = (at + list.options.length) % list.options.length;
    [...list.box.children].forEach((option, n) => option.setAttribute("aria-selected", String(n === list.at)));
    list.field.setAttribute("aria-activedescendant", list.box.children[list.at].id);
  }

  function offer(field) {
    const want = wanted(field);
    if (!want) return close();
    const fits = (e) => e.key.toLowerCase().startsWith(want.typed) || (want.typed.length > 1 && e.text.toLowerCase().includes(want.typed));
    const options = elements().filter((e) => (!want.picture || e.picture) && fits(e))
      .sort((a, b) => b.key.toLowerCase().startsWith(want.typed) - a.key.toLowerCase().startsWith(want.typed)).slice(0, MOST);
    close();
    if (!options.length) return;
    const box = document.createElement("ul");
    Object.assign(box, { id: "ref-options", className: "wb-refs" });
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", field.dataset.refs);
    options.forEach((option, n) => {
      const line = document.createElement("li");
      line.id = `ref-option-${n}`;
      line.setAttribute("role", "option");
      const key = document.createElement("span");
      Object.assign(key, { className: "wb-key", textContent: option.key });
      line.append(key, ` ${option.text}`);
      line.addEventListener("mousedown", (event) => { event.preventDefault(); mark(n); take(); });
      box.append(line);
    });
    field.parentElement.append(box);
    list = { box, field, ...want, options, at: 0 };
    field.setAttribute("aria-controls", box.id);
    place();
    mark(0);
  }

  // Beside the caret, found by a copy of the field's text up to it.
  function place() {
    const { field, box } = list;
    const copy = document.createElement("div");
    const style = getComputedStyle(field);
    for (const name of ["font", "letterSpacing", "lineHeight", "padding", "borderWidth", "boxSizing", "tabSize"]) copy.style[name] = style[name];
    Object.assign(copy.style, { position: "absolute", visibility: "hidden", whiteSpace: "pre-wrap", overflowWrap: "break-word", width: `${field.clientWidth}px` });
    copy.textContent = field.value.slice(0, field.selectionStart);
    const caret = document.createElement("span");
    caret.textContent = "\u200b";
    copy.append(caret);
    document.body.append(copy);
    const around = field.getBoundingClientRect();
    const line = parseFloat(style.lineHeight) || 20;
    const y = Math.min(around.top + caret.offsetTop - field.scrollTop + line + 2, around.bottom);
    const x = around.left + caret.offsetLeft;
    copy.remove();
    box.style.left = `${Math.max(8, Math.min(x, document.documentElement.clientWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${y + box.offsetHeight > innerHeight ? y - line - 4 - box.offsetHeight : y}px`;
  }

  function take() {
    const { field, from, options, at, picture } = list;
    const end = field.selectionStart;
    const after = picture ? ")" : "]]";
    const rest = field.value.startsWith(after, end) ? after.length : 0;
    close();
    replaceText(field, from, end + rest, options[at].key + after);
  }

  // As if it were typed: the browser's own undo takes it back.
  function replaceText(field, from, to, text) {
    field.focus();
    field.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) {
      field.setRangeText(text, from, to, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches?.("textarea[data-refs]") && !event.isComposing) offer(event.target);
  });

  // ---------- the question said coarser ----------

  const look = (details) => { if (details?.open) htmx.trigger($("[hx-post]", details), "look"); };
  document.addEventListener("toggle", (event) => { if (event.target.matches?.("[data-blurs]")) look(event.target); }, true);
  document.addEventListener("input", (event) => look($("[data-blurs]", event.target.closest?.("#question form") ?? document.createElement("div"))));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-blur]");
    if (!button) return;
    const field = $("[name=question]", button.closest("form"));
    const { blur, was, start } = button.dataset;
    const from = [...field.value].slice(0, Number(start)).join("").length; // the server counts characters
    const places = [];
    for (let place = field.value.indexOf(was); place >= 0; place = field.value.indexOf(was, place + 1)) places.push(place);
    const at = places.sort((a, b) => Math.abs(a - from) - Math.abs(b - from))[0]; // words before it may have changed
    if (at !== undefined) replaceText(field, at, at + was.length, blur);
    look(button.closest("[data-blurs]"));
  });
  document.addEventListener("compositionend", (event) => {
    if (event.target.matches?.("textarea[data-refs]")) offer(event.target);
  });
  document.addEventListener("focusout", (event) => { if (list?.field === event.target) close(); });
  document.addEventListener("keydown", (event) => {
    if (!list || event.target !== list.field || event.isComposing || event.keyCode === 229) return;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    if (plain && event.key === "ArrowDown") mark(list.at + 1);
    else if (plain && event.key === "ArrowUp") mark(list.at - 1);
    else if (plain && (event.key === "Enter" || event.key === "Tab")) take();
    else if (event.key === "Escape") close();
    else {
      if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key)) close();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }, true);
})();
