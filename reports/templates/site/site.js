"use strict";
/* Every page: loads data by <script>, since a page that was opened from a folder may load no JSON, and shows it.
   Text of records is untrusted: it is only ever set as text. */
const wireproof = { waiting: {}, pages: {} };
wireproof.take = (name, data) => wireproof.waiting[name].resolve(data);
wireproof.load = (name) => {
  if (!wireproof.waiting[name]) {
    const one = (wireproof.waiting[name] = {});
    one.promise = new Promise((resolve, reject) => {
      one.resolve = resolve;
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onerror = () => reject(new Error(`data/${name}.js is missing`));
      document.head.append(script);
    });
  }
  return wireproof.waiting[name].promise;
};

const GLYPHS = { p: "✓", f: "✗", l: "~", q: "?", u: "–", n: "○", ".": "·" };
const WORDS = { p: "passes", f: "fails", l: "lenient: misses a SHOULD", q: "something could not be tested", u: "not supported", n: "not asked for by the requirement set", ".": "not played" };

/** Makes an element: attributes, then children (text or elements). */
function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}
function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
/** What a score speaks of: cases that were judged, and those that could not be tested. */
function scores(passed, judged, untested) { return `${passed} of ${judged} judged${untested ? `, ${untested} could not be tested` : ""}`; }
function share(passed, scored) { return scored ? passed / scored : null; }
function percent(value) { return value === null ? "–" : value === 1 ? "100 %" : `${Math.min(99.9, value * 100).toFixed(1)} %`; }
/** The ends of the Wilson interval of 95 %. */
function wilson(k, n) {
  const z = 1.959964, centre = k + z * z / 2, spread = z * Math.sqrt(k * (n - k) / n + z * z / 4), below = n + z * z;
  return [Math.max(0, (centre - spread) / below), Math.min(1, (centre + spread) / below)];
}
function step(value) { return value === null ? "none" : value === 1 ? "s4" : value >= 0.97 ? "s3" : value >= 0.9 ? "s2" : value >= 0.7 ? "s1" : "s0"; }
function table(heads, rows) {
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) => el("td", { "data-head": heads[place] }, cell instanceof Node ? cell : String(cell ?? ""))))))));
}
function choice(label, options, chosen, then) {
  const select = el("select", { onchange: () => then(select.value) }, options.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, text)));
  return el("label", {}, label, select);
}
function search(label, then) {
  const input = el("input", { type: "search", "aria-label": label, placeholder: label, oninput: () => then(input.value.toLowerCase()) });
  return input;
}
function sectionName(section) { return `${section.protocol} ${section.profile} ${section.role}s`; }
function implementationLink(slug, text) { return el("a", { href: `implementation.html?id=${slug}` }, text); }

