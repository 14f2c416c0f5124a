// The item workbench: the section in view, shortcuts, the panel. Without it everything is read, edited and saved by
// plain forms. Rows of forms: rows.js. Saving: saving.js.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;
  const singleKeys = () => { try { return localStorage.getItem("shortcuts") !== "off"; } catch { return true; } };

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
  bench.addEventListener("click", (event) => {
    const button = event.target.closest("[data-pin]");
    if (!button) return;
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    follow();
  });
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
    if (event.key === "e" && !event.ctrlKey && !event.metaKey && !event.altKey && !typing(event.target) && singleKeys()) {
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

  // ---------- new content ----------

  document.body.addEventListener("htmx:load", (event) => {
    const root = event.detail.elt;
    const wrong = $("[data-section-form] [aria-invalid=true]", root);
    if (wrong && !$("[role=alert]", root)) {
      wrong.closest("details")?.setAttribute("open", "");
      wrong.focus();
    }
    look();
    follow();
  });
  look();
  follow();
})();
