// The companion's panel: an answer is shown as it is written, and what others ask appears. It works without this.

// @ts-check

const panel = document.getElementById("chat");
const SECRET = "checkrein.csrf";
let writing = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;
/** @type {EventSource | undefined} */
let source;

if (panel) {
  panel.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.hasAttribute("data-ask")) return;
    event.preventDefault();
    // Nobody else freezes a form that stays.
    event.stopPropagation();
    const field = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("text"));
    const button = event.submitter;
    const chosen = button instanceof HTMLButtonElement && button.name === "question" ? button.value : "";
    const text = chosen || field.value.trim();
    if (!text || writing) return;
    void ask(panel, form, text, chosen ? null : field);
  });
  panel.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(field instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    event.stopPropagation();
    field.form?.requestSubmit();
  });
  newest(document.getElementById("chat-said"));
  follow(panel);
  // A browser has few lines to a server: whoever does not look needs none.
  document.addEventListener("visibilitychange", () => follow(panel));
  addEventListener("pagehide", () => source?.close());
  // The stage of a job, with its questions, changes by what happens to the job.
  document.addEventListener("checkrein:happened", () => later(panel));
}

/** Shows what was said last. @param {HTMLElement | null} said */
function newest(said) {
  if (said) said.scrollTop = said.scrollHeight;
}

/** @param {string} text */
function complain(text) {
  document.dispatchEvent(new CustomEvent("checkrein:tell", { detail: { text, tone: "bad" } }));
}

/** A message that is not on the page yet. @param {string} who @param {string} kind */
function begun(who, kind) {
  const article = document.createElement("article");
  article.className = `message ${kind}`;
  const meta = document.createElement("p");
  meta.className = "meta";
  const name = document.createElement("strong");
  name.textContent = who;
  meta.append(name);
  const text = document.createElement("p");
  text.className = "asked";
  article.append(meta, text);
  return { article, meta, text };
}

/** What the server did not take. */
class Refused extends Error {}

/** @param {string} to @param {object} body @param {string} accept */
function post(to, body, accept) {
  return fetch(to, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", Accept: accept, "X-CSRF-Token": localStorage.getItem(SECRET) ?? "" },
  });
}

/** @param {Response} refused */
async function why(refused) {
  const problem = await refused.json().catch(() => ({}));
  return [problem.detail ?? "It was not taken", problem.hint].filter(Boolean).join("; ");
}

/** Begins a conversation before there is a job; from now on the page is the one of this conversation. @param {HTMLElement} panel */
async function begin(panel) {
  const begun = await post(panel.dataset.begins ?? "", {}, "application/json");
  if (!begun.ok) throw new Refused(await why(begun));
  const id = (await begun.json()).id;
  const at = `${panel.dataset.begins}/${encodeURIComponent(id)}`;
  const page = `${location.pathname}?chat=${encodeURIComponent(id)}`;
  delete panel.dataset.begins;
  Object.assign(panel.dataset, { asks: `${at}/messages`, follows: at, page });
  history.replaceState(history.state, "", page);
  const field = document.querySelector("[data-job-form] [name=chat]");
  if (field instanceof HTMLInputElement) field.value = id;
  follow(panel);
}

