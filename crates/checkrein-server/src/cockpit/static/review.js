// The page of a review, with the keyboard and without loading it again. It works without this.

// @ts-check

/** Says something where people and screen readers notice it. @param {string} text @param {"good" | "bad"} tone */
function tell(text, tone) {
  document.dispatchEvent(new CustomEvent("checkrein:tell", { detail: { text, tone } }));
}

/** @template {Element} T @param {string} selector @param {ParentNode} [within] @returns {T[]} */
function all(selector, within = document) {
  return /** @type {T[]} */ ([...within.querySelectorAll(selector)]);
}

const review = /** @type {HTMLElement | null} */ (document.querySelector(".review[data-review]"));
const PROOF = "checkrein.csrf";
let head = review?.dataset.head ?? "";

drafts(document);
if (review) {
  review.classList.toggle("can-comment", Boolean(document.querySelector(".comment-form")));
  keys();
  quietForms();
  lines();
  unfold();
  news();
}
sendByKey();

// --- Drafts -------------------------------------------------------------------------------------

/** Where a text that is not sent is kept. @param {HTMLElement} field */
function draftKey(field) {
  const id = review?.dataset.review ?? field.closest("form")?.dataset.review ?? location.pathname;
  return `checkrein.draft.${id}.${field.dataset.draft}`;
}

/** What somebody writes survives a reload until it is sent. @param {ParentNode} within */
function drafts(within) {
  for (const field of /** @type {HTMLTextAreaElement[]} */ (all("textarea[data-draft]", within))) {
    const kept = localStorage.getItem(draftKey(field));
    if (kept !== null && kept !== field.value) {
      field.value = kept;
      const details = field.closest("details");
      if (details) details.open = true;
    }
  }
}

document.addEventListener("input", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLTextAreaElement) || !field.dataset.draft) return;
  if (field.value === field.defaultValue) localStorage.removeItem(draftKey(field));
  else localStorage.setItem(draftKey(field), field.value);
});

// A form that leaves the page took its texts along; one that was refused shows them again itself.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.hasAttribute("data-quiet")) return;
  if (form.closest(".verdict")) return keepVerdict(form, event.submitter);
  for (const field of /** @type {HTMLTextAreaElement[]} */ (all("textarea[data-draft]", form))) localStorage.removeItem(draftKey(field));
});

/** A verdict may be refused, since somebody pushed: its words are kept until it counted. @param {HTMLFormElement} form @param {HTMLElement | null} button */
function keepVerdict(form, button) {
  if (button) sessionStorage.setItem("checkrein.decided", review?.dataset.review ?? "");
}

if (review && !review.hasAttribute("data-open")) {
  for (const name of ["changes", "reject"]) localStorage.removeItem(`checkrein.draft.${review.dataset.review}.${name}`);
}

// --- Sending without leaving --------------------------------------------------------------------

/** Comments, marks and settled threads: sent, and their card is shown anew where it is. */
function quietForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.hasAttribute("data-quiet") || event.defaultPrevented) return;
    event.preventDefault();
    void quietly(form, event.submitter);
  });
}

/** @param {HTMLFormElement} form @param {HTMLElement | null} button */
async function quietly(form, button) {
  const fields = new FormData(form, button);
  fields.set("proof", localStorage.getItem(PROOF) ?? "");
  const body = new URLSearchParams();
  for (const [name, value] of fields) if (typeof value === "string") body.append(name, value);
  const buttons = /** @type {HTMLButtonElement[]} */ (all("button", form));
  buttons.forEach((one) => (one.disabled = true));
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    if (answer.status === 401) {
      document.dispatchEvent(new CustomEvent("checkrein:signed-out", { detail: { form, button } }));
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok) {
      const told = all(".problem h1, .problem p:not(:has(a)), .problem li", page).map((part) => part.textContent?.trim());
      return tell(told.filter(Boolean).join(" ") || "It was not taken.", "bad");
    }
    for (const field of /** @type {HTMLTextAreaElement[]} */ (all("textarea[data-draft]", form))) {
      localStorage.removeItem(draftKey(field));
      field.value = field.defaultValue;
    }
    // It may have been begun in the form below its line, and sent from the one of its file.
    if (fields.get("line")) localStorage.removeItem(`checkrein.draft.${review?.dataset.review}.line-${fields.get("file")}-${fields.get("line")}`);
    const next = page.querySelector(".review");
    if (!(next instanceof HTMLElement)) return location.reload();
    take(page, form, next.dataset.head ?? "");
  } catch {
    tell("The server did not answer. What you wrote is still here; try again.", "bad");
  } finally {
    buttons.forEach((one) => (one.disabled = false));
  }
}

