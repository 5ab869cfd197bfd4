// A classic script in the head, so that the first paint already has the chosen colours and language.
function look(change) {
  let chosen = { ...change };
  try {
    chosen = { ...JSON.parse(localStorage.getItem("fanmill.look")), ...change };
    if (change) localStorage.setItem("fanmill.look", JSON.stringify(chosen));
  } catch {}
  const root = document.documentElement;
  root.dataset.theme = chosen.theme || "";
  root.lang = chosen.lang || (navigator.language.startsWith("ko") ? "ko" : "en");
  return chosen;
}
look();
