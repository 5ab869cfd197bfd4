// Celebs: finding, registering, hearts, rankings and certificates.
import {
  h, t, icon, swap, say, head, empty, link, names, facts, day, moment, time, clock, number, confirm, dialog, button,
} from "./dom.js";
import { ask, url, query, on, serverNow, pause, draft } from "./api.js";
import { app, list, avatar, form, copy, tabs } from "./parts.js";

const at = (celeb) => url`celebs/${celeb.platform}/${celeb.account}`;
const place = (celeb) => url`/c/${celeb.platform}/${celeb.account}`;
const nameOf = (celeb) => celeb.title || celeb.account;
const platforms = { youtube: "YouTube", instagram: "Instagram" };
const hearts = (count) => t`${count} hearts`;
const rest = 600000;

function heartButton(ctx, celeb, given) {
  const { account, title, nextAt } = celeb;
  const label = h("span");
  let next = nextAt ? Date.parse(nextAt) : 0;
  let isBusy = false;
  let timer;
  const tick = () => {
    if (timer && !heart.isConnected) clearInterval(timer);
    const left = Math.max(0, Math.ceil((next - serverNow()) / 1000));
    heart.disabled = isBusy || left > 0;
    label.textContent = left ? clock(left) : t`Give a heart`;
    heart.style.setProperty("--left", Math.min(1, (left * 1000) / rest));
    heart.ariaLabel = left ? t`Next heart for ${title} in ${clock(left)}` : t`Give ${title} a heart`;
  };
  const heart = h("button.primary.beat", { type: "button", async onclick() {
    isBusy = true;
    tick();
    const name = "heart." + account;
    try {
      const answer = await ask("POST", `me/${at(celeb)}/hearts`, { body: {}, key: draft.key(name, "heart") });
      draft.drop(name);
      next = Date.parse(answer.nextAt);
      given(answer.count);
      say(t`${title} has your heart.`);
    } catch (problem) {
      if (problem.status) draft.drop(name);
      if (problem.retryAfter) next = serverNow() + problem.retryAfter * 1000;
      say(problem.message);
    }
    isBusy = false;
    tick();
  } }, icon("heart"), label);
  tick();
  timer = setInterval(tick, 500);
  ctx.end(() => clearInterval(timer));
  return heart;
}

const standing = ({ state }) => {
  const texts = {
    pending: t`Being looked up`, unknown: t`YouTube has no such channel`, unchecked: t`Not verified`,
  };
  return texts[state] && " · " + texts[state];
};
const face = (celeb) => link(place(celeb),
  [avatar({ title: nameOf(celeb) }), names(nameOf(celeb), platforms[celeb.platform], standing(celeb))], ".face");
const toCertificate = (celeb) => link(place(celeb) + "/certificate", t`Certificate`, ".button");

async function register(celeb) {
  await ask("PUT", "me/" + at(celeb));
  say(t`${nameOf(celeb)} is on your list.`);
}

