// A picture in full: fitted or pixel by pixel, zoomed by wheel, pinch and keys, moved by dragging and arrows, one after
// the other. Regions lie over it; where the link to the picture says how, they are drawn, moved, named and removed.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const dialog = $("#zoom");
  if (!dialog) return;
  const [figure, stage, canvas, image, form] = [".wb-zoom", "[data-zoom-stage]", "[data-zoom-canvas]", "[data-zoom-image]", "[data-region-form]"].map((selector) => $(selector, dialog));
  const hint = $("[data-region-hint]", dialog);
  const words = figure.dataset;
  const UNIT = 10000; // regions are measured in ten-thousandths
  const SMALLEST = 50;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const say = (text, values) => text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);

  let link = null; // of the picture that is shown
  let regions = [];
  let selected = null; // the region whose note is open; `was` is how it was, null when it is new
  let drawing = false; // the next drag draws a region
  const view = { scale: 1, x: 0, y: 0, fits: true };

  // ---------- showing ----------

  const gallery = () => $$("a[data-zoom]:not([data-zoom-of])").filter((other) => other.getClientRects().length);
  const ownerOf = (part) => $(`[data-image="${CSS.escape(part.dataset.zoomOf ?? "")}"] a[data-zoom]`);

  function open(opener) {
    const key = opener.dataset.zoomRegion;
    show(opener.dataset.zoomOf ? ownerOf(opener) ?? opener : opener);
    if (!dialog.open) dialog.showModal();
    stage.focus({ preventScroll: true });
    if (key) whenLoaded(() => goTo(key));
  }
  function show(next) {
    link = next;
    deselect();
    setDrawing(false);
    problem("");
    image.alt = $("img", link)?.alt ?? "";
    image.src = link.href;
    $("[data-zoom-caption]", dialog).textContent = link.dataset.zoom || image.alt;
    $("[data-zoom-link]", dialog).href = link.href;
    $("[data-view-edit]", dialog).hidden = !link.dataset.regionUrl;
    stage.classList.toggle("is-editable", Boolean(link.dataset.regionUrl));
    const all = gallery();
    const place = all.indexOf(link);
    $("[data-zoom-count]", dialog).textContent = place < 0 ? "" : say(words.sayOf, { n: place + 1, all: all.length });
    for (const [name, off] of [["previous", place <= 0], ["next", place < 0 || place === all.length - 1]]) {
      $(`[data-view=${name}]`, dialog).disabled = off;
    }
    regions = JSON.parse(link.dataset.regions || "[]");
    $("[data-region-place]", dialog).hidden = !regions.length && !link.dataset.regionUrl;
    drawRegions();
    view.fits = true;
    whenLoaded(placePicture);
  }
  function whenLoaded(act) {
    if (image.complete && image.naturalWidth) act(); else image.addEventListener("load", act, { once: true });
  }
  function step(by) {
    const all = gallery();
    const next = all[all.indexOf(link) + by];
    if (next) show(next);
  }
  function problem(text) {
    const box = $("[data-zoom-problem]", dialog);
    box.textContent = text;
    box.hidden = !text;
  }

  // ---------- scale and place ----------

  const size = () => ({ width: image.naturalWidth || 1, height: image.naturalHeight || 1 });
  const fitting = () => Math.min(stage.clientWidth / size().width, stage.clientHeight / size().height, 1);
  const limits = () => [Math.min(fitting(), 0.05), 16];

  function placePicture() {
    if (!dialog.open) return;
    const { width, height } = size();
    if (view.fits) view.scale = fitting();
    const [w, h] = [width * view.scale, height * view.scale];
    // what is smaller than the stage stands in its middle; what is larger never leaves it
    view.x = w <= stage.clientWidth ? (stage.clientWidth - w) / 2 : clamp(view.x, stage.clientWidth - w, 0);
    view.y = h <= stage.clientHeight ? (stage.clientHeight - h) / 2 : clamp(view.y, stage.clientHeight - h, 0);
    Object.assign(canvas.style, { width: `${w}px`, height: `${h}px`, transform: `translate(${view.x}px, ${view.y}px)` });
    image.classList.toggle("is-sharp", view.scale >= 3);
    $("[data-zoom-percent]", dialog).textContent = `${Math.round(view.scale * 100)} %`;
    $("[data-view=fit]", dialog).setAttribute("aria-pressed", String(view.fits));
    $("[data-view=full]", dialog).setAttribute("aria-pressed", String(!view.fits && view.scale === 1));
  }
  // The point of the picture under (x, y) of the stage stays there.
  function zoomTo(scale, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const next = clamp(scale, ...limits());
    view.x = x - (x - view.x) * (next / view.scale);
    view.y = y - (y - view.y) * (next / view.scale);
    view.scale = next;
    view.fits = false;
    placePicture();
  }
  function move(dx, dy) {
    view.x += dx;
    view.y += dy;
    view.fits = false;
    placePicture();
  }
  function goTo(key) {
    const region = regions.find((other) => other.key === key);
    if (!region) return;
    const { width, height } = size();
    const scale = Math.min(stage.clientWidth / (region.width / UNIT * width), stage.clientHeight / (region.height / UNIT * height)) * 0.6;
    view.scale = clamp(scale, fitting(), 4);
    view.x = stage.clientWidth / 2 - (region.x + region.width / 2) / UNIT * width * view.scale;
    view.y = stage.clientHeight / 2 - (region.y + region.height / 2) / UNIT * height * view.scale;
    view.fits = false;
    placePicture();
    boxOf(region)?.classList.add("is-meant");
  }

  // ---------- regions ----------

  const editable = () => Boolean(link?.dataset.regionUrl);
  const boxOf = (region) => $$(".wb-region", canvas).find((box) => box.region === region);

  function drawRegions() {
    for (const box of $$(".wb-region", canvas)) box.remove();
    for (const region of regions) canvas.append(makeBox(region));
  }
  function makeBox(region) {
    const box = document.createElement("button");
    box.type = "button";
    box.className = "wb-region";
    box.region = region;
    const name = document.createElement("span");
    name.className = "wb-key";
    box.append(name);
    for (const corner of ["nw", "ne", "sw", "se"]) {
      const handle = document.createElement("i");
      handle.dataset.corner = corner;
      box.append(handle);
    }
    placeBox(box);
    return box;
  }
  function placeBox(box) {
    const { region } = box;
    for (const [name, value] of [["left", region.x], ["top", region.y], ["width", region.width], ["height", region.height]]) {
      box.style[name] = `${value / UNIT * 100}%`;
    }
    $(".wb-key", box).textContent = region.key || "+";
    const title = region.key ? say(words.sayRegion, { key: region.key }) : words.sayNew;
    box.setAttribute("aria-label", region.note ? `${title}: ${region.note}` : title);
    box.title = region.note;
    box.classList.toggle("is-selected", region === selected);
    box.setAttribute("aria-pressed", String(region === selected));
  }
  function select(region) {
    if (region === selected) return;
    deselect();
    selected = region;
    region.was ??= region.key ? { ...region } : null;
    placeBox(boxOf(region));
    $("[data-region-name]", form).textContent = region.key || words.sayNew;
    form.elements.note.value = region.note;
    form.elements.note.readOnly = !editable();
    for (const button of $$("button", form)) button.hidden = !editable();
    $("[data-view=remove]", form).hidden = !editable() || !region.key;
    form.hidden = false;
    hint.hidden = true;
  }
  // What was not saved is as it was before.
  function deselect() {
    if (!selected) return;
    const region = selected;
    const box = boxOf(region);
    selected = null;
    form.hidden = true;
    hint.hidden = false;
    if (region.was) {
      Object.assign(region, region.was);
      if (box) placeBox(box);
    } else if (!region.key) {
      regions = regions.filter((other) => other !== region);
      box?.remove();
    }
  }
  function setDrawing(on) {
    drawing = on;
    stage.classList.toggle("is-drawing", on);
    $("[data-view=mark]", dialog).setAttribute("aria-pressed", String(on));
  }
  function addRegion(rect) {
    const region = { key: "", note: "", referrers: [], ...rect };
    regions.push(region);
    canvas.append(makeBox(region));
    select(region);
    return boxOf(region);
  }
  function markByKeys() {
    const { width, height } = size();
    const [cx, cy] = [(stage.clientWidth / 2 - view.x) / (width * view.scale), (stage.clientHeight / 2 - view.y) / (height * view.scale)];
    const side = 2000;
    const at = (middle) => clamp(Math.round(middle * UNIT - side / 2), 0, UNIT - side);
    addRegion({ x: at(cx), y: at(cy), width: side, height: side }).focus();
  }
  function shape(region, rect) {
    Object.assign(region, {
      width: clamp(Math.round(rect.width), SMALLEST, UNIT),
      height: clamp(Math.round(rect.height), SMALLEST, UNIT),
    });
    region.x = clamp(Math.round(rect.x), 0, UNIT - region.width);
    region.y = clamp(Math.round(rect.y), 0, UNIT - region.height);
    placeBox(boxOf(region));
  }

  async function post(address, values) {
    problem("");
    const body = new FormData();
    for (const [name, value] of Object.entries({ base: link.dataset.base, ...values })) body.append(name, value);
    const headers = { Accept: "application/json", "X-CSRFToken": $('meta[name="csrf-token"]').content };
    let data;
    try {
      const reply = await fetch(address, { method: "POST", body, headers });
      data = await reply.json();
      if (!reply.ok) {
        problem(data.error ?? document.body.dataset.sayError);
        return false;
      }
    } catch {
      problem(words.sayOffline);
      return false;
    }
    const key = link.closest("[data-image]").dataset.image;
    const section = $("#images"); // listeners expect what htmx tells them of its own requests
    htmx.swap(section, data.html, { swapStyle: "outerHTML" }, { eventInfo: { target: section, elt: section } });
    const next = $(`[data-image="${CSS.escape(key)}"] a[data-zoom]`);
    if (!next) {
      dialog.close();
      return true;
    }
    selected = null;
    form.hidden = true;
    hint.hidden = false;
    const same = next.href === link.href;
    const kept = { ...view };
    show(next);
    if (same) whenLoaded(() => { Object.assign(view, kept); placePicture(); });
    return true;
  }
  async function saveRegion() {
    const region = selected;
    const known = new Set(regions.map((other) => other.key));
    const { x, y, width, height, key } = region;
    const done = await post(link.dataset.regionUrl, { x, y, width, height, region: key, note: form.elements.note.value });
    if (!done) return;
    const saved = regions.find((other) => (key ? other.key === key : !known.has(other.key)));
    $("[data-zoom-said]", dialog).textContent = say(words.sayMarked, { key: saved?.key ?? "" });
    if (saved) boxOf(saved)?.focus({ preventScroll: true }); else stage.focus({ preventScroll: true });
  }
  function removeRegion(region) {
    const who = region.referrers.join(", ");
    if (!who) {
      takeOut(region);
      return;
    }
    const detail = { text: say(words.sayConfirm, { who, key: region.key }), yes: words.sayYes, act: () => takeOut(region) };
    document.body.dispatchEvent(new CustomEvent("confirm-then", { detail }));
  }
  async function takeOut(region) {
    const address = link.dataset.removeUrl.replace("KEY", region.key);
    if (await post(address, { unlink: region.referrers.join(",") })) {
      $("[data-zoom-said]", dialog).textContent = say(words.sayRemoved, { key: region.key });
      stage.focus({ preventScroll: true });
    }
  }

  // ---------- buttons ----------

  const ACTS = {
    previous: () => step(-1),
    next: () => step(1),
    in: () => zoomTo(view.scale * 1.25),
    out: () => zoomTo(view.scale / 1.25),
    fit: () => { view.fits = true; placePicture(); },
    full: () => zoomTo(1),
    left: () => post(link.dataset.rotateUrl, { turns: -1 }),
    right: () => post(link.dataset.rotateUrl, { turns: 1 }),
    // a click without a pointer came from the keyboard
    mark: (event) => { if (event.detail) setDrawing(!drawing); else markByKeys(); },
    drop: () => { deselect(); stage.focus({ preventScroll: true }); },
    remove: () => removeRegion(selected),
  };
  dialog.addEventListener("click", (event) => {
    const button = event.target.closest("[data-view]");
    if (button) ACTS[button.dataset.view](event);
    const box = event.target.closest(".wb-region");
    if (box) {
      select(box.region);
      if (editable() && !event.detail) form.elements.note.focus();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    saveRegion();
  });
  // Esc first lets go of what is drawn, then closes.
  dialog.addEventListener("cancel", (event) => {
    if (!selected && !drawing) return;
    event.preventDefault();
    deselect();
    setDrawing(false);
    stage.focus({ preventScroll: true });
  });
  dialog.addEventListener("close", () => { deselect(); setDrawing(false); link = null; });
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("a[data-zoom]");
    if (!opener || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(opener);
  });
  new ResizeObserver(() => placePicture()).observe(stage);

  // ---------- keys ----------

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  stage.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
    const region = event.target.closest(".wb-region")?.region;
    const arrow = ARROWS[event.key];
    if (arrow) {
      event.preventDefault();
      const [dx, dy] = arrow;
      if (!region || !editable()) {
        move(-dx * 60, -dy * 60);
        return;
      }
      select(region);
      const by = 100;
      const { x, y, width, height } = region;
      if (event.shiftKey) shape(region, { x, y, width: clamp(width + dx * by, SMALLEST, UNIT - x), height: clamp(height + dy * by, SMALLEST, UNIT - y) });
      else shape(region, { x: x + dx * by, y: y + dy * by, width, height });
    } else if (event.key === "Delete" && region?.key && editable()) {
      event.preventDefault();
      removeRegion(region);
    }
  });

  // ---------- pointers: one moves, draws or shapes; two pinch ----------

  const pointers = new Map();
  let drag = null;
  const at = (event) => {
    const box = stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const inPicture = (point) => ({
    x: clamp((point.x - view.x) / (size().width * view.scale) * UNIT, 0, UNIT),
    y: clamp((point.y - view.y) / (size().height * view.scale) * UNIT, 0, UNIT),
  });
  const between = (a, b) => ({ x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) });

  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = at(event);
    zoomTo(view.scale * Math.exp(-clamp(event.deltaY, -200, 200) * (event.ctrlKey ? 0.01 : 0.002)), x, y);
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => {
    if (event.target.closest(".wb-region")) return;
    const { x, y } = at(event);
    if (view.fits) zoomTo(Math.max(1, view.scale * 2), x, y); else ACTS.fit();
  });
  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const point = at(event);
    pointers.set(event.pointerId, point);
    if (pointers.size === 2) {
      if (drag?.kind === "draw") deselect();
      const [a, b] = [...pointers.values()];
      drag = { kind: "pinch", apart: Math.hypot(a.x - b.x, a.y - b.y), scale: view.scale };
      return;
    }
    const box = event.target.closest(".wb-region");
    const corner = event.target.dataset.corner;
    const start = inPicture(point);
    if (drawing) {
      event.preventDefault();
      drag = { kind: "draw", start, region: null };
    } else if (box && editable() && box.region === selected) {
      const { x, y, width, height } = box.region;
      const fixed = corner && { x: corner.includes("w") ? x + width : x, y: corner.includes("n") ? y + height : y };
      drag = corner ? { kind: "shape", fixed, region: box.region } : { kind: "move", start, x, y, region: box.region };
    } else {
      drag = { kind: "pan", last: point };
    }
    drag.moved = false;
    if (!box) stage.focus({ preventScroll: true });
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag || !pointers.has(event.pointerId)) return;
    const point = at(event);
    const before = pointers.get(event.pointerId);
    pointers.set(event.pointerId, point);
    if (!drag.moved && drag.kind !== "pinch" && Math.hypot(point.x - before.x, point.y - before.y) < 3) {
      pointers.set(event.pointerId, before);
      return;
    }
    if (!drag.moved) stage.setPointerCapture(event.pointerId);
    drag.moved = true;
    const place = inPicture(point);
    if (drag.kind === "pinch") {
      const [a, b] = [...pointers.values()];
      zoomTo(drag.scale * Math.hypot(a.x - b.x, a.y - b.y) / drag.apart, (a.x + b.x) / 2, (a.y + b.y) / 2);
    } else if (drag.kind === "pan") {
      move(point.x - drag.last.x, point.y - drag.last.y);
      drag.last = point;
    } else if (drag.kind === "draw") {
      drag.region ??= addRegion({ ...drag.start, width: SMALLEST, height: SMALLEST }).region;
      shape(drag.region, between(drag.start, place));
    } else if (drag.kind === "move") {
      const { width, height } = drag.region;
      shape(drag.region, { x: drag.x + place.x - drag.start.x, y: drag.y + place.y - drag.start.y, width, height });
    } else {
      shape(drag.region, between(drag.fixed, place));
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    window.addEventListener(kind, (event) => {
      if (!pointers.delete(event.pointerId)) return;
      if (drag?.kind === "draw" && drag.region) {
        setDrawing(false);
        form.elements.note.focus();
      }
      if (drag?.kind === "pinch" && pointers.size === 1) drag = { kind: "pan", last: [...pointers.values()][0], moved: true };
      else drag = null;
    });
  }
})();
