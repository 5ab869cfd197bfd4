// The one way to the API: retries, waits, drafts and refusals.
import { t, ofCode } from "./dom.js";

class Problem extends Error {
  constructor(status, { code, detail, field }, retryAfter) {
    super(ofCode(code, detail));
    Object.assign(this, { status, code, field, retryAfter });
  }
}

const bus = new EventTarget();
export const emit = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));
export const on = (name, act, signal) => bus.addEventListener(name, (event) => act(event.detail), { signal });

export const guard = { "Fanmill-Session": "cookie" };
// The server's clock minus this device's: timers count by the server's.
let drift = 0;
export const serverNow = () => Date.now() + drift;

// `ok`, `slow` or `offline`, by what the requests meet.
let state = "ok";
const note = (now) => state !== now && emit("net", (state = now));
addEventListener("offline", () => note("offline"));
addEventListener("online", () => note("ok"));

// Waits, but not longer than until the network is back.
export const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const done = () => (clearTimeout(timer), removeEventListener("online", done), resolve());
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal?.addEventListener("abort", () => (reject(signal.reason), done()));
  });

// Jitter keeps clients from returning all at once.
export const backoff = (tries) => Math.min(30000, 600 * 2 ** tries) * (0.75 + Math.random() / 2);

function wait({ status, code, retryAfter }, tries, isSafe) {
  if (!status) return isSafe ? backoff(tries) : null;
  const isPassing = status === 429 || (status === 503 && retryAfter) || (isSafe && (status === 502 || status === 504));
  if (!isPassing || retryAfter > 8 || tries > 6 || code === "heart_too_soon") return null;
  return retryAfter ? retryAfter * 1000 : backoff(tries);
}

function refusal(status, retryAfter, text) {
  let body = { code: "http", detail: `HTTP ${status}` };
  try {
    body = JSON.parse(text) || body;
  } catch {}
  if (body.code === "not_signed_in") emit("signed-out");
  return new Problem(status, body, Number(retryAfter) || 0);
}

async function persist(attempt, isSafe, signal, most = Infinity) {
  const own = owner;
  for (let tries = 0; ; tries++) {
    // What one account wrote is not sent as another's.
    if (own !== owner || isOther()) throw new DOMException("another account", "AbortError");
    const slow = setTimeout(() => state === "ok" && note("slow"), 4000);
    try {
      const answer = await attempt();
      note("ok");
      return answer;
    } catch (problem) {
      signal?.throwIfAborted();
      const isNetwork = !problem.status;
      const time = wait(problem, tries, isSafe);
      note(isNetwork || (problem.status >= 502 && time !== null) ? "offline" : "ok");
      if (time === null || tries + 1 >= most) {
        if (isNetwork) problem = new Error(t`The server cannot be reached. Nothing is lost: try again.`);
        throw Object.assign(problem, { isNetwork });
      }
      await pause(time, signal);
    } finally {
      clearTimeout(slow);
    }
  }
}

// What changes nothing twice is tried until it is answered.
export function ask(method, path, { body, key, signal, isSafe, most } = {}) {
  const headers = { ...guard };
  if (body) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  return persist(async () => {
    const response = await fetch("/v1/" + path, {
      method, headers, cache: "no-store", body: body && JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(20000), ...(signal ? [signal] : [])]),
    });
    const ahead = Date.parse(response.headers.get("Date")) - Date.now();
    drift = Math.abs(ahead) > 3000 ? ahead : 0;
    const text = await response.text();
    if (response.ok) return text ? JSON.parse(text) : null;
    throw refusal(response.status, response.headers.get("Retry-After"), text);
  }, method !== "POST" || key || isSafe, signal, most);
}

export const get = (path, signal) => ask("GET", path, { signal });

// url`users/${name}/posts`: what is filled in is escaped.
export const url = (parts, ...values) => String.raw({ raw: parts }, ...values.map(encodeURIComponent));
export function query(path, values) {
  const given = Object.entries(values).filter(([, value]) => value != null && value !== "");
  return given.length ? path + (path.includes("?") ? "&" : "?") + new URLSearchParams(given) : path;
}

export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// What is typed outlives reloads and sign-outs, for its account alone, with the key of a try that may have arrived.
let owner = "guest";
const at = (name) => `fanmill.draft.${owner}.${name}`;
// A guest's ends with the tab: the next one at this computer may be somebody else.
const drafts = () => (owner === "guest" ? sessionStorage : localStorage);

// All tabs share the browser's session. One whose account is no longer that of the session begins again.
const latest = "fanmill.account";
export function isOther() {
  let account = null;
  try {
    account = localStorage.getItem(latest);
  } catch {}
  if (account === null || owner === "guest" || account === `${owner}`) return false;
  location.reload();
  return true;
}
addEventListener("storage", ({ key }) => key === latest && isOther());

export const draft = {
  of(account) {
    owner = account || "guest";
    try {
      if (account) localStorage.setItem(latest, account);
    } catch {}
  },
  dropAll() {
    for (const name of Object.keys(drafts())) if (name.startsWith(at(""))) drafts().removeItem(name);
  },
  read(name) {
    try {
      return JSON.parse(drafts().getItem(at(name))) || {};
    } catch {
      return {};
    }
  },
  write(name, values) {
    try {
      drafts().setItem(at(name), JSON.stringify({ ...draft.read(name), ...values }));
    } catch {}
  },
  drop: (name) => drafts().removeItem(at(name)),
  // The same text has the same key until an answer came.
  key(name, body) {
    const said = JSON.stringify(body);
    const known = draft.read(name);
    const key = known.said === said ? known.key : newKey();
    draft.write(name, { key, said });
    return key;
  },
};

// Sends a draft once, however often it is tried.
export async function send(name, path, body) {
  const answer = await ask("POST", path, { body, key: draft.key(name, body) });
  draft.drop(name);
  return answer;
}

// Only XMLHttpRequest tells the progress of an upload.
const uploadOnce = (file, headers, progress, signal) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v1/media");
    headers = { ...guard, "Content-Type": file.type || "application/octet-stream", ...headers };
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onload = () => {
      const { status, responseText } = request;
      if (status === 201) resolve(JSON.parse(responseText));
      else reject(refusal(status, request.getResponseHeader("Retry-After"), responseText));
    };
    request.onerror = request.ontimeout = () => reject(new TypeError("network"));
    request.onabort = () => reject(signal.reason);
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });

export async function upload(file, progress, { signal, isGuest } = {}) {
  if (file.size > 10485760) throw new Error(t`A picture may have at most 10 MB.`);
  const key = newKey();
  return persist(async () => {
    // A token allows one upload, so each try needs its own.
    const headers = isGuest
      ? { "Upload-Token": (await ask("POST", "media/tokens", { isSafe: true, signal })).token }
      : { "Idempotency-Key": key };
    return uploadOnce(file, headers, progress, signal);
  }, true, signal);
}
