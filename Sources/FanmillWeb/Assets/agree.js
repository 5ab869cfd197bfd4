// Agreements: meeting, comparing, sealing, and what was sealed.
import {
  $, h, t, lang, swap, say, head, empty, link, names, facts, moment, clock, confirm, menu, danger, button,
} from "./dom.js";
import { ask, pause, query, serverNow } from "./api.js";
import { app, avatar, form, list, person, reporting, countdown } from "./parts.js";
import * as seals from "./seal.js";

const { text, bytes, fail } = seals;

// The key to one's copies lives as long as the tab. The passcode locks it elsewhere, in a backup known by its salt.
const stored = "fanmill.keys";
const held = () => {
  const [id, key, salt] = (sessionStorage.getItem(stored) || "").split(":");
  return Number(id) === app.me.id ? { key: bytes(key), salt } : null;
};
const readBackup = (ctx) => ctx.get("agreements/backup").catch((problem) => {
  if (problem.status !== 404 && problem.status !== 410) throw problem;
});

const unable = () => empty(t`Not on this page`,
  t`Agreements need https, X25519 and Ed25519.`, link("/", t`Go home`));
const nameOf = (peer) => peer?.name || t`deleted account`;
const section = (title, ...content) => h("section.card", h("h2", title), content);

async function unlocking(ctx, then) {
  const backup = await readBackup(ctx);
  const known = held();
  // Another device may have chosen another passcode, and with it another key.
  if (known && backup?.salt === known.salt) return then(known.key);
  const place = h("div.card");
  const settle = async (key, salt) => {
    sessionStorage.setItem(stored, `${app.me.id}:${text(key)}:${salt}`);
    place.replaceWith(await then(key));
  };
  const pass = (label, name, hint) => [name + "*", label, { type: "password", hint }];
  const fresh = () => swap(place, h("h2", t`Choose a passcode`), form({
    fields: [
      pass(t`Passcode`, "passcode", t`It locks your agreements. Nobody can recover it.`),
      pass(t`The same again`, "again"),
    ],
    submit: t`Set the passcode`,
    async act({ passcode, again }, { inputs }) {
      if ([...passcode].length < 4) return inputs.passcode.refuse(t`At least 4 characters`);
      if (passcode !== again) return inputs.again.refuse(t`The two differ.`);
      const [secret, lock] = [seals.random(32), await seals.passcodeLock(passcode)];
      const key = (!backup && known?.key) || seals.random(32);
      const body = seals.texts({ salt: lock.salt, proof: lock.proof, secret, locked: await lock.lock(key, secret) });
      // Another device's choice is not undone.
      if ((await readBackup(ctx))?.salt !== backup?.salt) return app.again();
      await ask("PUT", "agreements/backup", { body });
      await settle(key, body.salt);
    },
  }));
  if (!backup) return fresh();
  return swap(place, h("h2", t`Your agreements are locked`), form({
    fields: [pass(t`Passcode`, "passcode", t`${backup.triesLeft} tries left`)], submit: t`Unlock`,
    async act({ passcode }, { inputs }) {
      const lock = await seals.passcodeLock(passcode, bytes(backup.salt));
      try {
        const body = { proof: text(lock.proof) };
        const { locked, secret } = await ask("POST", "agreements/backup/open", { body });
        await settle(await lock.open(bytes(locked), bytes(secret)), backup.salt);
      } catch ({ code, message }) {
        inputs.passcode.refuse(message + (code === "wrong_passcode" ? " " + t`${--backup.triesLeft} tries left` : ""));
      }
    },
  }), button(t`Forgot the passcode?`, () => confirm(t`Choose a passcode`,
    t`Agreements sealed so far can no longer be opened.`, t`Choose a passcode`, async () => fresh()), ".quiet"));
}

const standing = ({ withdrawnAt, expiresAt }) =>
  withdrawnAt ? h("span.badge.red", t`Withdrawn`)
  : Date.parse(expiresAt) < Date.now() ? h("span.badge", t`Over`)
  : h("span.badge.blue", t`Sealed`);

