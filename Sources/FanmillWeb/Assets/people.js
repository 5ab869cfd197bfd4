// Profiles, who follows whom, search, notifications and messages.
import { $, h, t, icon, swap, say, head, empty, link, time, menu, danger, button } from "./dom.js";
import { ask, url, query } from "./api.js";
import {
  app, screen, wall, list, people, tabs, avatar, followButton, reporting, copy, composer, placeOf, isMe,
} from "./parts.js";

const newPost = () => link("/new", t`New post`, ".button.primary");

export async function profile(ctx) {
  const account = await ctx.get(url`users/${ctx.params.name}`);
  const { username, name, major, bio } = account;
  const [path, here] = [url`users/${username}`, placeOf(account)];
  // The account was renamed, and the server led to the new name.
  if (username.toLowerCase() !== ctx.params.name.toLowerCase()) history.replaceState(history.state, "", here);
  const followers = link(here + "/followers");
  const follow = followButton({ ...account }, (isOn) => {
    followers.textContent = t`${account.followers + isOn - account.isFollowed} followers`;
  });
  followers.textContent ||= t`${account.followers} followers`;

  const act = async (method, what, text) => {
    await ask(method, `${path}/${what}`);
    say(text);
    if (ctx.signal.aborted) return;
    if (what === "block") app.go("/");
    else app.again();
  };
  const more = () => menu(t`More about ${name}`, [
    [t`Copy the link`, () => copy(location.origin + here)],
    account.isMuted
      ? [t`Unmute`, () => act("DELETE", "mute", t`${name} is unmuted.`)]
      : danger(t`Mute`, t`Mute ${name}?`, t`You will not see what they do. They are not told.`,
          () => act("PUT", "mute", t`${name} is muted.`)),
    danger(t`Block`, t`Block ${name}?`, t`Neither of you sees the other, and follows end.`,
      () => act("PUT", "block", t`${name} is blocked.`)),
    reporting({ user: username }),
  ]);

  return [
    h("header.profile", avatar(account, "huge"), h("div",
      h("h1", name),
      h("p.dim", "@" + username, major && " · " + major),
      bio && h("p.text", bio),
      h("p.facts", h("span", t`${account.posts} posts`), followers,
        link(here + "/following", t`${account.following} following`)),
      h("div.row", isMe(account)
        ? [link("/settings/profile", t`Edit profile`, ".button"), link("/likes", t`Liked`, ".button"),
            link("/agreements", t`Agreements`, ".button.phone"), link("/settings", t`Settings`, ".button.phone")]
        : [follow, link(url`/messages/${username}`, t`Message`, ".button"), more()]),
      account.isMuted && h("p.dim", t`You muted this account.`))),
    wall(ctx, path + "/posts", () => isMe(account)
      ? empty(t`The wall is empty`, t`Hang the first picture.`, newPost())
      : empty(t`The wall is empty`, t`Follow ${name} to see what comes.`)).element,
  ];
}

function accounts(ctx, kind, title, text) {
  const { name } = ctx.params;
  const here = url`/u/${name}`;
  return [
    head(name),
    tabs(t`Lists`, [["followers", t`Followers`], ["following", t`Following`]].map(([one, text]) =>
      [`${here}/${one}`, text, one === kind])),
    people(ctx, url`users/${name}/` + kind, () => empty(title, text, link(here, t`Profile`))).element,
  ];
}

export const followers = (ctx) =>
  accounts(ctx, "followers", t`No followers yet`, t`Those who follow this account appear here.`);
export const followees = (ctx) =>
  accounts(ctx, "following", t`Nobody yet`, t`Those whom this account follows appear here.`);

export function search(ctx) {
  let isPosts = ctx.query.get("in") === "posts";
  let run = new AbortController();
  let timer;
  const input = h("input", {
    type: "search", id: "q", value: ctx.query.get("q") || "", maxlength: 100, autocomplete: "off",
    placeholder: t`A name, a subject, a title`, enterkeyhint: "search",
    oninput: () => (clearTimeout(timer), (timer = setTimeout(find, 250))),
  });
  const results = h("div");
  const bar = h("div.tabs", { role: "group", label: t`Search in` }, [["", t`People`], ["posts", t`Posts`]].map(
    ([value, text]) => button(text, () => ((isPosts = !!value), find()), ".quiet", { value })));

  const find = () => {
    // The answer to a former word must not come after this one's.
    run.abort();
    run = new AbortController();
    const words = input.value.trim();
    history.replaceState(history.state, "", query("/search", { q: words, in: isPosts ? "posts" : "" }));
    const own = screen(AbortSignal.any([ctx.signal, run.signal]), { ...ctx, lists: isPosts ? 1 : 0, isBack: false });
    const none = () => empty(t`Nothing found`, t`Nothing contains “${words}”.`);
    const changed = (items) => words && say(t`${items.length} found`, false);
    const found = isPosts
      ? wall(own, query("posts", { query: words }), none)
      : people(own, query("users", { query: words }), none, { changed });
    swap(results, h("h2.hidden", isPosts ? t`Posts` : t`People`), found.element);
    for (const one of bar.children) one.ariaPressed = !!one.value === isPosts;
  };
  find();
  ctx.end(() => clearTimeout(timer));
  setTimeout(() => ctx.isBack || input.focus());
  const submit = (event) => (event.preventDefault(), clearTimeout(timer), find());
  return [
    head(t`Search`),
    h("form.search", { role: "search", onsubmit: submit },
      h("label.hidden", { for: "q" }, t`Search`), icon("search"), input),
    bar, results,
  ];
}

// Notifications: likes, comments and follows, by their numbers.

const kinds = ["heart", "comment", "me"];

