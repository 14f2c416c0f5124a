// Saving sections without losing anything: drafts in the browser and on the server with their state beside the form,
// saving when a section is left or after a while, trying again when the server is away, choices where two versions
// meet. Without it a section's form posts like any other.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;
  const words = bench.dataset;
  const DRAFT_MS = 2000;
  const IDLE_MS = 1000 * Number(words.idleSeconds || 300);
  const RETRY_MS = [1000, 2000, 4000, 8000, 15000, 30000];

  const forms = () => $$("form[data-draft]", bench);
  const sectionOf = (element) => element.closest("[data-section]");
  const stateOf = (form) => $("[data-save-state]", form)?.dataset.state;
  const clean = (form) => stateOf(form) === "saved";
  const token = () => $('meta[name="csrf-token"]')?.content ?? "";
  const loggedOut = (reply) => reply.redirected && new URL(reply.url).pathname === document.body.dataset.login;
  const dayAndClock = (moment) => {
    const then = new Date(moment);
    const day = [then.getFullYear(), then.getMonth() + 1, then.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
    return then.toDateString() === new Date().toDateString() ? clock(then) : `${day} ${clock(then)}`;
  };
  const clock = (moment) => new Date(moment).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

  // ---------- what is known of an open form ----------

  const known = new WeakMap();
  function of(form) {
    if (!known.has(form)) {
      // touched: typed into since it came or was saved; wroteOn: while the server was away; sent: the text that the
      // server keeps; posted: the text of a save on its way
      known.set(form, { touched: false, wroteOn: false, sent: null, posted: null, draftTimer: 0, idleTimer: 0, retryTimer: 0,
        tries: 0, draftTries: 0, draft: null, quiet: false, stay: false });
    }
    return known.get(form);
  }

  // ---------- the state, beside the form and in the head of the page ----------

  const WORST = ["conflict", "failed", "offline", "saving", "unsaved", "draft", "saved"];

  function show(form, state, moment = null) {
    const chip = $("[data-save-state]", form);
    if (!chip) return;
    if (chip.dataset.state !== state) chip.dataset.state = state;
    if (moment) setTime(chip, state, moment);
    showInHead();
  }
  function setTime(chip, state, moment) {
    const time = $(`[data-for=${state}] time`, chip);
    if (!time) return;
    time.dateTime = new Date(moment).toISOString();
    time.textContent = clock(moment);
  }
  function showInHead() {
    const head = $("#page-save");
    if (!head) return;
    const chips = forms().map((form) => $("[data-save-state]", form)).filter(Boolean);
    const worst = WORST.find((state) => chips.some((chip) => chip.dataset.state === state)) ?? "saved";
    if (head.dataset.state !== worst) head.dataset.state = worst;
    const time = $(`[data-for=${worst}] time`, chips.find((chip) => chip.dataset.state === worst) ?? head);
    if (worst === "draft" && time?.dateTime) setTime(head, worst, time.dateTime);
  }
  // Times of saving are told by the reader's clock, all by the same.
  function localTimes(root) {
    for (const time of $$("time[data-clock][datetime]", root)) if (time.dateTime) time.textContent = dayAndClock(time.dateTime);
  }

  // ---------- drafts in the browser: one for each form that was ever open and not saved ----------

  const TRANSIENT = ["csrfmiddlewaretoken", "base_hash", "save_key", "stay", "writer"];
  const keyOf = (form) => form.elements.save_key?.value ?? "";
  const nameOf = (address, key) => `draft:${words.user}:${address}:${key}`;
  const local = {
    get: (name) => { try { return JSON.parse(localStorage.getItem(name)); } catch { return null; } },
    set: (name, entry) => { try { localStorage.setItem(name, JSON.stringify(entry)); } catch { /* full or off */ } },
    drop: (name) => { try { localStorage.removeItem(name); } catch { /* off */ } },
    all: (address) => {
      try {
        return Object.keys(localStorage).filter((name) => name.startsWith(nameOf(address, "")))
          .map((name) => ({ name, ...local.get(name) })).filter((entry) => entry.body);
      } catch { return []; }
    },
  };
  const textOf = (form) => new URLSearchParams(
    [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string"),
  ).toString();
  const typedIn = (body) => new URLSearchParams([...new URLSearchParams(body)].filter(([name]) => !TRANSIENT.includes(name))).toString();

  function keep(form) {
    const name = nameOf(form.dataset.draft, keyOf(form));
    local.set(name, { at: Date.now(), body: textOf(form), sent: false });
    const state = of(form);
    clearTimeout(state.draftTimer);
    state.draftTimer = setTimeout(() => send(form), DRAFT_MS);
  }
  function forget(form) {
    const state = of(form);
    for (const timer of ["draftTimer", "idleTimer", "retryTimer"]) clearTimeout(state[timer]);
    state.draft?.abort();
    local.drop(nameOf(form.dataset.draft, keyOf(form)));
  }

  // ---------- drafts on the server ----------

  async function send(form, leaving = false) {
    const state = of(form);
    clearTimeout(state.draftTimer);
    if (!form.isConnected || clean(form) || state.posted !== null) return;
    const body = textOf(form);
    if (typedIn(body) === state.sent) return;
    state.draft?.abort();
    state.draft = new AbortController();
    try {
      const reply = await fetch(form.dataset.keep, {
        method: "POST", body: new URLSearchParams(body), headers: { "X-CSRFToken": token() },
        // a browser lets only so much go on after the page is gone; the rest stays here and is offered back
        keepalive: leaving && body.length < 60000, signal: state.draft.signal,
      });
      if (reply.status === 403) document.dispatchEvent(new Event("token-refused"));
      if (!reply.ok || loggedOut(reply)) throw new Error(reply.statusText);
      const { kept } = await reply.json();
      state.draftTries = 0;
      if (!kept) return;
      state.sent = typedIn(body);
      onServer(form, body, kept);
    } catch (error) {
      if (error.name === "AbortError" || !form.isConnected) return;
      if (stateOf(form) === "unsaved" || stateOf(form) === "draft") show(form, "offline");
      state.draftTimer = setTimeout(() => send(form), RETRY_MS[Math.min(++state.draftTries + 1, RETRY_MS.length - 1)]);
    }
  }
  // The server keeps one draft of a section: those of other forms, in other tabs, are in this browser alone again.
  function onServer(form, body, kept) {
    const own = nameOf(form.dataset.draft, keyOf(form));
    for (const entry of local.all(form.dataset.draft)) {
      const { name, ...rest } = entry;
      local.set(name, { ...rest, sent: name === own ? typedIn(rest.body) === typedIn(body) : false });
    }
    if (["unsaved", "offline"].includes(stateOf(form)) && typedIn(textOf(form)) === typedIn(body)) show(form, "draft", kept);
  }
  const flush = () => forms().filter((form) => !clean(form)).forEach((form) => send(form, true));
  document.addEventListener("visibilitychange", () => { if (document.hidden) flush(); });
  window.addEventListener("pagehide", flush);

  // after app.js, which said whether the form differs from what it started with
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form?.matches("[data-draft]") || !bench.contains(form)) return;
    const state = of(form);
    state.touched = true;
    state.wroteOn = state.tries > 0;
    clearTimeout(state.idleTimer);
    if (clean(form)) {
      clearTimeout(state.draftTimer);
      local.drop(nameOf(form.dataset.draft, keyOf(form)));
      if (state.sent !== null) {
        state.sent = null;
        fetch(`${form.dataset.keep}drop/`, { method: "POST", headers: { "X-CSRFToken": token() } }).catch(() => {});
      }
    } else {
      keep(form);
      state.idleTimer = setTimeout(() => saveQuietly(form, true), IDLE_MS);
    }
    markClash(event.target);
    showInHead();
  });

  // ---------- drafts offered back ----------

  function offer(section) {
    for (const note of $$("[data-local-draft]", section)) note.remove();
    const form = $("form[data-draft]", section);
    const address = form?.dataset.draft ?? $("[data-edit]", section)?.getAttribute("hx-get") ?? $("[data-server-draft] a", section)?.getAttribute("hx-get");
    if (!address) return;
    const note = $("[data-server-draft]", section);
    const server = note ? typedIn(note.dataset.body) : null;
    const live = new Set(forms().map((open) => nameOf(open.dataset.draft, keyOf(open))));
    for (const entry of local.all(address)) {
      if (live.has(entry.name)) continue;
      const body = typedIn(entry.body);
      // kept on the server as well, or saved or dropped from there
      if (body === server || (form && body === typedIn(textOf(form))) || (entry.sent && !server && !form)) local.drop(entry.name);
      else offerLocal(section, address, entry, note);
    }
  }
  function offerLocal(section, address, entry, server) {
    const newer = !server || entry.at > Date.parse(server.dataset.at);
    const note = document.createElement("div");
    note.className = "wb-note wb-note-amber wb-draftnote";
    note.dataset.localDraft = newer && !$("form[data-draft]", section) ? "first" : "";
    const text = document.createElement("span");
    text.className = "wb-grow";
    text.textContent = `${words.sayDraft} (${new Date(entry.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })})`;
    const button = (label, act) => {
      const element = document.createElement("button");
      Object.assign(element, { type: "button", className: "btn btn-sm", textContent: label });
      element.addEventListener("click", act);
      return element;
    };
    note.append(
      text,
      button(words.sayOpen, () => {
        const open = $("form[data-draft]", section);
        if (open && !clean(open)) keep(open);
        // the text on the server makes way for this one: from now on it is kept here
        if (server) local.set(nameOf(address, "server"), { at: Date.parse(server.dataset.at), body: `${server.dataset.body}&base_hash=${server.dataset.base}`, sent: false });
        local.drop(entry.name);
        openWith(section, address, entry.body);
      }),
      button(words.sayDrop, () => {
        local.drop(entry.name);
        text.textContent = words.sayDropped;
        note.replaceChildren(text, button(words.sayUndo, () => {
          const { name, ...rest } = entry;
          local.set(name, rest);
          offer(section);
        }));
      }),
    );
    (newer || !server ? $(".wb-sec-h", section) : server).after(note);
  }
  function openWith(section, address, body) {
    const values = new FormData();
    for (const [name, value] of new URLSearchParams(body)) values.append(name, value);
    htmx.ajax("POST", address, { source: section, target: section, swap: "outerHTML", values });
  }
  // Edit goes on where one was.
  document.addEventListener("click", (event) => {
    const edit = event.target.closest("[data-edit]");
    if (!edit || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const section = sectionOf(edit);
    leave(section);
    section.classList.add("is-opening"); // what was just saved may come back with this section: its form is on the way
    const first = $("[data-local-draft=first] button", section);
    if (!first) return;
    event.preventDefault();
    event.stopPropagation();
    first.click();
  }, true);

  document.addEventListener("htmx:afterRequest", (event) => event.detail.target?.classList.remove("is-opening"));
  // A section that is open, or about to be, is not replaced by what another one's save brings along.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (event.detail.target.matches("[data-section]:is(.is-editing, .is-opening)")) event.detail.shouldSwap = false;
  });

  // ---------- saving ----------

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || $("dialog[open]")) return;
    const open = forms();
    const form = document.activeElement?.closest?.("[data-section-form]") ?? (open.length === 1 ? open[0] : null);
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s" && form) {
      event.preventDefault();
      if (!$("[data-no-save]", form)) form.requestSubmit();
    }
  }, true);

  // Whoever goes on to another section has their text saved; where that is refused it stays open and says why.
  function leave(section) {
    for (const form of forms()) if (sectionOf(form) !== section) saveQuietly(form, false);
  }
  function saveQuietly(form, stay) {
    const state = of(form);
    const held = state.posted !== null || state.retryTimer || $("[data-no-save]", form) || form.closest(".wb-conflict");
    if (!form.isConnected || !state.touched || clean(form) || held) return;
    Object.assign(state, { quiet: true, stay });
    form.requestSubmit();
  }
  document.addEventListener("focusin", (event) => {
    const form = event.target.closest?.("form[data-draft]");
    if (form) leave(sectionOf(form));
  });

  const saves = (event) => {
    const { elt } = event.detail;
    return elt?.matches?.("form[data-draft]") ? elt : null;
  };
  document.addEventListener("htmx:configRequest", (event) => {
    const form = saves(event);
    if (form && of(form).stay) event.detail.parameters.stay = "1";
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    const form = saves(event);
    if (!form) return;
    const state = of(form);
    for (const timer of ["draftTimer", "idleTimer", "retryTimer"]) clearTimeout(state[timer]);
    state.draft?.abort();
    Object.assign(state, { posted: textOf(form), touched: false, retryTimer: 0 });
    show(form, "saving");
  });

  // What was typed while the save was on its way is not swapped away: the form stays, and goes on from what was saved.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig, target } = event.detail;
    const elt = requestConfig?.elt;
    if (elt?.closest?.("[data-own]") || (elt?.matches?.("form[data-draft]") && of(elt).quiet)) {
      event.detail.serverResponse = event.detail.serverResponse.replaceAll(" data-focus", "");
      hold(target);
    }
    const form = elt?.matches?.("form[data-draft]") ? elt : null;
    if (!form) {
      const dropped = xhr.status === 200 && requestConfig?.path.includes("/draft/drop/") && $("form[data-draft]", target);
      if (dropped) forget(dropped);
      return;
    }
    if (/^\s*<!doctype/i.test(xhr.responseText)) return;
    if (textOf(form) !== of(form).posted) {
      event.detail.shouldSwap = false;
      of(form).typedOn = xhr.status === 200;
      const hash = xhr.responseText.match(/data-hash="([0-9a-f]+)"/);
      if (xhr.status === 200 && hash) sectionOf(form).dataset.hash = hash[1];
    } else if (xhr.status === 200) {
      forget(form);
      for (const { name, ...rest } of local.all(form.dataset.draft)) local.set(name, { ...rest, sent: false });
    } else {
      clearTimeout(of(form).draftTimer);
      local.drop(nameOf(form.dataset.draft, keyOf(form))); // the form that comes back holds the text, and keeps it
    }
  });
  // after app.js, which takes every good reply for "saved"
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = saves(event);
    if (!form) return;
    const state = of(form);
    const differs = form.isConnected && textOf(form) !== state.posted;
    Object.assign(state, { posted: null, quiet: false, stay: false });
    if (event.detail.successful) state.tries = 0;
    if (form.isConnected && differs) {
      form.dataset.guard = "dirty";
      state.touched = true;
      show(form, "unsaved");
      keep(form);
    }
    showInHead();
  });

  // Nothing moves under one's hands when another section is saved: the place and the caret stay.
  function hold(target) {
    const at = document.activeElement;
    const inside = target?.contains(at);
    const anchor = inside ? target : at?.getClientRects().length && at !== document.body ? at : null;
    const top = anchor?.getBoundingClientRect().top;
    const { id, selectionStart, selectionEnd } = at ?? {};
    document.addEventListener("htmx:afterSwap", () => {
      const now = inside ? document.getElementById(target.id) : anchor;
      if (top !== undefined && now?.isConnected) window.scrollBy(0, now.getBoundingClientRect().top - top);
      const again = inside && id ? document.getElementById(id) : null;
      again?.focus({ preventScroll: true });
      if (again && selectionStart !== undefined && selectionStart !== null) again.setSelectionRange(selectionStart, selectionEnd);
    }, { once: true });
  }

  // ---------- the server is away: say so, keep the text, and save by itself when it is back ----------

  for (const kind of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.addEventListener(kind, (event) => {
      const form = saves(event);
      if (!form || (kind === "htmx:responseError" && ![429, 502, 503, 504].includes(event.detail.xhr.status))) return;
      event.stopPropagation();
      setTimeout(() => tryLater(form)); // after app.js has said what it knows of it
    }, true);
  }
  function tryLater(form) {
    if (!form.isConnected) return;
    const state = of(form);
    keep(form);
    clearTimeout(state.draftTimer); // the save itself goes on trying
    show(form, "offline");
    if (!$(".wb-retry", form)) {
      const note = document.createElement("p");
      note.className = "wb-note wb-note-amber wb-retry";
      note.setAttribute("role", "status");
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "btn btn-sm", textContent: words.sayTry });
      button.addEventListener("click", () => tryNow(form));
      const text = document.createElement("span");
      text.className = "wb-grow";
      text.textContent = words.sayAway;
      note.append(text, button);
      $(".wb-form-f", form).before(note);
    }
    clearTimeout(state.retryTimer);
    state.retryTimer = setTimeout(() => tryNow(form), RETRY_MS[Math.min(state.tries++, RETRY_MS.length - 1)]);
  }
  function tryNow(form) {
    const state = of(form);
    clearTimeout(state.retryTimer);
    state.retryTimer = 0;
    if (!form.isConnected || state.posted !== null) return;
    if (state.wroteOn) Object.assign(state, { quiet: true, stay: true }); // one went on writing: the form stays open
    form.requestSubmit();
  }
  const tryAll = () => forms().filter((form) => of(form).retryTimer).forEach(tryNow);
  window.addEventListener("online", tryAll);
  document.addEventListener("logged-in-again", () => forms().filter((form) => !clean(form)).forEach((form) => send(form)));

  // ---------- two versions: mine, theirs, or what one writes there ----------

  const controlOf = (item) => sectionOf(item)?.querySelector("form[data-draft]")?.elements[item.dataset.clash];
  function press(item, choice) {
    for (const button of $$("[data-choose][aria-pressed]", item)) {
      button.setAttribute("aria-pressed", String(button.dataset.choose === choice));
    }
  }
  bench.addEventListener("click", (event) => {
    const button = event.target.closest("[data-choose]");
    const item = button?.closest("[data-clash]");
    const control = item && controlOf(item);
    if (!control) return;
    const choice = button.dataset.choose;
    control.closest("details")?.setAttribute("open", "");
    if (choice === "edit") {
      control.focus();
      return;
    }
    if (item.dataset.removal) control.checked = choice === "remove"; else control.value = item.dataset[choice];
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
    press(item, choice);
  });
  function markClash(control) {
    const item = control.name && $(`[data-clash="${CSS.escape(control.name)}"]`, sectionOf(control) ?? bench);
    if (!item || item.dataset.removal) return;
    press(item, ["mine", "theirs"].find((side) => item.dataset[side] === control.value) ?? "");
  }

  // ---------- text that cannot be saved any more can be taken elsewhere ----------

  bench.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy-text]");
    if (!button) return;
    const from = button.closest("form[data-draft]") ? [button.closest("form[data-draft]")] : forms();
    const text = from.flatMap((form) => $$("textarea, input:not([type=hidden], [type=checkbox], [type=radio])", form))
      .filter((control) => control.value.trim())
      .map((control) => `${control.labels?.[0]?.textContent.trim() ?? control.name}: ${control.value}`).join("\n");
    document.body.dispatchEvent(new CustomEvent("copy-text", { detail: { text, element: button } }));
  });

  // ---------- new content ----------

  function arrive(root) {
    localTimes(document);
    for (const section of root.matches?.("[data-section]") ? [root] : $$("[data-section]", root)) {
      const form = $("form[data-draft]", section);
      if (form && !known.has(form)) {
        const fromDraft = $("[data-from-draft]", form);
        if (fromDraft) of(form).sent = typedIn(textOf(form));
        else if (form.dataset.guard === "dirty") keep(form);
      }
      offer(section);
    }
    showInHead();
  }
  document.body.addEventListener("htmx:load", (event) => arrive(event.detail.elt));
  arrive(bench);
})();