wireproof.pages.index = async (main) => {
  const index = await wireproof.load("index");
  const info = el("p", { class: "info", "aria-live": "polite" }, "Point at a tile, or move to it with the keyboard.");
  const state = { sort: "name", filter: "" };
  const body = el("div");
  const total = index.sections.reduce((sum, section) => sum + section.columns.length, 0);
  const draw = () => {
    body.replaceChildren(...index.sections.map((section) => tiles(section, total, state, info)));
  };
  main.replaceChildren(
    el("h1", {}, "Everybody, in one view"),
    el("p", { class: "soft" }, "One tile is the newest version of an implementation in one variant. Its colour is the share of MUST cases that it passes."),
    el("ul", { class: "legend" }, [["s4", "100", "all pass"], ["s3", "97", "97 % or more"], ["s2", "90", "90 % or more"], ["s1", "70", "70 % or more"], ["s0", "0", "less"], ["none", "–", "nothing scored"]]
      .map(([name, sign, text]) => el("li", {}, el("b", { class: name }, sign), ` ${text}`))),
    el("div", { class: "controls" },
      choice("Sort", [["name", "by name"], ["worst", "worst first"], ["recent", "last tested first"]], state.sort, (value) => { state.sort = value; draw(); }),
      search("implementation", (value) => { state.filter = value; draw(); })),
    info, body);
  draw();
};
function tiles(section, total, state, info) {
  const width = Math.max(window.innerWidth - 32, 200), height = Math.max(window.innerHeight - 250, 240);
  const size = Math.max(8, Math.min(44, Math.floor(Math.sqrt((width * height) / Math.max(total, 1)) - 3)));
  const columns = section.columns.filter((column) => column[0].toLowerCase().includes(state.filter));
  const must = (column) => share(column[4], column[5]);
  if (state.sort === "worst") columns.sort((a, b) => (must(a) ?? 2) - (must(b) ?? 2));
  if (state.sort === "recent") columns.sort((a, b) => (a[8] < b[8] ? 1 : -1));
  return el("section", {},
    el("h2", {}, sectionName(section), el("span", { class: "soft" }, ` ${columns.length} ${columns.length === 1 ? "column" : "columns"}, ${columns.filter((column) => must(column) === 1).length} pass every MUST`)),
    el("div", { class: "tiles" }, columns.map((column) => {
      const text = `${column[0]} ${column[1]} ${column[2]}: MUST ${scores(column[4], column[5], column[11])} (${percent(must(column))}), SHOULD ${scores(column[6], column[7], column[12])}, last run ${column[8]}${column[10] ? `, partial: ${column[10]}` : ""}`;
      const say = () => { info.textContent = text; };
      return el("a", { class: `tile ${step(must(column))}`, href: `implementation.html?id=${column[3]}`, "aria-label": text, title: text, style: `width:${size}px;height:${size}px;line-height:${size}px`, onmouseenter: say, onfocus: say },
        size >= 26 && must(column) !== null && must(column) < 1 ? String(Math.floor(must(column) * 100)) : "");
    })));
}

wireproof.pages.changes = async (main) => {
  const found = await wireproof.load("changes");
  const state = { kind: "", sure: "sure", filter: "" };
  const body = el("div");
  const draw = () => {
    const rows = found.rows.filter((row) => (!state.kind || row.kind === state.kind) && (state.sure !== "sure" || row.sure) && `${row.implementation} ${row.case}`.toLowerCase().includes(state.filter));
    body.replaceChildren(rows.length ? table(["day", "what", "implementation", "versions", "profile, variant", "case"], rows.map((row) => [
      row.day, el("span", { class: `verdict ${row.kind === "fix" ? "p" : "f"}` }, row.kind === "fix" ? "✓ fix" : "✗ regression"), implementationLink(row.page, row.implementation),
      row.from_version === row.to_version ? row.to_version : `${row.from_version} → ${row.to_version}`, `${row.profile} ${row.variant}`, el("span", { class: "mono" }, row.case)]))
      : el("p", {}, state.sure === "sure" && found.rows.length ? "Nothing that is sure." : "Nothing."));
  };
  main.replaceChildren(
    el("h1", {}, "What changed since ", el("span", { class: "day" }, found.since)),
    el("p", { class: "soft" }, "A change is sure where every run of both versions says the same, of neighbouring versions and all variants together so many do that it is not chance, and the case does not go to and fro.", found.rows.length >= found.most ? ` Only the first ${found.most} are listed.` : ""),
    el("div", { class: "controls" },
      choice("What", [["", "both"], ["regression", "regressions"], ["fix", "fixes"]], "", (value) => { state.kind = value; draw(); }),
      choice("Which", [["sure", "sure ones"], ["all", "all"]], "sure", (value) => { state.sure = value; draw(); }),
      search("implementation, case", (value) => { state.filter = value; draw(); })),
    body);
  draw();
};

wireproof.pages.pairs = async (main) => {
  const tables = await wireproof.load("pairs");
  const name = (one) => [one.implementation.replace(/, interop$/, ""), el("br"), el("span", { class: "soft" }, one.version)];
  const cell = (one) => {
    if (!one) return el("td", { class: "soft" }, "·");
    const judged = one.agree + one.client_broke + one.server_broke, bad = one.client_broke + one.server_broke;
    const mark = bad ? "f" : judged ? "p" : "q";
    const words = [[one.client_broke, "client broke"], [one.server_broke, "server broke"], [one.not_judged, "not judged:"]].filter(([count]) => count).map(([count, what]) => el("small", {}, el("br"), `${what} ${count}`));
    return el("td", {}, el("span", { class: `verdict ${mark}` }, `${GLYPHS[mark]} ${one.agree}/${judged}`), words);
  };
  main.replaceChildren(
    el("h1", {}, "Clients with servers"),
    el("p", { class: "soft" }, "Of the operations that wireproof interop played, on how many a client (row) and a server (column) agree, and who broke the protocol first."),
    ...tables.map((one) => el("section", {},
      el("h2", {}, `${one.protocol} ${one.profile} ${one.variant}`),
      el("div", { class: "scroll" }, el("table", { class: "pairs" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "client \\ server"), one.servers.map((server) => el("th", { scope: "col" }, name(server))))),
        el("tbody", {}, one.clients.map((client, row) => el("tr", {}, el("th", { scope: "row" }, name(client)), one.cells[row].map(cell)))))))),
    tables.length ? "" : el("p", {}, "No run of wireproof interop is in this lake."));
};