/** Takes over what a form changed: its own card and what counts it. @param {Document} page @param {HTMLFormElement} form @param {string} newest */
function take(page, form, newest) {
  if (newest !== head) {
    form.closest(".inline-form")?.remove();
    return moved(newest);
  }
  const card = form.closest("section[id]");
  const index = /** @type {HTMLElement[]} */ (all("[data-line]")).indexOf(/** @type {HTMLElement} */ (document.querySelector("[data-line].cur")));
  const focused = document.activeElement?.closest("section[id]") === card;
  for (const id of new Set([card?.id, "talk", "now"])) if (id) swap(page, id);
  const beside = document.querySelector(".contents ol");
  const list = page.querySelector(".contents ol");
  if (beside && list) beside.replaceWith(document.importNode(list, true));
  const verdict = document.getElementById("verdict");
  if (verdict && !busy(verdict)) swap(page, "verdict");
  known = remembered();
  const line = /** @type {HTMLElement[]} */ (all("[data-line]"))[index];
  if (line) line.classList.add("cur");
  if (focused && card) {
    const place = document.getElementById(card.id);
    place?.setAttribute("tabindex", "-1");
    place?.focus({ preventScroll: true });
  }
  tell("Kept.", "good");
}

/** @param {Document} page @param {string} id */
function swap(page, id) {
  const old = document.getElementById(id);
  const fresh = page.getElementById(id);
  if (!old || !fresh) return;
  const open = all("details[open][id]", old).map((one) => one.id);
  const next = document.importNode(fresh, true);
  // A file that was unfolded stays so.
  if (next.hasAttribute("data-folded") && !old.hasAttribute("data-folded")) return reload(old);
  next.classList.toggle("here", old.classList.contains("here"));
  old.replaceWith(next);
  for (const one of /** @type {HTMLDetailsElement[]} */ (all("details[id]", next))) if (open.includes(one.id) && !one.matches(".say, .reply")) one.open = true;
  drafts(next);
}

/** @param {Element} part */
function busy(part) {
  return /** @type {HTMLTextAreaElement[]} */ (all("textarea", part)).some((field) => field.value.trim() !== "") || part.contains(document.activeElement);
}

// --- Large files --------------------------------------------------------------------------------

function unfold() {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("[data-unfold]") : null;
    const card = link?.closest("section.file");
    if (!card || !(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    link.setAttribute("aria-busy", "true");
    void reload(card, link.href);
  });
}

