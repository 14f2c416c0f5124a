// The heartbeat of an item's page: who else is here and in which section, which sections somebody saved since the page
// was loaded, and whether the item's state changed.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench?.dataset.presence) return;
  const EVERY_MS = 1000 * Number(bench.dataset.beatSeconds || 20);
  const token = () => $('meta[name="csrf-token"]')?.content ?? "";

  let was = "";
  let news = null; // the newest reply, put into sections that arrive later as well

  function openSection() {
    const focused = document.activeElement?.closest?.("[data-section].is-editing");
    return (focused ?? $$("[data-section].is-editing", bench).at(-1))?.id ?? "";
  }
  const shown = () => $$("[data-section]", bench).map((section) => `${section.id}:${section.dataset.hash.slice(0, 12)}`).join(" ");

  async function beat() {
    if (document.hidden) return;
    const section = openSection();
    const body = new URLSearchParams({ section, was, hashes: shown(), state: bench.dataset.state });
    was = section;
    try {
      const reply = await fetch(bench.dataset.presence, { method: "POST", body, headers: { "X-CSRFToken": token() } });
      if (!reply.ok || reply.redirected) return;
      const box = document.createElement("template");
      box.innerHTML = await reply.text();
      news = box.content;
      place();
    } catch { /* the next one will tell */ }
  }
  function goodbye() {
    const body = new URLSearchParams({ leave: "1" });
    fetch(bench.dataset.presence, { method: "POST", body, headers: { "X-CSRFToken": token() }, keepalive: true }).catch(() => {});
  }

  function place() {
    if (!news) return;
    const here = $("#also-here");
    const now = $("[data-also-here]", news);
    if (here && here.innerHTML.trim() !== now.innerHTML.trim()) here.innerHTML = now.innerHTML;
    for (const section of $$("[data-section]", bench)) {
      const marks = $$(`[data-here-in="${section.id}"]`, news);
      const old = $$(".wb-here", section);
      if (old.map((mark) => mark.outerHTML).join() !== marks.map((mark) => mark.outerHTML).join()) {
        for (const mark of old) mark.remove();
        $(".wb-sec-h .wb-meta", section)?.after(...marks.map((mark) => mark.cloneNode(true)));
      }
      tellChange(section, $(`[data-changed="${section.id}"]`, news));
    }
    tellState($("[data-state-now]", news));
  }
  function tellChange(section, change) {
    const old = $(".wb-changed", section);
    if (old && (!change || old.dataset.from !== change.outerHTML)) old.remove();
    if (!change || (old && old.isConnected)) return;
    const editing = section.matches(".is-editing");
    const note = change.cloneNode(true);
    note.dataset.from = change.outerHTML;
    if (editing) {
      $("[data-show]", note).remove();
      $("[data-while-editing]", note).hidden = false;
    }
    for (const time of $$("time[data-clock]", note)) {
      time.textContent = new Date(time.dateTime).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    }
    $(".wb-sec-h", section).after(note);
    htmx.process(note);
    if (!editing && "own" in note.dataset) $("[data-show]", note).click(); // one's own other window: nothing to ask
  }
  // Said at the head of the page, and in every form that is open.
  function tellState(change) {
    if (!change) return;
    for (const box of [$(".wb-centre"), ...$$("form[data-draft]", bench)]) {
      if ($(":scope > [data-state-now]", box)?.dataset.stateNow === change.dataset.stateNow) continue;
      const note = change.cloneNode(true);
      $("[data-reload]", note).href = location.href;
      if (box.matches("form")) $("[data-reload]", note).remove(); else $("[data-copy-text]", note).remove();
      $(":scope > [data-state-now]", box)?.remove();
      box.prepend(note);
      const save = box.matches("form") && $("button[type=submit].btn-primary", box);
      if (save && "noSave" in note.dataset) save.setAttribute("aria-disabled", "true");
    }
  }

  let soon = 0;
  const beatSoon = () => { clearTimeout(soon); soon = setTimeout(beat, 300); };
  document.body.addEventListener("htmx:load", (event) => {
    if (event.detail.elt === document.body) return;
    if (event.detail.elt.matches("[data-section]")) {
      news && $(`[data-changed="${event.detail.elt.id}"]`, news)?.remove();
      place();
    }
    if (openSection() !== was) beatSoon();
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.closest?.("[data-section].is-editing") && openSection() !== was) beatSoon();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) beatSoon(); });
  document.addEventListener("logged-in-again", beatSoon);
  // A page that the Back button brings out of the cache shows what was there then.
  window.addEventListener("pageshow", (event) => { if (event.persisted) beatSoon(); });
  window.addEventListener("pagehide", goodbye);
  setInterval(beat, EVERY_MS);
  beatSoon();
})();