/** Asks, and shows the answer while it is written. @param {HTMLElement} panel @param {HTMLFormElement} form @param {string} text @param {HTMLTextAreaElement | null} field */
async function ask(panel, form, text, field) {
  const said = panel.querySelector("#chat-said");
  if (!said) return;
  writing = true;
  const buttons = /** @type {HTMLButtonElement[]} */ ([...form.querySelectorAll("button")]);
  buttons.forEach((one) => (one.disabled = true));
  try {
    if (panel.dataset.begins) await begin(panel);
    // Whoever has something to say before the question is asked says it now.
    /** @type {Promise<unknown>[]} */
    const first = [];
    document.dispatchEvent(new CustomEvent("checkrein:asking", { detail: { at: panel.dataset.follows, first } }));
    await Promise.all(first);
    const sent = await post(panel.dataset.asks ?? "", { text }, "text/event-stream");
    if (sent.status === 401) {
      document.dispatchEvent(new CustomEvent("checkrein:signed-out", { detail: { form, button: null } }));
      return;
    }
    if (!sent.ok || !sent.body) return complain(await why(sent));
    if (field) {
      field.value = "";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    said.querySelector(".quiet")?.remove();
    const question = begun("You", "");
    question.text.textContent = text;
    const answer = begun("Companion", "companion");
    answer.article.setAttribute("aria-busy", "true");
    const state = document.createElement("span");
    state.className = "badge busy";
    state.textContent = "is writing";
    answer.meta.append(" ", state);
    said.append(question.article, answer.article);
    newest(/** @type {HTMLElement} */ (said));
    await hear(sent.body, answer.text, state);
  } catch (error) {
    complain(error instanceof Refused ? error.message : "The connection broke. The answer is written all the same, and shown when it is there.");
  } finally {
    writing = false;
    buttons.forEach((one) => (one.disabled = false));
    await refresh(panel);
  }
}

/** @param {ReadableStream<Uint8Array>} body @param {HTMLElement} text @param {HTMLElement} state */
async function hear(body, text, state) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += decoder.decode(value, { stream: true });
    const pieces = waiting.split("\n\n");
    waiting = pieces.pop() ?? "";
    for (const piece of pieces) {
      if (!piece.startsWith("data: ")) continue;
      const told = JSON.parse(piece.slice(6));
      if (told.kind === "text") {
        text.textContent += told.text;
        newest(text.closest(".said"));
      }
      else if (told.kind === "anew") text.textContent = told.text;
      else if (told.kind === "drafted") drafted(told.draft);
      else if (told.kind === "used") state.textContent = `looks at ${told.used.tool}`;
      else if (told.kind === "waits") state.textContent = "the model is asked again";
      else if (told.kind === "answered") return;
    }
  }
}

/** What was written down of the job, for the form that gives it. @param {object} draft */
function drafted(draft) {
  document.dispatchEvent(new CustomEvent("checkrein:drafted", { detail: draft }));
}

/** Takes over what the server shows of the conversation. @param {HTMLElement} panel */
async function refresh(panel) {
  if (writing) return;
  try {
    const back = /** @type {HTMLInputElement | null} */ (panel.querySelector("form[data-ask] [name=back]"))?.value;
    const answer = await fetch(panel.dataset.page ?? "", { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("chat-said");
    const old = document.getElementById("chat-said");
    if (!answer.ok || !fresh || !old || writing) return;
    for (const id of ["chat-about", "chat-openings"]) {
      const [was, is] = [document.getElementById(id), page.getElementById(id)];
      if (was && is && was.innerHTML !== is.innerHTML) was.replaceChildren(...document.importNode(is, true).childNodes);
    }
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    const next = /** @type {HTMLElement} */ (document.importNode(fresh, true));
    // Forms lead back to the page they are on.
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (next.querySelectorAll("[name=back]"))) if (back) field.value = back;
    [...next.querySelectorAll("details")].forEach((one, at) => (one.open = open[at] ?? false));
    if (next.innerHTML === old.innerHTML) return;
    const atEnd = old.scrollHeight - old.scrollTop - old.clientHeight < 40;
    const [top, focused] = [old.scrollTop, document.activeElement === old];
    old.replaceWith(next);
    if (focused) next.focus({ preventScroll: true });
    // Whoever reads what was said before stays there.
    if (atEnd) newest(next);
    else next.scrollTop = top;
  } catch {
    // It is tried again with the next thing that is said.
  }
}

/** @param {HTMLElement} panel */
function later(panel) {
  clearTimeout(soon);
  soon = setTimeout(() => void refresh(panel), 250);
}

/** What others ask and apply is shown as well, while somebody looks. @param {HTMLElement} panel */
function follow(panel) {
  source?.close();
  source = undefined;
  if (document.hidden || !panel.dataset.follows) return;
  source = new EventSource(panel.dataset.follows);
  source.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    if (told.kind === "drafted") return drafted(told.draft);
    if (told.kind === "given") return given(panel, told.run_id);
    const known = told.message
      ? panel.querySelector(`[data-id="${CSS.escape(told.message.id)}"]`)
      : document.getElementById(`proposal-${told.proposal?.id}`);
    const status = (told.message ?? told.proposal)?.status;
    if (known instanceof HTMLElement && known.dataset.status === status && status !== "writing") return;
    later(panel);
  });
}

/** The job was given, here or elsewhere: what is said from now on is said there. @param {HTMLElement} panel @param {string} run */
function given(panel, run) {
  source?.close();
  delete panel.dataset.follows;
  const notice = document.createElement("p");
  notice.className = "notice good";
  const link = document.createElement("a");
  link.href = `/runs/${encodeURIComponent(run)}/chat`;
  link.textContent = "goes on in it";
  notice.append("The job was given; the conversation ", link, ".");
  panel.querySelector("form[data-ask]")?.replaceWith(notice);
}
