"use strict";
/* The matrix: only the cells in view are elements, so 1,000 by 1,000 scroll; rows come from files of 50. */
const CELL = 24, ROW = 22, MARGIN = 6;

wireproof.pages.matrix = async (main, query) => {
  const index = await wireproof.load("index");
  const state = { section: Math.min(Number(query.get("s")) || 0, index.sections.length - 1), level: "", variant: "", who: "", what: "", failing: false, sort: "name" };
  const info = el("p", { class: "info", "aria-live": "polite" });
  const grid = new Grid(index, info);
  const controls = el("div", { class: "controls" });
  const redraw = () => grid.show(state);
  const build = () => {
    const section = index.sections[state.section], variants = [...new Set(section.columns.map((column) => column[2]))];
    const box = el("input", { type: "checkbox", onchange: () => { state.failing = box.checked; redraw(); } });
    controls.replaceChildren(
      choice("Protocol, profile", index.sections.map((one, number) => [number, sectionName(one)]), state.section, (value) => { state.section = Number(value); state.variant = ""; build(); redraw(); }),
      choice("Variant", [["", "all"], ...variants.map((one) => [one, one])], "", (value) => { state.variant = value; redraw(); }),
      choice("Level", [["", "all"], ["MUST", "MUST"], ["SHOULD", "SHOULD"]], "", (value) => { state.level = value; redraw(); }),
      search("implementation", (value) => { state.who = value; redraw(); }),
      search("clause or group", (value) => { state.what = value; redraw(); }),
      choice("Sort", [["name", "by name"], ["worst", "what fails most first"]], state.sort, (value) => { state.sort = value; redraw(); }),
      el("label", {}, box, "only what fails"));
  };
  build();
  main.replaceChildren(el("h1", {}, "Clauses by implementations"), controls,
    el("ul", { class: "legend" }, Object.keys(GLYPHS).map((mark) => el("li", {}, el("b", { class: mark === "." ? "no" : mark }, GLYPHS[mark]), ` ${WORDS[mark]}`)), el("li", {}, el("b", { class: "p cell often" }, "✓"), " not always")),
    info, grid.root);
  redraw();
};

