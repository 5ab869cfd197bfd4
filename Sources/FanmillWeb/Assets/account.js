// Signing in and up, and the account's settings.
import { $, h, t, lang, swap, say, tell, head, empty, link, names, time, moment, confirm, button } from "./dom.js";
import { ask, upload, draft, newKey, emit, url, query } from "./api.js";
import { app, avatar, form, filePicker, progress, list, tabs, person, placeOf } from "./parts.js";

const after = () => {
  const path = sessionStorage.getItem("fanmill.after") || "/";
  sessionStorage.removeItem("fanmill.after");
  return app.go(/^\/(?!\/|sign)/.test(path) ? path : "/", true);
};

const languages = [["en", "English"], ["ko", "한국어"]];
const speak = (lang) => (look({ lang }), emit("look"));

const gate = (title, text, ...rest) => h("div.gate",
  h("div.poster", { "aria-hidden": "true" }, [1, 2, 3, 4, 5].map(() => h("i"))),
  h("div", h("h1", title), text && h("p.dim", text), rest,
    h("p.row.langs", languages.map(([value, text]) =>
      button(text, () => speak(value), ".quiet", { lang: value, "aria-pressed": `${lang() === value}` })))));

const email = (label = t`Email`, value) =>
  ["email*", label, { type: "email", maxlength: 254, autocomplete: "username", plain: true, value }];
const password = (label = t`Password`, name = "password") =>
  [name + "*", label, { type: "password", autocomplete: "current-password" }];
const newPassword = (label, name = "password") =>
  [name + "*", label, { type: "password", autocomplete: "new-password", hint: t`At least 8 characters` }];
const personal = (hint, ...more) => [
  ["name*", t`Name`, { maxlength: 100, autocomplete: "name" }],
  ["username", t`Username`, { maxlength: 100, plain: true, hint }], ...more,
  ["major", t`Major`, { maxlength: 100, hint: t`Painting, design, film…` }],
  ["adult", t`I am an adult`, { type: "checkbox", hint: t`Agreements need this. Only you see it.` }],
];
const given = (values, isGiven) => Object.fromEntries(Object.entries(values).filter(isGiven));
const toConfirm = (email) => app.go(query("/confirm", { email }), true);

export function signIn() {
  if (app.me) return void after();
  return gate(t`Sign in`, t`Pictures, and the people who make them.`,
    form({
      draft: "signin", style: ".wide", fields: [email(), password()], submit: t`Sign in`,
      async act(body) {
        try {
          await ask("POST", "sessions", { body, isSafe: true });
        } catch (problem) {
          if (problem.code === "email_not_confirmed") toConfirm(body.email);
          throw problem;
        }
        draft.drop("signin");
        await app.enter();
        await after();
      },
    }),
    h("p.row.between", link("/signup", t`Create an account`), link("/reset", t`Forgot the password?`)));
}

function facePicker(account, chosen) {
  const face = account ? avatar(account, "huge") : h("span.avatar.huge", { "aria-hidden": "true" }, "+");
  const hint = h("p.hint", { role: "status" });
  const bar = progress();
  bar.hidden = true;
  const input = filePicker("face", async ([file]) => {
    if (!file) return;
    tell(hint, "");
    bar.hidden = false;
    swap(face, h("img", { src: URL.createObjectURL(file) }));
    const done = upload(file, (part) => (bar.value = part), { isGuest: !account });
    chosen(done);
    try {
      await done;
      tell(hint, t`The photo is here.`);
    } catch (problem) {
      tell(hint, problem.message, true);
      swap(face, "+");
      chosen(null);
    }
    bar.hidden = true;
  });
  return h("div.field.facepick", input,
    h("label", { for: "face" }, face, h("span", t`Photo`, h("small.dim", t`Choose pictures`))), bar, hint);
}

export function signUp() {
  if (app.me) return void app.go("/", true);
  let photo;
  return gate(t`Create an account`, t`Hang your work, follow others, be a fan.`,
    form({
      draft: "signup", style: ".wide", submit: t`Create the account`,
      extra: facePicker(null, (done) => (photo = done)),
      fields: personal(t`Made from your name if you leave it empty`, email(), newPassword(t`Password`)),
      async act({ password, ...values }) {
        const said = given({ ...values, avatar: (await photo)?.id }, ([, value]) => value);
        // The key is of what is public: the password does not go into storage.
        await ask("POST", "accounts", { body: { ...said, password }, key: draft.key("signup", said) });
        draft.drop("signup");
        try {
          await app.enter();
        } catch (problem) {
          if (problem.status !== 401) throw problem;
          return toConfirm(said.email);
        }
        say(t`Welcome, ${app.me.name}.`);
        await after();
      },
    }),
    h("p", t`You have an account?`, " ", link("/signin", t`Sign in`)));
}

const done = (title, text) => swap($("#main"), gate(title, text, h("p", link("/signin", t`Sign in`))));
const posting = (title, text, fields, submit, path, end) => gate(title, text, form({
  fields, submit, style: ".wide",
  async act(body, element) {
    await ask("POST", path, { body: fields.length ? body : null, key: newKey() });
    if (element.isConnected) await end(body);
  },
}), h("p", link("/signin", t`Sign in`)));

export const reset = () => posting(t`New password`, t`We send you a mail with a link.`, [email()], t`Send the mail`,
  "password-resets", (body) => done(t`Check your mail`, t`If ${body.email} has an account, a link is on its way.`));
export const choose = ({ params }) => posting(t`New password`, null, [newPassword(t`New password`)], t`Save`,
  url`password-resets/${params.token}`, () => done(t`The password is changed`, t`Every device has to sign in again.`));
