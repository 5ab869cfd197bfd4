import { $, h, t, learn, icon, swap, say, empty, link, button } from "./dom.js";
import { get, on, emit, draft } from "./api.js";
import { app, avatar, screen, placeOf } from "./parts.js";
import { listen, hangUp } from "./live.js";
import * as posts from "./posts.js";
import * as people from "./people.js";
import * as fans from "./fans.js";

// These are loaded when they are first shown.
const seal = (name) => async (ctx) => (await import("./agree.js"))[name](ctx);
const account = (name) => async (ctx) => (await import("./account.js"))[name](ctx);

const routes = {
  "/": posts.home,
  "/following": posts.following,
  "/likes": posts.likes,
  "/new": posts.compose,
  "/p/:id": posts.post,
  "/p/:id/edit": posts.edit,
  "/u/:name": people.profile,
  "/u/:name/followers": people.followers,
  "/u/:name/following": people.followees,
  "/search": people.search,
  "/notifications": people.notifications,
  "/messages": people.conversations,
  "/messages/:name": people.conversation,
  "/fans": fans.mine,
  "/rankings": fans.rankings,
  "/c/:platform/:account": fans.celeb,
  "/c/:platform/:account/certificate": fans.certificate,
  "/agreements": seal("all"),
  "/agreements/meet": seal("meet"),
  "/agreements/:id": seal("one"),
  "/settings": account("settings"),
  "/settings/:part": account("settings"),
};
// These need no session.
const open = {
  "/signin": account("signIn"),
  "/signup": account("signUp"),
  "/reset": account("reset"),
  "/reset/:token": account("choose"),
  "/confirm": account("confirmAgain"),
  "/confirm/:token": account("confirmEmail"),
  "/delete/:token": account("confirmDeletion"),
};

function match(path, all) {
  for (const [pattern, view] of Object.entries(all)) {
    const found = new RegExp(`^${pattern.replace(/:(\w+)/g, "(?<$1>[^/]+)")}/?$`).exec(path);
    if (!found) continue;
    try {
      const params = Object.entries(found.groups || {}).map(([name, value]) => [name, decodeURIComponent(value)]);
      return { view, params: Object.fromEntries(params) };
    } catch {
      // A percent sign that encodes nothing.
    }
  }
  return null;
}

// The shell

const counts = { notifications: 0, messages: 0 };

function shell() {
  document.body.classList.toggle("guest", !app.me);
  $(".skip").textContent = t`Skip to the content`;
  const place = (href, picture, text, dot) => h("a", { href, "data-dot": dot, class: href === "/new" ? "new" : null },
    picture.append ? picture : icon(picture), h("span", text), dot && h("i.dot", { hidden: true }));
  const nav = (style, label, ...places) => h("nav." + style, { label }, places.map((one) => place(...one)));
  swap($("#bar"), link("/", "Fanmill", ".mark"), app.me && [
    nav("tools", t`Tools`,
      ["/search", "search", t`Search`],
      ["/notifications", "bell", t`Notifications`, "notifications"],
      ["/messages", "mail", t`Messages`, "messages"]),
    nav("places", t`Places`,
      ["/", "home", t`Home`], ["/following", "following", t`Following`], ["/new", "plus", t`New post`],
      ["/fans", "fans", t`Fans`], [placeOf(app.me), avatar(app.me, "tiny"), t`You`]),
    nav("rest", t`More places`,
      ["/rankings", "chart", t`Rankings`], ["/agreements", "seal", t`Agreements`], ["/settings", "gear", t`Settings`]),
  ]);
  paint();
}

function paint() {
  for (const anchor of document.querySelectorAll("#bar nav a")) {
    anchor.ariaCurrent = anchor.pathname === location.pathname ? "page" : null;
    const { dot } = anchor.dataset;
    if (!dot) continue;
    const isNew = counts[dot] > 0;
    $(".dot", anchor).hidden = !isNew;
    anchor.ariaLabel = $("span", anchor).textContent + (isNew ? ", " + t`new` : "");
  }
}

app.count = (name, value) => {
  counts[name] = Math.max(0, value);
  paint();
};

async function recount() {
  if (!app.me) return;
  try {
    const paths = { notifications: "notifications/unread", messages: "conversations/unread" };
    for (const [name, path] of Object.entries(paths)) app.count(name, (await get(path)).unread);
  } catch {}
}

for (const name of ["notification", "checked"]) on(name, ({ unread }) => app.count("notifications", unread));
on("read", ({ unread }) => app.count("messages", unread));
// A stream that begins earlier than the last one ended tells things twice.
let newest = 0;
on("message", ({ id, own, username }) => {
  if (id > newest && !own && !people.isOpen(username)) app.count("messages", counts.messages + 1);
  newest = Math.max(newest, id);
});
on("top_ten", (celeb) => say(t`${celeb.title} is number ${celeb.rank} now.`));
on("catch-up", recount);