class Grid {
  constructor(index, info) {
    this.index = index; this.info = info; this.active = null; this.blocks = new Map();
    this.corner = el("div", { class: "corner" });
    this.heads = el("div", { class: "heads" }, (this.headSheet = el("div", { class: "sheet", style: "height:190px" })));
    this.sides = el("div", { class: "sides" }, (this.sideSheet = el("div", { class: "sheet" })));
    this.sheet = el("div", { class: "sheet" });
    this.body = el("div", { class: "body", tabindex: 0, role: "grid", "aria-label": "clauses by implementations", onscroll: () => this.draw(), onkeydown: (event) => this.key(event) }, this.sheet);
    this.root = el("div", { class: "grid" }, this.corner, this.heads, this.sides, this.body);
    window.addEventListener("resize", () => this.draw());
  }
  /** Chooses rows and columns as the controls say, and draws from the beginning. */
  show(state) {
    const section = (this.section = this.index.sections[state.section]);
    this.number = state.section; this.blocks = new Map(); this.active = null;
    const must = (place) => { const one = section.columns[place]; return share(one[4] + one[6], one[5] + one[7]) ?? 2; };
    this.columns = [...section.columns.keys()].filter((place) => {
      const [name, version, variant] = section.columns[place];
      return (!state.variant || variant === state.variant) && `${name} ${version}`.toLowerCase().includes(state.who) && (!state.failing || must(place) < 1);
    });
    const bad = (place) => section.rows[place][3][1] + section.rows[place][3][2];
    this.rows = [...section.rows.keys()].filter((place) => {
      const [group, clause, level] = section.rows[place];
      return (!state.level || level === state.level) && `${group} ${clause}`.toLowerCase().includes(state.what) && (!state.failing || bad(place));
    });
    if (state.sort === "worst") { this.columns.sort((a, b) => must(a) - must(b)); this.rows.sort((a, b) => bad(b) - bad(a)); }
    this.corner.textContent = `${this.rows.length} clauses, ${this.columns.length} ${this.columns.length === 1 ? "column" : "columns"}`;
    for (const [sheet, across, down] of [[this.sheet, true, true], [this.headSheet, true, false], [this.sideSheet, false, true]]) {
      if (across) sheet.style.width = `${this.columns.length * CELL + 20}px`;
      if (down) sheet.style.height = `${this.rows.length * ROW + 20}px`;
    }
    this.body.setAttribute("aria-rowcount", this.rows.length); this.body.setAttribute("aria-colcount", this.columns.length);
    this.body.scrollTo(0, 0); this.info.textContent = "Point at a cell, or move with the arrow keys; Enter opens the clause.";
    this.draw();
  }
  /** The cells of a row, null while its file is on its way. */
  cells(row) {
    const block = Math.floor(row / this.index.block), here = this.number;
    if (!this.blocks.has(block)) {
      this.blocks.set(block, null);
      wireproof.load(`matrix/${here}/${block}`).then((data) => { if (here === this.number) { this.blocks.set(block, data); this.draw(); } });
    }
    const data = this.blocks.get(block);
    return data && data[row % this.index.block];
  }
  draw() {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.body;
    this.heads.scrollLeft = scrollLeft; this.sides.scrollTop = scrollTop;
    const left = Math.max(0, Math.floor(scrollLeft / CELL) - MARGIN), right = Math.min(this.columns.length, Math.ceil((scrollLeft + clientWidth) / CELL) + MARGIN);
    const top = Math.max(0, Math.floor(scrollTop / ROW) - MARGIN), bottom = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + MARGIN);
    const heads = [], sides = [], cells = [];
    for (let x = left; x < right; x++) {
      const column = this.section.columns[this.columns[x]], text = `${column[0]} ${column[1]} ${column[2]}`;
      heads.push(el("a", { class: "head", href: `implementation.html?id=${column[3]}`, title: text, style: `left:${x * CELL}px` }, el("span", { class: "name" }, column[0]), " ", el("span", {}, `${column[1]} ${column[2]}`)));
    }
    for (let y = top; y < bottom; y++) {
      const row = this.section.rows[this.rows[y]], found = this.cells(this.rows[y]);
      sides.push(el("a", { class: "side", href: this.clause(y), title: `${row[0]} ${row[1]} ${row[2]}`, style: `top:${y * ROW}px` }, `${row[1]} `, el("span", { class: "soft" }, row[2])));
      for (let x = left; x < right; x++) {
        const place = this.columns[x], mark = found ? found.marks[place] : " ";
        const often = found && found.x[place] && found.x[place].length > 2 && mark === "p";
        const name = `cell ${mark === "." ? "no" : mark}${often ? " often" : ""}${this.active && this.active[0] === x && this.active[1] === y ? " active" : ""}`;
        cells.push(el("div", { class: name, role: "gridcell", id: `c${x}-${y}`, style: `left:${x * CELL}px;top:${y * ROW}px`, onmouseenter: () => this.tell(x, y), onclick: () => { this.active = [x, y]; location.href = this.clause(y); } }, GLYPHS[mark] ?? ""));
      }
    }
    this.headSheet.replaceChildren(...heads); this.sideSheet.replaceChildren(...sides); this.sheet.replaceChildren(...cells);
  }
  clause(y) { return `clause.html?s=${this.number}&r=${this.rows[y]}`; }
  tell(x, y) {
    const place = this.columns[x], column = this.section.columns[place], row = this.section.rows[this.rows[y]], found = this.cells(this.rows[y]);
    if (!found) return;
    const mark = found.marks[place], [k, n, passes, runs] = found.x[place] || [found.n, found.n];
    const often = runs ? `; of ${runs} runs of its cases ${passes} passed (${wilson(passes, runs).map(percent).join(" to ")} with 95 % confidence)` : "";
    this.info.textContent = `${row[1]} ${row[2]}, ${column[0]} ${column[1]} ${column[2]}: ${mark === "." ? WORDS["."] : `${k} of ${n} cases, ${WORDS[mark]}`}${often}`;
  }
  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [0, -20], PageDown: [0, 20] };
    if (event.key === "Enter" && this.active) { location.href = this.clause(this.active[1]); return; }
    const move = moves[event.key];
    if (!move || !this.rows.length || !this.columns.length) return;
    event.preventDefault();
    const [x, y] = this.active ? [this.active[0] + move[0], this.active[1] + move[1]] : [0, 0];
    this.active = [Math.max(0, Math.min(this.columns.length - 1, x)), Math.max(0, Math.min(this.rows.length - 1, y))];
    const [cx, cy] = [this.active[0] * CELL, this.active[1] * ROW], { scrollLeft, scrollTop, clientWidth, clientHeight } = this.body;
    this.body.scrollTo(cx < scrollLeft ? cx : Math.max(scrollLeft, cx + CELL - clientWidth), cy < scrollTop ? cy : Math.max(scrollTop, cy + ROW - clientHeight));
    this.draw(); this.tell(...this.active);
    this.body.setAttribute("aria-activedescendant", `c${this.active[0]}-${this.active[1]}`);
  }
}
