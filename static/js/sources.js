// The form of sources: what each address is while it is typed, many addresses pasted at once, captures pasted or
// dropped on a row. The server knows about addresses; this only asks it. Without it the form posts like any other.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const bench = $("#workbench");
  if (!bench) return;

  const rowOf = (element) => element.closest?.("[data-sources] [data-row]");
  const control = (row, name) => $(`[name$="-${name}"]`, row);
  const words = () => $("[data-sources]", bench)?.dataset ?? {};
  const changed = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));
  const say = (text, level) => document.body.dispatchEvent(new CustomEvent("toast", { detail: { text, level } }));
  const post = (url, body, signal) => fetch(url, {
    method: "POST", body, signal, headers: { "X-CSRFToken": $('meta[name="csrf-token"]')?.content ?? "", "HX-Request": "true" },
  });
  const part = (html) => new DOMParser().parseFromString(html, "text/html").body;

  // ---------- notes beside each row ----------

  let asking = null;
  let pause = 0;

  async function look() {
    const box = $("[data-sources]", bench);
    if (!box) return;
    asking?.abort();
    asking = new AbortController();
    let html;
    try {
      const reply = await post(box.dataset.lookUrl, new FormData(box.closest("form")), asking.signal);
      if (!reply.ok || reply.redirected) return;
      html = part(await reply.text());
    } catch { return; } // a newer question, or no answer: the notes stay as they are
    const notes = new Map($$("[data-look]", html).map((note) => [note.dataset.look, note]));
    for (const row of $$("[data-row]", box)) {
      const note = notes.get(control(row, "url")?.name.split("-")[1]);
      const slot = $("[data-looked]", row);
      const inner = note?.innerHTML ?? "";
      if (slot.dataset.shown !== inner) {
        slot.dataset.shown = inner;
        slot.innerHTML = inner;
      }
      const kind = control(row, "kind");
      kind.options[0].text = note?.dataset.detectedWord ?? (kind.dataset.empty ??= kind.options[0].text);
      // a kind that is what its URL says follows the URL; one that is not was chosen, and stays
      if (note && row.dataset.follows === undefined) row.dataset.follows = String(kind.value === note.dataset.detected);
      if (note) control(row, "locator").placeholder = note.dataset.hint;
    }
    const share = $("[data-share]", box);
    if (share) share.innerHTML = $("[data-look-share]", html)?.innerHTML ?? "";
  }
  function lookSoon() {
    clearTimeout(pause);
    pause = setTimeout(look, 300);
  }
  bench.addEventListener("input", (event) => {
    const row = rowOf(event.target);
    if (!row) return;
    const kind = control(row, "kind");
    if (event.target === control(row, "url") && row.dataset.follows === "true") kind.value = "";
    if (event.target === kind) row.dataset.follows = String(kind.value === "");
    lookSoon();
  });
  bench.addEventListener("change", (event) => { if (rowOf(event.target)) lookSoon(); });
  document.body.addEventListener("htmx:load", (event) => {
    if (event.detail.elt.matches("#sources") || $("[data-sources]", event.detail.elt)) look();
  });
  look();

  // ---------- many addresses at once ----------

  // One address goes in as it is, whatever it holds; text of several, with a title or in Markdown is read.
  const isMany = (text) => /[\r\n\t]|\]\(/.test(text) || (text.match(/https?:\/\//gi) ?? []).length > 1
    || (/\s/.test(text) && !/^https?:/i.test(text) && /https?:/i.test(text));

  async function readText(row, text) {
    const box = row.closest("[data-rows]");
    const body = new FormData();
    body.append("text", text);
    let answer;
    try {
      const reply = await post(words().readUrl, body);
      answer = reply.ok ? await reply.json() : null;
    } catch { answer = null; }
    if (!answer || !answer.rows.length) {
      const url = control(row, "url");
      url.setRangeText(text.replace(/\s+/g, " "), url.selectionStart ?? 0, url.selectionEnd ?? 0, "end");
      if (!answer) say(words().sayOffline, "warning");
      changed(url);
      return;
    }
    const { addRow, change, put, words: rowWords } = window.rows;
    let first = null;
    change(box, put(rowWords.pasted, { n: answer.rows.length }), () => {
      for (const texts of answer.rows) {
        const at = !first && !control(row, "url").value.trim() ? row : addRow(box);
        first ??= at;
        for (const [name, text] of Object.entries(texts)) {
          const field = control(at, name);
          if (field && text && !field.value) field.value = text;
        }
      }
    });
    control(first, "url").focus();
    changed(control(first, "url"));
    say(answer.said, "info");
  }

  // ---------- captures ----------

  async function capture(row, files) {
    const strip = $("[data-captures]", row);
    $("details", row).open = true;
    for (const file of files) {
      const waiting = document.createElement("span");
      waiting.className = "wb-s wb-2c";
      waiting.setAttribute("role", "status");
      waiting.textContent = words().sayAdding;
      strip.append(waiting);
      const body = new FormData();
      body.append("capture", file, file.name || "capture.png");
      try {
        const reply = await post(words().captureUrl, body);
        const html = await reply.text();
        const key = reply.headers.get("X-Image-Key");
        if (!reply.ok || !key) {
          say(part(html).textContent.trim().replace(/\s+/g, " ").slice(0, 300) || words().sayFailed, "error");
          continue;
        }
        strip.append($("[data-capture]", part(html)));
        const keys = control(row, "captures");
        keys.value = [...keys.value.split(/[\s,;]+/).filter(Boolean), key].join(", ");
        changed(keys);
        // the parts out of band; who listens to swaps is told where this one goes
        htmx.swap(document.body, html, { swapStyle: "none" }, { eventInfo: { target: document.body, elt: document.body } });
        htmx.trigger(document.body, "item-saved");
      } catch {
        say(words().sayFailed, "error");
      } finally {
        waiting.remove();
      }
    }
  }

  const pictures = (transfer) => [...(transfer?.files ?? [])].filter((file) => file.type.startsWith("image/"));

  // before the page's own listeners: a picture pasted here is a capture, and addresses make rows of their own kind
  bench.addEventListener("paste", (event) => {
    const row = rowOf(event.target);
    if (!row) return;
    const files = pictures(event.clipboardData);
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const many = event.target === control(row, "url") && isMany(text.trim());
    if (!(files.length && !text) && !many && event.target !== control(row, "url")) return;
    event.stopPropagation();
    if (files.length && !text) {
      event.preventDefault();
      capture(row, files);
    } else if (many) {
      event.preventDefault();
      readText(row, text);
    }
  }, true);
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    bench.addEventListener(kind, (event) => {
      const row = rowOf(event.target);
      if (!row || !event.dataTransfer?.types.includes("Files")) return;
      if (kind === "dragleave" && row.contains(event.relatedTarget)) return;
      event.preventDefault();
      row.classList.toggle("is-over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop") capture(row, [...event.dataTransfer.files]);
    });
  }
  bench.addEventListener("change", (event) => {
    if (!event.target.matches("[data-capture-file]")) return;
    capture(rowOf(event.target), [...event.target.files]);
    event.target.value = "";
  });
  bench.addEventListener("click", (event) => {
    const button = event.target.closest("[data-uncapture]");
    if (!button) return;
    const keys = control(rowOf(button), "captures");
    keys.value = keys.value.split(/[\s,;]+/).filter((key) => key && key !== button.dataset.uncapture).join(", ");
    button.closest("[data-capture]").remove();
    changed(keys);
    keys.focus();
  });
})();