let leave = new AbortController();
history.scrollRestoration = "manual";

const entry = () => history.state?.entry || 0;
let entries = entry();
const replace = (path) => history.replaceState({ entry: entry() }, "", path);

const blank = () => h("div.skeletons.page", { label: t`Loading`, role: "img" }, [1, 2, 3].map(() => h("div.skeleton")));

// A page that needs no session is not where a sign-in leads: its link may have worked already.
const keepPlace = () =>
  match(location.pathname, open) || sessionStorage.setItem("fanmill.after", location.pathname + location.search);

function failed(title, message, action) {
  const made = empty("", message, action);
  $("h2", made).replaceWith(h("h1", title));
  return made;
}

async function show(isBack, isFirst) {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  document.querySelectorAll("dialog").forEach((box) => box.close());
  const main = $("#main");
  // Read now: a page that is short while it loads scrolls up, which counts as this entry's place.
  const y = (isBack && app.memory.get(entry() + ":y")) || 0;
  if (!app.me && !match(location.pathname, open)) {
    keepPlace();
    replace("/signin");
  }
  const found = match(location.pathname, { ...open, ...routes });
  paint();
  const ctx = screen(signal, {
    isBack, entry: entry(), params: found?.params, query: new URLSearchParams(location.search),
  });
  const loading = setTimeout(() => swap(main, blank()), 150);
  let made;
  try {
    if (!found) throw Object.assign(new Error(t`There is nothing at this address.`), { status: 404 });
    made = await found.view(ctx);
  } catch (problem) {
    if (signal.aborted) return;
    const { status, isNetwork, message } = problem;
    const isGone = status === 404 || status === 410;
    if (!status && !isNetwork) console.error(problem);
    made = isGone ? failed(t`Not here`, message, link("/", t`Go home`)) : failed(t`That did not work`, message,
      button(t`Try again`, app.again));
  } finally {
    clearTimeout(loading);
  }
  if (signal.aborted) return;
  swap(main, made);
  const heading = $("h1", main);
  if (heading) (document.title = heading.textContent + " · Fanmill"), (heading.tabIndex = -1);
  scrollTo(0, y);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  // The next Tab starts at the screen's heading, which a screen reader says.
  if (!isFirst && !main.contains(document.activeElement)) (heading || main).focus({ preventScroll: true });
}

app.go = (path, isReplacing) => {
  if (isReplacing) replace(path);
  else history.pushState({ entry: (entries = Math.max(entries, entry()) + 1) }, "", path);
  return show();
};
app.again = () => show();

// A mark within the screen is no other screen.
addEventListener("popstate", () => history.state && show(true));
addEventListener("scroll", () => app.memory.set(entry() + ":y", scrollY), { passive: true });

addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  const { defaultPrevented, button, metaKey, ctrlKey, shiftKey, altKey } = event;
  if (!anchor || defaultPrevented || button || metaKey || ctrlKey || shiftKey || altKey) return;
  if (anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) return;
  event.preventDefault();
  if (anchor.matches(".skip")) $("#main").focus();
  else app.go(anchor.pathname + anchor.search + anchor.hash);
});

app.enter = async () => {
  app.me = await get("me");
  draft.of(app.me.id);
  shell();
  listen();
  recount();
};

app.exit = (keepsDrafts) => {
  if (!keepsDrafts) draft.dropAll();
  app.me = null;
  hangUp();
  app.memory.clear();
  sessionStorage.removeItem("fanmill.keys");
  draft.of(null);
  shell();
};

app.leave = (keepsDrafts) => {
  app.exit(keepsDrafts);
  return app.go("/signin", true);
};

on("signed-out", () => {
  if (!app.me) return;
  keepPlace();
  say(t`Your session has ended. What you wrote is kept.`);
  app.leave(true);
});

on("look", async () => {
  await learn();
  shell();
  show();
});

on("me", (me) => {
  app.me = me;
  shell();
});

on("net", (state) => {
  const texts = { offline: t`No connection. Trying again…`, slow: t`The network is slow.` };
  $("#net").textContent = texts[state] || "";
});
if (!navigator.onLine) emit("net", "offline");

replace();
shell();
swap($("#main"), blank());
let trouble;
try {
  await app.enter();
} catch (problem) {
  if (problem.status !== 401) trouble = problem.message;
}
// Who is signed in is unknown: that is no reason to ask for a password.
if (trouble && !match(location.pathname, open)) {
  swap($("#main"), failed(t`That did not work`, trouble, button(t`Try again`, () => location.reload())));
} else await show(entry() > 0, true);
