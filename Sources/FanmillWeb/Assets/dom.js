// Texts in the reader's language, and elements without markup in strings.

export const lang = () => document.documentElement.lang;

// English is in the code, and Korean is read when it is chosen.
let korean = () => null;
export async function learn() {
  if (lang() === "ko") ({ korean } = await import("./ko.js"));
}
await learn();
const translated = (text) => text && lang() === "ko" && korean(text);

// t`${count} likes` is translated by the key "{0} likes". All plurals in English are like this one.
export function t(text, ...values) {
  if (text.raw) text = text.reduce((all, part, place) => `${all}{${place - 1}}${part}`);
  const found = translated(text) || (values[0] === 1 ? text.replace(/^(\{0\} \w+)s$/, "$1") : text);
  return found.replace(/\{(\d)\}/g, (_, place) => values[place]);
}

// A refusal in the reader's language, or in the API's words.
export function ofCode(code, detail) {
  const text = translated(code) || detail || code || "";
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

export const number = (value) =>
  value.toLocaleString(lang(), { notation: value >= 10000 ? "compact" : "standard" });
export const day = (date) => new Date(date).toLocaleDateString(lang(), { dateStyle: "long" });
export const moment = (date) => new Date(date).toLocaleString(lang(), { dateStyle: "medium", timeStyle: "short" });
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

const units = Object.entries({ year: 31536000, month: 2592000, day: 86400, hour: 3600, minute: 60 });

function ago(date) {
  const seconds = Math.round((date - Date.now()) / 1000);
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || [];
  if (!unit) return t`now`;
  const relative = new Intl.RelativeTimeFormat(lang(), { style: "short", numeric: "auto" });
  return relative.format(Math.trunc(seconds / size), unit);
}

export function time(date) {
  const at = new Date(date);
  return h("time.dim", { datetime: at.toISOString(), title: moment(at) }, ago(at));
}

setInterval(() => {
  for (const element of document.querySelectorAll("time")) element.textContent = ago(new Date(element.dateTime));
}, 30000);

export const $ = (selector, within = document) => within.querySelector(selector);

const nodes = (children) => children.flat(Infinity).filter((child) => child != null && child !== false);

// h("p.dim", { id }, "text", element): the properties may be left out.
export function h(tag, props, ...children) {
  if (props?.constructor !== Object) [props, children] = [{}, [props, ...children]];
  const [name, ...classes] = tag.split(".");
  const space = name === "svg" || name === "path" ? "2000/svg" : "1999/xhtml";
  const element = document.createElementNS("http://www.w3.org/" + space, name);
  if (props.class) classes.push(props.class);
  // Without bullets, Safari sees no list.
  if (name === "ul" || name === "ol") element.role = "list";
  if (name === "img") element.alt = "";
  for (const [key, value] of Object.entries({ ...props, class: classes.join(" ") || null })) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    // The policy allows no style attribute.
    else if (key.startsWith("--")) element.style.setProperty(key, value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key === "label" ? "aria-label" : key, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

export const swap = (element, ...children) => (element.replaceChildren(...nodes(children)), element);
export const link = (href, content, style = "") => h("a" + style, { href }, content);
export const head = (title, ...rest) => h("header.head", h("h1", title), ...rest);
export const empty = (title, text, ...actions) => h("div.empty", h("h2", title), h("p", text), h("div.row", actions));
export const names = (name, ...more) => h("span.names", h("strong", name), h("span.dim", more));
export const facts = (all) => h("dl.facts-list", all.map(([name, value]) => [h("dt", name), h("dd", value)]));

const shapes = {
  home: "M4 5h7v9H4zM13 5h7v5h-7zM13 12h7v7h-7zM4 16h7v3H4z",
  following: "M4 6h16M4 10h16M4 14v5h16v-5z",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 20 20",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4",
  mail: "M4 6h16v12H4zM4 7l8 6 8-6",
  plus: "M12 5v14M5 12h14",
  fans: "M12 3.5l2.5 5.4 5.9.7-4.4 4 1.2 5.9-5.2-3-5.2 3L8 13.6l-4.4-4 5.9-.7z",
  seal: "M6 3.5h9l3.5 3.5v13.5H6zM9 9h6M9 12.5h6M9 16h3",
  me: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5",
  heart: "M12 20S4 15 4 9.3A4.1 4.1 0 0 1 12 7.5a4.1 4.1 0 0 1 8 1.8c0 5.7-8 10.7-8 10.7z",
  comment: "M4 5h16v11h-8l-4.5 4v-4H4z",
  more: "M5.5 12h.01M12 12h.01M18.5 12h.01",
  left: "M14.5 5.5 8 12l6.5 6.5",
  right: "M9.5 5.5 16 12l-6.5 6.5",
  close: "M6 6l12 12M18 6 6 18",
  gear: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 2.5-2.5L20 17M15.5 8.5h.01",
  chart: "M5 20v-6M12 20V4M19 20v-9",
};
export const icon = (name) =>
  h("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: shapes[name] }));

export function say(text, isShown = true) {
  $("#said").textContent = isShown ? "" : text;
  if (!isShown) return;
  const toast = h("p.toast", text);
  $("#toasts").append(toast);
  setTimeout(() => toast.remove(), 6000);
}

export const tell = (hint, text, isError) =>
  Object.assign(hint, { className: isError ? "error" : "hint", textContent: text });

export function button(content, act, style = "", props) {
  const element = h("button" + style, { type: "button", ...props, onclick: async (event) => {
    const run = act?.(event);
    if (!(run instanceof Promise)) return;
    element.disabled = true;
    await run.catch((problem) => problem.name !== "AbortError" && say(problem.message));
    element.disabled = false;
  } }, content);
  return element;
}

export const round = (shape, label, act, props) => button(icon(shape), act, ".quiet.round", { label, ...props });

export function dialog(title, content, style = "") {
  let isBeside = false;
  const box = h(
    "dialog" + style,
    {
      label: title, onclose: () => box.remove(), onclick: ({ target }) => isBeside && target === box && box.close(),
      // The target is the dialog in its padding, too, and when a selection is drawn out of it.
      onpointerdown({ clientX: x, clientY: y }) {
        const { left, right, top, bottom } = box.getBoundingClientRect();
        isBeside = x < left || x > right || y < top || y > bottom;
      },
    },
    h("div.head", h("h2", title), round("close", t`Close`, () => box.close())), content);
  document.body.append(box);
  box.showModal();
  return box;
}

export function confirm(title, text, label, act) {
  const error = h("p.error", { role: "alert" });
  const cancel = button(t`Cancel`, () => box.close());
  const go = async () => {
    try {
      await act();
      box.close();
    } catch (problem) {
      error.textContent = problem.message;
    }
  };
  const box = dialog(title, [h("p", text), error, h("div.row.end", cancel, button(label, go, ".danger"))], ".small");
  cancel.focus();
}

// A menu of actions: [label, act, style]; this one asks before.
export const danger = (label, title, text, act) => [label, () => confirm(title, text, label, act), ".red"];

export function menu(label, items) {
  const top = h("summary.quiet.round", { label }, icon("more"));
  const shut = () => ((details.open = false), top.focus());
  const details = h("details.menu", {
    onkeydown: (event) => event.key === "Escape" && details.open && (event.stopPropagation(), shut()),
    onfocusout: (event) => details.contains(event.relatedTarget) || (details.open = false),
  },
  // Safari focuses no button that is clicked: the focus would leave, and the menu close before the click.
  top, h("div", { onmousedown: (event) => event.preventDefault() }, items.filter(Boolean).map(
    ([text, act, style = ""]) => button(text, () => (shut(), act()), ".quiet" + style))));
  return details;
}
