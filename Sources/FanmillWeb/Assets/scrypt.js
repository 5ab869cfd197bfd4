// scrypt's mixing (RFC 7914, ROMix) with N 2^15, r 8 and p 1. The salt and the key around it are PBKDF2's, in seal.js.
"use strict";
const N = 32768;
const r = 8;
const words = 32 * r;
const x = new Uint32Array(16);
const y = new Uint32Array(words);
const t = new Uint32Array(16);

const mix = (to, one, other, by) => {
  const sum = (x[one] + x[other]) | 0;
  x[to] ^= (sum << by) | (sum >>> (32 - by));
};
const quarter = (a, b, c, d) => {
  mix(b, a, d, 7), mix(c, b, a, 9), mix(d, c, b, 13), mix(a, d, c, 18);
};

function salsa(b) {
  x.set(b);
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 4; i++) quarter(5 * i, (5 * i + 4) & 15, (5 * i + 8) & 15, (5 * i + 12) & 15);
    for (let i = 0; i < 4; i++) quarter(5 * i, 4 * i + ((i + 1) & 3), 4 * i + ((i + 2) & 3), 4 * i + ((i + 3) & 3));
  }
  for (let i = 0; i < 16; i++) b[i] += x[i];
}

function blockMix(b) {
  t.set(b.subarray(words - 16));
  for (let i = 0; i < 2 * r; i++) {
    for (let j = 0; j < 16; j++) t[j] ^= b[16 * i + j];
    salsa(t);
    y.set(t, 16 * ((i >> 1) + (i & 1) * r));
  }
  b.set(y);
}

onmessage = ({ data }) => {
  // Typed arrays are little-endian, as scrypt is, on every machine that has a browser.
  const block = new Uint32Array(data.buffer);
  const table = new Uint32Array(N * words);
  for (let i = 0; i < N; i++) table.set(block, i * words), blockMix(block);
  for (let i = 0; i < N; i++) {
    const j = (block[words - 16] & (N - 1)) * words;
    for (let k = 0; k < words; k++) block[k] ^= table[j + k];
    blockMix(block);
  }
  postMessage(new Uint8Array(block.buffer));
};
