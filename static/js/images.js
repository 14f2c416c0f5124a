// The images section of an item: files go up with a word for each, pictures change places by dragging, and choosing a
// file is enough to replace one. Without it, plain forms do the same.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  if (!$("#workbench")) return;
  const AT_ONCE = 10; // files in one request: each request is a revision
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);

  // ---------- uploads ----------

  function row(file, say) {
    const line = document.createElement("li");
    const name = document.createElement("span");
    name.className = "wb-grow wb-clip";
    name.textContent = file.name;
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", file.name);
    const state = document.createElement("span");
    state.textContent = say.sayWaits;
    line.append(name, bar, state);
    return { line, bar, state };
  }
  function finish({ line, bar, state }, text, good) {
    bar.remove();
    line.className = good ? "c-green" : "c-red";
    state.textContent = text;
  }

  // One request for several files; the files follow each other in it, so what was sent tells how far each is.
  function send(address, files, rows, role, say) {
    return new Promise((resolve) => {
      const body = new FormData();
      for (const file of files) body.append("images", file, file.name);
      if (role) body.append("role", role);
      const request = new XMLHttpRequest();
      request.open("POST", address);
      request.responseType = "json";
      request.setRequestHeader("Accept", "application/json");
      request.setRequestHeader("X-CSRFToken", $('meta[name="csrf-token"]').content);
      request.upload.addEventListener("progress", (event) => {
        const all = files.reduce((sum, file) => sum + file.size, 0);
        let sent = event.total ? event.loaded / event.total * all : 0;
        files.forEach((file, place) => {
          rows[place].bar.value = file.size ? Math.min(Math.max(sent / file.size, 0), 1) : 1;
          if (sent >= file.size) rows[place].state.textContent = say.sayReading;
          sent -= file.size;
        });
      });
      const fail = (text) => {
        for (const each of rows) finish(each, text, false);
        resolve(null);
      };
      request.addEventListener("error", () => fail(say.sayOffline));
      request.addEventListener("load", () => {
        const data = request.response;
        if (!data?.files?.length) {
          fail(data?.error ?? document.body.dataset.sayError);
          return;
        }
        data.files.forEach((found, place) => {
          if (found.key) finish(rows[place], fill(say.sayKept, { key: found.key }), true);
          else finish(rows[place], found.error.replace(`${found.file}: `, ""), false);
        });
        resolve(data);
      });
      request.send(body);
    });
  }

  let busy = Promise.resolve();
  async function upload(form) {
    const input = $("input[type=file]", form);
    const files = [...input.files];
    if (!files.length) return;
    const say = { ...form.dataset };
    const role = $("[name=role]", form).checked ? "question" : "";
    input.value = "";
    const list = $("[data-files]");
    if (![...list.children].some((line) => $("progress", line))) list.replaceChildren();
    list.hidden = false;
    const rows = files.map((file) => row(file, say));
    list.append(...rows.map(({ line }) => line));
    for (let start = 0; start < files.length; start += AT_ONCE) {
      const part = rows.slice(start, start + AT_ONCE);
      const data = await send(form.getAttribute("action"), files.slice(start, start + AT_ONCE), part, role, say);
      if (!data?.files.some((found) => found.key)) continue;
      const kept = $("[data-files]"); // what became of each file stays in view when the section is drawn anew
      const section = $("#images"); // listeners expect what htmx tells them of its own requests
      htmx.swap(section, data.html, { swapStyle: "outerHTML" }, { eventInfo: { target: section, elt: section } });
      $("[data-files]")?.replaceWith(kept);
      for (const box of $$("#images > [role=alert]")) box.remove(); // each file says it itself
    }
  }
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-upload]")) return;
    event.preventDefault();
    busy = busy.then(() => upload(form.isConnected ? form : $("[data-upload]")));
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submits]") && event.target.files.length) event.target.form.requestSubmit();
  });

  // ---------- order ----------

  let dragged = null;
  const figureOf = (event) => event.target.closest?.("[data-images] > [data-image]");

  document.addEventListener("pointerdown", (event) => {
    const figure = figureOf(event);
    // the menu and its fields are not for dragging
    if (figure) figure.draggable = Boolean(figure.parentElement.dataset.orderUrl) && !event.target.closest(".wb-menu, input, button");
  });
  document.addEventListener("dragstart", (event) => {
    dragged = figureOf(event);
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.image);
    dragged.classList.add("is-dragged");
  });
  document.addEventListener("dragover", (event) => {
    if (!dragged) return;
    const over = figureOf(event);
    if (!over && !event.target.closest?.("[data-images]")) return;
    event.preventDefault();
    if (!over || over === dragged || over.parentElement !== dragged.parentElement) return;
    const box = over.getBoundingClientRect();
    const after = event.clientX > box.left + box.width / 2;
    if (after) over.after(dragged); else over.before(dragged);
  });
  const keysOf = (box) => $$(":scope > [data-image]", box).map((figure) => figure.dataset.image).join(",");
  let before = "";
  document.addEventListener("dragstart", () => { if (dragged) before = keysOf(dragged.parentElement); });
  document.addEventListener("dragend", () => {
    if (!dragged) return;
    const box = dragged.parentElement;
    dragged.classList.remove("is-dragged");
    dragged = null;
    const keys = keysOf(box);
    if (keys !== before) htmx.ajax("POST", box.dataset.orderUrl, { target: "#images", swap: "outerHTML", values: { keys } });
  });
  // Alt with an arrow moves the picture that is in focus.
  document.addEventListener("keydown", (event) => {
    const figure = figureOf(event);
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const address = figure?.parentElement.dataset.orderUrl;
    if (!address || !by || !event.altKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    const key = figure.dataset.image;
    htmx.ajax("POST", address, { target: "#images", swap: "outerHTML", values: { key, by } }).then(() => $(`#image-${CSS.escape(key)} a`)?.focus());
  });
})();
