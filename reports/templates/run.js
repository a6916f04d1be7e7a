"use strict";
(() => {
  const { run, causes, records, clauses, files, bundles } = wireproof.data;
  const GREEN = ["pass", "unsupported"];
  const main = document.getElementById("main");
  const ORDER = ["crash", "hang", "fail", "lenient", "harness_error", "untestable", "pass", "unsupported"];
  const rank = (one) => (GREEN.includes(one.verdict) ? ORDER.length : ORDER.indexOf(one.verdict));
  records.sort((one, other) => rank(one) - rank(other));
  const byId = new Map(records.map((one) => [one.record_id, one]));
  const loaded = new Map();
  const loading = new Map();

  /** An element; text is never read as markup, since much of it comes from the target. */
  function el(name, attributes, ...children) {
    const found = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== null && value !== false) found.setAttribute(key, value === true ? "" : value);
    }
    found.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== ""));
    return found;
  }

  const verdict = (name) => el("span", { class: `verdict ${name}` }, name.replace("_", " "));
  const link = (record) => el("a", { href: `#${record.record_id}` }, named(record));
  const named = (record) => (record.delivery === "whole" ? record.case : `${record.case} [${record.delivery}]`);
  const clauseOf = (record) => record.blamed || record.clauses[0];

  function clause(id) {
    const found = clauses[id];
    return el("blockquote", {}, el("b", { class: "mono" }, id), found ? ` ${found.text}` : "", found && found.section ? el("span", { class: "soft" }, ` (${found.section})`) : "");
  }

  function header() {
    const facts = {
      protocol: `${run.protocol} ${run.profile} ${run.variant}`, tested: run.role === "client" ? "an SDK" : run.target,
      began: run.started_at.replace("T", " ").replace(/\..*/, " UTC"), wireproof: run.wireproof_version, run: run.run_id,
    };
    const unplayed = records.filter((one) => one.expected === "a target that serves" || (one.got || "").startsWith("the run ended: ")).length;
    document.title = `${run.implementation} ${run.implementation_version}: ${run.protocol} ${run.profile} ${run.variant}`;
    document.getElementById("head").replaceChildren(
      el("h1", {}, `${run.implementation} ${run.implementation_version}`),
      el("ul", { class: "facts" }, Object.entries(facts).map(([name, value]) => el("li", {}, el("span", { class: "soft" }, `${name} `), el("b", {}, value)))),
      run.partial.length ? el("p", {}, el("span", { class: "verdict lenient" }, "partial"), ` ${run.partial.join("; ")}${unplayed ? `; ${unplayed} ${unplayed === 1 ? "case" : "cases"} not played` : ""}`) : "",
    );
  }

  function score(some) {
    const scored = some.filter((one) => !["unsupported", "untestable", "harness_error"].includes(one.verdict));
    const left = ["untestable", "unsupported", "harness_error"].map((name) => [some.filter((one) => one.verdict === name).length, name.replace("_", " ")]);
    const words = left.filter(([count]) => count).map(([count, name]) => `${count} ${name}`).join(", ");
    return some.length ? `${scored.filter((one) => one.verdict === "pass").length}/${scored.length}${words ? ` (${words})` : ""}` : "";
  }

  function overview() {
    const groups = [...new Set(records.map((one) => one.group))].sort();
    const cell = (some) => {
      const bad = some.filter((one) => !GREEN.includes(one.verdict));
      const failed = bad.some((one) => one.verdict !== "untestable" && one.verdict !== "harness_error");
      return el("td", { class: some.length ? `cell ${failed ? "fail" : bad.length ? "untested" : "pass"}` : "" }, el("span", {}, score(some)));
    };
    const row = (name, some, filter) => {
      const whole = some.filter((one) => one.delivery === "whole");
      return el("tr", {}, el("th", { scope: "row" }, filter ? el("a", { href: `#group=${encodeURIComponent(name)}` }, name) : name),
        ["MUST", "SHOULD"].map((level) => cell(whole.filter((one) => one.level === level))),
        el("td", {}, String(whole.filter((one) => one.level === "MAY").length || "")),
        cell(some.filter((one) => one.delivery !== "whole")));
    };
    return el("details", { open: true }, el("summary", {}, el("b", {}, "Overview")), el("div", { class: "scroll" }, el("table", { class: "overview" },
      el("thead", {}, el("tr", {}, ["group", "MUST", "SHOULD", "MAY observed", "other segmentations"].map((one) => el("th", { scope: "col" }, one)))),
      el("tbody", {}, groups.map((group) => row(group, records.filter((one) => one.group === group), true)), row("all", records, false)))));
  }

  function causeList() {
    if (!causes.length) return el("p", {}, verdict("pass"), " Everything that was played and is scored passed.");
    return causes.map((cause, at) => {
      const record = byId.get(cause.record_id);
      const words = [cause.death && `it ${cause.death}`, cause.frame && `in ${cause.frame}`, cause.said].filter(Boolean).join(": ");
      return el("section", { class: `cause ${cause.kind}` },
        el("h3", {}, `Cause ${at + 1} of ${causes.length}: ${cause.kind}, ${cause.level} `, el("span", { class: "mono" }, cause.clause)),
        clauses[cause.clause] ? el("p", { class: "soft" }, clauses[cause.clause].text) : "",
        words ? el("p", {}, words) : "",
        cause.expected ? el("p", {}, el("span", { class: "soft" }, "expected "), cause.expected) : "",
        cause.got ? el("p", {}, el("span", { class: "soft" }, "got "), cause.got) : "",
        cause.not_required ? el("p", {}, `not required: ${cause.not_required}`) : "",
        cause.requests ? el("p", {}, `what shows it sends ${cause.requests.join(" and ")}`) : "",
        el("p", {}, "smallest play: ", record ? link(record) : cause.case),
        cause.following.length ? el("details", {}, el("summary", {}, `${cause.following.length} more ${cause.following.length === 1 ? "follows" : "follow"} from it`), el("p", {}, cause.following.map((id) => {
          const one = records.find((each) => each.case === id && !GREEN.includes(each.verdict));
          return [one ? link(one) : id, " "];
        }))) : "");
    });
  }

  const wanted = { text: "", verdict: "", level: "", group: "" };

  function matches(record) {
    if (wanted.verdict === "bad" ? GREEN.includes(record.verdict) : wanted.verdict && record.verdict !== wanted.verdict) return false;
    if ((wanted.level && record.level !== wanted.level) || (wanted.group && record.group !== wanted.group)) return false;
    const text = `${named(record)} ${record.title} ${record.clauses.map((id) => `${id} ${(clauses[id] || {}).text || ""}`).join(" ")} ${record.expected || ""} ${record.got || ""} ${record.record_id}`.toLowerCase();
    return wanted.text.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  }

  function cases() {
    const rows = records.map((record) => [record, el("tr", {}, el("td", {}, verdict(record.verdict), record.not_required && !GREEN.includes(record.verdict) ? el("div", { class: "soft" }, "not required") : ""), el("td", { class: "soft" }, record.level),
      el("td", {}, el("a", { class: "id", href: `#${record.record_id}` }, named(record)), el("div", { class: "soft" }, record.title)), el("td", { class: "clauses" }, el("span", { class: "mono" }, clauseOf(record)), el("div", { class: "soft" }, (clauses[clauseOf(record)] || {}).text || "")))]);
    const count = el("output", { "aria-live": "polite" });
    const show = () => {
      let shown = 0;
      for (const [record, row] of rows) shown += !(row.hidden = !matches(record));
      count.textContent = `${shown} of ${rows.length} plays`;
    };
    const choice = (name, label, values) => el("select", { "aria-label": label, onchange: (event) => { wanted[name] = event.target.value; show(); } },
      el("option", { value: "" }, label), values.map(([value, text]) => el("option", { value, selected: wanted[name] === value }, text)));
    const values = (name) => [...new Set(records.map((one) => one[name]))].sort().map((one) => [one, one.replace("_", " ")]);
    const search = el("input", { type: "search", id: "search", placeholder: "Search ids, titles, clauses, answers  ( / )", "aria-label": "Search plays", value: wanted.text, oninput: (event) => { wanted.text = event.target.value; show(); } });
    show();
    return [el("h2", { id: "plays", tabindex: -1 }, "Plays"),
      el("div", { class: "tools" }, search, choice("verdict", "all verdicts", [["bad", "all but pass and unsupported"], ...values("verdict")]), choice("level", "all levels", values("level")), choice("group", "all groups", values("group")), count),
      el("table", { class: "cases" }, el("thead", {}, el("tr", {}, ["verdict", "level", "case", "clause"].map((one, at) => el("th", { scope: "col", class: at === 3 ? "clauses" : "" }, one)))), el("tbody", {}, rows.map(([, row]) => row)))];
  }

  /** Draws the overview; a link that set a filter keeps the focus on the list that it filtered. */
  function start() {
    main.replaceChildren(...[el("h2", {}, "Causes"), causeList(), overview(), cases()].flat(Infinity));
  }

  const isHex = (text) => typeof text === "string" && /^(?:[0-9a-f]{2})+$/.test(text);
  const spaced = (hex) => hex.replace(/(..)(?=.)/g, "$1 ");

  /** Bytes, the first that differs marked. */
  function bytes(hex, at) {
    if (at === undefined || 2 * at >= hex.length) return el("code", { class: "bytes" }, spaced(hex));
    return el("code", { class: "bytes" }, spaced(hex.slice(0, 2 * at)), " ", el("mark", { title: `byte ${at}` }, hex.slice(2 * at, 2 * at + 2)), " ", spaced(hex.slice(2 * at + 2)));
  }

  function fact(name, value) {
    return value === undefined || value === "" ? [] : [el("dt", {}, name), el("dd", {}, value)];
  }

  function exchange(events) {
    if (!events) return el("p", { class: "soft" }, "No exchange is kept of this play: passing ones are kept with --evidence all.");
    let last = 0;
    const lanes = [...new Set(events.map((one) => one.on))];
    const arrows = { sent: "→ target", received: "← target", event: "·" };
    return el("table", { class: "exchange" }, el("thead", {}, el("tr", {}, ["time", "connection", "bytes", "what they are"].map((one) => el("th", { scope: "col" }, one)))), el("tbody", {}, events.map((event) => {
      const gap = event.at - last;
      last = event.at;
      return [gap > 100 ? el("tr", { class: "gap" }, el("td", { colspan: 4 }, `${(gap / 1000).toFixed(2)} s pass`)) : "",
        el("tr", { class: event.way }, el("td", { class: "at" }, `${event.at.toFixed(2)} ms`), el("td", { class: "way", style: `padding-left: ${0.4 + 0.9 * Math.max(0, lanes.indexOf(event.on))}rem` }, `${event.on} ${arrows[event.way]}`),
          el("td", { class: "hex" }, event.hex ? bytes(event.hex, event.mark) : "", event.wanted ? el("div", {}, `from byte ${event.mark} of these it must be `, el("code", { class: "bytes" }, spaced(event.wanted))) : "", event.more ? el("div", { class: "soft" }, `and ${event.more} bytes more`) : ""),
          el("td", { class: "reads" }, (event.reads || []).map((one) => el("div", {}, one)), event.text ? el("div", { class: "soft" }, event.text) : ""))];
    })));
  }

  const quoted = (text) => (/^[\w.\/:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

  function again(record) {
    const how = record.delivery === "whole" ? "" : ` --segmentation ${record.delivery}`;
    const spoken = `--profile ${run.profile} --variant ${run.variant} -k ${quoted(record.case)}${how}`;
    const options = run.options || {}, started = options.target_command;
    const target = run.role === "client" ? `--driver ${quoted(run.target)}` : started ? `--target-command ${quoted(started)}` : run.target;
    const declared = [["feature", "features"], ["limit", "limits"], ["listener", "listeners"]]
      .flatMap(([flag, name]) => Array.isArray(options[name]) ? options[name].map((one) => `--${flag} ${quoted(one)} `) : []).join("");
    return `wireproof ${run.role === "client" ? "test-sdk" : "test"} ${run.protocol} ${target} ${declared}${spoken}`;
  }

  function bundle(record) {
    const found = (bundles || {})[record.record_id];
    if (!found) return "";
    const folder = `evidence/${record.record_id}`;
    return [found.includes("replay.py") ? [el("p", {}, "Without wireproof, from the folder of this page:"), el("pre", { class: "line", tabindex: 0 }, `python ${folder}/replay.py`)] : "",
      el("p", {}, "Files: ", found.map((name) => [el("a", { href: `${folder}/${name}` }, name), " "]))];
  }

  function play(record) {
    const place = el("div", {}, el("p", { class: "soft" }, "loading the exchange …"));
    const differs = record.byte !== undefined && isHex(record.got) ? record.byte : undefined;
    const shown = (text) => (isHex(text) ? bytes(text, differs) : text);
    const others = records.filter((one) => one.case === record.case && one !== record);
    const cause = causes.find((one) => one.record_id === record.record_id || one.following.includes(record.case));
    main.replaceChildren(...[
      el("p", {}, el("a", { href: "#" }, "All plays of this run")),
      el("h2", {}, verdict(record.verdict), ` ${record.title}`),
      el("p", { class: "mono" }, named(record)),
      el("h3", {}, "What is asked"), record.clauses.map(clause), record.blamed && !record.clauses.includes(record.blamed) ? clause(record.blamed) : "",
      record.words ? el("p", { class: "words" }, record.words) : "",
      el("dl", {}, fact("level", record.level), fact("expected", shown(record.expected)), fact("got", shown(record.got)), fact("observed", record.observed),
        fact("differs at", record.byte === undefined ? undefined : `byte ${record.byte} of ${run.role === "client" ? "what it sent" : "the reply"}`),
        fact("step", record.step === undefined ? undefined : String(record.step)), fact("fault", GREEN.includes(record.verdict) ? undefined : record.guilty || "target"),
        fact("not required", record.not_required), fact("took", `${(record.duration_us / 1000).toFixed(1)} ms`), fact("record", record.record_id)),
      cause && cause.record_id !== record.record_id && !GREEN.includes(record.verdict) ? el("p", {}, "It follows from ", byId.has(cause.record_id) ? link(byId.get(cause.record_id)) : cause.case, ".") : "",
      others.length ? el("p", {}, "The same case otherwise: ", others.map((one) => [verdict(one.verdict), " ", link(one), " "])) : "",
      el("h3", {}, "Play it again"), el("pre", { class: "line", tabindex: 0 }, again(record)), bundle(record),
      el("h3", {}, "Exchange"), place,
    ].flat(Infinity).filter((one) => one !== ""));
    load(files[record.group]).then(() => place.replaceChildren(exchange(loaded.get(record.record_id))), () => place.replaceChildren(el("p", {}, `exchanges/${files[record.group]} is missing`)));
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }

  wireproof.exchanges = (found) => { for (const [id, events] of Object.entries(found)) loaded.set(id, events); };

  function load(file) {
    if (!loading.has(file)) {
      loading.set(file, new Promise((done, failed) => document.head.append(el("script", { src: `exchanges/${file}`, onload: done, onerror: failed }))));
    }
    return loading.get(file);
  }

  function route() {
    const target = decodeURIComponent(location.hash.slice(1));
    if (byId.has(target)) return play(byId.get(target));
    if (target.startsWith("group=")) wanted.group = target.slice(6);
    start();
    if (!target.startsWith("group=")) return;
    const plays = document.getElementById("plays");
    plays.scrollIntoView();
    plays.focus({ preventScroll: true });
  }

  addEventListener("hashchange", route);
  addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    if (event.key === "/" && search && event.target === document.body) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && byId.has(location.hash.slice(1))) location.hash = "";
  });
  header();
  route();
})();
