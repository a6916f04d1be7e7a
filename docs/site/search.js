"use strict";
/* A search in all pages, without a server: pages.js holds their text. */
document.addEventListener("DOMContentLoaded", () => {
  const here = document.querySelector('script[src$="site/search.js"]').getAttribute("src").replace("site/search.js", "");
  const input = Object.assign(document.createElement("input"), { type: "search", id: "find", placeholder: "Search  ( / )" });
  input.setAttribute("aria-label", "Search the documentation");
  const list = Object.assign(document.createElement("ol"), { id: "found" });
  list.setAttribute("aria-live", "polite");
  document.querySelector(".wy-side-nav-search").append(input, list);

  function around(text, word) {
    const at = Math.max(0, text.toLowerCase().indexOf(word));
    return `${at > 40 ? "…" : ""}${text.slice(Math.max(0, at - 40), at + 80)}…`;
  }

  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const whole = words.join(" ");
    const times = (page) => page.text.toLowerCase().split(whole).length;
    const last = (page) => (page.url === "CHANGELOG.html" ? 1000 : 0);
    const rank = (page) => last(page) + (words.every((word) => page.title.toLowerCase().includes(word)) ? -1000 : 0) - times(page);
    const fit = words.length ? window.wireproofPages.filter((page) => words.every((word) => `${page.title} ${page.text}`.toLowerCase().includes(word))) : [];
    list.replaceChildren(...fit.sort((one, other) => rank(one) - rank(other)).slice(0, 12).map((page) => {
      const item = document.createElement("li");
      const link = Object.assign(document.createElement("a"), { href: here + page.url, textContent: page.title });
      const text = Object.assign(document.createElement("div"), { textContent: around(page.text, page.text.toLowerCase().includes(whole) ? whole : words[0]) });
      item.append(link, text);
      return item;
    }));
    if (words.length && !fit.length) list.replaceChildren(Object.assign(document.createElement("li"), { textContent: "nothing found" }));
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target === document.body) { event.preventDefault(); input.focus(); }
  });
});
