// What several screens are made of: people, pictures, posts, lists, forms.
import {
  $, h, t, icon, swap, say, tell, number, clock, link, names, button, round, dialog, menu, danger,
} from "./dom.js";
import { ask, get, url, query, on, draft, send, newKey } from "./api.js";
import { watchWhenSeen } from "./live.js";

// What all screens share; app.js adds the ways to other screens.
export const app = { me: null, memory: new Map() };

// What a screen is given: all that it begins ends with its signal.
export const screen = (signal, more) => ({
  lists: 0, ...more, signal, on: (name, act) => on(name, act, signal), get: (path) => get(path, signal),
  end: (act) => signal.addEventListener("abort", act),
});

export const placeOf = (account) => url`/u/${account.username}`;
export const isMe = (account) => account.username === app.me.username;

export function avatar(account, size = "") {
  const { username = "", title = "", name, avatar } = account;
  const tint = [...(username || title)].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 6, 7);
  // The policy keeps other sites' pictures out.
  const [, folder, id] = avatar?.split("/") || [];
  return h("span.avatar", { class: `${size} tint${tint}`, "aria-hidden": "true" }, folder === "media"
    ? patient(h("img", { src: `/media/${id}/${size === "huge" ? "feed" : "thumb"}`, loading: "lazy" }))
    : [...(name || title || username || "?")][0].toUpperCase());
}

// The server answers 202 until a new picture's sizes are made.
function patient(image) {
  let tries = 0;
  const { src, srcset } = image;
  image.onload = () => image.classList.add("there");
  image.onerror = () => tries++ < 13 && setTimeout(() => {
    image.srcset = srcset.replace(/\/media\/\S+/g, `$&?${tries}`);
    image.src = `${src}?${tries}`;
  }, Math.min(4000, 500 * 1.5 ** tries));
  return image;
}

export const person = (account, ...rest) => h("div.person", link(placeOf(account), [avatar(account),
  names(account.name || account.username, "@" + account.username, account.major && " · " + account.major)]), rest);

export const byline = (account) =>
  link(placeOf(account), [avatar(account, "small"), h("span", account.name || account.username)]);

// The last wish wins, one request at a time, and a refusal takes the button back.
function toggle(element, isOn, path, paint) {
  let [wanted, known, isBusy] = [isOn, isOn, false];
  const show = (isOn) => ((element.ariaPressed = isOn), paint(isOn));
  element.onclick = async () => {
    show((wanted = !wanted));
    if (isBusy) return;
    isBusy = true;
    try {
      while (wanted !== known) {
        const now = wanted;
        await ask(now ? "PUT" : "DELETE", path);
        known = now;
      }
    } catch (problem) {
      show((wanted = known));
      say(problem.message);
    }
    isBusy = false;
  };
  show(isOn);
  return element;
}

export function followButton(account, changed) {
  if (isMe(account)) return null;
  const element = button("", null, "", { label: `${t`Follow`} ${account.name || account.username}` });
  return toggle(element, account.isFollowed, url`users/${account.username}/follow`, (isOn) => {
    element.textContent = isOn ? t`Following` : account.follows ? t`Follow back` : t`Follow`;
    element.className = isOn ? "" : "primary";
    changed?.(isOn);
  });
}

export const people = (ctx, path, blank, more) => list(ctx, path,
  (account) => h("li", person(account, followButton(account))), { class: "people", blank, ...more });

export function report(subject) {
  const name = "report." + JSON.stringify(subject);
  const reasons = {
    spam: t`Spam`, harassment: t`Harassment`, hate: t`Hate`, nudity: t`Nudity`, violence: t`Violence`,
    self_harm: t`Self-harm`, impersonation: t`Impersonation`, copyright: t`Copyright`, other: t`Something else`,
  };
  const box = dialog(t`Report`, form({
    draft: name, submit: t`Report`,
    fields: [
      ["reason", t`Reason`, { options: Object.entries(reasons) }],
      ["text", t`What happened? (optional)`, { rows: 4, maxlength: 1000 }],
    ],
    async act(values) {
      await send(name, "reports", { ...subject, ...values });
      box.close();
      say(t`Thank you. An operator will read your report.`);
    },
  }), ".small");
}

export const reporting = (subject) => [t`Report`, () => report(subject), ".red"];

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say(t`Copied.`);
  } catch {
    prompt(t`Copy this:`, text);
  }
}

