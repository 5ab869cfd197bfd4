// The device's side of an agreement, in the forms of docs/agreements.md.
import { t } from "./dom.js";

const { subtle } = crypto;
export const isAble = isSecureContext && !!subtle;
const encode = (text) => new TextEncoder().encode(text);
const decode = (bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);
const raw = async (buffer) => new Uint8Array(await buffer);

export const random = (count) => crypto.getRandomValues(new Uint8Array(count));
export const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
export const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
export const text = (bytes) => base64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
export const bytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
const each = (all, change) => Object.fromEntries(Object.entries(all).map(([name, value]) => [name, change(value)]));
export const texts = (all) => each(all, text);
const same = (one, other) => text(one) === text(other);
const H = (label, ...parts) => raw(subtle.digest("SHA-256", join(encode("fanmill agreement " + label), [0], ...parts)));

export const fail = (what) => {
  throw new Error(t`Not as it should be: ${what}`);
};

export async function newKeys(pairs) {
  const [agreement, signing] = pairs || [
    await subtle.generateKey("X25519", false, ["deriveBits"]),
    await subtle.generateKey("Ed25519", false, ["sign", "verify"]),
  ];
  const [one, other] = [agreement, signing].map(({ publicKey }) => raw(subtle.exportKey("raw", publicKey)));
  return { agreement, signing, publicKey: join(await one, await other), nonce: random(32) };
}

export const commitment = (role, publicKey, nonce) => H("commitment 1", [role], publicKey, nonce);

const key = (raw, kind, ...uses) => subtle.importKey("raw", raw, kind, false, uses);
const aes = (raw) => key(raw, "AES-GCM", "encrypt", "decrypt");
async function stretch(secret, salt, label) {
  const way = { name: "HKDF", hash: "SHA-256", salt, info: encode("fanmill agreement " + label) };
  return aes(await subtle.deriveBits(way, await key(secret, "HKDF", "deriveBits"), 256));
}

// What two devices share once both have opened their commitments. `role` is 1 for the host and 2 for the joiner.
export async function channel(role, keys, peer) {
  if (same(peer.publicKey, keys.publicKey)) fail("own key");
  if (!same(await commitment(3 - role, peer.publicKey, peer.nonce), peer.commitment)) fail("commitment");
  const [host, joiner] = role === 1 ? [keys, peer] : [peer, keys];
  const transcript = await H("transcript 1", host.publicKey, host.nonce, joiner.publicKey, joiner.nonce);
  const other = { name: "X25519", public: await key(peer.publicKey.slice(0, 32), "X25519") };
  const secret = await raw(subtle.deriveBits(other, keys.agreement.privateKey, 256));
  // A small-order key yields the same secret with every other key (RFC 7748, 6.1).
  if (secret.every((byte) => !byte)) fail("weak key");
  const ways = [
    await stretch(secret, transcript, "host to joiner 1"), await stretch(secret, transcript, "joiner to host 1"),
  ];
  const form = (number) => {
    const iv = new Uint8Array(12);
    new DataView(iv.buffer).setBigUint64(4, BigInt(number));
    return { name: "AES-GCM", iv, additionalData: transcript };
  };
  let [sent, received] = [0, 0];
  return {
    transcript, hostKey: host.publicKey, joinerKey: joiner.publicKey,
    words: [...(await H("words 1", transcript)).slice(0, 4)].map((byte) => list[byte]),
    async seal(message) {
      const number = ++sent;
      const plain = encode(JSON.stringify(message));
      return { number, body: text(await raw(subtle.encrypt(form(number), ways[role - 1], plain))) };
    },
    async open(body) {
      const wrong = () => fail("message");
      const plain = await subtle.decrypt(form(received + 1), ways[2 - role], bytes(body)).catch(wrong);
      received++;
      return JSON.parse(decode(plain));
    },
    async sign(record) {
      const hash = await hashOf(record);
      const signed = await H("seal 1", transcript, hash);
      return { hash, signature: await raw(subtle.sign("Ed25519", keys.signing.privateKey, signed)) };
    },
  };
}

const hashOf = (record) => H("record 1", record);

// Sorted keys and no whitespace: both devices and the Swift module write the same bytes.
const sorted = (value) => Object(value) !== value ? value
  : Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
export const writeRecord = (record) => encode(JSON.stringify(sorted(record)));

export function readRecord(written) {
  const { version, text, time, expiresAt, place, host, joiner, salt } = JSON.parse(decode(written));
  const record = { version, text, time, expiresAt, place, host, joiner, salt };
  const isText = (text, most) => typeof text === "string" && text !== "" && [...text].length <= most;
  const isWhole = version === 1 && isText(text, 10000) && isPlace(place) && bytes(salt).length === 32 &&
    time > 0 && expiresAt > time && expiresAt <= time + 366 * 86400 &&
    [host, joiner].every((party) => isText(party?.username, 200) && isText(party.device, 200)) &&
    host.username !== joiner.username;
  if (!isWhole || !same(writeRecord(record), written)) fail("record");
  return record;
}

export function isPlace(place) {
  const { latitude, longitude, accuracy } = place || {};
  return [latitude, longitude, accuracy].every(Number.isInteger) && Math.abs(latitude) <= 90e6 &&
    Math.abs(longitude) <= 180e6 && accuracy >= 0 && accuracy <= 100000;
}

