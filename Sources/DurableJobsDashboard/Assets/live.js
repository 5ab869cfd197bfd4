// Brings the overview up to date as the server sends it. Without this file the pages work as well, by reload.
(() => {
  "use strict";
  const place = document.querySelector("[data-live]");
  if (!place || !window.EventSource) return;
  const state = document.getElementById("live-state");
  let source = null;

  const say = (text, style) => {
    if (!state || state.textContent === text) return;
    state.hidden = false;
    state.textContent = text;
    state.className = "live " + style;
  };

  // Replaces what has changed, but never under the reader's cursor, and leaves open what he has opened.
  const take = (html) => {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const old = document.getElementById(part.id);
      if (!old) continue;
      for (const details of old.querySelectorAll("details[open][id]")) {
        const same = part.querySelector("#" + CSS.escape(details.id));
        if (same) same.open = true;
      }
      if (old.className !== part.className) old.className = part.className;
      if (old.innerHTML === part.innerHTML || old.contains(document.activeElement)) continue;
      old.replaceChildren(...part.childNodes);
    }
  };

  const open = () => {
    if (source) return;
    source = new EventSource(place.dataset.live);
    source.addEventListener("page", (event) => {
      say("Live", "ok");
      take(event.data);
    });
    source.onerror = () => say(source.readyState === EventSource.CLOSED ? "Stopped: reload the page" : "Waiting for the server", "warn");
  };

  const close = () => {
    if (source) source.close();
    source = null;
  };

  // A page that nobody sees asks for nothing.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  open();
})();
