// Brings a page up to date while it is open. Without this file the pages work as well, by reload.
(() => {
  "use strict";
  if (!document.querySelector("[data-part]") || !window.EventSource) return;
  const state = document.getElementById("live-state");
  let source = null;
  let retry = null;
  let later = null;
  let moved = -Infinity;

  const say = (text, style) => {
    if (!state || state.textContent === text) return;
    state.hidden = false;
    state.textContent = text;
    state.className = "live " + style;
  };

  // A part stays as it is while the reader works in it: has the focus there, or has typed or selected something.
  const isInUse = (part) =>
    part.contains(document.activeElement) ||
    [...part.querySelectorAll("input, textarea")].some((field) =>
      field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue
    );

  // Nothing moves under a pointer that is about to press something: what is put in above it would shift it.
  const isAiming = () =>
    performance.now() - moved < 5000 && document.querySelector("main :is(a, button, input, select, summary):hover");

  const take = (html) => {
    clearTimeout(later);
    const fresh = new DOMParser().parseFromString(html, "text/html");
    let isPaused = false;
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const old = document.getElementById(part.id);
      if (!old) continue;
      for (const details of old.querySelectorAll("details[open][id]")) {
        const same = part.querySelector("#" + CSS.escape(details.id));
        if (same) same.open = true;
      }
      if (old.innerHTML !== part.innerHTML && (isAiming() || isInUse(old))) {
        isPaused = true;
        continue;
      }
      if (old.className !== part.className) old.className = part.className;
      if (old.innerHTML === part.innerHTML) continue;
      old.replaceChildren(...part.childNodes);
    }
    const isOpen = source && source.readyState === EventSource.OPEN;
    if (isOpen) say(isPaused ? "Paused while you choose" : "Live", isPaused ? "warn" : "ok");
    // The server sends a page again only once it has changed.
    if (isPaused) later = setTimeout(take, 500, html);
  };

  // The page's own address, asked for as a stream.
  const open = () => {
    if (source) return;
    source = new EventSource(location.pathname + location.search);
    source.addEventListener("page", (event) => take(event.data));
    source.onerror = () => {
      say("Waiting for the server", "warn");
      // A browser asks again after a lost connection, not after an error status.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(reopen, 5000);
    };
  };

  const close = () => {
    clearTimeout(retry);
    clearTimeout(later);
    if (source) source.close();
    source = null;
  };

  // Ends when the page is no longer this visitor's to see: the session has ended, or what it shows is gone.
  const reopen = async () => {
    const { ok, redirected, status } = await fetch(location.href, { cache: "no-store" }).catch(() => ({}));
    if (document.hidden) return;
    if (redirected || (status >= 400 && status < 500 && status !== 429)) say("Stopped: reload the page", "warn");
    else if (!ok) retry = setTimeout(reopen, 5000);
    else close(), open();
  };

  // A hidden page asks for nothing.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  document.addEventListener("pointermove", () => (moved = performance.now()), { passive: true });
  open();
})();
