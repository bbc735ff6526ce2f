"use strict";
(() => {
  const { p, w, columns, settings = [] } = JSON.parse(document.getElementById("grids").textContent);
  document.querySelectorAll("table").forEach(prepare);

  // ---- a folded part opens when a link leads to it, and on paper
  const follow = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) if ("open" in part) part.open = true;
  };
  window.addEventListener("hashchange", follow);
  follow();

  // ---- tables: sorted by a column, filtered by words
  function prepare(table) {
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    heads.forEach((head, column) => {
      if (head.className === "plain") return;
      const numeric = head.className === "n";
      const key = ({ cells }) => {
        const { textContent, dataset } = cells[column];
        return numeric ? parseFloat((dataset.value ?? textContent).replace("−", "-").replaceAll(",", "")) : textContent;
      };
      const sort = () => {
        const before = head.getAttribute("aria-sort");
        const direction = before === "none" ? (numeric ? -1 : 1) : before === "ascending" ? -1 : 1; // numbers: largest first
        heads.forEach((other) => other.ariaSort && other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        const keyed = rows.map((row) => [key(row), row]);
        keyed.sort(([a], [b]) => {
          if (!numeric) return direction * a.localeCompare(b);
          return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : direction * (a - b); // undefined last
        });
        table.tBodies[0].append(...keyed.map(([, row]) => row));
      };
      head.setAttribute("aria-sort", "none");
      head.tabIndex = 0;
      head.title = "Sort by this column";
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
    });
    if (rows.length < (table.id === "verdicts" ? 2 : 8)) return;
    const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: "filter, e.g. lime de-en", ariaLabel: "Filter the rows by words" });
    const count = Object.assign(document.createElement("span"), { role: "status" });
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase().split(/\s+/);
      rows.forEach((row) => { row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word)); });
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    });
    const controls = Object.assign(document.createElement("div"), { className: "controls" });
    controls.append(filter, count);
    table.parentElement.before(controls);
  }

  // ---- heat maps tell the gain at the cursor; the gains of a setting are unpacked when it is first pointed at
  const [UNITS, UNDEFINED] = [10000, -32768];
  const fixed = (x) => x.toFixed(4).replace("-", "−");
  async function unpack(gains) {
    const packed = Uint8Array.from(atob(gains), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new DataView(await new Response(stream).arrayBuffer());
  }

  document.querySelectorAll(".map[data-setting]").forEach((figure) => {
    const [baseline, packed] = settings[Number(figure.dataset.setting)];
    const [told, plane, image] = [".told", "svg", "image"].map((name) => figure.querySelector(name));
    const words = told.textContent;
    const cursor = document.createElementNS(plane.namespaceURI, "rect");
    cursor.setAttribute("class", "cursor");
    let at = [Math.floor(columns.length / 2), 0]; // column of pixels, row from the bottom
    let values = null;

    async function tell(column, row) {
      at = [Math.max(0, Math.min(columns.length - 1, column)), Math.max(0, Math.min(w.length - 1, row))];
      const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => image[name].baseVal.value);
      const cell = { x: x + (at[0] / columns.length) * width, y: y + (1 - (at[1] + 1) / w.length) * height, width: width / columns.length, height: height / w.length };
      for (const [name, value] of Object.entries(cell)) cursor.setAttribute(name, value);
      plane.append(cursor);
      values ??= unpack(packed);
      try {
        const power = columns[at[0]];
        const units = (await values).getInt16(2 * (at[1] * p.length + power), true);
        const r = units === UNDEFINED ? "undefined" : `${fixed(baseline + units / UNITS)} (${units < 0 ? "" : "+"}${fixed(units / UNITS)})`;
        told.textContent = `w ${w[at[1]]}, p ${p[power]}: ${r}`;
      } catch (error) {
        told.textContent = `This browser cannot unpack the gains (${error.message}).`;
      }
    }

    const leave = () => { cursor.remove(); told.textContent = words; };
    told.setAttribute("aria-live", "polite");
    plane.setAttribute("tabindex", "0");
    image.addEventListener("pointermove", (event) => {
      const { left, bottom, width, height } = image.getBoundingClientRect();
      tell(Math.floor(((event.clientX - left) / width) * columns.length), Math.floor(((bottom - event.clientY) / height) * w.length));
    });
    plane.addEventListener("pointerleave", leave);
    plane.addEventListener("blur", leave);
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [10, 0], PageDown: [-10, 0], Home: [-Infinity, 0], End: [Infinity, 0] };
    plane.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      tell(at[0] + moves[event.key][0], at[1] + moves[event.key][1]);
      event.preventDefault();
    });
  });
})();
