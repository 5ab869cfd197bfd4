// One event stream for the whole app, read with fetch: an EventSource cannot resume after it was closed, as it is in a
// hidden tab and when other posts are open.
import { emit, backoff, pause, guard, isOther } from "./api.js";

const most = 20;
// `asked` are the posts of the stream that is open, or about to be.
let [posts, asked] = [[], []];
// `from` is the id that a post whose comments were read since must be followed from: "" for the first one to come.
let [last, from, stop, timer, change] = [];
let isWanted = false;

function take(block) {
  let [name, data] = ["message", ""];
  for (const line of block.split("\n")) {
    const [, field, value] = /^(\w*): ?(.*)/.exec(line) || [];
    if (field === "id") (last = value), from === "" && (from = value);
    else if (field === "event") name = value;
    else if (field === "data") data += value;
  }
  if (name === "reset") emit("catch-up");
  else if (data) emit(name, JSON.parse(data));
}

// Reads until the stream ends. Throws what a client must wait for, in seconds.
async function read(signal) {
  // Silence that is longer than the server's: the connection is dead.
  const cut = new AbortController();
  let silence;
  const hear = () => (clearTimeout(silence), (silence = setTimeout(() => cut.abort(), 45000)));
  hear();
  asked = posts;
  const since = from || last;
  try {
    const response = await fetch("/v1/events" + (posts.length ? "?posts=" + posts : ""), {
      headers: { ...guard, Accept: "text/event-stream", ...(since && { "Last-Event-ID": since }) },
      cache: "no-store", signal: AbortSignal.any([signal, cut.signal]),
    });
    if (response.status === 401) emit("signed-out");
    if (!response.ok) throw Number(response.headers.get("Retry-After")) || (response.status === 429 ? 30 : 5);
    // What came before this stream is read from the lists.
    if (!since) emit("catch-up");
    if (asked === posts) from = null;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      hear();
      const blocks = (text + value).split("\n\n");
      text = blocks.pop();
      blocks.forEach(take);
    }
  } finally {
    clearTimeout(silence);
  }
}

async function run() {
  if (!isWanted || document.hidden || isOther()) return;
  stop?.abort();
  const own = (stop = new AbortController());
  const rest = (ms) => pause(ms, own.signal).catch(() => {});
  for (let tries = 0; isWanted && !own.signal.aborted && !isOther(); tries++) {
    const began = Date.now();
    try {
      await read(own.signal);
    } catch (problem) {
      if (!own.signal.aborted && problem > 0) await rest(problem * 1000);
    }
    if (Date.now() - began > 10000) tries = 0;
    if (!own.signal.aborted) await rest(backoff(tries));
  }
}

const end = () => (stop?.abort(), (stop = null));

export function listen() {
  isWanted = true;
  run();
}

export function hangUp() {
  isWanted = false;
  end();
  last = from = null;
  posts = asked = [];
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  // A glance at another tab is not worth another stream.
  if (document.hidden) timer = setTimeout(end, 5000);
  else if (!stop) run();
});
// A page kept for the way back would keep its stream, and an account has five.
addEventListener("pagehide", end);
addEventListener("pageshow", (event) => event.persisted && run());
addEventListener("offline", () => stop?.abort());
addEventListener("online", run);

// Opens posts for live counts and comments; the oldest ones are closed. Urgent is a post whose comments are read next.
export function watch(ids, isUrgent) {
  const fresh = ids.filter((id) => !posts.includes(id));
  if (fresh.length) posts = [...posts, ...fresh].slice(-most);
  else if (!isUrgent || asked === posts) return;
  // In the feed it is the counts that matter, and a stream begins with them.
  if (isUrgent) from ??= last || "";
  clearTimeout(change);
  change = setTimeout(run, isUrgent ? 50 : 1500);
}

const seen = new IntersectionObserver((entries) => {
  const shown = entries.filter((entry) => entry.isIntersecting && entry.target.isConnected);
  watch(shown.map((entry) => Number(entry.target.dataset.post)).slice(-most));
});
export const watchWhenSeen = (element) => seen.observe(element);