wireproof.pages.findings = async (main) => {
  const found = await wireproof.load("findings"), body = el("div"), state = { filter: "" };
  const draw = () => {
    const rows = found.rows.filter((row) => `${row.protocol} ${row.oracle} ${row.clause ?? ""} ${row.implementation}`.toLowerCase().includes(state.filter));
    body.replaceChildren(rows.length ? table(["protocol", "oracle", "clause", "implementation", "different", "findings", "first", "last"], rows.map((row) => [
      row.protocol, row.oracle, el("span", { class: "mono" }, row.clause ?? "none known"), row.implementation, row.shapes, row.findings, (row.first ?? "").slice(0, 10), (row.last ?? "").slice(0, 10)])) : el("p", {}, "Nothing."));
  };
  main.replaceChildren(
    el("h1", {}, "Findings of fuzzing"),
    el("p", { class: "soft" }, "By what noticed them (the oracle) and the clause they break. Different: findings of one shape are the same fault.", found.rows.length >= found.most ? ` Only the first ${found.most} rows are listed.` : ""),
    el("div", { class: "controls" }, search("oracle, clause or implementation", (value) => { state.filter = value; draw(); })), body);
  draw();
};

wireproof.pages.clause = async (main, query) => {
  const [index, sentences] = await Promise.all([wireproof.load("index"), wireproof.load("sentences")]);
  const section = index.sections[Number(query.get("s"))], at = Number(query.get("r"));
  const row = section && section.rows[at];
  if (!row) throw new Error("there is no such clause");
  const block = await wireproof.load(`matrix/${query.get("s")}/${Math.floor(at / index.block)}`);
  const cells = block[at % index.block];
  const lists = ["f", "l", "q", "p", "u", "n", "."].map((mark) => [mark, section.columns.filter((_, place) => cells.marks[place] === mark)]).filter(([, columns]) => columns.length);
  main.replaceChildren(
    el("h1", { class: "mono" }, row[1]),
    el("p", {}, `${sectionName(section)}, ${row[0]}, ${row[2]}`),
    sentences[row[1]] ? el("blockquote", {}, sentences[row[1]]) : el("p", { class: "soft" }, "Its sentence is in the list of clauses of the protocol."),
    el("p", {}, row[3][0] && row[3][1] + row[3][2] ? "Implementations differ here." : ""),
    ...lists.map(([mark, columns]) => el("details", { open: mark !== "p" && columns.length <= 200 },
      el("summary", {}, el("span", { class: `verdict ${mark === "." ? "no" : mark}` }, GLYPHS[mark]), ` ${WORDS[mark]}: ${columns.length}`),
      el("div", { class: "columns" }, columns.map((column) => implementationLink(column[3], `${column[0]} ${column[1]} ${column[2]}`))))));
};

