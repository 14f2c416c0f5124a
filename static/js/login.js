// The log-in ran out: log in again in place. What was being sent is sent again then, and nothing typed is lost.
(() => {
  "use strict";

  // Apart from the page until it is needed: its fields are nobody's business before.
  const kept = document.getElementById("login-again-kept");
  if (!kept) return;
  const dialog = kept.content.querySelector("dialog");
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector("[data-login-problem]");
  const words = form.dataset;
  const path = document.body.dataset.login;
  const isLogin = (address) => Boolean(address) && new URL(address).pathname === path;
  const waiting = new Set();

  // Logging in, in whatever tab, also makes the token of this page's forms stale: then a new one is fetched.
  const expired = (xhr) => xhr.status === 403 && xhr.responseText.includes("data-form-expired");
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = event.detail;
    if (!isLogin(xhr.responseURL) && !expired(xhr)) return;
    event.stopPropagation();
    Object.assign(event.detail, { shouldSwap: false, isError: true });
    if (requestConfig?.elt) waiting.add(requestConfig.elt);
    if (expired(xhr)) renew(); else open();
  }, true);
  let renewed = 0;
  async function renew() {
    const again = Date.now() - renewed < 5000; // a new token was refused as well: another one would be
    renewed = Date.now();
    const reply = again ? null : await fetch(words.next).catch(() => null);
    if (reply && !isLogin(reply.url)) goOn(parse(await reply.text()));
    else if (waiting.size) open();
  }
  document.addEventListener("token-refused", renew);
  document.addEventListener("htmx:responseError", (event) => {
    if (isLogin(event.detail.xhr.responseURL) || expired(event.detail.xhr)) event.stopPropagation();
  }, true);

  function open() {
    if (dialog.open) return;
    document.body.append(dialog);
    say("");
    dialog.showModal();
    form.elements.password.focus();
  }
  function say(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    event.stopPropagation();
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    try {
      const page = await logIn();
      if (page) goOn(page);
    } catch {
      say(document.body.dataset.sayOffline);
    } finally {
      button.disabled = false;
    }
  });

  // The page behind the log-in, or null when it was refused.
  async function logIn() {
    const address = `${path}?next=${encodeURIComponent(words.next)}`;
    const asked = await fetch(address);
    const page = parse(await asked.text());
    if (!isLogin(asked.url)) return page; // logged in meanwhile, in another tab
    const body = new URLSearchParams(new FormData(form));
    body.set("csrfmiddlewaretoken", page.querySelector("[name=csrfmiddlewaretoken]").value);
    body.set("next", words.next);
    const reply = await fetch(path, { method: "POST", body });
    const landed = parse(await reply.text());
    if (reply.ok && !isLogin(reply.url)) return landed;
    const said = [...landed.querySelectorAll("[role=alert], .wb-ferrors li, .wb-note-red")].map((e) => e.textContent.trim());
    say(said[0] || landed.querySelector("h1")?.textContent || words.sayWrong);
    form.elements.password.select();
    return null;
  }
  const parse = (text) => new DOMParser().parseFromString(text, "text/html");

  function goOn(page) {
    const token = page.querySelector('meta[name="csrf-token"]').content;
    document.querySelector('meta[name="csrf-token"]').content = token;
    for (const input of document.querySelectorAll("input[name=csrfmiddlewaretoken]")) input.value = token;
    form.elements.password.value = "";
    dialog.close();
    document.dispatchEvent(new Event("logged-in-again"));
    const again = [...waiting].filter((element) => element.isConnected);
    waiting.clear();
    for (const element of again) {
      if (element.matches("form")) element.requestSubmit(); else element.click();
    }
  }
})();
