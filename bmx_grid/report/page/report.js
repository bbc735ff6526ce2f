"use strict";
(() => {
  const UNDEFINED = -32768;
  const LEAST = 0.01; // the scale shows at least this gain, so that noise does not fill it with colour
  const grids = JSON.parse(document.getElementById("grids").textContent);
  const { p, w, settings } = grids;
  const get = (id) => document.getElementById(id);
  const [select, canvas, tip, readout] = ["setting", "map", "tip", "readout"].map(get);
  const short = (x) => String(+x.toPrecision(10)).replace("-", "−");
  const fixed = (x, n) => x.toFixed(n).replace("-", "−");
  const signed = (x, n) => (x < 0 || Object.is(x, -0) ? "" : "+") + fixed(x, n);

  // ---- data of a setting, decoded when it is first shown
  const boosted = w.map((weight, column) => [weight, column]).filter(([weight]) => weight !== 1).map(([, column]) => column);
  const gainsOf = (setting) => setting.values;
  async function decode(setting) {
    if (setting.values) return;
    const packed = Uint8Array.from(atob(setting.gains), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const size = p.length * boosted.length; // low bytes, then high bytes, of the changes from one p to the next
    const values = new Float64Array(p.length * w.length); // p slowest; w = 1 gains nothing
    boosted.forEach((column, at) => {
      let whole = 0;
      for (let row = 0; row < p.length; row++) {
        const place = at * p.length + row;
        whole = (whole + bytes[place] + 256 * bytes[size + place]) & 0xffff;
        const number = whole < 0x8000 ? whole : whole - 0x10000;
        values[row * w.length + column] = number === UNDEFINED ? NaN : number * setting.step;
      }
    });
    setting.most = values.reduce((most, gain) => (gain > most ? gain : most), 0);
    setting.values = values;
  }

  // ---- heat map
  let current = 0;
  let cursor = null; // [index of p, index of w]
  let box = null; // where the cells lie, in CSS pixels
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const triple = (name) => colour(name).split(" ").map(Number);
  const nearest = (values, wanted) => values.reduce((best, one, at) => (Math.abs(one - wanted) < Math.abs(values[best] - wanted) ? at : best), 0);

  function draw() {
    const setting = settings[current];
    const gains = gainsOf(setting);
    if (!gains) return; // not decoded yet
    const limit = Math.max(setting.most, LEAST);
    const width = canvas.clientWidth;
    if (width < 100) return; // not laid out yet; a resize follows
    const rowHeight = Math.max(8, Math.min(38, 300 / w.length));
    const height = Math.round(rowHeight * w.length + 52);
    canvas.style.height = `${height}px`;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    box = { x: 44, y: 8, width: width - 56, height: rowHeight * w.length, cell: (width - 56) / p.length, row: rowHeight };
    const ink = colour("--ink");
    pen.drawImage(cells(gains, limit), box.x, box.y, box.width, box.height);
    hatch(pen, gains, ink);
    outline(pen, gains, ink);
    pen.strokeStyle = ink;
    pen.lineWidth = 1;
    pen.strokeRect(box.x, box.y, box.width, box.height);
    axes(pen, ink);
    if (setting.fixed) mark(pen, setting.fixed, cross);
    if (setting.best) mark(pen, setting.best, ring);
    if (cursor) {
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      const size = Math.max(box.cell, 5);
      pen.strokeRect(box.x + (cursor[0] + 0.5) * box.cell - size / 2, top(cursor[1]), size, box.row);
    }
    get("low").textContent = `≤ ${signed(-limit, 4)}`;
    get("high").textContent = `${signed(limit, 4)}`;
  }

  const top = (column) => box.y + (w.length - 1 - column) * box.row; // w = 1 on top

  function cells(gains, limit) {
    const image = document.createElement("canvas");
    [image.width, image.height] = [p.length, w.length];
    const pen = image.getContext("2d");
    const pixels = pen.createImageData(p.length, w.length);
    const [up, down, middle] = ["--up", "--down", "--middle"].map(triple);
    for (let row = 0; row < p.length; row++)
      for (let column = 0; column < w.length; column++) {
        const gain = gains[row * w.length + column];
        const share = Number.isNaN(gain) ? 0 : Math.min(Math.abs(gain) / limit, 1);
        const end = gain > 0 ? up : down;
        const at = 4 * ((w.length - 1 - column) * p.length + row);
        for (let band = 0; band < 3; band++) pixels.data[at + band] = middle[band] + share * (end[band] - middle[band]);
        pixels.data[at + 3] = 255;
      }
    pen.putImageData(pixels, 0, 0);
    // Enlarged without smoothing: a cell is one number.
    const large = document.createElement("canvas");
    [large.width, large.height] = [canvas.width, canvas.height];
    const pen2 = large.getContext("2d");
    pen2.imageSmoothingEnabled = false;
    pen2.drawImage(image, 0, 0, large.width, large.height);
    return large;
  }

  function outline(pen, gains, ink) {
    const better = (row, column) => row >= 0 && column >= 0 && row < p.length && column < w.length && gains[row * w.length + column] > 0;
    pen.strokeStyle = ink;
    pen.lineWidth = 1.2;
    pen.beginPath();
    for (let row = 0; row <= p.length; row++)
      for (let column = 0; column < w.length; column++)
        if (better(row, column) !== better(row - 1, column)) {
          const x = box.x + row * box.cell;
          pen.moveTo(x, top(column));
          pen.lineTo(x, top(column) + box.row);
        }
    for (let row = 0; row < p.length; row++)
      for (let column = 0; column <= w.length; column++)
        if (better(row, column) !== better(row, column - 1)) {
          const y = top(column) + box.row;
          pen.moveTo(box.x + row * box.cell, y);
          pen.lineTo(box.x + (row + 1) * box.cell, y);
        }
    pen.stroke();
  }

  function hatch(pen, gains, ink) {
    pen.save();
    pen.beginPath();
    let some = false;
    for (let row = 0; row < p.length; row++)
      for (let column = 0; column < w.length; column++)
        if (Number.isNaN(gains[row * w.length + column])) {
          pen.rect(box.x + row * box.cell, top(column), box.cell, box.row);
          some = true;
        }
    if (some) {
      pen.clip();
      pen.strokeStyle = ink;
      pen.lineWidth = 0.6;
      pen.beginPath();
      for (let x = box.x - box.height; x < box.x + box.width; x += 6) {
        pen.moveTo(x, box.y + box.height);
        pen.lineTo(x + box.height, box.y);
      }
      pen.stroke();
    }
    pen.restore();
  }

  function axes(pen, ink) {
    pen.fillStyle = ink;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const every = Math.ceil(14 / box.row);
    w.forEach((weight, column) => column % every === 0 && pen.fillText(short(weight), box.x - 6, top(column) + box.row / 2));
    pen.textAlign = "left";
    pen.fillText("w", 2, box.y + box.height / 2);
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const range = p[p.length - 1] - p[0] || 1;
    const room = Math.max(box.width / 60, 2);
    const step = [1, 2, 5].flatMap((one) => [0.01, 0.1, 1, 10, 100, 1000].map((ten) => one * ten)).sort((a, b) => a - b).find((one) => range / one <= room) || range;
    let last = -Infinity;
    p.forEach((power, row) => {
      const x = box.x + (row + 0.5) * box.cell;
      if (Math.abs(power / step - Math.round(power / step)) < 1e-6 && x - last > 30) {
        pen.fillRect(x - 0.5, box.y + box.height, 1, 5);
        pen.fillText(short(power), x, box.y + box.height + 8);
        last = x;
      }
    });
    pen.fillText("p of the mean", box.x + box.width / 2, box.y + box.height + 26);
  }

  function mark(pen, [weight, power], shape) {
    const x = box.x + (nearest(p, power) + 0.5) * box.cell;
    const y = top(nearest(w, weight)) + box.row / 2;
    for (const [style, width] of [["#ffffff", 5], ["#000000", 2]]) {
      pen.strokeStyle = style;
      pen.lineWidth = width;
      pen.beginPath();
      shape(pen, x, y);
      pen.stroke();
    }
  }
  function cross(pen, x, y) {
    pen.moveTo(x - 5, y - 5); pen.lineTo(x + 5, y + 5); pen.moveTo(x + 5, y - 5); pen.lineTo(x - 5, y + 5);
  }
  function ring(pen, x, y) {
    pen.moveTo(x + 6, y);
    pen.arc(x, y, 6, 0, 2 * Math.PI);
  }

  function describe([row, column]) {
    const setting = settings[current];
    const gain = gainsOf(setting)[row * w.length + column];
    const value = Number.isNaN(gain) ? "r undefined" : `r = ${fixed(setting.baseline + gain, 4)}, gain ${signed(gain, 4)}`;
    return `w = ${short(w[column])}, p = ${short(p[row])}: ${value}`;
  }

  function summary() {
    const { baseline, best, alone, fixed: at } = settings[current];
    if (baseline === null) return "Metric alone undefined.";
    const point = (name, found) => found ? `; ${name} ${fixed(found[2], 4)} at w = ${short(found[0])}, p = ${short(found[1])} (gain ${signed(found[2] - baseline, 4)})` : "";
    const first = alone ? "; best: the metric alone" : point("best (in-sample)", best);
    return `Metric alone ${fixed(baseline, 4)}${first}${point("fixed", at)}.`;
  }

  function tell() {
    readout.textContent = cursor ? `${describe(cursor)}. ${summary()}` : summary();
  }

  function place(row, column) {
    if (!gainsOf(settings[current])) return;
    cursor = [Math.max(0, Math.min(p.length - 1, row)), Math.max(0, Math.min(w.length - 1, column))];
    draw();
    tell();
  }

  async function show(index) {
    current = index;
    select.value = String(index);
    cursor = null;
    tip.hidden = true;
    get("to-best").disabled = !settings[index].best;
    get("to-fixed").disabled = !settings[index].fixed;
    tell();
    try {
      await decode(settings[index]);
    } catch (error) {
      readout.textContent = `${summary()} This browser cannot unpack the heat map (${error.message}); it needs DecompressionStream, as in Chrome 80, Firefox 113, Safari 16.4 and later.`;
      return;
    }
    if (current === index) draw();
  }

  const groups = new Map();
  settings.forEach(({ names, label }, index) => {
    const key = `${names[0]}, ${names[3]}`;
    if (!groups.has(key)) {
      groups.set(key, document.createElement("optgroup"));
      groups.get(key).label = key;
    }
    groups.get(key).append(new Option(label, String(index)));
  });
  select.append(...groups.values());
  select.addEventListener("change", () => show(Number(select.value)));
  for (const [id, name] of [["to-best", "best"], ["to-fixed", "fixed"]])
    get(id).addEventListener("click", () => {
      const [weight, power] = settings[current][name];
      place(nearest(p, power), nearest(w, weight));
    });

  canvas.addEventListener("pointermove", (event) => {
    if (!box) return;
    const frame = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const row = Math.floor((x - box.x) / box.cell);
    const column = w.length - 1 - Math.floor((y - box.y) / box.row);
    tip.hidden = !(row >= 0 && row < p.length && column >= 0 && column < w.length);
    if (tip.hidden) return;
    tip.textContent = describe([row, column]);
    tip.style.left = `${Math.max(0, Math.min(x + 14, frame.width - tip.offsetWidth))}px`;
    tip.style.top = `${y + 18}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    if (!box) return;
    const frame = canvas.getBoundingClientRect();
    place(Math.floor((event.clientX - frame.left - box.x) / box.cell), w.length - 1 - Math.floor((event.clientY - frame.top - box.y) / box.row));
  });
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [10, 0], PageDown: [-10, 0] };
  canvas.addEventListener("keydown", (event) => {
    const start = cursor || [nearest(p, 1), 0];
    if (event.key in moves) place(start[0] + moves[event.key][0], start[1] + moves[event.key][1]);
    else if (event.key === "Home") place(0, start[1]);
    else if (event.key === "End") place(p.length - 1, start[1]);
    else return;
    event.preventDefault();
  });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]])
    window.addEventListener(event, () => { document.documentElement.classList.toggle("printing", printing); draw(); });

  // ---- table of settings
  const body = get("all").tBodies[0];
  const rows = [...body.rows];
  const heads = [...get("all").tHead.rows[0].cells];
  rows.forEach((row) => { row.words = [row.dataset.options, ...[...row.cells].slice(0, 4).map((cell) => cell.textContent)].join(" ").toLowerCase(); });
  const content = (row, column) => {
    const { v } = row.cells[column].dataset;
    return v === undefined ? row.cells[column].textContent : v === "" ? NaN : Number(v);
  };
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const numeric = "v" in (rows[0]?.cells[column].dataset || {});
      const before = head.getAttribute("aria-sort");
      const direction = before ? (before === "ascending" ? -1 : 1) : numeric ? -1 : 1; // numbers: largest first
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      const keyed = rows.map((row) => [content(row, column), row]);
      keyed.sort(([a], [b]) => {
        if (!numeric) return direction * a.localeCompare(b);
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // undefined last, both ways
        return direction * (a - b);
      });
      body.append(...keyed.map(([, row]) => row));
    });
  });
  get("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row) => { row.hidden = !wanted.every((word) => row.words.includes(word)); });
    const shown = rows.filter((row) => !row.hidden).length;
    get("shown").textContent = shown === rows.length ? `${shown} settings` : `${shown} of ${rows.length} settings`;
  });
  body.addEventListener("click", (event) => {
    const index = event.target.dataset && event.target.dataset.setting;
    if (index === undefined) return;
    show(Number(index));
    get("heat-map").scrollIntoView();
    canvas.focus({ preventScroll: true });
  });

  show(grids.first);
})();