/** Fetches one file of the review. @param {Element} card @param {string} [address] */
async function reload(card, address) {
  const where = new URL(address ?? location.href);
  where.searchParams.set("file", /** @type {HTMLElement} */ (card).dataset.file ?? "");
  try {
    const answer = await fetch(where, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(card.id);
    if (!fresh) return;
    const next = document.importNode(fresh, true);
    next.classList.toggle("here", card.classList.contains("here"));
    card.replaceWith(next);
  } catch {
    tell("The server did not answer.", "bad");
  }
}

// --- Lines --------------------------------------------------------------------------------------

/** A click on a line's number, or on a paragraph, is the beginning of a comment. */
function lines() {
  document.addEventListener("click", (event) => {
    const at = event.target;
    if (!(at instanceof Element) || at.closest("a, button, summary, form, .thread, textarea")) return;
    const number = at.closest("table.diff td.no");
    const leaf = at.closest(".prose [data-line]");
    const line = number?.closest("[data-line]") ?? leaf;
    if (!(line instanceof HTMLElement) || (leaf && String(getSelection()))) return;
    here(line);
    commentAt(line);
  });
}

/** Opens a form below a line. @param {HTMLElement} line */
function commentAt(line) {
  const card = line.closest("section.file");
  const form = card?.querySelector(".say form");
  const number = line.dataset.line;
  if (!card || !form || !number) return;
  const there = /** @type {HTMLTextAreaElement | null} */ (card.querySelector(`.inline-form[data-of="${number}"] textarea`));
  if (there) return there.focus();
  const copy = /** @type {HTMLFormElement} */ (form.cloneNode(true));
  const field = /** @type {HTMLInputElement} */ (copy.elements.namedItem("line"));
  field.value = number;
  field.type = "hidden";
  const text = /** @type {HTMLTextAreaElement} */ (copy.elements.namedItem("text"));
  text.dataset.draft = `line-${/** @type {HTMLElement} */ (card).dataset.file}-${number}`;
  text.value = localStorage.getItem(draftKey(text)) ?? "";
  const label = copy.querySelector(".line");
  if (label?.firstChild) label.firstChild.textContent = `Line ${number}`;
  const leave = document.createElement("button");
  leave.type = "button";
  leave.textContent = "Leave it";
  copy.querySelector(".actions")?.append(leave);
  /** @type {HTMLElement} */
  let place = copy;
  const row = line.closest("tr");
  if (row) {
    place = document.createElement("tr");
    place.className = "below";
    const cell = document.createElement("td");
    cell.colSpan = [...row.children].reduce((sum, one) => sum + /** @type {HTMLTableCellElement} */ (one).colSpan, 0);
    cell.append(copy);
    place.append(cell);
    row.after(place);
  } else line.after(copy);
  place.classList.add("inline-form");
  place.dataset.of = number;
  leave.addEventListener("click", () => {
    place.remove();
    here(line);
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    place.remove();
    here(line);
  });
  text.focus();
}

/** @param {HTMLElement | undefined} line */
function here(line) {
  all("[data-line].cur").forEach((one) => one.classList.remove("cur"));
  if (!line) return;
  line.classList.add("cur");
  atFile(line.closest("section.file"));
  const box = line.getBoundingClientRect();
  if (box.top < 120 || box.bottom > innerHeight - 60) line.scrollIntoView({ block: "center" });
}

// --- The keyboard -------------------------------------------------------------------------------

function keys() {
  const list = document.querySelector("#keys dl");
  const own = /** @type {HTMLTemplateElement | null} */ (document.getElementById("review-keys"));
  if (list && own) list.replaceChildren(own.content.cloneNode(true), ...all("#keys dl > *").slice(0, 2));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const at = event.target;
    if (at instanceof HTMLElement && (at.isContentEditable || at.matches("input:not([type=checkbox]), textarea, select"))) return;
    if (document.querySelector("dialog[open]")) return;
    const does = KEYS[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }, { capture: true });
}

/** @type {Record<string, () => void>} */
const KEYS = {
  j: () => stepLine(1),
  k: () => stepLine(-1),
  n: () => stepFile(1),
  p: () => stepFile(-1),
  "]": () => stepThread(1),
  "[": () => stepThread(-1),
  c: comment,
  m: markFile,
  e: () => press(current(), "[data-edit]"),
  v: view,
  a: () => /** @type {HTMLElement | null} */ (document.querySelector("[data-approve]"))?.focus(),
  r: () => reason("[data-otherwise]"),
  x: () => reason("[data-reject]"),
};

/** @param {string} selector */
function reason(selector) {
  const details = document.querySelector(selector)?.closest("details");
  if (!details) return;
  details.open = true;
  details.querySelector("textarea")?.focus();
}

/** The lines one can be at. */
function places() {
  return /** @type {HTMLElement[]} */ (all("section.file [data-line]")).filter((line) => line.getClientRects().length > 0);
}

/** @param {number} by */
function stepLine(by) {
  const lines = places();
  const at = lines.findIndex((line) => line.classList.contains("cur"));
  if (at >= 0) return here(lines[Math.max(0, Math.min(lines.length - 1, at + by))]);
  const file = current();
  const within = lines.filter((line) => file?.contains(line));
  // From a file without lines, such as an image, it goes on to the nearest that has some.
  const side = by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
  const beyond = lines.filter((line) => !file || file.compareDocumentPosition(line) & side);
  here(within[0] ?? (by > 0 ? beyond[0] : beyond.at(-1)));
}

/** @param {Element | null} file */
function atFile(file) {
  all("section.file.here").forEach((one) => one.classList.remove("here"));
  file?.classList.add("here");
}

/** The file one is at. */
function current() {
  return document.querySelector("[data-line].cur")?.closest("section.file") ?? document.querySelector("section.file.here");
}

