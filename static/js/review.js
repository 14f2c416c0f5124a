// What is typed into a review and not sent yet: kept in this browser at once and on the server a moment later, and put
// back when the page is opened again (a closed tab, an expired log-in, a server that was away).
(() => {
  "use strict";

  const panel = document.querySelector("[data-review-draft]");
  if (!panel) return;
  const WAIT_MS = 1000;
  const RETRY_MS = 10000;
  const SKIP = ["csrfmiddlewaretoken", "hash", "beside", "on", "move"];
  const name = `review:${panel.dataset.user}:${location.pathname}`;
  const token = () => document.querySelector('meta[name="csrf-token"]')?.content ?? "";
  const forms = () => [...document.querySelectorAll("form[data-review]")];
  const starts = new WeakMap();
  const text = (form) => new URLSearchParams(
    [...new FormData(form)].filter(([field, value]) => !SKIP.includes(field) && typeof value === "string"),
  ).toString();
  const local = {
    get: () => { try { return JSON.parse(localStorage.getItem(name)); } catch { return null; } },
    set: (value) => { try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* full or off */ } },
    drop: () => { try { localStorage.removeItem(name); } catch { /* off */ } },
  };

  const dirty = () => Object.fromEntries(
    forms().filter((form) => starts.has(form) && text(form) !== starts.get(form)).map((form) => [form.dataset.review, text(form)]),
  );
  let timer = 0;
  let sent = panel.dataset.reviewForms || "{}";
  function keep() {
    const unsent = dirty();
    if (Object.keys(unsent).length) local.set({ at: Date.now(), forms: unsent });
    else local.drop();
    clearTimeout(timer);
    timer = setTimeout(send, WAIT_MS);
  }
  async function send(leaving = false) {
    clearTimeout(timer);
    const body = JSON.stringify(dirty());
    if (body === sent) return;
    try {
      const reply = await fetch(panel.dataset.reviewDraft, {
        method: "POST", body: new URLSearchParams({ forms: body, hash: panel.dataset.hash }),
        headers: { "X-CSRFToken": token() }, keepalive: leaving && body.length < 60000,
      });
      if (!reply.ok || reply.redirected) throw new Error(reply.statusText);
      sent = body;
    } catch { timer = setTimeout(send, RETRY_MS); }
  }

  function fill(form, body) {
    const typed = new URLSearchParams(body);
    const add = form.querySelector("[data-add-point]");
    const wanted = typed.getAll("point_text").length;
    while (add && form.querySelectorAll("[data-row]").length < wanted) add.click();
    for (const field of new Set(typed.keys())) {
      const values = typed.getAll(field);
      [...form.elements].filter((element) => element.name === field).forEach((element, number) => {
        if (element.type === "radio" || element.type === "checkbox") element.checked = values.includes(element.value);
        else element.value = values[number] ?? "";
      });
    }
    form.closest("li")?.classList.add("is-dirty");
    const fold = form.closest("details");
    if (fold) fold.open = true;
  }
  function restore() {
    const here = local.get();
    const there = panel.dataset.reviewForms ? { at: Number(panel.dataset.reviewAt), forms: JSON.parse(panel.dataset.reviewForms) } : null;
    const newest = !there || (here && here.at > there.at) ? here : there;
    let found = 0;
    for (const form of forms()) {
      const body = newest?.forms[form.dataset.review];
      if (body === undefined || body === text(form)) continue;
      fill(form, body);
      found += 1;
    }
    if (!found) return;
    const note = document.getElementById("review-kept");
    note.hidden = false;
    note.querySelector("button").addEventListener("click", async () => {
      local.drop();
      for (const form of forms()) starts.set(form, text(form));
      await send();
      for (const form of forms()) form.removeAttribute("data-guard");
      location.reload();
    });
    keep();
  }

  for (const form of forms()) starts.set(form, text(form));
  restore();
  document.addEventListener("input", (event) => { if (event.target.form?.matches("[data-review]")) keep(); });
  document.body.addEventListener("htmx:load", (event) => {
    const inside = event.detail.elt.querySelectorAll?.("form[data-review]") ?? [];
    for (const form of inside) starts.set(form, form.dataset.guard === "dirty" ? "" : text(form));
    if (inside.length) keep();
  });
  // A form that goes without script's help is not unsent any more: it comes back with its text when it is refused.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-review]:not([hx-post])")) return;
    starts.set(event.target, text(event.target));
    keep();
    send(true);
  });
  document.addEventListener("logged-in-again", () => send());
  window.addEventListener("pagehide", () => send(true));
})();
