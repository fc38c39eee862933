// Makes the pages live. They work without it: every change is a plain form, every list a plain page.

// @ts-check

/**
 * Something that happened, as the server tells it.
 * @typedef {{position: number, run_id?: string, checkpoint_id?: string, event?: string, run?: string, by?: string}} Happening
 */

/** @template {Element} T @param {string} selector @param {ParentNode} [within] @returns {T[]} */
function all(selector, within = document) {
  return /** @type {T[]} */ ([...within.querySelectorAll(selector)]);
}

const PROOF = "checkrein.csrf";
/** What a form held that was sent after the login had ended. */
const UNSENT = "checkrein.unsent";

measureTop();
closable();
keepProof();
signInByLink();
proveForms();
fieldsInPlace();
keyboard();
selection();
clocks();
copying();
live();
returnUnsent();
for (const current of all(".places [aria-current], .tabs [aria-current]")) current.scrollIntoView({ block: "nearest", inline: "nearest" });

/** The link that the server prints has its secret behind `#`, where no server and no log sees it. */
function signInByLink() {
  const form = /** @type {HTMLFormElement | null} */ (document.getElementById("sign-in"));
  const secret = new URLSearchParams(location.hash.slice(1)).get("sign-in");
  if (!secret) return;
  history.replaceState(null, "", location.pathname + location.search);
  const field = form?.elements.namedItem("token");
  if (!form || !(field instanceof HTMLInputElement)) return;
  field.value = secret;
  form.requestSubmit();
}

/** The page that answers a sign-in has what changes have to show. It is kept where only this origin looks. */
function keepProof() {
  const place = document.getElementById("signed-in");
  const secret = place?.dataset.forChanges;
  if (!place || !secret) return;
  localStorage.setItem(PROOF, secret);
  const unsent = unsentForm();
  location.replace(unsent?.over ? unsent.page : place.dataset.next ?? "/");
}

/** Fills what proves that a form is sent from here. */
function proveForms() {
  document.addEventListener("submit", (event) => {
    if (!(event.target instanceof HTMLFormElement)) return;
    for (const field of /** @type {HTMLInputElement[]} */ (all("[data-proof]", event.target))) {
      field.value = localStorage.getItem(PROOF) ?? "";
    }
  }, { capture: true });
}

/** Sends forms marked `data-in-place` without leaving the page, so that nothing jumps. */
function fieldsInPlace() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return;
    const button = event.submitter;
    if (!form.hasAttribute("data-in-place")) {
      if (form.method !== "post" || form.hasAttribute("data-quiet")) return;
      // What another script sends, it keeps itself.
      if (!event.defaultPrevented) keepUnsent(form, button, false);
      // Sent once; a page that is shown again from memory has its buttons back.
      setTimeout(() => freeze(form, true));
      return;
    }
    event.preventDefault();
    const fields = new FormData(form, button);
    freeze(form, true);
    send(form, fields, button).finally(() => freeze(form, false));
  });
  addEventListener("pageshow", () => all("form").forEach((form) => freeze(/** @type {HTMLFormElement} */ (form), false)));
}

/** @param {HTMLFormElement} form @param {boolean} frozen */
function freeze(form, frozen) {
  for (const control of form.elements) if (control instanceof HTMLButtonElement) control.disabled = frozen;
}

/** @param {HTMLFormElement} form @param {FormData} fields @param {HTMLElement | null} button */
async function send(form, fields, button) {
  const body = new URLSearchParams();
  for (const [name, value] of fields) if (typeof value === "string") body.append(name, value);
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    if (answer.status === 401) return signInAgain(form, button);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.redirected && new URL(answer.url).pathname !== location.pathname) {
      location.assign(answer.url);
      return;
    }
    if (!answer.ok) {
      const problem = page.querySelector(".problem, .notice.bad");
      tell(problem ? texts(problem) : "The server did not take it.", "bad");
      return look();
    }
    // What was written has arrived, so its part of the page may change.
    form.reset();
    apply(page);
  } catch {
    tell("The server did not answer. Nothing was sent twice; try again.", "bad");
  }
}