export const picture = ({ sizes, width, height }, shown, alt, isFirst) => patient(h("img", {
  src: sizes.feed.url, srcset: Object.values(sizes).map((one) => `${one.url} ${one.width}w`).join(", "), sizes: shown,
  alt, width, height, loading: isFirst ? null : "lazy",
}));

export function lightbox(pictures, place, title) {
  const frame = h("div.frame");
  const counter = h("span", { "aria-live": "polite" });
  const show = (step) => {
    if (!step && frame.firstChild) return;
    place = (place + step + pictures.length) % pictures.length;
    swap(frame, picture(pictures[place], "100vw", `${title}, ${place + 1}`, true));
    counter.textContent = `${place + 1} / ${pictures.length}`;
  };
  const box = dialog(title, [frame, pictures.length > 1 && h("div.row.center",
    round("left", t`Previous picture`, () => show(-1)), counter, round("right", t`Next picture`, () => show(1)),
  )], ".lightbox");
  box.addEventListener("keydown", ({ key }) => show({ ArrowLeft: -1, ArrowRight: 1 }[key] || 0));
  show(0);
}

// The way back shows a post as it is by then.
const recall = (post) => {
  for (const { items = [] } of app.memory.values()) {
    const kept = items.find((one) => one.id === post.id && one.media);
    if (kept) Object.assign(kept, { isLiked: post.isLiked, likes: post.likes, comments: post.comments });
  }
};

export function postRow(ctx, post, style, ...content) {
  const element = h("li" + style, { "data-post": post.id }, h("article", { label: post.title }, content));
  watchWhenSeen(element);
  ctx.on("post_deleted", (gone) => gone.postId === post.id && element.remove());
  return element;
}

export function acts(ctx, post, changed) {
  const [likes, comments] = [h("span.count"), h("span.count")];
  const like = button([icon("heart"), likes], null, ".quiet.like");
  const talk = h("a.button.quiet", { href: `/p/${post.id}#comments` }, icon("comment"), comments);
  const paint = (change) => {
    Object.assign(post, change);
    post.comments = Math.max(0, post.comments);
    recall(post);
    likes.textContent = number(post.likes);
    comments.textContent = number(post.comments);
    like.ariaLabel = `${t`Like`}, ${t`${post.likes} likes`}`;
    talk.ariaLabel = t`${post.comments} comments`;
    changed?.();
  };
  toggle(like, post.isLiked, `posts/${post.id}/like`, (isLiked) =>
    paint({ isLiked, likes: post.likes + isLiked - post.isLiked }));
  // Counts come with likes alone.
  const listen = (name, next) => ctx.on(name, (event) => event.postId === post.id && paint(next(event)));
  listen("likes", ({ likes, comments }) => ({ likes, comments }));
  // A comment without `comment` is for its notification.
  listen("comment", ({ comment }) => ({ comments: post.comments + !!comment }));
  listen("comment_deleted", () => ({ comments: post.comments - 1 }));
  return h("div.acts", like, talk);
}

function work(ctx, post, isFirst) {
  const [media] = post.media;
  const href = `/p/${post.id}`;
  const ratio = media ? Math.max(0.62, Math.min(2.4, media.width / media.height)) : 1;
  const row = postRow(ctx, post, ".work",
    h("a.hung", { href, class: media ? "" : "note", label: media && post.title },
      media
        ? picture(media, "(max-width: 700px) 100vw, 30rem", post.title, isFirst)
        : [h("span", post.title), post.description && h("small", post.description)],
      post.media.length > 1 && h("span.badge", { label: t`${post.media.length} pictures` }, post.media.length)),
    h("div.label", h("div.title", h("h2", link(href, post.title)), byline(post.author)), acts(ctx, post)));
  row.style.setProperty("--ratio", ratio);
  return row;
}

export const wall = (ctx, path, blank) =>
  list(ctx, path, (post, isFirst) => work(ctx, post, isFirst), { class: "wall", skeletons: 6, blank });

export const postMenu = (post, removed) => menu(t`More about this post`, post.isMine
  ? [
      [t`Edit`, () => app.go(`/p/${post.id}/edit`)],
      danger(t`Delete`, t`Delete this post?`, t`Its pictures, likes and comments go with it.`, async () => {
        await ask("DELETE", "posts/" + post.id);
        app.memory.clear();
        say(t`The post is deleted.`);
        removed();
      }),
    ]
  : [[t`Copy the link`, () => copy(`${location.origin}/p/${post.id}`)], reporting({ post: post.id })]);

