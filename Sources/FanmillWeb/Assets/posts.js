// Feeds, a post with its comments, and the desk where posts are written.
import { $, h, t, icon, swap, say, tell, head, empty, link, time, menu, danger, button, round } from "./dom.js";
import { ask, draft, send, upload } from "./api.js";
import {
  app, wall, list, byline, picture, lightbox, acts, postMenu, postRow, composer, form, filePicker, progress, avatar,
  reporting, placeOf, isMe,
} from "./parts.js";
import { watch } from "./live.js";

const feed = (ctx, title, all) => {
  ctx.on("catch-up", () => scrollY < 200 && all.refresh());
  return [head(title), all.element];
};
const goHome = () => link("/", t`Go home`);

export const home = (ctx) => feed(ctx, t`Home`, wall(ctx, "feed/home", () =>
  empty(t`The wall is empty`, t`Hang the first picture.`, link("/new", t`New post`, ".button.primary"))));

export const likes = (ctx) => [head(t`Liked`), wall(ctx, "me/likes", () =>
  empty(t`Nothing liked yet`, t`Posts you like are kept here.`, goHome())).element];

export const following = (ctx) => feed(ctx, t`Following`, list(ctx, "feed/following?own=true",
  (post, isFirst) => {
    const row = postRow(ctx, post, ".story",
      top(post, () => row.remove()),
      strip(post, "(max-width: 700px) 100vw, 40rem", isFirst),
      acts(ctx, post),
      h("h2", link(`/p/${post.id}`, post.title)),
      post.description && h("p.text", post.description));
    return row;
  }, {
    class: "stories", skeletons: 2,
    blank: () => empty(t`Quiet here`, t`Posts of those you follow appear here.`,
      link("/search", t`Find people`, ".button.primary")),
  }));

const top = (post, removed) =>
  h("div.row.between", h("div.by", byline(post.author), time(post.createdAt)), postMenu(post, removed));

function strip({ media, title }, sizes, isFirst) {
  if (!media.length) return null;
  const isMany = media.length > 1;
  const label = t`${media.length} pictures`;
  return h("div.strip", { role: "group", tabindex: isMany ? 0 : null, label, class: isMany ? "many" : "" },
    media.map((one, place) => button(
      picture(one, sizes, `${title}, ${place + 1}`, isFirst && !place), () => lightbox(media, place, title), ".hung",
      { label: t`Show picture ${place + 1} large`, "--ratio": one.width / one.height })));
}

export async function post(ctx) {
  const id = Number(ctx.params.id);
  watch([id], true);
  const post = await ctx.get("posts/" + ctx.params.id);
  const heading = h("h2", { id: "comments" });
  const path = `posts/${id}/comments`;
  const comments = list(ctx, path, ({ id: comment, author, text, createdAt }) => h("li.comment",
    h("a", { href: placeOf(author), label: author.name }, avatar(author, "small")),
    h("div", h("p", link(placeOf(author), h("strong", author.name)), " ", time(createdAt)), h("p.text", text)),
    menu(t`More about this comment`, [
      (isMe(author) || post.isMine) && danger(t`Delete`, t`Delete this comment?`, text, async () => {
        await ask("DELETE", `${path}/${comment}`);
        comments.drop(comment);
      }),
      !isMe(author) && reporting({ post: id, comment }),
    ])), { class: "comments", skeletons: 2, blank: () => h("p.dim", t`No comments yet. Say what you see.`) });

  const listen = (name, act) => ctx.on(name, (event) => event.postId === id && act(event));
  listen("comment", ({ comment }) => {
    if (!comment) return;
    const { author, text } = comment;
    if (comments.top(comment) && !isMe(author)) say(`${author.name}: ${text}`, false);
  });
  listen("comment_deleted", (event) => comments.drop(event.id));
  listen("post_deleted", () =>
    swap($("#main"), empty(t`This post was deleted`, t`It is gone from every feed.`, goHome())));
  ctx.on("catch-up", comments.refresh);

  return h("article.post", { class: post.media.length ? "" : "plain" },
    strip(post, "(max-width: 900px) 100vw, 48rem", true),
    h("div.side",
      top(post, () => app.go("/", true)),
      h("h1.title", post.title),
      post.description && h("p.text", post.description),
      post.editedAt && h("p.dim", t`Edited`, " ", time(post.editedAt)),
      acts(ctx, post, () => (heading.textContent = t`${post.comments} comments`)),
      h("section", { "aria-labelledby": "comments" }, heading,
        composer("comment." + id, t`Write a comment`, path, comments.top), comments.element)));
}

// The desk

export const compose = (ctx) => desk(ctx, "post", t`New post`, t`Publish`, {});

