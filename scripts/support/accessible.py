"""What a page must have for users without sight or a mouse."""

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