/** @param {number} by */
function stepFile(by) {
  const files = all("section.file");
  const at = files.indexOf(/** @type {Element} */ (current()));
  const next = /** @type {HTMLElement | undefined} */ (files[at < 0 ? (by > 0 ? 0 : files.length - 1) : Math.max(0, Math.min(files.length - 1, at + by))]);
  if (!next) return;
  here(undefined);
  atFile(next);
  next.setAttribute("tabindex", "-1");
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
}

/** @param {number} by */
function stepThread(by) {
  const threads = /** @type {HTMLElement[]} */ (all(".thread"));
  const at = threads.findIndex((one) => one.contains(document.activeElement));
  const next = threads[Math.max(0, Math.min(threads.length - 1, at < 0 ? 0 : at + by))];
  next?.setAttribute("tabindex", "-1");
  next?.focus();
}

function comment() {
  const line = /** @type {HTMLElement | null} */ (document.querySelector("[data-line].cur"));
  if (line) return commentAt(line);
  const details = /** @type {HTMLDetailsElement | null} */ (current()?.querySelector("details.say") ?? null);
  if (details) details.open = true;
  /** @type {HTMLElement | null} */ (details?.querySelector("textarea") ?? document.getElementById("say"))?.focus();
}

/** Approved, changes requested, none. */
function markFile() {
  const buttons = /** @type {HTMLButtonElement[]} */ (all("[data-mark]", current() ?? document.createElement("p")));
  const at = buttons.findIndex((button) => button.getAttribute("aria-pressed") === "true");
  (buttons[at + 1] ?? buttons[at])?.click();
}

function view() {
  const links = /** @type {HTMLAnchorElement[]} */ (all(".toolbar [role=group][aria-label=Columns] a"));
  links.find((link) => link.getAttribute("aria-current") !== "true")?.click();
}

/** @param {Element | null | undefined} within @param {string} selector */
function press(within, selector) {
  /** @type {HTMLElement | null} */ (within?.querySelector(selector) ?? null)?.click();
}

/** Ctrl and Enter send what one writes. */
function sendByKey() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(event.target instanceof HTMLTextAreaElement)) return;
    const form = event.target.form;
    const button = /** @type {HTMLElement | null} */ (event.target.closest("details, form")?.querySelector("button:not([type=button])") ?? null);
    event.preventDefault();
    form?.requestSubmit(button);
  });
}

// --- What others do -----------------------------------------------------------------------------

/** @typedef {{head: string, status: string, by: string, comments: number, commented: string}} Known */

/** What the newest version of the page says. @returns {Known} */
function remembered() {
  const now = /** @type {HTMLElement | null} */ (document.querySelector("#now > span"));
  const said = now?.dataset ?? {};
  return { head: said.head ?? "", status: said.status ?? "", by: said.by ?? "", comments: Number(said.comments ?? 0), commented: said.commented ?? "" };
}

let known = remembered();

/** The page is of one commit and stays so; what others do is told, and nothing moves. */
function news() {
  document.addEventListener("checkrein:applied", () => {
    const now = remembered();
    if (now.status !== known.status) decided(now);
    else if (now.head !== head) moved(now.head);
    else if (now.comments > known.comments) say(`${now.commented} commented.`, "Show it", location.href);
    known = now;
  });
}

/** @param {Known} now */
function decided(now) {
  const by = now.by === document.body.dataset.me ? "You" : now.by || "Somebody";
  say(`${by} decided: ${now.status}.`, "Load the page", location.pathname);
  for (const button of /** @type {HTMLButtonElement[]} */ (all("#verdict button"))) button.disabled = true;
}

/** @param {string} newest */
function moved(newest) {
  const since = new URL(location.pathname, location.origin);
  since.searchParams.set("seen", head);
  say("Somebody pushed to the branch. This page shows the commit before; a verdict from here would be refused.", "Show what is new", since.href);
  known.head = newest;
}

/** @param {string} text @param {string} action @param {string} address */
function say(text, action, address) {
  const place = document.getElementById("news");
  if (!place) return;
  const notice = document.createElement("p");
  notice.className = "notice waits";
  const link = document.createElement("a");
  link.href = address;
  link.textContent = action;
  link.addEventListener("click", (event) => {
    if (new URL(address, location.href).href.split("#")[0] !== location.href.split("#")[0]) return;
    event.preventDefault();
    location.reload();
  });
  notice.append(`${text} `, link);
  place.replaceChildren(notice);
}