export function distance(one, other) {
  const radians = (millionths) => (millionths / 1e6) * (Math.PI / 180);
  const north = Math.sin(radians(other.latitude - one.latitude) / 2) ** 2;
  const east = Math.sin(radians(other.longitude - one.longitude) / 2) ** 2;
  const a = north + Math.cos(radians(one.latitude)) * Math.cos(radians(other.latitude)) * east;
  return 2 * 6371009 * Math.asin(Math.min(1, Math.sqrt(a)));
}

// Sealed boxes: the nonce first, the tag last.

async function lock(key, plain, additionalData) {
  const iv = random(12);
  return join(iv, await raw(subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, plain)));
}

const unlock = (key, box, additionalData) =>
  raw(subtle.decrypt({ name: "AES-GCM", iv: box.slice(0, 12), additionalData }, key, box.slice(12)));
const copyLabel = encode("fanmill agreement copy 1");

export async function sealCopy(record, { transcript, hostKey, joinerKey }, key) {
  const copy = each({ record, transcript, hostKey, joinerKey }, base64);
  return lock(await aes(key), encode(JSON.stringify(copy)), copyLabel);
}

export const openCopy = async (box, key) =>
  each(JSON.parse(decode(await unlock(await aes(key), box, copyLabel))), bytes);

// Checks a receipt against the device's own copy, both signatures included.
export async function checkReceipt(token, keys, copy) {
  const [head, payload, signature] = token.split(".");
  const json = (part) => JSON.parse(decode(bytes(part)));
  const { alg, typ, kid, crit } = json(head);
  const known = keys.find((key) => key.kid === kid);
  const verify = async (one, signature, signed) =>
    subtle.verify("Ed25519", await key(one, "Ed25519", "verify"), bytes(signature), signed);
  const isReceipt = alg === "EdDSA" && typ === "agreement-receipt+jwt" && !crit && known &&
    (await verify(bytes(known.x), signature, encode(`${head}.${payload}`)));
  if (!isReceipt) fail("receipt");
  const claims = json(payload);
  const hash = await hashOf(copy.record);
  const { expiresAt } = readRecord(copy.record);
  const { hostKey, joinerKey } = copy;
  const wanted = { ...texts({ hash, hostKey, joinerKey }), expiresAt };
  if (Object.entries(wanted).some(([name, value]) => claims[name] !== value)) fail("another receipt");
  const signed = await H("seal 1", copy.transcript, hash);
  for (const party of ["host", "joiner"]) {
    const isSigned = await verify(copy[party + "Key"].slice(32), claims[party + "Signature"], signed);
    if (!isSigned) fail("signature");
  }
}

// The passcode: scrypt in a worker, since it takes a second of one processor.
export async function passcodeLock(passcode, salt = random(16)) {
  const source = await key(encode(passcode.normalize("NFKC")), "PBKDF2", "deriveBits");
  const pbkdf = (salt, bits) =>
    raw(subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations: 1 }, source, bits));
  const block = await pbkdf(salt, 8192);
  const worker = new Worker("/scrypt.js");
  const mixed = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = () => reject(new Error("scrypt"));
    worker.postMessage(block);
  }).finally(() => worker.terminate());
  const all = await pbkdf(mixed, 512);
  const own = (secret) => stretch(join(all.slice(32), secret), salt, "backup 1");
  return {
    salt, proof: all.slice(0, 32),
    lock: async (plain, secret) => lock(await own(secret), plain, salt),
    open: async (box, secret) => unlock(await own(secret), box, salt),
  };
}

const list = `
acorn amber anchor apple april arrow aspen autumn bacon badge bagel baker bamboo banjo barley basil basket beacon
beaver berry bison blanket blossom bottle branch bread breeze brick bridge bronze brook bubble bucket butter button
cabin cactus camel camera candle canoe canvas carbon carpet carrot castle cedar cello cherry chess cider cinema circle
citrus clay clever cliff clock clover cobalt cocoa comet copper coral cotton crane crater cricket crystal cypress
daisy dancer delta denim desert diamond dolphin donkey dragon drum eagle early echo elbow ember emerald engine falcon
feather fennel fern fiddle field finch flame flute forest fossil fountain fox galaxy garden garlic gentle ginger
giraffe glacier globe goose grape gravel guitar hammer harbour harvest hazel helmet heron hickory honey horizon hotel
humble iceberg indigo iris island ivory jacket jasmine jelly jigsaw journal jungle kettle kitten koala ladder lagoon
lantern laurel lemon lentil library lilac linen lion lizard lobster lotus lunar magnet mango maple marble marigold
market meadow melon meteor mint mirror monkey mosaic mountain mule mustard nectar nickel noodle north nutmeg oak oasis
ocean olive onion opal orbit orchid otter oyster paddle palm panda paper parrot peach pebble pepper piano pigeon pilot
pine planet plum pocket pony poppy potato prairie pumpkin purple quartz quiet rabbit radio rainbow raven ribbon river
robin rocket rose ruby saddle saffron salmon sandal saturn scarf seal shadow silver sister sparrow spider spiral
spruce squash stable station summer sunset swan table tango temple thunder tiger timber toast tomato trumpet tulip
tundra turtle umbrella valley velvet violet walnut willow window yellow zebra`.trim().split(/\s/);