// Lists: pages by cursor, more when the end comes near, or by a button.
export function list(ctx, path, row, more = {}) {
  const { blank, key = (item) => item.id, class: style = "", skeletons = 4, tag = "ul", changed } = more;
  const load = path.call ? path : (before, signal) => get(query(path, { before, limit: 20 }), signal);
  const known = new Set();
  const rows = h(tag, { class: style });
  const foot = h("div.foot");
  const further = button("", () => void read());
  const element = h("div", { "aria-busy": "true" }, rows, foot);
  // What was read stays with the history entry, for the way back.
  const name = `${ctx.entry}:${ctx.lists++}`;
  let [items, next, run, isStuck] = [[], null, null, false];

  const put = (item, isTop) => {
    if (known.has(key(item))) return false;
    known.add(key(item));
    const made = row(item, known.size <= 3);
    made.dataset.key = key(item);
    if (isTop) rows.prepend(made), items.unshift(item);
    else rows.append(made), items.push(item);
    return true;
  };

  const end = (problem) => {
    isStuck = !!problem;
    further.textContent = problem ? t`Try again` : t`More`;
    const isBlank = !problem && !rows.children.length && next === null;
    swap(foot, problem && h("p.error", { role: "alert" }, problem.message),
      (problem || next !== null) && further, isBlank && blank?.());
  };

  const fill = (page, isAnew) => {
    if (isAnew) known.clear(), rows.replaceChildren(), (items = []);
    next = page.next;
    for (const item of page.items) put(item);
    element.ariaBusy = null;
    end();
    app.memory.set(name, { items, next });
    changed?.(items);
    // An observer reports only changes. The end may still be near, so observe it again.
    near.unobserve(foot);
    near.observe(foot);
  };

  // Reads on, or from the beginning: then the rows stay until others are there.
  async function read(isAnew) {
    if (run && !isAnew) return;
    run?.abort();
    const own = (run = new AbortController());
    const before = rows.children.length;
    const wait = () => h("div.skeletons", { class: style, "aria-hidden": "true" },
      Array.from({ length: skeletons }, () => h("div.skeleton")));
    if (!known.size) swap(foot, wait());
    further.disabled = true;
    try {
      const page = await load(isAnew ? null : next, AbortSignal.any([own.signal, ctx.signal]));
      own.signal.throwIfAborted();
      fill(page, isAnew);
      // The button was under the focus, and the next row takes its place.
      const isLost = before && !isAnew && next === null && document.activeElement === document.body;
      if (isLost) $("a, button", rows.children[before] || foot)?.focus();
    } catch (problem) {
      if (!own.signal.aborted && !ctx.signal.aborted) end(problem);
    }
    if (run !== own) return;
    further.disabled = false;
    run = null;
  }

  const near = new IntersectionObserver(
    (entries) => entries.at(-1).isIntersecting && next !== null && !isStuck && read(), { rootMargin: "600px" });
  ctx.end(() => near.disconnect());

  const kept = ctx.isBack && app.memory.get(name);
  if (kept) fill(kept);
  else read();

  return {
    element, rows,
    top(item) {
      const isNew = put(item, true);
      if (!isStuck) end();
      return isNew;
    },
    drop(id) {
      items = items.filter((item) => key(item) !== id);
      known.delete(id);
      $(`[data-key="${CSS.escape(id)}"]`, rows)?.remove();
      fill({ items: [], next });
    },
    reload: () => read(true),
    // Puts what is new on top, without moving anything else. If all of a page is new, there may be more below it.
    async refresh() {
      try {
        const page = await load(null, ctx.signal);
        if (known.size && page.next !== null && !page.items.some((item) => known.has(key(item)))) return read(true);
        for (const item of page.items.reverse()) put(item, true);
        if (rows.children.length && !isStuck) end();
      } catch {}
    },
  };
}