/** What a problem says, without its links. @param {Element} element */
function texts(element) {
  return all("h1, p:not(:has(a)), li", element).map((part) => part.textContent?.trim()).filter(Boolean).join(" ");
}

// --- A login that ended -------------------------------------------------------------------------

/** @typedef {{name: string, value: string, checked: boolean, hidden: boolean}} KeptField */
/** @typedef {{me: string, page: string, action: string, button: string, over: boolean, fields: KeptField[]}} Unsent */

/** @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Field */

/** What a person fills in, and what says which form it is; never a secret. @param {HTMLFormElement} form @returns {Field[]} */
function fieldsOf(form) {
  return /** @type {Field[]} */ ([...form.elements].filter((field) =>
    field instanceof HTMLTextAreaElement || field instanceof HTMLSelectElement
    || (field instanceof HTMLInputElement && field.type !== "password" && !field.hasAttribute("data-proof"))));
}

/** Where this page is, without its fragment. */
function thisPage() {
  return location.pathname + location.search;
}

/**
 * Keeps what a form holds in this tab: if the login has ended meanwhile, the sign-in page comes instead of an answer.
 * @param {HTMLFormElement} form @param {HTMLElement | null} button @param {boolean} over whether it has
 */
function keepUnsent(form, button, over) {
  if (!form.querySelector("[data-proof]")) return;
  const fields = fieldsOf(form).filter((field) => field.name).map((field) => ({
    name: field.name,
    value: field.value,
    checked: field instanceof HTMLInputElement && field.checked,
    hidden: field.type === "hidden",
  }));
  const pressed = button instanceof HTMLButtonElement ? `${button.name}=${button.value}` : "";
  /** @type {Unsent} */
  const unsent = { me: document.body.dataset.me ?? "", page: thisPage(), action: form.getAttribute("action") ?? "", button: pressed, over, fields };
  try {
    sessionStorage.setItem(UNSENT, JSON.stringify(unsent));
  } catch {
    // There is no room for it. It is sent all the same.
  }
}

/** @returns {Unsent | null} */
function unsentForm() {
  return JSON.parse(sessionStorage.getItem(UNSENT) ?? "null");
}

/** The server does not know this browser any more: sign in, and come back to this page. @param {HTMLFormElement} form @param {HTMLElement | null} button */
function signInAgain(form, button) {
  keepUnsent(form, button, true);
  location.assign(thisPage());
}

document.addEventListener("checkrein:signed-out", (event) => {
  if (event instanceof CustomEvent) signInAgain(event.detail.form, event.detail.button);
});

/** Back on the page after signing in, what was written is where it was. Nothing is sent by itself. */
function returnUnsent() {
  const unsent = unsentForm();
  if (!unsent || document.getElementById("signed-in")) return;
  if (document.getElementById("sign-in")) {
    sessionStorage.setItem(UNSENT, JSON.stringify({ ...unsent, over: true }));
    return tell("Your login has ended, and nothing was sent. Sign in again: what you wrote is kept in this tab.", "bad");
  }
  sessionStorage.removeItem(UNSENT);
  if (!unsent.over || unsent.me !== document.body.dataset.me || unsent.page !== thisPage()) return;
  const form = sameForm(unsent);
  if (!form) return;
  fill(form, unsent.fields);
  const buttons = /** @type {HTMLButtonElement[]} */ (all("button", form));
  const button = buttons.find((one) => one.name && `${one.name}=${one.value}` === unsent.button);
  const text = fieldsOf(form).find((field) => field instanceof HTMLTextAreaElement && isChanged(field));
  const place = button ?? text ?? buttons[0];
  place?.focus();
  place?.scrollIntoView({ block: "center" });
  tell("You are signed in again. Nothing was sent; what you wrote is still here.");
}

