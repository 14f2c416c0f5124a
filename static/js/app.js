// What every page has: htmx glue, theme, dialogs, menus, confirming, shortcuts, guarding unsaved text, copying,
// toasts, times, drop zones. All of it hangs on data attributes; without script the pages still read and decide.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const words = document.body.dataset;
  const stored = {
    // storage may be switched off in a browser; then a choice lasts for the page
    get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
    set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* lasts for the page */ } },
  };
  const svg = (name) => {
    const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    icon.setAttribute("class", "wb-i wb-i-s");
    icon.setAttribute("aria-hidden", "true");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", `#i-${name}`);
    icon.append(use);
    return icon;
  };

  // ---------- toasts ----------

  const TONES = { success: "green", info: "blue", warning: "amber", error: "red" };
  const ICONS = { success: "circle-check", info: "info-circle", warning: "alert-triangle", error: "circle-x" };

  function toast(text, level = "info") {
    const box = document.createElement("div");
    box.className = `wb-note wb-note-${TONES[level] ?? "blue"}`;
    const body = document.createElement("div");
    body.className = "wb-grow";
    body.textContent = text;
    const close = document.createElement("button");
    Object.assign(close, { type: "button", className: "wb-x" });
    close.setAttribute("aria-label", words.sayDismiss);
    close.dataset.dismiss = "";
    close.append(svg("x"));
    box.append(svg(ICONS[level] ?? ICONS.info), body, close);
    // a modal dialog makes the rest of the page inert, so what it causes is said inside it
    ($("dialog[open] .wb-dialog-b") ?? $("#toasts")).append(box);
    if (level === "success" || level === "info") setTimeout(() => box.remove(), 6000);
  }
  document.body.addEventListener("toast", (event) => toast(event.detail.text ?? event.detail.value, event.detail.level));

  // ---------- htmx ----------

  document.body.addEventListener("htmx:configRequest", (event) => {
    const token = $('meta[name="csrf-token"]')?.content;
    if (token && event.detail.verb !== "get") event.detail.headers["X-CSRFToken"] = token;
  });
  document.body.addEventListener("htmx:sendError", () => toast(words.sayOffline, "error"));
  document.body.addEventListener("htmx:timeout", () => toast(words.sayOffline, "error"));
  document.body.addEventListener("htmx:responseError", (event) => {
    const gone = event.detail.xhr.status === 404 || event.detail.xhr.status === 410;
    toast(gone ? words.sayGone : words.sayError, "error");
  });
  // A whole page where a part was asked for is an error page: never put it into the part. (The log-in: login.js.)
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target, boosted } = event.detail;
    if (boosted || target === document.body || !/^\s*<!doctype/i.test(xhr.responseText ?? "")) return;
    event.detail.shouldSwap = false;
    const form = event.detail.requestConfig?.elt?.closest("form");
    if (form) setSaveState(form, "failed");
    if (xhr.status < 400 || [403, 409, 422].includes(xhr.status)) {
      toast(words.sayError, "error");
    }
  });
  // Who asked was drawn anew meanwhile (another reply replaced its section): htmx would put this reply into what is gone.
  document.body.addEventListener("htmx:beforeRequest", ({ detail: { elt } }) => {
    elt.addEventListener("htmx:beforeOnLoad", (event) => {
      const { xhr, target } = event.detail;
      const there = target.id && document.getElementById(target.id);
      if (elt.isConnected || !there || xhr.status !== 200) return;
      event.preventDefault();
      const swapStyle = (elt.closest("[hx-swap]")?.getAttribute("hx-swap") ?? "innerHTML").split(" ")[0];
      htmx.swap(there, xhr.response, { swapStyle }, { eventInfo: { target: there, elt: there } });
    }, { once: true });
  });
  document.body.addEventListener("confirm-then", (event) => confirmThen(event.detail.text, event.detail.yes, event.detail.act));
  document.body.addEventListener("htmx:confirm", (event) => {
    const { elt, target } = event.detail;
    // what something elsewhere would swap away unsaved is asked about; comments are kept and come back
    const lost = target && !target.contains(elt) && $$("form[data-guard]", target).some((form) => dirty(form) && !form.closest("#comments"));
    const question = event.detail.question || (lost ? words.sayLeave : "");
    if (!question) return;
    event.preventDefault();
    confirmThen(question, elt.dataset.confirmYes, () => event.detail.issueRequest(true));
  });

  // ---------- theme ----------

  function showTheme() {
    const theme = document.documentElement.dataset.theme ?? "";
    for (const button of $$("[data-set-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.setTheme === theme));
    }
  }
  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    const age = theme ? 31536000 : 0;
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `theme=${theme}; path=/; max-age=${age}; samesite=lax${secure}`;
    showTheme();
  }
  showTheme();

  // ---------- dialogs ----------

  function openDialog(id) {
    const dialog = document.getElementById(id);
    if (!dialog || dialog.open) return;
    if (id === "shortcuts") listShortcuts(dialog);
    dialog.showModal();
  }

  function confirmThen(text, yes, act) {
    const dialog = $("#confirm");
    const button = $("[data-confirm-yes]", dialog);
    $("[data-confirm-text]", dialog).textContent = text;
    button.textContent = yes || button.dataset.yes;
    dialog.returnValue = "";
    dialog.addEventListener("close", () => { if (dialog.returnValue === "yes") act(); }, { once: true });
    dialog.showModal();
  }

  // ---------- copying ----------

  // Without HTTPS a browser has no `navigator.clipboard`: then the old way, through a selected field.
  function copyBySelection(text, place) {
    const field = Object.assign(document.createElement("textarea"), { className: "wb-sr", readOnly: true, value: text });
    const focused = document.activeElement;
    place.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return done;
  }
  async function copy(text, element) {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = copyBySelection(text, element?.closest("dialog") ?? document.body);
    }
    toast(done ? words.sayCopied : words.sayNotCopied, done ? "success" : "warning");
  }
  document.body.addEventListener("copy-text", (event) => copy(event.detail.text, event.detail.element));

  // ---------- clicks ----------

  const CLICKS = {
    "[data-dismiss]": (element) => element.closest(".wb-note")?.remove(),
    "[data-dialog-open]": (element) => openDialog(element.dataset.dialogOpen),
    "[data-dialog-close]": (element) => element.closest("dialog").close(),
    "[data-set-theme]": (element) => setTheme(element.dataset.setTheme),
    "[data-copy], [data-copy-from]": (element) =>
      copy(element.dataset.copy ?? $(element.dataset.copyFrom)?.textContent ?? "", element),
    "[data-fill]": (element) => {
      for (const pair of [element.dataset.fill, element.dataset.fillAlso]) {
        if (!pair) continue;
        const at = pair.indexOf("=");
        const input = $(pair.slice(0, at));
        if (input) input.value = pair.slice(at + 1);
      }
    },
  };
  document.addEventListener("click", (event) => {
    for (const menu of $$("details.wb-menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    if (event.target.closest("[aria-disabled=true]")) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.target.matches("dialog.wb-dialog")) event.target.close(); // the backdrop is the dialog itself
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    for (const [selector, act] of Object.entries(CLICKS)) {
      const element = event.target.closest(selector);
      if (!element) continue;
      event.preventDefault();
      act(element);
      return;
    }
  }, true);

  // A form or its button with data-confirm="text" (and data-confirm-yes="word") asks first.
  let confirmed = null;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const text = event.submitter?.dataset.confirm ?? form.dataset.confirm;
    if (text && confirmed !== form) {
      event.preventDefault();
      event.stopImmediatePropagation();
      const { submitter } = event;
      confirmThen(text, submitter?.dataset.confirmYes ?? form.dataset.confirmYes, () => {
        confirmed = form;
        form.requestSubmit(submitter);
        confirmed = null;
      });
      return;
    }
    if (form.matches("[data-guard]")) setSaveState(form, "saving");
    if (!form.matches("[hx-post], [hx-put], [hx-patch], [hx-get], [data-hx-post]")) leaving.add(form);
  }, true);

  // ---------- guarding unsaved text ----------

  const starts = new WeakMap();
  const leaving = new WeakSet();
  const content = (form) => [...new FormData(form)]
    .filter(([name]) => name !== "csrfmiddlewaretoken")
    .map(([name, value]) => `${name}=${value instanceof File ? `${value.name}:${value.size}` : value}`)
    .join("\n");
  // data-guard="dirty" is unsaved from the start (a text that came back from the server unsaved)
  const dirty = (form) => !leaving.has(form) && (form.dataset.guard === "dirty" || starts.get(form) !== content(form));

  function setSaveState(form, state) {
    const shown = form.dataset.saveState ? $(form.dataset.saveState) : $("[data-save-state]", form);
    if (shown && shown.dataset.state !== state) shown.dataset.state = state;
  }
  function guard(root) {
    const forms = $$("form[data-guard]", root);
    if (root.matches?.("form[data-guard]")) forms.push(root);
    for (const form of forms) if (!starts.has(form)) starts.set(form, content(form));
  }
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form?.matches("[data-guard]")) return;
    setSaveState(form, dirty(form) ? "unsaved" : "saved");
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt;
    if (!form.matches?.("form[data-guard]")) return;
    if (event.detail.successful) {
      form.dataset.guard = "";
      starts.set(form, content(form));
      setSaveState(form, "saved");
    } else {
      setSaveState(form, event.detail.xhr.status === 409 ? "conflict" : "failed");
    }
  });
  window.addEventListener("beforeunload", (event) => {
    if ($$("form[data-guard]").some(dirty)) event.preventDefault();
  });
  window.addEventListener("pageshow", () => $$("form").forEach((form) => leaving.delete(form)));

  // ---------- shortcuts ----------

  // data-shortcut="e", "g i", "Ctrl+S"; several for one thing are parted by "|". A field is focused, the rest clicked.
  const SEQUENCE_MS = 1200;
  let first = "";
  let timer = 0;
  const singleKeys = () => stored.get("shortcuts") !== "off";
  const typing = (element) => element.isContentEditable
    || element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file])");
  const shown = (element) => element.getClientRects().length > 0;

  function pressed(event) {
    const key = event.key.length === 1 ? event.key : event.key.replace("Arrow", "");
    if (event.ctrlKey || event.metaKey) return `Ctrl+${key.length === 1 ? key.toUpperCase() : key}`;
    return event.altKey ? "" : key;
  }
  function targetOf(keys) {
    const scope = $("dialog[open]") ?? document;
    return $$("[data-shortcut]", scope)
      .find((element) => element.dataset.shortcut.split("|").includes(keys) && shown(element));
  }
  function act(element) {
    if (element.matches("input:not([type=checkbox], [type=radio]), textarea, select")) {
      element.focus();
      element.select?.();
    } else {
      element.click();
    }
  }
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
    const keys = pressed(event);
    if (event.key === "Escape") {
      const menu = event.target.closest?.("details.wb-menu[open]") ?? $("details.wb-menu[open]");
      if (menu) {
        menu.open = false;
        $("summary", menu).focus();
      }
    }
    if (!keys || (!keys.startsWith("Ctrl+") && (typing(event.target) || !singleKeys()))) return;
    if (keys === "?" && !$("dialog[open]")) {
      event.preventDefault();
      openDialog("shortcuts");
      return;
    }
    const sequence = first ? `${first} ${keys}` : keys;
    first = "";
    clearTimeout(timer);
    const target = targetOf(sequence) ?? targetOf(keys);
    if (target) {
      event.preventDefault();
      if (!event.repeat || "jk".includes(keys)) act(target);
    } else if ($$("[data-shortcut]").some((element) => element.dataset.shortcut.startsWith(`${keys} `))) {
      first = keys;
      timer = setTimeout(() => { first = ""; }, SEQUENCE_MS);
    }
  });

  function listShortcuts(dialog) {
    const list = $("[data-shortcut-list]", dialog);
    const rows = new Map([["?", list.dataset.keysHelp]]);
    for (const element of $$("[data-shortcut]").filter(shown)) {
      const label = element.dataset.shortcutLabel || element.getAttribute("aria-label")
        || element.textContent.trim().replace(/\s+/g, " ");
      if (!rows.has(element.dataset.shortcut)) rows.set(element.dataset.shortcut, label);
    }
    list.replaceChildren(...[...rows].flatMap(([keys, label]) => {
      const term = document.createElement("dt");
      for (const key of keys.split("|").flatMap((k) => (k === " " ? ["Space"] : k.split(/[ +]/)))) {
        const cap = document.createElement("kbd");
        cap.textContent = key;
        term.append(cap);
      }
      const meaning = document.createElement("dd");
      meaning.textContent = label;
      return [term, meaning];
    }));
    $("[data-shortcuts-on]", dialog).checked = singleKeys();
  }
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-shortcuts-on]")) stored.set("shortcuts", event.target.checked ? "on" : "off");
  });

  // ---------- drop zones ----------

  const inputOf = (zone) => $("input[type=file]", zone);

  function take(zone, files) {
    const input = inputOf(zone);
    const accepted = input.accept.split(",").map((type) => type.trim()).filter(Boolean);
    const fitting = [...files].filter((file) => !accepted.length || accepted.includes(file.type));
    // what does not fit is sent as well when nothing fits: the server says why it is refused
    const chosen = fitting.length ? fitting : [...files];
    const transfer = new DataTransfer();
    for (const file of input.multiple ? chosen : chosen.slice(0, 1)) transfer.items.add(file);
    input.files = transfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }
  document.addEventListener("change", (event) => {
    const zone = event.target.matches("input[type=file]") && event.target.closest("[data-dropzone]");
    if (!zone) return;
    const names = $("[data-dropzone-names]", zone);
    if (names) names.textContent = [...event.target.files].map((file) => file.name).join(", ");
    if (zone.dataset.dropzone === "submit" && event.target.files.length) event.target.form.requestSubmit();
  });
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const zone = event.target.closest?.("[data-dropzone]");
      if (!zone || !event.dataTransfer?.types.includes("Files")) return;
      if (kind === "dragleave" && zone.contains(event.relatedTarget)) return;
      event.preventDefault();
      zone.classList.toggle("is-over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop") take(zone, event.dataTransfer.files);
    });
  }
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])].filter((file) => file.type.startsWith("image/"));
    const zone = document.activeElement?.closest("[data-dropzone]") ?? $$("[data-dropzone]").find(shown);
    if (!files.length || !zone) return;
    event.preventDefault();
    take(zone, files);
  });

  // ---------- times ----------

  const [justNow, minutes, hours, yesterday, days] = words.sayTimes.split("|");
  function refreshTimes() {
    for (const element of $$("time[data-relative]")) {
      const age = Math.floor((Date.now() - Date.parse(element.dateTime)) / 60000);
      const day = Math.floor(age / 1440);
      if (day >= 10) continue;
      const text = age < 1 ? justNow
        : age < 60 ? minutes.replace("{n}", age)
        : age < 1440 ? hours.replace("{n}", Math.floor(age / 60))
        : day === 1 ? yesterday
        : days.replace("{n}", day);
      if (element.textContent !== text) element.textContent = text;
    }
  }
  setInterval(refreshTimes, 30000);

  // ---------- new content ----------

  function arrive(root) {
    guard(root);
    // htmx reports the page itself first; only what comes later may take the focus
    if (root !== document.body) (root.matches("[data-focus]") ? root : $("[data-focus]", root))?.focus();
  }
  document.body.addEventListener("htmx:load", (event) => arrive(event.detail.elt));
  guard(document);
})();
