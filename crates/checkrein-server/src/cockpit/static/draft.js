// The form that gives a job, beside the conversation that prepares it: what is written down fills it in, and what a person
// changes in it is told with their next question. It works without this.

// @ts-check

/** @typedef {{description?: string, expert?: string, autonomy?: string, config_override?: object}} Draft */

const form = /** @type {HTMLFormElement | null} */ (document.querySelector("[data-job-form]"));
const NAMES = { description: "the description", expert: "the expert", level: "the level", config_override: "the settings for this job alone" };
const FIELDS = /** @type {(keyof typeof NAMES)[]} */ (Object.keys(NAMES));
/** What the conversation and the form last agreed on. @type {Record<string, string>} */
const agreed = {};

if (form) {
  for (const name of FIELDS) agreed[name] = value(form, name);
  document.addEventListener("checkrein:drafted", (event) => {
    if (event instanceof CustomEvent) fill(form, event.detail);
  });
  document.addEventListener("checkrein:asking", (event) => {
    if (event instanceof CustomEvent) event.detail.first.push(tellDraft(form, event.detail.at));
  });
}

/** @param {HTMLFormElement} form @param {string} name */
function controls(form, name) {
  const found = form.elements.namedItem(name);
  if (found instanceof RadioNodeList) return /** @type {HTMLInputElement[]} */ ([...found]);
  return found ? [/** @type {HTMLInputElement} */ (found)] : [];
}

/** @param {HTMLFormElement} form @param {string} name */
function value(form, name) {
  const all = controls(form, name);
  if (all[0]?.type === "radio") return all.find((one) => one.checked)?.value ?? "";
  return all[0]?.value ?? "";
}

/** @param {HTMLFormElement} form @param {string} name @param {string} to */
function put(form, name, to) {
  const all = controls(form, name);
  if (all[0]?.type === "radio") {
    all.forEach((one) => (one.checked = one.value === to));
    return;
  }
  const field = all[0];
  if (!field) return;
  if (field instanceof HTMLSelectElement && to && ![...field.options].some((one) => one.value === to)) {
    field.add(new Option(`${to}: nobody here has this name`, to));
  }
  field.value = to;
  if (to) {
    const more = field.closest("details");
    if (more) more.open = true;
  }
}

/** A draft as the fields of the form have it. @param {Draft} draft @returns {Record<string, string>} */
function fields(draft) {
  return {
    description: draft.description ?? "",
    expert: draft.expert ?? "",
    level: draft.autonomy ?? "",
    config_override: draft.config_override ? JSON.stringify(draft.config_override, null, 2) : "",
  };
}

/**
 * Fills in what was written down. What somebody has changed meanwhile stays theirs, and can be exchanged.
 * @param {HTMLFormElement} form @param {Draft} draft
 */
function fill(form, draft) {
  const next = fields(draft);
  /** @type {[string, string][]} */
  const filled = [];
  /** @type {[string, string][]} */
  const offered = [];
  for (const name of FIELDS) {
    const [is, to] = [value(form, name), next[name] ?? ""];
    if (to === agreed[name]) continue;
    const untouched = is === agreed[name];
    agreed[name] = to;
    if (is === to || !to) continue;
    if (untouched) {
      filled.push([name, is]);
      put(form, name, to);
    } else offered.push([name, to]);
  }
  if (filled.length || offered.length) announce(form, filled, offered);
}

/** Says what was filled in, and how to have it otherwise. @param {HTMLFormElement} form @param {[string, string][]} filled @param {[string, string][]} offered */
function announce(form, filled, offered) {
  const place = form.querySelector("#filled-in");
  if (!place) return;
  const words = (/** @type {[string, string][]} */ some) => some.map(([name]) => NAMES[/** @type {keyof typeof NAMES} */ (name)]).join(", ");
  const notice = document.createElement("div");
  notice.className = "notice";
  if (filled.length) notice.append(line(`The companion filled in ${words(filled)}.`, "Put back what was there", () => exchange(form, filled)));
  if (offered.length) notice.append(line(`The companion wrote ${words(offered)} anew, which you have changed meanwhile.`, "Take what it wrote", () => exchange(form, offered)));
  place.replaceChildren(notice);
}

/** @param {string} text @param {string} verb @param {() => void} does */
function line(text, verb, does) {
  const paragraph = document.createElement("p");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = verb;
  button.addEventListener("click", () => {
    does();
    paragraph.remove();
    const place = document.getElementById("filled-in");
    if (!place?.querySelector("p")) place?.replaceChildren();
    document.getElementById("description")?.focus();
  });
  paragraph.append(text, " ", button);
  return paragraph;
}

/** @param {HTMLFormElement} form @param {[string, string][]} values */
function exchange(form, values) {
  for (const [name, to] of values) put(form, name, to);
}

/** Tells the conversation what the form says, so that whoever answers knows it. @param {HTMLFormElement} form @param {string} at */
async function tellDraft(form, at) {
  const changed = FIELDS.filter((name) => value(form, name) !== agreed[name]);
  if (!changed.length) return;
  /** @type {Draft} */
  const draft = {};
  if (value(form, "description").trim()) draft.description = value(form, "description");
  if (value(form, "expert")) draft.expert = value(form, "expert");
  if (value(form, "level")) draft.autonomy = value(form, "level");
  try {
    const over = JSON.parse(value(form, "config_override") || "null");
    if (over && typeof over === "object" && !Array.isArray(over)) draft.config_override = over;
  } catch {
    // What is no JSON yet is told when the job is given.
  }
  const sent = await fetch(`${at}/draft`, {
    method: "POST",
    body: JSON.stringify(draft),
    headers: { "Content-Type": "application/json", "X-CSRF-Token": localStorage.getItem("checkrein.csrf") ?? "" },
  });
  // The question can be answered without it.
  if (sent.ok) for (const name of FIELDS) agreed[name] = value(form, name);
}