/** Among forms to one address, the one that is about the same thing. @param {Unsent} unsent */
function sameForm(unsent) {
  const forms = /** @type {HTMLFormElement[]} */ (all("form")).filter((form) => form.getAttribute("action") === unsent.action);
  const like = (/** @type {HTMLFormElement} */ form) => fieldsOf(form).filter((field) => field.type === "hidden"
    && unsent.fields.some((kept) => kept.hidden && kept.name === field.name && kept.value === field.value)).length;
  return forms.sort((one, other) => like(other) - like(one))[0];
}

/** @param {HTMLFormElement} form @param {KeptField[]} kept */
function fill(form, kept) {
  const own = fieldsOf(form);
  for (const name of new Set(kept.map((field) => field.name))) {
    const [to, from] = [own.filter((field) => field.name === name), kept.filter((field) => field.name === name)];
    to.forEach((field, index) => {
      const value = from[index];
      // A line that a form below it knew is filled in where it can be seen.
      if (!value || field.type === "hidden") return;
      if (field instanceof HTMLInputElement && (field.type === "checkbox" || field.type === "radio")) field.checked = value.checked;
      else field.value = value.value;
      if (!isChanged(field)) return;
      const details = field.closest("details");
      if (details) details.open = true;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
}

// --- What is said -------------------------------------------------------------------------------

/** Notices stay in sight below the bar at the top, which is as high as its words need. */
function measureTop() {
  const bar = document.querySelector(".top");
  if (!bar) return;
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--top-height", `${bar.getBoundingClientRect().height}px`);
  }).observe(bar);
}

/** What was said can be put away, since it stays in sight. */
function closable() {
  for (const notice of all("#said > .notice:not(:has(.dismiss))")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "dismiss";
    button.textContent = "×";
    button.setAttribute("aria-label", "Dismiss");
    button.addEventListener("click", () => notice.remove());
    notice.append(button);
  }
}

// Scripts of single pages have something to say, too.
document.addEventListener("checkrein:tell", (event) => {
  if (event instanceof CustomEvent) tell(event.detail.text, event.detail.tone);
});

/** Says something where people and screen readers notice it. @param {string} text @param {"good" | "bad" | ""} [tone] */
export function tell(text, tone = "") {
  const place = document.getElementById("said");
  if (!place) return;
  const notice = document.createElement("p");
  notice.className = `notice ${tone}`;
  notice.textContent = text;
  place.replaceChildren(notice);
  closable();
}

// --- What happens elsewhere ---------------------------------------------------------------------

/** Listens once for all tabs of this browser: one of them holds the line, and tells the others. */
function live() {
  const words = document.body.dataset.live;
  if (words === undefined) return;
  const wanted = words.split(" ");
  // What an agent does is no event of its run: while one works, it is looked at.
  setInterval(() => {
    if (!document.hidden && document.querySelector("[data-works]")) look();
  }, 2_000);
  /** @type {number | undefined} */
  let waiting;
  const heard = (/** @type {Happening} */ happening) => {
    if (!wanted.some((word) => concerns(word, happening))) return;
    document.dispatchEvent(new CustomEvent("checkrein:happened", { detail: happening }));
    // Many things that happen at once are one look.
    waiting ??= window.setTimeout(() => {
      waiting = undefined;
      look();
    }, 250);
  };
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("checkrein") : undefined;
  let [last, line] = ["", ""];
  if (!channel || !navigator.locks) {
    listen("", (message) => receive(message));
    return;
  }
  channel.addEventListener("message", (event) => receive(event.data));
  navigator.locks.request("checkrein-live", () => new Promise(() => {
    listen(last, (message) => {
      channel.postMessage(message);
      receive(message);
    });
  }));
  // Whoever holds the line says how it is, for a tab that just came.
  channel.postMessage({ ask: true });

  /** @param {{state?: string, happening?: Happening, last?: string, ask?: boolean}} message */
  function receive(message) {
    if (message.last) last = message.last;
    if (message.state) {
      // What happened between this page and the line to it was told to nobody.
      if (message.state === "on" && line !== "on") look();
      line = message.state;
      show(message.state);
    }
    if (message.happening) heard(message.happening);
  }
}

/** Whether something that happened concerns a page. @param {string} word @param {Happening} happening */
function concerns(word, happening) {
  if (word === "all") return true;
  const [kind, id] = [word.slice(0, word.indexOf(":")), decodeURIComponent(word.slice(word.indexOf(":") + 1))];
  const checkpoint = happening.checkpoint_id;
  if (kind === "checkpoint") return checkpoint === id;
  return happening.run_id === id || happening.run === id || (checkpoint ?? "").startsWith(`${id}.`);
}

/** Keeps one line open. @param {string} after @param {(message: object) => void} pass */
function listen(after, pass) {
  const source = new EventSource(`/v1/events${after ? `?after=${encodeURIComponent(after)}` : ""}`);
  let state = "";
  const is = (/** @type {string} */ next) => pass({ state: (state = next) });
  source.addEventListener("open", () => is("on"));
  source.addEventListener("message", (event) => {
    pass({ happening: JSON.parse(event.data), last: event.lastEventId, state: "on" });
  });
  source.addEventListener("error", () => {
    const over = source.readyState === EventSource.CLOSED;
    is(over ? "off" : "again");
    // The session may be over, or the server away for long.
    if (over) setTimeout(() => listen(after, pass), 10_000);
  });
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("checkrein") : undefined;
  channel?.addEventListener("message", (event) => {
    if (event.data.ask && state) channel.postMessage({ state });
  });
}

/** @param {string} state */
function show(state) {
  const place = document.getElementById("live");
  if (!place) return;
  place.hidden = false;
  if (place.dataset.state === state) return;
  place.dataset.state = state;
  place.textContent = { on: "Live", again: "Reconnecting…", off: "Not live" }[state] ?? "";
  place.title = state === "off" ? "The page does not change by itself now. Load it again, or sign in again." : "";
}

let looking = false;
let again = false;

/** Fetches this page again, or the one that has what changes of it, and takes that over. */
export async function look() {
  if (looking) {
    again = true;
    return;
  }
  looking = true;
  try {
    do {
      again = false;
      const answer = await fetch(document.body.dataset.looksAt ?? location.href, { headers: { Accept: "text/html" } });
      if (answer.status === 401) return show("off");
      if (answer.ok) apply(new DOMParser().parseFromString(await answer.text(), "text/html"), "looked");
    } while (again);
  } catch {
    show("again");
  } finally {
    looking = false;
  }
}

// --- Taking over what changed -------------------------------------------------------------------

/**
 * Takes over the parts with `data-region` from a newer version of this page. What somebody works in stays
 * as it is; rows stay where they are, new ones come after them.
 * @param {Document} page @param {"sent" | "looked"} [why]
 */
function apply(page, why = "sent") {
  for (const region of /** @type {HTMLElement[]} */ (all("[data-region]"))) {
    const next = page.getElementById(region.id);
    if (!next) continue;
    // What was said before is not unsaid by a look.
    if (region.id === "said" && why === "looked" && !next.childElementCount) continue;
    if (region.dataset.region === "rows") rows(region, next);
    else replace(region, next);
  }
  closable();
  document.dispatchEvent(new CustomEvent("checkrein:applied"));
  count();
}

/** @param {HTMLElement} region @param {HTMLElement} next */
function replace(region, next) {
  if (region.innerHTML === next.innerHTML || isBusy(region)) return;
  const open = all("details[open][id]", region).map((one) => one.id);
  const top = region.scrollTop;
  const end = atEnd(region);
  region.replaceChildren(...document.importNode(next, true).childNodes);
  for (const one of /** @type {HTMLDetailsElement[]} */ (all("details[id]", region))) if (open.includes(one.id)) one.open = true;
  // A log that is read at its end stays there.
  region.scrollTop = region.hasAttribute("data-tail") && end ? region.scrollHeight : top;
}

/** Whether one looks at the end of it. @param {Element} part */
function atEnd(part) {
  return part.scrollHeight - part.scrollTop - part.clientHeight < 8;
}

/** @param {HTMLElement} region @param {HTMLElement} next */
function rows(region, next) {
  const key = (/** @type {Element} */ row) => row.getAttribute("data-key") ?? "";
  const coming = new Map(/** @type {HTMLElement[]} */ (all(":scope > [data-key]", next)).map((row) => [key(row), row]));
  const there = /** @type {HTMLElement[]} */ (all(":scope > [data-key]", region));
  for (const row of there) {
    const newer = coming.get(key(row));
    coming.delete(key(row));
    if (!newer) gone(row);
    else if (row.hasAttribute("data-gone") || (row.outerHTML !== newer.outerHTML && !isBusy(row) && !same(row, newer))) {
      const here = row.hasAttribute("data-here");
      const fresh = /** @type {HTMLElement} */ (document.importNode(newer, true));
      if (here) fresh.setAttribute("data-here", "");
      const scrolled = all("pre", row).map((pre) => [pre.scrollTop, atEnd(pre)]);
      row.replaceWith(fresh);
      all("pre", fresh).forEach((pre, index) => {
        const [top, end] = scrolled[index] ?? [0, true];
        pre.scrollTop = end ? pre.scrollHeight : Number(top);
      });
    }
  }
  const newest = region.dataset.newest === "first";
  const fresh = [...coming.values()].map((row) => document.importNode(row, true));
  if (newest) region.prepend(...fresh);
  else {
    const lastRow = all(":scope > [data-key]", region).at(-1);
    if (lastRow) lastRow.after(...fresh);
    else region.prepend(...fresh);
  }
  const empty = region.querySelector(":scope > .empty");
  if (region.querySelector(":scope > [data-key]")) empty?.remove();
}

/** Whether two versions of a row differ only in how long ago things were. @param {Element} row @param {Element} newer */
function same(row, newer) {
  const bare = (/** @type {Element} */ one) => {
    const copy = /** @type {Element} */ (one.cloneNode(true));
    copy.removeAttribute("data-here");
    all("time", copy).forEach((time) => (time.textContent = ""));
    all("details", copy).forEach((details) => details.removeAttribute("open"));
    return copy.outerHTML;
  };
  return bare(row) === bare(newer);
}

/** A row that does not wait any more keeps its place until the page is loaded again. @param {HTMLElement} row */
function gone(row) {
  if (row.hasAttribute("data-gone") || row.hasAttribute("data-stays")) return;
  row.setAttribute("data-gone", "");
  const box = /** @type {HTMLInputElement | null} */ (row.querySelector("[data-select]"));
  if (box) {
    box.checked = false;
    box.disabled = true;
  }
  const note = document.createElement("p");
  note.className = "gone";
  note.textContent = "Decided. It waits no more.";
  row.append(note);
}

/** Whether somebody is at work in it: writes, or chose something. @param {Element} part */
function isBusy(part) {
  const at = document.activeElement;
  const writes = at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement
    || (at instanceof HTMLInputElement && at.type !== "checkbox");
  if (writes && part.contains(at)) return true;
  return all("textarea, select, input:not([type=hidden])", part).some(isChanged);
}

/** Whether a field holds something else than it came with. @param {Element} field */
function isChanged(field) {
  if (field instanceof HTMLSelectElement) {
    const came = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(0, came);
  }
  if (field instanceof HTMLTextAreaElement) return field.value !== field.defaultValue;
  if (!(field instanceof HTMLInputElement)) return false;
  const chosen = field.type === "checkbox" || field.type === "radio";
  return chosen ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

// --- The keyboard -------------------------------------------------------------------------------

function keyboard() {
  const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("keys"));
  for (const button of /** @type {HTMLElement[]} */ (all("[data-keys]"))) {
    button.hidden = false;
    button.addEventListener("click", () => dialog?.showModal());
  }
  // When `g` was pressed; the clock of events begins with the page.
  let went = -Infinity;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const at = event.target;
    if (at instanceof HTMLElement && (at.isContentEditable || at.matches("input:not([type=checkbox]), textarea, select"))) {
      if (event.key === "Escape") at.blur();
      return;
    }
    if (dialog?.open) return;
    if (event.timeStamp - went < 1500) {
      went = -Infinity;
      const link = /** @type {HTMLElement | null} */ (document.querySelector(`[data-go="${CSS.escape(event.key)}"]`));
      if (link) return act(event, () => link.click());
    }
    switch (event.key) {
      case "g": went = event.timeStamp; return;
      case "?": return act(event, () => dialog?.showModal());
      case "/": return act(event, search);
      case "j": return act(event, () => step(1));
      case "k": return act(event, () => step(-1));
      case "o": return withRow(event, "[data-open]", (link) => link.click());
      case "x": return withRow(event, "[data-select]", (box) => box.click());
      case "a": return withRow(event, "[data-approve]", (button) => button.focus());
      case "r": return withRow(event, "[data-otherwise]", (summary) => {
        const details = summary.closest("details");
        if (details) details.open = true;
        /** @type {HTMLElement | null} */ (details?.querySelector("textarea"))?.focus();
      });
    }
  });
}