function notice({ actors, count, post, postId, type, checked, comment, creationDate, isFollowed }) {
  const [first, ...rest] = actors;
  const others = Math.max(rest.length, count - 1);
  const name = first ? first.name || first.username : t`Somebody`;
  const who = others > 0 ? t`${name} and ${others} others` : name;
  const title = post?.title || "";
  const texts = [t`${who} liked “${title}”`, t`${who} commented on “${title}”`, t`${who} follows you`];
  const href = postId ? `/p/${postId}${type === 1 ? "#comments" : ""}` : first ? placeOf(first) : "/notifications";
  const isOne = count === 1;
  return h("li.notice", { class: checked ? "" : "fresh" },
    h("span.faces", actors.slice(0, 3).map((actor) => avatar(actor, "small")),
      h("span.kind", icon(kinds[type] || "bell"))),
    h("a.said", { href }, !checked && h("span.hidden", t`New` + ": "), texts[type],
      comment && isOne && h("q", comment.text), time(creationDate * 1000)),
    type === 2 && isOne && first && isFollowed !== undefined
      ? followButton({ ...first, isFollowed, follows: true })
      : post?.picture && h("img.thumb", { src: post.picture, loading: "lazy" }));
}

export function notifications(ctx) {
  let upTo = 0;
  let soon;
  const notes = list(ctx, "notifications", notice, {
    class: "notices", changed: (items) => check(Math.max(0, ...items.map((item) => item.id))),
    blank: () => empty(t`Nothing new`, t`Likes, comments and follows appear here.`, newPost()),
  });
  async function check(id) {
    if (id <= upTo || document.hidden) return;
    upTo = id;
    try {
      const { signal } = ctx;
      const { unread } = await ask("POST", "notifications/checked", { body: { upTo }, isSafe: true, signal });
      app.count("notifications", unread);
    } catch {}
  }
  ctx.on("notification", () => (clearTimeout(soon), (soon = setTimeout(notes.reload, 400))));
  ctx.on("catch-up", notes.refresh);
  if (ctx.isBack) notes.reload();
  document.addEventListener("visibilitychange", () => document.hidden || notes.refresh(), { signal: ctx.signal });
  return [head(t`Notifications`), notes.element];
}

let open = null;
export const isOpen = (name) => open === name && !document.hidden;

export function conversations(ctx) {
  const talks = list(ctx, "conversations", ({ with: peer, last, unread }) => h("li", { class: unread ? "fresh" : "" },
    link(url`/messages/${peer.username}`, [
      avatar(peer), h("span.names", h("strong", peer.name), h("span.dim.line", last.own && t`You: `, last.text)),
      time(last.createdAt), unread > 0 && h("span.badge", { label: t`${unread} unread` }, unread),
    ])), {
    class: "talks", key: (talk) => talk.with.username,
    blank: () => empty(t`No messages yet`, t`Open a profile and say hello.`,
      link("/search", t`Find people`, ".button.primary")),
  });
  for (const name of ["message", "read", "catch-up"]) ctx.on(name, talks.reload);
  // What was read since then no longer counts.
  if (ctx.isBack) talks.reload();
  return [head(t`Messages`), talks.element];
}

export async function conversation(ctx) {
  const { signal } = ctx;
  const { name } = ctx.params;
  const path = url`conversations/${name}/`;
  // A deleted account has no profile, and its messages stay.
  const peer = await ctx.get(url`users/${name}`).catch((problem) => {
    if (problem.status !== 404) throw problem;
    return { username: name, name: name.startsWith("~") ? t`deleted account` : name, isGone: true };
  });
  let latest = 0;
  let read = 0;
  const see = async () => {
    if (latest <= read || document.hidden) return;
    read = latest;
    try {
      const { unread } = await ask("POST", path + "read", { body: { upTo: read }, isSafe: true, signal });
      app.count("messages", unread);
    } catch {}
  };

  // The newest message is in view first, and older ones above it move nothing.
  const height = () => document.documentElement.scrollHeight;
  const toEnd = () => height() - scrollY;
  let fromEnd = 0;
  function place() {
    scrollTo(0, height() - fromEnd);
    fromEnd = toEnd();
    see();
  }
  addEventListener("scroll", () => fromEnd && (fromEnd = toEnd()), { passive: true, signal });

  const bubbles = list({ ...ctx, isBack: false }, path + "messages", ({ id, own, text, createdAt }) => {
    if (!own) latest = Math.max(latest, id);
    return h("li", { class: own ? "own" : "" },
      h("p.text", h("span.hidden", own ? t`You: ` : peer.name + ": "), text),
      h("div.row", time(createdAt), !own && menu(t`More about this message`, [reporting({ message: id })])));
  }, { class: "bubbles", skeletons: 0, changed: place, blank: () => h("p.dim.center", t`Say hello to ${peer.name}.`) });
  // The list is drawn from the bottom up: its first row is the newest.
  bubbles.rows.ariaLive = "polite";
  const follow = async (act, isOwn) => {
    const isAtEnd = isOwn || toEnd() < innerHeight + 150;
    await act();
    if (isAtEnd) scrollTo(0, height());
    fromEnd = toEnd();
    see();
  };
  const add = (message) => follow(() => bubbles.top(message), message.own);
  ctx.on("message", (message) => message.username === peer.username && add(message));
  ctx.on("catch-up", () => follow(bubbles.refresh));
  document.addEventListener("visibilitychange", see, { signal });
  open = peer.username;
  ctx.end(() => (open = null));

  return h("div.talk",
    head(peer.name, !peer.isGone && link(placeOf(peer), t`Profile`, ".button")), bubbles.element,
    !peer.isGone && composer("message." + peer.username, t`Write a message`, path + "messages", add));
}
