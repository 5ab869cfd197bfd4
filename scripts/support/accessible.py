"""What makes a page legible, also for users without sight or a mouse."""

# For users without sight or a mouse: every field has a name, every text has the contrast that WCAG 2.2 AA requires.
ACCESSIBLE = """
(() => {
  const faults = [];
  const name = e => (e.getAttribute('aria-label') || e.innerText || e.textContent || e.value || e.title || '').trim();
  for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
    if (!e.labels.length && !e.getAttribute('aria-label')) faults.push('no label: ' + e.outerHTML);
  }
  for (const e of document.querySelectorAll('button, a[href]')) if (!name(e)) faults.push('no name: ' + e.outerHTML);
  for (const e of document.querySelectorAll('svg:not([aria-hidden])')) {
    if (!e.querySelector('title, desc')) faults.push('no title: svg');
  }
  for (const [what, count] of [['h1', 1], ['main', 1]]) {
    if (document.querySelectorAll(what).length !== count) faults.push('not one ' + what);
  }
  for (const e of document.querySelectorAll('img:not([alt])')) faults.push('no alt: ' + e.src);
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push('twice: #' + id);
  for (const e of document.querySelectorAll('[aria-labelledby]')) {
    for (const id of e.getAttribute('aria-labelledby').split(' ')) {
      if (!document.getElementById(id)) faults.push('labelled by nothing: #' + id);
    }
  }
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const color = rgba(getComputedStyle(e).backgroundColor);
      if (color[3] > 250) return color;
    }
    return [255, 255, 255, 255];
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const isHidden = !e.checkVisibility() || e.closest('.hidden, .skip, svg, option, datalist');
    if (isHidden || !walker.currentNode.textContent.trim()) continue;
    const style = getComputedStyle(e);
    const [one, other] = [light(rgba(style.color)), light(ground(e))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const what = e.tagName + '.' + e.className + ' ' + ratio.toFixed(2);
    if (ratio < (isLarge ? 3 : 4.5) && !seen.has(what)) {
      seen.add(what);
      faults.push('contrast ' + what + ': ' + e.textContent.trim().slice(0, 30));
    }
  }
  return faults;
})()
"""

# Texts that lie on one another. What scrolls below a fixed bar is no fault; letters reach a little beyond their line.
OVERLAPS = """
(() => {
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const e = node.parentElement;
    const text = node.textContent.trim();
    if (!text || !e.checkVisibility() || e.closest('.hidden, .skip, svg, option, datalist, textarea')) continue;
    const clips = [];
    let isFixed = false;
    for (let above = e; above; above = above.parentElement) {
      const style = getComputedStyle(above);
      if (style.position === 'fixed' || style.position === 'sticky') isFixed = true;
      if (style.overflow !== 'visible') clips.push(above.getBoundingClientRect());
    }
    if (isFixed) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const line of range.getClientRects()) {
      const box = {
        text, left: line.left + 1, right: line.right - 1,
        top: line.top + line.height / 4, bottom: line.bottom - line.height / 4,
      };
      for (const clip of clips) {
        box.left = Math.max(box.left, clip.left);
        box.right = Math.min(box.right, clip.right);
        box.top = Math.max(box.top, clip.top);
        box.bottom = Math.min(box.bottom, clip.bottom);
      }
      if (box.right > box.left && box.bottom > box.top) boxes.push(box);
    }
  }
  const faults = [];
  boxes.forEach((one, i) => boxes.slice(i + 1).forEach(other => {
    const isApart = one.right <= other.left || other.right <= one.left || one.bottom <= other.top
      || other.bottom <= one.top;
    if (!isApart) faults.push('overlap: ' + one.text.slice(0, 30) + ' / ' + other.text.slice(0, 30));
  }));
  return faults;
})()
"""
