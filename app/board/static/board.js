// Optional: every page reads and acts without it.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");

  // Theme: the form's answer is a cookie; here it only shows at once and without a reload.
  const themes = document.querySelector("[data-theme-form]");
  const choose = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    for (const b of document.querySelectorAll("[data-theme-form] button")) b.setAttribute("aria-pressed", String(b.value === theme));
    const form = new URLSearchParams(new FormData(themes));
    form.set("theme", theme);
    fetch(themes.action, { method: "POST", body: form, redirect: "manual" });
  };
  document.addEventListener("submit", (e) => {
    if (!e.target.matches("[data-theme-form]")) return;
    e.preventDefault();
    choose(e.submitter.value);
  });
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  // Keys: the dialog of keys is the registry. What a key does is named there.
  const rows = () => [...document.querySelectorAll(".tcard .t a, .list .title, .feed .line > a, .wf-table summary")].filter((e) => e.offsetParent);
  const move = (by) => {
    const all = rows(), at = all.indexOf(document.activeElement);
    (all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))])?.focus();
  };
  const does = {
    go: (path) => { location.href = path; },
    filter: () => (document.querySelector("#q") || document.querySelector("main input, main select"))?.focus(),
    next: () => move(1),
    previous: () => move(-1),
    theme: () => themes && choose(dark() ? "light" : "dark"),
    keys: () => document.querySelector("#keys").showModal(),
  };
  const registry = new Map();
  for (const k of document.querySelectorAll("#keys [data-does]")) {
    const [verb, ...rest] = k.dataset.does.split(" ");
    if (does[verb]) registry.set(k.dataset.keys, () => does[verb](...rest));
  }
  const leads = new Set([...registry.keys()].filter((k) => k.includes(" ")).map((k) => k.split(" ")[0]));
  let lead = "";
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, [contenteditable]")) return;
    if (document.querySelector("dialog[open]")) return;
    const typed = lead ? `${lead} ${e.key}` : e.key;
    lead = "";
    if (registry.has(typed)) { e.preventDefault(); registry.get(typed)(); } else if (leads.has(e.key)) lead = e.key;
  });

  // The menu closes on Escape and when something else is clicked.
  const menu = document.querySelector(".menu");
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !menu?.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("click", (e) => { if (menu?.open && !menu.contains(e.target)) menu.open = false; });

  document.addEventListener("click", async (e) => {
    const b = e.target.closest("[data-copy]");
    if (!b) return;
    const from = b.dataset.copy ? document.querySelector(b.dataset.copy)
      : b.closest(".copy, .row").querySelector("pre, code") || b.closest(".row").parentElement.querySelector("pre");
    await navigator.clipboard?.writeText(from.textContent);
    b.lastElementChild.textContent = "Copied";
  });

  // Countdowns change text once a second; they never take focus and are never announced.
  const ends = new WeakMap();
  const two = (n) => String(n).padStart(2, "0");
  const write = (s) => s >= 3600 ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
  const count = () => {
    for (const el of document.querySelectorAll("[data-countdown]")) {
      let known = ends.get(el);
      if (known?.from !== el.dataset.countdown) ends.set(el, known = { from: el.dataset.countdown, end: Date.now() + el.dataset.countdown * 1000 });
      el.textContent = write(Math.max(0, Math.round((known.end - Date.now()) / 1000)));
    }
  };
  count();
  setInterval(count, 1000);

  // Times are UTC, and each says so in its title; the reader's own clock stands beside it there.
  const minutes = -new Date().getTimezoneOffset();
  const localTimes = () => {
    for (const t of document.querySelectorAll("time[datetime]:not([data-whole])")) {
      const at = new Date(t.dateTime);
      if (isNaN(at)) continue;
      const spell = (zone) => at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium", ...zone });
      t.dataset.whole = "";
      t.title = spell({ timeZone: "UTC" }) + " UTC" + (minutes ? `; ${spell()} on your clock` : "");
    }
    for (const zone of document.querySelectorAll("[data-zone]")) {
      if (minutes) zone.textContent = `; your clock is UTC${minutes < 0 ? "−" : "+"}${Math.floor(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
    }
  };
  localTimes();

  // The tab of the section that is being read.
  const tabs = new Map([...document.querySelectorAll(".jump a")].map((a) => [a.hash.slice(1), a]));
  if (tabs.size) {
    const seen = new Set();
    const watch = new IntersectionObserver((entries) => {
      for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
      const here = [...tabs.keys()].find((id) => seen.has(id));
      for (const [id, a] of tabs) id === here ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current");
    }, { rootMargin: "-64px 0px -40% 0px" });
    for (const id of tabs.keys()) watch.observe(document.getElementById(id));
  }

  // Filters that say so are sent when they change.
  document.addEventListener("change", (e) => { if (e.target.matches("[data-submit]")) e.target.form.requestSubmit(); });
  document.addEventListener("click", (e) => e.target.closest("[data-dismiss]")?.closest(".toast").remove());

  // What arrives while the page is open replaces elements with the same id. What the reader opened, ticked or typed stays.
  const mine = { open: "details", checked: ".wf-tools input" };
  Object.assign(Idiomorph.defaults.callbacks, {
    beforeAttributeUpdated: (name, el) => !(mine[name] && el.matches(mine[name])),
    beforeNodeMorphed: (el) => !el.matches?.("details[open][data-keep]"),
  });
  document.body.addEventListener("htmx:oobAfterSwap", localTimes);
  // The count in the rail is the count in the tab's title.
  document.body.addEventListener("htmx:oobAfterSwap", () => {
    const n = document.querySelector("#news")?.firstChild?.nodeValue?.trim();
    document.title = (n ? `(${n}) ` : "") + document.title.replace(/^\(\d+\+?\) /, "");
  });
  document.body.addEventListener("htmx:sseOpen", () => { root.dataset.live = "on"; });
  document.body.addEventListener("htmx:sseError", () => { delete root.dataset.live; });

  // A click that wants a tab or a window of its own is the browser's, not the drawer's.
  document.addEventListener("click", (e) => {
    if ((e.ctrlKey || e.metaKey || e.shiftKey) && e.target.closest("a[hx-get]")) e.stopPropagation();
  }, true);

  // The drawer is a modal dialog: the browser keeps the focus inside and gives it back.
  document.body.addEventListener("htmx:afterSwap", (e) => {
    if (e.target.id !== "drawer") return;
    localTimes();
    const d = e.target.querySelector("dialog");
    d?.showModal();
    d?.addEventListener("click", (c) => { if (c.target === d) d.close(); });
    d?.addEventListener("close", () => d.remove());
  });
  document.body.addEventListener("htmx:responseError", (e) => {
    if (e.target.closest("a[hx-get]")) location.href = e.target.closest("a").href;
  });
})();