export async function edit(ctx) {
  const post = await ctx.get("posts/" + ctx.params.id);
  return desk(ctx, "edit." + post.id, t`Edit the post`, t`Save`, post);
}

function desk(ctx, name, title, submit, post) {
  let pictures = (draft.read(name).media || post.media || []).map((media) => ({ media }));
  const shelf = h("ol.shelf");
  const hint = h("p.hint", { role: "status" });
  const input = filePicker("pictures", (files) => add(files), { multiple: true });
  const keep = () => draft.write(name, { media: pictures.flatMap((one) => one.media || []) });

  const move = (one, step) => {
    const place = pictures.indexOf(one) + step;
    pictures.splice(place - step, 1);
    pictures.splice(place, 0, one);
    keep();
    draw();
    const [back, on] = shelf.children[place].querySelectorAll(".row button");
    const [wanted, other] = step < 0 ? [back, on] : [on, back];
    (wanted.disabled ? other : wanted).focus();
    say(t`Picture ${place + 1} of ${pictures.length}`, false);
  };

  const drop = (one) => {
    one.stop?.abort();
    pictures = pictures.filter((other) => other !== one);
    keep();
    draw();
    $("label[for=pictures]")?.focus();
  };

  const card = (one, place) => {
    one.view ||= one.media ? picture(one.media, "10rem", "") : h("img", { src: one.preview });
    one.bar ||= progress();
    one.bar.hidden = !one.isBusy;
    const tool = (shape, text, act, disabled) => round(shape, `${text}, ${place + 1}`, act, { disabled });
    return h("li", { label: t`Picture ${place + 1} of ${pictures.length}` }, one.view, one.bar,
      one.error && h("p.error", { role: "alert" }, one.error, " ", button(t`Try again`, () => begin(one))),
      h("div.row",
        tool("left", t`Move forward`, () => move(one, -1), place === 0),
        tool("right", t`Move back`, () => move(one, 1), place === pictures.length - 1),
        tool("close", t`Remove`, () => drop(one))));
  };

  const draw = () => {
    swap(shelf, pictures.map(card), pictures.length < 10 && h("li.add", h("label.drop", {
      for: "pictures", tabindex: 0, role: "button",
      onkeydown: (event) => /^(Enter| )$/.test(event.key) && (event.preventDefault(), input.click()),
    }, icon("picture"), h("span", t`Choose pictures`), h("small", t`or drop them here; up to 10`))));
    const busy = pictures.filter((one) => one.isBusy).length;
    tell(hint, busy ? t`${busy} pictures on their way…` : "");
  };

  // Two at a time: more would only share the same line.
  const lines = [null, null];
  const begin = (one) => {
    one.error = null;
    one.isBusy = true;
    one.stop = new AbortController();
    const run = async () => {
      try {
        one.stop.signal.throwIfAborted();
        one.media = await upload(one.file, (part) => (one.bar.value = part), one.stop);
        if (pictures.includes(one)) keep();
      } catch (problem) {
        one.error = problem.message;
      }
      one.isBusy = false;
      draw();
    };
    lines.push((one.done = lines.shift()?.then(run) || run()));
    draw();
  };

  const add = (files) => {
    const wanted = [...files].filter(({ type, name }) => type.startsWith("image/") || /\.hei[cf]$/i.test(name));
    const room = 10 - pictures.length;
    if (wanted.length > room) say(t`A post shows up to 10 pictures.`);
    for (const file of wanted.slice(0, room)) {
      const one = { file, preview: URL.createObjectURL(file) };
      pictures.push(one);
      begin(one);
    }
  };

  const fields = form({
    draft: name, submit, values: post,
    fields: [
      ["title*", t`Title`, { maxlength: 200 }],
      ["description", t`Description`, { rows: 6, hint: t`Medium, size, what it is about` }],
    ],
    async act(values) {
      while (pictures.some((one) => one.isBusy)) await Promise.all(pictures.map((one) => one.done));
      if (pictures.some((one) => one.error)) throw new Error(t`A picture did not arrive.`);
      const body = { ...values, media: pictures.map((one) => one.media.id) };
      const { id } = post.id ? await ask("PATCH", "posts/" + post.id, { body }) : await send(name, "posts", body);
      draft.drop(name);
      app.memory.clear();
      say(post.id ? t`Saved.` : t`Published.`);
      if (!ctx.signal.aborted) app.go("/p/" + id, true);
    },
  });
  ctx.end(() => pictures.forEach(({ preview }) => URL.revokeObjectURL(preview)));
  draw();
  return h("div.desk", {
    ondragover: (event) => event.preventDefault(),
    ondrop: (event) => (event.preventDefault(), add(event.dataTransfer.files)),
    onpaste: (event) => add(event.clipboardData.files),
  }, head(title), h("section", { label: t`Pictures` }, input, shelf, hint), fields);
}