export function mine(ctx) {
  const { signal } = ctx;
  const own = list(ctx, "me/celebs", (celeb) => {
    const count = h("span.count", hearts(celeb.count));
    return h("li.celeb", face(celeb), count, celeb.note && h("p.dim", celeb.note), h("div.row",
      celeb.state !== "unknown" && heartButton(ctx, celeb, (now) => (count.textContent = hearts(now))),
      toCertificate(celeb)));
  }, {
    class: "celebs", key: (celeb) => celeb.account,
    blank: () => empty(t`No celebs yet`,
      t`Find a channel below, and give it a heart every ten minutes.`),
  });
  for (const name of ["celeb", "catch-up"]) ctx.on(name, own.reload);

  const results = h("div", { "aria-live": "polite" });
  const note = (text) => swap(results, h("p.dim", text));
  const add = (celeb) => button(t`Register`, () => register(celeb).then(own.reload));
  const show = ({ items, more }, words) => swap(results, items.length
    ? h("ul.people", items.map((channel) => h("li", h("div.person", face(channel), add(channel)))))
    : h("p.dim", t`Nothing contains “${words}”.`),
  more && button(t`Ask YouTube for more`, () => find(words, true)));

  // The latest search alone shows what it finds.
  let latest = 0;
  async function find(words, more) {
    const turn = ++latest;
    note(t`One moment…`);
    try {
      await seek(words, more, () => turn === latest);
    } catch (problem) {
      if (turn === latest && !signal.aborted) swap(results, h("p.error", problem.message));
    }
  }

  async function seek(words, more, isLatest) {
    const answer = await ctx.get(query("celebs/search", { platform: "youtube", q: words, more }));
    if (!isLatest()) return;
    if (!answer.lookup) return show(answer, words);
    // The event says when it has ended; asking again covers a lost stream.
    for (let tries = 0; ; tries++) {
      const told = new Promise((resolve) => ctx.on("lookup", ({ id }) => id === answer.lookup && resolve()));
      await Promise.race([pause(Math.min(15000, 700 * 2 ** tries), signal), told]);
      if (!isLatest()) return;
      const found = await ctx.get("lookups/" + answer.lookup);
      if (!isLatest()) return;
      if (found.state === "done") return show({ items: found.items }, words);
      if (found.state === "failed") throw new Error(found.message || t`YouTube did not answer.`);
      note(found.retryAt ? t`YouTube is busy. Trying again at ${moment(found.retryAt)}.` : t`One moment…`);
    }
  }

  const youtube = form({
    fields: [["q*", t`A YouTube channel: words, a handle or an address`, { maxlength: 200 }]], submit: t`Search`,
    // A search may wait for YouTube until tomorrow, and another one may be made meanwhile.
    act: async ({ q }) => void find(q.trim()),
  });
  const instagram = form({
    fields: [["account*", t`An Instagram username`, { maxlength: 100, plain: true }]], submit: t`Register`,
    async act({ account }, element) {
      await register({ platform: "instagram", account: account.trim().replace(/^@/, "") });
      element.reset();
      own.reload();
    },
  });
  return [
    head(t`Fans`, link("/rankings", t`Rankings`, ".button")),
    h("section", { label: t`Your celebs` }, own.element),
    h("section.card", { label: t`Find a celeb` }, h("h2", t`Find a celeb`), youtube, results, instagram),
  ];
}

const windows = () => Object.entries({ day: t`Today`, week: t`This week`, month: t`This month`, all: t`All time` });

export async function celeb(ctx) {
  const celeb = await ctx.get(at(ctx.params));
  const { account, title, platform, state, isMine, since } = celeb;
  const all = h("span", hearts(celeb.hearts));
  const own = h("span", t`${celeb.count || 0} from you`);
  const rank = (by, text) =>
    h("tr", h("th", { scope: "row" }, text), windows().map(([name]) => h("td", celeb.ranks[by][name] ?? "–")));
  const history = h("ol.history");
  ctx.get(at(celeb) + "/history?by=hearts&window=day").then(({ items }) => swap(history, items.slice(0, 14).map((one) =>
    h("li", h("span", day(one.day)), h("span", t`number ${one.rank}`), h("span", hearts(one.count))))), () => {});

  const again = () => ctx.signal.aborted || app.again();
  const note = async () => {
    const { items } = await ctx.get("me/celebs");
    const box = dialog(t`Your note`, form({
      fields: [["note", t`Only you see this.`, { rows: 4, maxlength: 500 }]], submit: t`Save`,
      draft: "note." + account, values: items.find((item) => item.account === account),
      async act(body) {
        await ask("PATCH", "me/" + at(celeb), { body });
        draft.drop("note." + account);
        box.close();
        say(t`Saved.`);
      },
    }), ".small");
  };
  const remove = () => confirm(t`Remove ${title}?`,
    t`Your count and your certificate are lost.`, t`Remove`, async () => {
      await ask("DELETE", "me/" + at(celeb));
      again();
    });
  const given = (count) => {
    own.textContent = t`${count} from you`;
    all.textContent = hearts(++celeb.hearts);
  };

  ctx.on("celeb", (event) => event.account === account && app.again());
  return [
    h("header.profile", avatar(celeb, "huge"), h("div",
      h("h1", nameOf(celeb)),
      h("p.dim", h("a", { href: celeb.url, target: "_blank", rel: "noopener noreferrer" }, platforms[platform]),
        standing(celeb)),
      h("p.facts", all, h("span", t`${celeb.followers} fans`), isMine && own,
        since && h("span", t`since`, " ", day(since))),
      h("div.row", isMine
        ? [state !== "unknown" && heartButton(ctx, celeb, given), toCertificate(celeb), button(t`Note`, note),
            button(t`Remove`, remove)]
        : button(t`Register`, () => register(celeb).then(again), ".primary")))),
    h("section", { "aria-labelledby": "ranks" }, h("h2", { id: "ranks" }, t`Ranks`),
      h("table",
        h("thead", h("tr", h("td"), windows().map(([, text]) => h("th", { scope: "col" }, text)))),
        h("tbody", rank("hearts", t`Hearts`), rank("followers", t`Fans`))),
      history),
  ];
}

