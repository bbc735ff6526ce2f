"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  const { p: powers = [], w, settings, first } = JSON.parse(get("grids").textContent);
  const p = powers.map(Number); // infinite ones are texts

  // ---- folded parts are made when they are opened
  document.addEventListener("toggle", ({ target }) => {
    const template = target.querySelector(":scope > template");
    if (!target.open || !template) return;
    template.replaceWith(template.content);
    target.querySelectorAll("table").forEach(prepare);
    if (target.id === "settings") heatMap();
  }, true);
  const follow = () => {
    const target = location.hash && get(decodeURIComponent(location.hash.slice(1)));
    if (target && "open" in target) target.open = true;
  };
  window.addEventListener("hashchange", follow);
  document.querySelectorAll("table").forEach(prepare);
  follow();

  // ---- tables: numbers to the right, sorted by a column, filtered by words
  function prepare(table) {
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    table.classList.toggle("cards", heads.length > 4);
    for (const row of rows) {
      row.words = row.textContent.toLowerCase();
      heads.forEach(({ className, textContent }, column) => Object.assign(row.cells[column], { className }).dataset.label = textContent);
    }
    heads.forEach((head, column) => {
      const sort = () => {
        const numeric = head.className === "n";
        const before = head.getAttribute("aria-sort");
        const direction = before ? (before === "ascending" ? -1 : 1) : numeric ? -1 : 1; // numbers: largest first
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        const key = ({ cells }) => {
          const text = cells[column].textContent;
          return numeric ? parseFloat(text.replace("−", "-").replaceAll(",", "")) : text;
        };
        const keyed = rows.map((row) => [key(row), row]);
        keyed.sort(([a], [b]) => {
          if (!numeric) return direction * a.localeCompare(b);
          return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : direction * (a - b); // undefined last
        });
        table.tBodies[0].append(...keyed.map(([, row]) => row));
      };
      head.tabIndex = 0;
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
    });
    if (rows.length < 8) return;
    const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: "filter, e.g. lime de-en" });
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase().split(/\s+/);
      rows.forEach((row) => { row.hidden = !wanted.every((word) => row.words.includes(word)); });
      count.textContent = ` ${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    });
    const count = Object.assign(document.createElement("span"), { role: "status" });
    const controls = Object.assign(document.createElement("div"), { className: "controls" });
    controls.append(filter, count);
    table.parentElement.before(controls);
  }

  // ---- heat map of a setting, decoded when it is first shown
  function heatMap() {
    const UNDEFINED = -32768;
    const LEAST = 0.01; // full colour stands for at least this gain, so that noise does not fill the map
    const [select, plane, readout] = ["setting", "plane", "readout"].map(get);
    const pen = plane.querySelector("canvas").getContext("2d");
    const short = (x) => String(+x.toPrecision(10)).replace("-", "−").replace("Infinity", "∞");
    const fixed = (x, n) => x.toFixed(n).replace("-", "−");
    const signed = (x, n) => (x < 0 ? "" : "+") + fixed(x, n);
    const apart = (a, b) => (a === b ? 0 : Math.abs(a - b)); // also of infinite powers
    const nearest = (values, wanted) => values.reduce((best, value, at) => (apart(value, wanted) < apart(values[best], wanted) ? at : best), 0);
    const boosted = w.map((weight, column) => column).filter((column) => w[column] !== 1);
    const put = (mark, [row, column]) => Object.assign(mark.style, { left: `${((row + 0.5) / p.length) * 100}%`, bottom: `${((column + 0.5) / w.length) * 100}%` });
    const cellOf = ([weight, power]) => [nearest(p, Number(power)), nearest(w, weight)];
    let current = first;
    let cursor = null; // [index of p, index of w]

    async function decode(setting) {
      const packed = Uint8Array.from(atob(setting.gains), (letter) => letter.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
      const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
      const size = p.length * boosted.length; // low bytes, then high bytes, of the changes from one p to the next
      setting.values = w.map(() => new Float64Array(p.length)); // w = 1 gains nothing
      boosted.forEach((column, at) => {
        let whole = 0;
        for (let row = 0; row < p.length; row++) {
          const place = at * p.length + row;
          whole = (whole + bytes[place] + 256 * bytes[size + place]) & 0xffff;
          const number = whole < 0x8000 ? whole : whole - 0x10000;
          setting.values[column][row] = number === UNDEFINED ? NaN : number * setting.step;
        }
      });
    }

    function draw({ values }) {
      const limit = Math.max(LEAST, ...values.map((gains) => gains.reduce((most, gain) => (gain > most ? gain : most), 0)));
      get("limit").textContent = signed(limit, 4);
      Object.assign(pen.canvas, { width: p.length, height: w.length }); // a pixel per point, enlarged by the browser
      const pixels = pen.createImageData(p.length, w.length);
      const colours = ["--up", "--down"].map((name) => getComputedStyle(plane).getPropertyValue(name).trim().split(" "));
      values.forEach((gains, column) => gains.forEach((gain, row) => {
        const colour = Number.isNaN(gain) ? [128, 128, 128] : colours[gain > 0 ? 0 : 1];
        const share = Number.isNaN(gain) ? 1 : Math.min(Math.abs(gain) / limit, 1);
        pixels.data.set([...colour, 255 * share], 4 * ((w.length - 1 - column) * p.length + row));
      }));
      pen.putImageData(pixels, 0, 0);
    }

    function tell([row, column] = cursor || []) {
      const { baseline, best, alone, fixed: declared, values } = settings[current];
      const point = (name, at) => (at ? `; ${name} ${fixed(at[2], 4)} at w = ${short(at[0])}, p = ${short(Number(at[1]))} (${signed(at[2] - baseline, 4)})` : "");
      const gain = values && row !== undefined ? values[column][row] : NaN;
      const r = Number.isNaN(gain) ? "undefined" : `${fixed(baseline + gain, 4)} (${signed(gain, 4)})`;
      const here = row === undefined ? "" : `w = ${short(w[column])}, p = ${short(p[row])}: ${r}. `;
      const summary = baseline === null ? "Metric alone undefined" : `Metric alone ${fixed(baseline, 4)}${alone ? "; best: the metric alone" : point("best (in-sample)", best)}${point("fixed", declared)}`;
      readout.textContent = `${here}${summary}.`;
    }

    function place(row, column) {
      cursor = [Math.max(0, Math.min(p.length - 1, row)), Math.max(0, Math.min(w.length - 1, column))];
      get("cursor").hidden = false;
      put(get("cursor"), cursor);
      tell();
    }

    async function show(index) {
      const setting = settings[index];
      [current, cursor, select.value] = [index, null, String(index)];
      get("cursor").hidden = true;
      for (const name of ["best", "fixed"]) {
        get(name).hidden = get(`to-${name}`).disabled = !setting[name];
        if (setting[name]) put(get(name), cellOf(setting[name]));
      }
      tell();
      try {
        if (!setting.values) await decode(setting);
      } catch (error) {
        readout.textContent += ` This browser cannot unpack the heat map (${error.message}); it needs DecompressionStream, as in Chrome 80, Firefox 113, Safari 16.4 and later.`;
        return;
      }
      if (current === index) draw(setting);
    }

    const label = (text, where) => Object.assign(document.createElement("span"), { textContent: text, style: where });
    w.forEach((weight, column) => column % Math.ceil(w.length / 12) === 0 && get("w-axis").append(label(short(weight), `bottom: ${((column + 0.5) / w.length) * 100}%`)));
    for (let tick = 0; tick <= 6; tick++) {
      const wanted = Math.round(p[0] + (tick / 6) * (p[p.length - 1] - p[0]));
      const row = Number.isFinite(wanted) ? nearest(p, wanted) : Math.round((tick / 6) * (p.length - 1));
      get("p-axis").append(label(short(p[row]), `left: ${((row + 0.5) / p.length) * 100}%; transform: translateX(${(-100 * tick) / 6}%)`));
    }
    select.append(...settings.map((setting, index) => new Option(setting.label, String(index))));
    select.addEventListener("change", () => show(Number(select.value)));
    for (const name of ["best", "fixed"]) get(`to-${name}`).addEventListener("click", () => place(...cellOf(settings[current][name])));
    const under = (event) => {
      const { left, bottom, width, height } = plane.getBoundingClientRect();
      return [Math.floor(((event.clientX - left) / width) * p.length), Math.floor(((bottom - event.clientY) / height) * w.length)];
    };
    plane.addEventListener("pointermove", (event) => {
      const [row, column] = under(event);
      if (p[row] !== undefined && w[column] !== undefined) tell([row, column]);
    });
    plane.addEventListener("pointerleave", () => tell());
    plane.addEventListener("click", (event) => place(...under(event)));
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [10, 0], PageDown: [-10, 0], Home: [-Infinity, 0], End: [Infinity, 0] };
    plane.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      const [row, column] = cursor || cellOf([w[0], 1]);
      place(row + moves[event.key][0], column + moves[event.key][1]);
      event.preventDefault();
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(current));
    const table = get("table-settings");
    [...table.tBodies[0].rows].forEach((row, index) => {
      row.words += ` ${settings[index].names.join(" ").toLowerCase()}`;
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "map", ariaLabel: `Show ${settings[index].label} in the heat map` });
      button.addEventListener("click", () => { show(index); plane.scrollIntoView({ block: "center" }); plane.focus({ preventScroll: true }); });
      row.cells[0].append(" ", button);
    });
    show(current);
  }
})();