wireproof.pages.implementation = async (main, query) => {
  const id = query.get("id") || "";
  if (!/^[0-9a-f]{12}$/.test(id)) throw new Error("there is no such implementation");
  const found = await wireproof.load(`implementation/${id}`);
  const versions = found.trends.versions, failing = found.failing ? found.failing.failing : [];
  const causes = found.causes ? found.causes.causes : [], changes = found.changes ? found.changes.changes : [], flaky = found.flaky ? found.flaky.flaky : [];
  const last = versions[versions.length - 1];
  document.title = `wireproof: ${found.implementation}`;
  main.replaceChildren(
    el("h1", {}, found.implementation, el("span", { class: "soft" }, ` ${found.protocol} ${found.role}`)),
    badge(last),
    el("h2", {}, "Share of MUST cases that pass, by version"), trend(versions),
    el("details", {}, el("summary", {}, `${versions.length} ${versions.length === 1 ? "column" : "columns"} (version, profile, variant)`),
      table(["version", "profile", "variant", "MUST", "SHOULD", "runs", "first run", "last run", ""], versions.map((one) => [one.implementation_version, one.profile, one.variant, scores(one.must_passed, one.must_scored, one.must_untested), scores(one.should_passed, one.should_scored, one.should_untested), one.column_runs, one.first_run, one.last_run, one.partial]))),
    el("h2", {}, `What it is blamed for: ${found.causes ? found.causes.number : 0}`),
    ...(causes.length ? causes.map(cause) : [el("p", {}, "Nothing in its newest versions.")]),
    el("h2", {}, "Two versions compared"), compare(versions, failing),
    el("h2", {}, `Regressions and fixes: ${found.changes ? found.changes.number : 0}`),
    changes.length ? table(["since", "what", "versions", "profile, variant", "case", ""], changes.map((row) => [row.since, el("span", { class: `verdict ${row.kind === "fix" ? "p" : "f"}` }, row.kind), `${row.from_version} → ${row.to_version}`, `${row.profile} ${row.variant}`, el("span", { class: "mono" }, row.case), row.sure ? "" : "not sure: few runs, or they differ"])) : el("p", {}, "None between its versions."),
    el("h2", {}, `Cases that go to and fro: ${flaky.length}`),
    flaky.length ? table(["case", "profile", "passed", "95 % interval", "flips"], flaky.map((row) => [el("span", { class: "mono" }, row.case), row.profile, `${row.passes} of ${row.runs} runs`, `${percent(row.low)} to ${percent(row.high)}`, row.flips])) : el("p", {}, "None that its runs show."));
};
function cause(one) {
  const wire = (one.exchange || []).map((line) => `${line.direction} ${line.hex ?? ""} ${line.text ?? ""}`).join("\n");
  const more = one.cases.filter((name) => name !== one.case);
  return el("details", {}, el("summary", {}, el("span", { class: `verdict ${one.verdict === "lenient" ? "l" : "f"}` }, one.verdict), " ", el("span", { class: "mono" }, one.charged), ` ${one.level} · ${one.title ?? one.case} `, el("span", { class: "soft mono" }, one.case), more.length ? el("span", { class: "soft" }, ` and ${more.length} more`) : null),
    el("p", {}, `In ${one.columns.join(", ")}. Segmentations: ${one.deliveries.join(", ")}.`), one.expected ? el("pre", {}, `expected ${one.expected}`) : null, one.got ? el("pre", {}, `got      ${one.got}`) : null, wire ? el("pre", {}, wire) : null,
    more.length ? el("details", {}, el("summary", {}, `${more.length} more ${more.length === 1 ? "case is" : "cases are"} blamed on it`), el("p", { class: "mono" }, more.join(", "))) : null);
}
/** A badge is blue only where every case was judged and passes. */
function badge(last) {
  const value = share(last.must_passed, last.must_scored), lost = last.must_untested;
  const text = `MUST ${last.must_passed} of ${last.must_scored}${lost ? `, ${lost} not testable` : ""}`, left = 74, right = 20 + 6.6 * text.length;
  return svg("svg", { width: left + right, height: 20, role: "img", "aria-label": `wireproof ${text}` },
    svg("rect", { width: left, height: 20, fill: "#444" }), svg("rect", { x: left, width: right, height: 20, fill: value === 1 && !lost ? "#2f78b7" : value !== null && value >= 0.9 ? "#8a5a00" : "#b33f0c" }),
    Object.assign(svg("text", { x: 8, y: 14, style: "fill:#fff" }), { textContent: "wireproof" }), Object.assign(svg("text", { x: left + 8, y: 14, style: "fill:#fff" }), { textContent: text }));
}
const DASHES = ["", "6 3", "2 3", "8 3 2 3"], INKS = ["var(--s4)", "var(--s0)", "var(--ink)", "#9a6fb0"];
function trend(versions) {
  const names = [...new Set(versions.map((one) => one.implementation_version))], lines = [...new Set(versions.map((one) => `${one.profile} ${one.variant}`))];
  const width = Math.min(900, Math.max(window.innerWidth - 48, 280)), height = 190, left = 44, right = 30, bottom = 36;
  const values = versions.map((one) => share(one.must_passed, one.must_scored)).filter((value) => value !== null);
  const low = Math.min(0.9, ...values), x = (name) => left + 10 + names.indexOf(name) * (width - left - 10 - right) / Math.max(names.length - 1, 1), y = (value) => 10 + (1 - value) / Math.max(1 - low, 1e-9) * (height - bottom - 10);
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "trend", role: "img", "aria-label": "Share of MUST cases that pass, by version" });
  const put = (at, up, text, anchor = "end", ink = "var(--ink)") => picture.append(Object.assign(svg("text", { x: at, y: up, "text-anchor": anchor, style: `fill:${ink}` }), { textContent: text }));
  for (const value of [1, (1 + low) / 2, low]) { picture.append(svg("line", { class: "axis", x1: left, x2: width, y1: y(value), y2: y(value) })); put(left - 4, y(value) + 4, percent(value)); }
  const every = Math.ceil(names.length * 52 / width);
  names.forEach((name, number) => { if (number % every === 0) put(x(name), height - bottom + 16, name.slice(0, 10), "middle"); });
  lines.forEach((line, number) => {
    const points = versions.filter((one) => `${one.profile} ${one.variant}` === line && one.must_scored).map((one) => [x(one.implementation_version), y(share(one.must_passed, one.must_scored)), one]);
    picture.append(svg("polyline", { class: "line", points: points.map(([a, b]) => `${a},${b}`).join(" "), style: `stroke:${INKS[number % 4]}`, "stroke-dasharray": DASHES[number % 4] }));
    for (const [a, b, one] of points) picture.append(svg("circle", { cx: a, cy: b, r: 3.5, style: `fill:${INKS[number % 4]}` }, Object.assign(svg("title"), { textContent: `${one.implementation_version} ${line}: ${one.must_passed} of ${one.must_scored}` })));
    if (number < 8) put(left + 12 + number * 100, height - 4, `${["—", "- -", "···", "-·-"][number % 4]} ${line}`, "start", INKS[number % 4]);
  });
  return el("div", { class: "scroll" }, picture);
}
function compare(versions, failing) {
  if (versions.length < 2) return el("p", {}, "It has one column.");
  const name = (one) => `${one.implementation_version} ${one.profile} ${one.variant}`;
  const cases = new Map(failing.map((one) => [name(one), new Set(one.cases)])), names = versions.map(name);
  const last = versions.length - 1, same = (one) => one.profile === versions[last].profile && one.variant === versions[last].variant;
  const before = Math.max(versions.findLastIndex((one, place) => place < last && same(one)), 0);
  const state = { a: names[before], b: names[last] }, body = el("div");
  const draw = () => {
    const a = cases.get(state.a) || new Set(), b = cases.get(state.b) || new Set();
    const lists = [[`fail only in ${state.a}`, [...a].filter((one) => !b.has(one))], [`fail only in ${state.b}`, [...b].filter((one) => !a.has(one))], ["fail in both", [...a].filter((one) => b.has(one))]];
    body.replaceChildren(...lists.map(([text, list]) => el("details", {}, el("summary", {}, `${text}: ${list.length} ${list.length === 1 ? "case" : "cases"}`), el("p", { class: "mono" }, list.join(", ")))));
  };
  draw();
  const options = names.map((one) => [one, one]);
  return el("div", {}, el("div", { class: "controls" }, choice("first", options, state.a, (value) => { state.a = value; draw(); }), choice("second", options, state.b, (value) => { state.b = value; draw(); })), body);
}

document.addEventListener("DOMContentLoaded", async () => {
  const main = document.getElementById("main"), page = document.documentElement.dataset.page;
  try {
    await wireproof.pages[page](main, new URLSearchParams(location.search));
    const index = await wireproof.load("index");
    document.getElementById("as-of").textContent = `as of ${index.as_of}`;
  } catch (error) {
    main.replaceChildren(el("p", {}, `This page cannot be shown: ${error.message}.`));
  }
});