export async function certificate(ctx) {
  const { signal } = ctx;
  const [{ token, certificate }, celeb] =
    await Promise.all([ctx.get(`me/${at(ctx.params)}/certificate`), ctx.get(at(ctx.params))]);
  const address = "/v1/certificates/" + token;
  const src = address + "/card.svg";
  const card = h("div.card-picture", { role: "status" },
    h("div.skeleton"), h("span.hidden", t`One moment…`));
  // The card is drawn by a worker on the first request.
  (async () => {
    for (let tries = 1; tries < 20; tries++) {
      const { status } = await fetch(src, { signal, cache: "no-store" });
      const alt = t`The card, with a QR code of its page`;
      if (status === 200) return void swap(card, h("img", { src, width: 1200, height: 630, alt }));
      if (status !== 202) break;
      await pause(700 * tries, signal);
    }
    swap(card, h("p.dim", t`The card cannot be drawn now.`));
  })().catch(() => {});
  return [
    head(t`Certificate`, link(place(celeb), t`Back`, ".button")),
    card,
    facts([
      [t`Celeb`, nameOf(celeb)], [t`Fan`, "@" + certificate.username], [t`Fan since`, day(certificate.since)],
      [t`Hearts`, number(certificate.hearts)], [t`Rank`, t`${certificate.rank} of ${certificate.fans} fans`],
    ]),
    h("div.row",
      button(t`Copy the link`, () => copy(location.origin + address), ".primary"),
      h("a.button", { href: address, target: "_blank", rel: "noopener" }, t`Open its page`),
      h("a.button", { href: address + "/card.png", download: "certificate.png" }, t`Save the card`)),
    h("p.dim", t`Anybody with the link can check it, until you remove the celeb.`),
  ];
}

function movement({ change }) {
  if (change === null) return h("span.move.fresh", t`new`);
  if (!change) return h("span.move", { label: t`unchanged` }, "–");
  return change > 0
    ? h("span.move.up", { label: t`up ${change}` }, "▲ ", change)
    : h("span.move.down", { label: t`down ${-change}` }, "▼ ", -change);
}

export function rankings(ctx) {
  const now = { platform: "youtube", by: "hearts", window: "all", ...Object.fromEntries(ctx.query) };
  const { platform, by, window } = now;
  const choice = (label, name, items) => tabs(label, items.map(([value, text]) =>
    [query("/rankings", { ...now, [name]: value }), text, value === now[name]]));
  const when = h("p.dim");
  const load = async (before) => {
    const answer = await ctx.get(query(url`rankings/${platform}`, { by, window, before, limit: 20 }));
    swap(when, answer.computedAt && [t`Computed`, " ", time(answer.computedAt), ". "],
      t`A new list is made every ten minutes.`);
    return answer;
  };
  const ranks = list(ctx, load, (item) => h("li",
    h("span.rank", item.rank), movement(item), face({ ...item, platform }),
    h("span.count", by === "hearts" ? hearts(item.hearts) : t`${item.followers} fans`)), {
    tag: "ol", class: "ranks", key: (item) => item.account,
    blank: () => empty(t`No ranks yet`, t`A celeb is listed with its first heart.`, link("/fans", t`Give a heart`)),
  });
  return [
    head(t`Rankings`),
    choice(t`Platform`, "platform", Object.entries(platforms)),
    choice(t`By`, "by", [["hearts", t`Hearts`], ["followers", t`Fans`]]),
    choice(t`Time`, "window", windows()),
    ranks.element, when,
  ];
}