// A field is [name, label, attributes and the rest]; the name of one that must be filled in ends with "*".
export function form({ fields = [], extra, submit, act, draft: name, values = {}, style = "" }) {
  const kept = name ? draft.read(name) : {};
  const inputs = {};
  const error = h("p.error", { role: "alert" });
  const go = h("button.primary" + style, { type: "submit" }, submit);
  const id = newKey().slice(0, 6);

  const rows = fields.map(([mark, text, { options, value = "", hint = "", plain, ...more } = {}]) => {
    const field = mark.replace("*", "");
    const own = `f${id}-${field}`;
    const isBox = more.type === "checkbox";
    const note = h("p.hint", { id: own + "-hint" }, hint);
    const input = h(options ? "select" : more.rows ? "textarea" : "input", {
      id: own, name: field, required: field !== mark, autocomplete: "off", "aria-describedby": note.id,
      ...(plain && { autocapitalize: "none", spellcheck: "false" }), ...more,
    }, options?.map(([value, text]) => h("option", { value }, text)));
    const known = kept[field] ?? values[field] ?? value;
    if (isBox) input.checked = !!known;
    else if (known) input.value = known;
    inputs[field] = input;
    input.read = () => (isBox ? input.checked : input.value);
    input.addEventListener("input", () => {
      if (input.ariaInvalid) tell(note, hint), (input.ariaInvalid = null);
      if (name && more.type !== "password") draft.write(name, { [field]: input.read() });
    });
    input.refuse = (text) => (tell(note, text, true), (input.ariaInvalid = true), input.focus());
    const label = h("label", { for: own }, text);
    return h("div.field", { class: isBox && "check" }, isBox ? [input, label] : [label, input], note);
  });

  const element = h("form", { novalidate: true, async onsubmit(event) {
    event.preventDefault();
    if (go.disabled) return;
    error.textContent = "";
    const all = Object.values(inputs);
    const missing = all.find((input) => input.required && !input.value.trim());
    if (missing) return missing.refuse(t`Please fill this in.`);
    // What is typed from here on would not be sent.
    for (const input of all) input.readOnly = true;
    go.disabled = true;
    go.textContent = t`One moment…`;
    let wait = 0;
    try {
      await act(Object.fromEntries(all.map((input) => [input.name, input.read()])), element);
    } catch (problem) {
      const input = inputs[problem.field] || (problem.field === "password" && inputs.old);
      if (input) input.refuse(problem.message);
      else error.textContent = problem.message;
      wait = problem.retryAfter || 0;
    }
    for (const input of all) input.readOnly = false;
    countdown(wait, (left) => {
      go.disabled = left > 0;
      go.textContent = left ? t`Try again in ${clock(left)}` : submit;
    });
  } }, extra, rows, error, h("div.row.end", go));
  return Object.assign(element, { inputs });
}

export function countdown(seconds, paint, signal) {
  const end = Date.now() + seconds * 1000;
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - Date.now()) / 1000));
    paint(left);
    if (left && !signal?.aborted) setTimeout(tick, 1000);
  };
  tick();
}

export function composer(name, label, path, sent) {
  const hint = h("p.hint", { role: "status" });
  const go = h("button.primary", { type: "submit" }, t`Send`);
  const input = h("textarea", {
    rows: 1, maxlength: 2000, label, placeholder: label, value: draft.read(name).text || "",
    oninput: () => draft.write(name, { text: input.value }),
    onkeydown(event) {
      // Enter also ends a syllable that is still being composed.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || !matchMedia("(hover: hover)").matches) return;
      event.preventDefault();
      element.requestSubmit();
    },
  });
  const element = h("form.composer", { async onsubmit(event) {
    event.preventDefault();
    const text = input.value.trim();
    if (!text || go.disabled) return;
    go.disabled = input.readOnly = true;
    tell(hint, "");
    const wait = t`Waiting for the network. This is sent once.`;
    const slow = setTimeout(tell, 3000, hint, wait);
    try {
      const made = await send(name, path, { text });
      input.value = "";
      tell(hint, "");
      sent(made);
    } catch (problem) {
      tell(hint, problem.message, true);
    }
    clearTimeout(slow);
    go.disabled = input.readOnly = false;
    input.focus();
  } }, input, go, hint);
  return element;
}

export const filePicker = (id, add, more) => h("input.hidden", {
  id, type: "file", accept: "image/*,.heic", ...more,
  onchange: ({ target }) => (add([...target.files]), (target.value = "")),
});
export const progress = () => h("progress", { max: 1, value: 0, label: t`Upload` });

export const tabs = (label, items) => h("nav.tabs", { label }, items.map(([href, text, isHere]) =>
  h("a", { href, "aria-current": isHere ? "page" : null }, text)));