/** @param {Event} event @param {() => void} does */
function act(event, does) {
  event.preventDefault();
  does();
}

function search() {
  const field = /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"));
  const details = field?.closest("details");
  if (details) details.open = true;
  field?.focus();
}

/** The entry the keyboard is at. */
function here() {
  return /** @type {HTMLElement | null} */ (document.querySelector("[data-row][data-here]"));
}

/** @param {number} by */
function step(by) {
  const entries = /** @type {HTMLElement[]} */ (all("[data-row]"));
  const current = here();
  const index = current ? entries.indexOf(current) + by : by > 0 ? 0 : entries.length - 1;
  const next = entries[Math.max(0, Math.min(entries.length - 1, index))];
  if (!next) return;
  current?.removeAttribute("data-here");
  next.setAttribute("data-here", "");
  next.scrollIntoView({ block: "nearest" });
  /** @type {HTMLElement | null} */ (next.querySelector("[data-open]"))?.focus({ preventScroll: true });
}

/** Does something in the entry the keyboard is at; a page of one thing has only one. @param {Event} event @param {string} selector @param {(element: HTMLElement) => void} does */
function withRow(event, selector, does) {
  const within = here() ?? (document.querySelector("[data-row]") ? null : document);
  const element = /** @type {HTMLElement | null} */ (within?.querySelector(selector));
  if (element) act(event, () => does(element));
}

// --- Small things -------------------------------------------------------------------------------

/** Says how many entries are selected. */
function selection() {
  document.addEventListener("change", (event) => {
    if (event.target instanceof Element && event.target.matches("[data-select]")) {
      count();
      const details = /** @type {HTMLDetailsElement | null} */ (document.querySelector(".several"));
      if (details) details.open = true;
    }
  });
}

function count() {
  const number = all("[data-select]:checked").length;
  for (const place of all("[data-selected]")) place.textContent = number ? `(${number} selected)` : "";
}

/** Buttons that copy what is shown once. */
function copying() {
  if (!navigator.clipboard) return;
  for (const button of /** @type {HTMLElement[]} */ (all("[data-copy]"))) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy ?? "")?.textContent ?? "");
      button.textContent = "Copied";
    });
  }
}

/** Keeps "5 min ago" true. */
function clocks() {
  setInterval(() => {
    const now = Date.now();
    for (const time of /** @type {HTMLTimeElement[]} */ (all("time[data-ago]"))) {
      const words = ago((now - Date.parse(time.dateTime)) / 1000);
      if (words && time.textContent !== words) time.textContent = words;
    }
  }, 30_000);
}

/** @param {number} seconds */
function ago(seconds) {
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return "";
}