export const confirmAgain = (ctx) => posting(t`Check your mail`, t`Confirm your address before you sign in.`,
  [email(t`Email`, ctx.query.get("email"))], t`Send the mail`, "email-confirmations",
  () => say(t`The mail is on its way.`));

const byMail = (title, text, submit, path, end) => posting(title, text, [], submit, path, async () => {
  if (app.me) await app.enter().catch(() => app.exit());
  done(end);
});
export const confirmEmail = ({ params }) => byMail(t`Confirm your address`, null, t`Confirm`,
  url`email-confirmations/${params.token}`, t`The address is confirmed`);
export const confirmDeletion = ({ params }) => byMail(t`Delete the account`, t`This cannot be undone.`, t`Delete`,
  url`account-deletions/${params.token}`, t`The account is deleted`);

// Settings

const choice = (label, items, now, act) => h("fieldset.choice", h("legend", label), items.map(([value, text]) =>
  h("label", h("input", { type: "radio", name: label, value, checked: value === now, onchange: () => act(value) }),
    h("span", text))));

const rows = (ctx, path, blank, row) =>
  list(ctx, path, row, { class: "people", skeletons: 1, blank: () => h("p.dim", blank) });

function hidden(ctx, what, title, blank, label) {
  const all = rows(ctx, `me/${what}s`, blank, (account) => h("li", person(account, button(label, async () => {
    await ask("DELETE", url`users/${account.username}/` + what);
    all.drop(account.id);
  }))));
  return [h("h2", title), all.element];
}

const parts = {
  look: () => [
    choice(t`Colours`, [["", t`As the device`], ["light", t`Light`], ["dark", t`Dark`]], look().theme || "",
      (theme) => look({ theme })),
    choice(t`Language`, languages, lang(), speak),
    button(t`Sign out`, async () => {
      await ask("DELETE", "sessions/current");
      await app.leave();
    }),
  ],

  profile() {
    const { me } = app;
    let photo;
    return form({
      draft: "profile", submit: t`Save`, values: me, extra: facePicker(me, (done) => (photo = done)),
      fields: personal(t`The old name leads here and stays yours for 30 days.`, ["bio", t`About you`, { rows: 4 }]),
      async act(values) {
        const media = await photo;
        const body = given(values, ([name, value]) => value !== (me[name] ?? ""));
        if (media) body.avatar = media.id;
        emit("me", await ask("PATCH", "me", { body }));
        draft.drop("profile");
        say(t`Saved.`);
        app.go(placeOf(app.me));
      },
    });
  },

  async security(ctx) {
    const devices = h("ul.people");
    const end = (label, path) => button(label, () => ask("DELETE", "me/sessions" + path).then(draw));
    async function draw() {
      const { items } = await ctx.get("me/sessions");
      swap(devices, items.map((one) => h("li.device",
        names([device(one.client), one.isCurrent && h("em.dim", " · ", t`this device`)],
          one.network, " · ", t`since`, " ", moment(one.createdAt)),
        !one.isCurrent && end(t`Sign out`, "/" + one.id))),
      items.length > 1 && h("li", end(t`Sign out everywhere else`, "")));
    }
    await draw();
    const change = (what, submit, fields, text) => form({ fields, submit, async act(body, element) {
      await ask("PUT", "me/" + what, { body });
      element.reset();
      await draw();
      say(text(body));
    } });
    return [
      h("h2", t`Password`),
      change("password", t`Change the password`,
        [password(t`Old password`, "old"), newPassword(t`New password`, "new")],
        () => t`The password is changed. Other devices are signed out.`),
      h("h2", t`Email`), h("p.dim", app.me.email),
      change("email", t`Change the email`, [email(t`New email`), password()],
        ({ email }) => t`Open the link in the mail to ${email}.`),
      h("h2", t`Devices`), devices,
    ];
  },

  privacy: (ctx) => [
    hidden(ctx, "block", t`Blocked`, t`You have blocked nobody.`, t`Unblock`),
    hidden(ctx, "mute", t`Muted`, t`You have muted nobody.`, t`Unmute`),
    h("h2", t`Notices`),
    rows(ctx, "me/notices", t`Operators have taken down nothing of yours.`, (one) => h("li.device",
      names(`${one.action.replace("_", " ")}: ${one.subject}`, one.reason, " · ", time(one.createdAt)))).element,
  ],

  delete: () => [
    h("p", t`Your posts, pictures, comments and likes are removed for good. Messages stay.`),
    form({
      fields: [password()], submit: t`Delete the account`,
      async act(body) {
        confirm(t`Delete the account`, t`This cannot be undone.`, t`Delete for good`, async () => {
          await ask("DELETE", "me", { body });
          app.leave();
          say(t`The account is deleted`);
        });
      },
    }),
  ],
};

function device(client = "") {
  const system = /iPhone|iPad|Android|Windows|Mac OS|Linux/.exec(client)?.[0].replace("Mac OS", "macOS");
  const program = /Edg|Firefox|Chrome|Safari|curl/.exec(client)?.[0].replace("Edg", "Edge");
  return [program, system].filter(Boolean).join(", ") || client || t`Unknown device`;
}

export async function settings(ctx) {
  const { part = "look" } = ctx.params;
  const titles = {
    look: t`Appearance`, profile: t`Profile`, security: t`Security`, privacy: t`Privacy`, delete: t`Delete`,
  };
  if (!titles[part]) return empty(t`Not here`, "", link("/settings", t`Settings`));
  return h("div.settings", head(t`Settings`), tabs(t`Settings`, Object.entries(titles).map(([name, text]) =>
    [name === "look" ? "/settings" : "/settings/" + name, text, name === part])), await parts[part](ctx));
}