export function all(ctx) {
  const adult = !app.me.adult && section(t`For adults`, h("p", t`Both of you must have stated to be an adult.`),
    button(t`I am an adult`, async () => {
      app.me = await ask("PATCH", "me", { body: { adult: true } });
      app.again();
    }, ".primary"));
  const sealed = list(ctx, "agreements", (item) => h("li.device", link("/agreements/" + item.id, [
    item.peer && avatar(item.peer), names(nameOf(item.peer), t`Sealed`, " ", moment(item.sealedAt)),
  ], ".face"), standing(item)), {
    class: "people", skeletons: 2,
    blank: () => empty(t`No agreements yet`,
      t`Two people in one place agree on a text that only they can read.`),
  });
  ctx.on("agreement", ({ state }) => ["sealed", "withdrawn"].includes(state) && sealed.reload());
  if (ctx.isBack) sealed.reload();
  const lock = () => {
    sessionStorage.removeItem(stored);
    say(t`Locked.`);
    app.again();
  };
  return [
    head(t`Agreements`, held() && button(t`Lock now`, lock)),
    seals.isAble ? adult || h("p", link("/agreements/meet", t`Meet somebody`, ".button.primary")) : unable(),
    sealed.element,
    h("p.dim", t`An agreement proves no consent. Each of you can withdraw at any moment, here or by saying so.`),
  ];
}

export async function one(ctx) {
  const item = await ctx.get("agreements/" + ctx.params.id);
  ctx.on("agreement", ({ id }) => id === item.id && app.again());
  const name = nameOf(item.peer);
  const withdrawn = item.withdrawnAt && moment(item.withdrawnAt);
  const shown = !seals.isAble ? unable() : await unlocking(ctx, async (key) => {
    try {
      const copy = await seals.openCopy(bytes(item.copy), key);
      const { keys } = await (await fetch("/.well-known/jwks.json", { signal: ctx.signal })).json();
      await seals.checkReceipt(item.receipt, keys, copy);
      return paper(seals.readRecord(copy.record), t`Both signatures and the receipt are genuine.`);
    } catch (problem) {
      const isLocked = problem.name === "OperationError";
      return h("p.error", { role: "alert" }, isLocked ? t`This copy is locked by another key.` : problem.message);
    }
  });
  const withdraw = () => confirm(t`Withdraw`, t`Both of you see it as withdrawn from now on.`, t`Withdraw`,
    async () => {
      await ask("POST", `agreements/${item.id}/withdrawal`, { isSafe: true });
      if (!ctx.signal.aborted) app.again();
    });
  const remove = danger(t`Remove my copy`, t`Remove my copy`, t`${name} keeps the other one.`, async () => {
    await ask("DELETE", "agreements/" + item.id);
    if (!ctx.signal.aborted) app.go("/agreements", true);
  });
  return h("div.agreement",
    head(t`Agreement with ${name}`, standing(item)),
    withdrawn && h("p.error",
      item.withdrawnBy === "me" ? t`You withdrew on ${withdrawn}.` : t`${name} withdrew on ${withdrawn}.`),
    shown,
    h("div.row", !withdrawn && button(t`Withdraw`, withdraw, ".danger"),
      menu(t`More`, [reporting({ agreement: item.id }), remove])));
}

const paper = ({ text, time, expiresAt, place, host, joiner }, note) => h("section.paper", { label: t`The record` },
  h("p.text", text),
  facts([
    [t`When`, moment(time * 1000)], [t`Until`, moment(expiresAt * 1000)],
    [t`Where`, `${place.latitude / 1e6}, ${place.longitude / 1e6} (± ${place.accuracy} m)`],
    ...[host, joiner].map(({ username, device }) => ["@" + username, device]),
  ]),
  note && h("p.dim", note));

// The meeting

// What a host has typed outlives a meeting that ends before its time, but not the tab.
let typed = {};

const here = () => new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(
  ({ coords: { latitude, longitude, accuracy } }) => resolve({
    latitude: Math.round(latitude * 1e6), longitude: Math.round(longitude * 1e6), accuracy: Math.ceil(accuracy),
  }),
  () => reject(new Error(t`Allow the browser to tell this device’s place.`)),
  { enableHighAccuracy: true, timeout: 30000, maximumAge: 60000 }));

const near = (one, other) => {
  if (!seals.isPlace(other)) fail("place");
  if (Math.max(one.accuracy, other.accuracy) > 100) {
    throw new Error(t`A device’s place is too imprecise: move under the sky.`);
  }
  if (seals.distance(one, other) > 100) throw new Error(t`The devices are more than 100 metres apart.`);
};

const device = () => (/iPhone|iPad|Android|Windows|Mac|Linux/.exec(navigator.userAgent) || [t`Browser`])[0];

export function meet(ctx) {
  if (!seals.isAble) return unable();
  const { signal } = ctx;
  const stage = h("div.stage", { "aria-live": "polite" });
  let meeting = null;
  let isOver = false;

  const scene = (title, ...children) => {
    const heading = h("h2", { tabindex: -1 }, title);
    swap(stage, h("div.card", heading, children));
    heading.focus();
  };
  const stop = (message) => {
    if (meeting && !isOver) ask("DELETE", "agreements/meetings/" + meeting.id, { most: 2 }).catch(() => {});
    isOver = true;
    if (signal.aborted) return;
    scene(t`The meeting has ended`, h("p", message), button(t`Begin again`, app.again, ".primary"));
  };
  ctx.end(() => stop());
  const guarded = (act) => (...values) => act(...values).catch((problem) => signal.aborted || stop(problem.message));

  // Looks at the meeting after every event, and now and then in case one was lost.
  async function until(isReached) {
    for (;;) {
      const changed = new Promise((resolve) => ctx.on("agreement", ({ id }) => id === meeting.id && resolve()));
      const now = await ctx.get("agreements/meetings/" + meeting.id);
      if (now.state === "ended") {
        const endings = {
          expired: t`The time is up.`, guessed: t`Somebody guessed wrong codes.`, left: t`The other person left.`,
          replaced: t`Another meeting was begun.`,
        };
        throw new Error(endings[now.ending] || now.ending);
      }
      const found = await isReached(now);
      if (found) return found;
      await Promise.race([changed, pause(2500, signal)]);
    }
  }

  async function go(role, keys, copyKey) {
    const path = "agreements/meetings/" + meeting.id;
    const joined = await until((now) => now.peer);
    await ask("PUT", path + "/opening", { body: seals.texts({ nonce: keys.nonce }) });
    const peer = await until(({ peer }) => peer?.nonce && peer);
    if (peer.publicKey !== joined.publicKey || peer.commitment !== joined.commitment) fail("changed key");
    const { name, username } = peer.account;
    const [publicKey, commitment, nonce] = [peer.publicKey, peer.commitment, peer.nonce].map(bytes);
    const line = await seals.channel(role, keys, { publicKey, commitment, nonce });
    let after = 0;
    const send = async (message) => {
      const { number, body } = await line.seal(message);
      await ask("PUT", `${path}/messages/${number}`, { body: { body } });
    };
    const receive = (type) => until(async () => {
      const { items: [first] } = await ctx.get(query(path + "/messages", { after }));
      if (!first) return null;
      after = first.number;
      const message = await line.open(first.body);
      if (message.type === "decline") throw new Error(t`${name} declined.`);
      if (message.type !== type) fail("order");
      return message;
    });

    await new Promise((resolve) => scene(
      t`Compare the four words`, person(peer.account),
      h("p", t`Read them to each other: both devices must show the same.`),
      h("p.code.words", { lang: "en" }, line.words.map((word) => h("span", word))),
      h("div.row", button(t`They are the same`, () => resolve(), ".primary"), button(t`They differ`,
        () => stop(t`Someone is intercepting your connection. Nothing was sent.`), ".danger"))));
    scene(t`Comparing your places…`, h("p", t`The server never learns them.`));
    // The record has both parties' devices, so the name travels with the place. Other clients ignore it.
    const own = { device: device(), place: await here() };
    await send({ type: "place", ...own });
    const theirs = await receive("place");
    near(own.place, theirs.place);

    const seal = async (record) => {
      const signed = await line.sign(record);
      const copy = await seals.sealCopy(record, line, copyKey);
      const { expiresAt } = seals.readRecord(record);
      await ask("PUT", path + "/seal", { body: { ...seals.texts({ ...signed, copy }), expiresAt } });
      scene(t`Waiting for ${name} to seal`,
        h("p", t`Nobody has a signature before both have sealed.`));
      await until((now) => now.state === "sealed");
      isOver = true;
      say(t`Sealed`);
      app.go("/agreements/" + meeting.id, true);
    };

    if (role === 1) {
      const { items } = await ctx.get("agreements/templates?language=" + lang());
      const templates = [...items.map(({ id, title }) => [id, title]), ["", t`An empty page`]];
      const desk = form({
        values: { ...items[0], ...(typed.by === app.me.id && typed) },
        fields: [
          ["template", t`Begin with`, { options: templates }],
          ["text*", t`Text`, { rows: 10, maxlength: 10000 }],
          ["days", t`Until`, { options: [[1, t`Tomorrow`], [7, t`In a week`], [30, t`In a month`]] }],
        ],
        submit: t`Seal, and send it to ${name}`,
        act: guarded(async (values) => {
          const now = Math.floor(Date.now() / 1000);
          const record = seals.writeRecord({
            version: 1, text: values.text.replace(/[\0-\x08\x0b-\x1f]/g, "").toWellFormed(), time: now,
            expiresAt: now + values.days * 86400, place: own.place, salt: text(seals.random(32)),
            host: { username: app.me.username, device: own.device },
            joiner: { username, device: theirs.device || username },
          });
          seals.readRecord(record);
          await send({ type: "record", record: seals.base64(record) });
          await seal(record);
          typed = {};
        }),
      });
      const { template, text: field } = desk.inputs;
      field.addEventListener("input", () => (typed = { by: app.me.id, text: field.value }));
      template.onchange = () => {
        const isTyped = field.value && !items.some(({ text }) => text === field.value);
        if (isTyped) template.value = "";
        else field.value = items.find(({ id }) => id === template.value)?.text || "";
      };
      return scene(t`What do you agree on?`, desk);
    }
    scene(t`${name} is writing`, h("p", t`You read the text before you seal it.`));
    const written = bytes((await receive("record")).record);
    const { host, joiner, place, time } = seals.readRecord(written);
    near(own.place, place);
    const isOurs = host.username === username && joiner.username === app.me.username;
    if (!isOurs || (theirs.device && host.device !== theirs.device)) fail("names");
    if (Math.abs(time - Date.now() / 1000) > 300) {
      throw new Error(t`The other device’s clock is more than five minutes off.`);
    }
    const decline = async () => {
      await send({ type: "decline" });
      stop(t`You declined.`);
    };
    return scene(t`Read it, and decide`, paper(seals.readRecord(written)), h("div.row",
      button(t`Agree and seal`, guarded(() => seal(written)), ".primary"),
      button(t`Decline`, guarded(decline), ".danger")));
  }

  const introduce = async (role) => {
    const keys = await seals.newKeys();
    const { publicKey, nonce } = keys;
    return [keys, seals.texts({ publicKey, commitment: await seals.commitment(role, publicKey, nonce) })];
  };

  const host = async (copyKey) => {
    const [keys, body] = await introduce(1);
    meeting = await ask("POST", "agreements/meetings", { body });
    const left = h("p.dim");
    scene(t`Your code`, h("p.code", [...meeting.code].map((digit) => h("span", digit))),
      h("p", t`It goes with your name, ${"@" + app.me.username}.`), left);
    countdown((Date.parse(meeting.expiresAt) - serverNow()) / 1000,
      (seconds) => (left.textContent = t`Valid for ${clock(seconds)}`), signal);
    await go(1, keys, copyKey);
  };

  const begin = async (copyKey) => h("div.two",
    section(t`Show a code`, h("p", t`The other person enters it beside you.`),
      button(t`Show a code`, guarded(() => host(copyKey)), ".primary")),
    section(t`Enter a code`, form({
      fields: [
        ["host*", t`Their username`, { plain: true }], ["code*", t`Code`, { inputmode: "numeric", maxlength: 6 }],
      ],
      submit: t`Meet`,
      async act({ host, code }) {
        const [keys, introduction] = await introduce(2);
        const body = { host: host.trim().replace(/^@/, ""), code: code.trim(), ...introduction };
        meeting = await ask("POST", "agreements/meetings/join", { body, isSafe: true });
        guarded(go)(2, keys, copyKey);
      },
    })));

  guarded(async () => swap(stage, await unlocking(ctx, begin)))();
  return [head(t`Meet somebody`, link("/agreements", t`Back`, ".button")), stage];
}
