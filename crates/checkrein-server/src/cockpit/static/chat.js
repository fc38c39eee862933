// The companion's panel: an answer is shown as it is written, and what others ask appears. It works without this.

// @ts-check

const panel = /** @type {HTMLElement | null} */ (document.querySelector("[data-chat]"));
const SECRET = "checkrein.csrf";
let writing = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;

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

/** Asks, and shows the answer while it is written. @param {HTMLElement} panel @param {HTMLFormElement} form @param {string} text @param {HTMLTextAreaElement | null} field */
async function ask(panel, form, text, field) {
  const said = panel.querySelector("#chat-said");
  if (!said) return;
  writing = true;
  const buttons = /** @type {HTMLButtonElement[]} */ ([...form.querySelectorAll("button")]);
  buttons.forEach((one) => (one.disabled = true));
  try {
    const sent = await fetch(`/v1/runs/${encodeURIComponent(panel.dataset.chat ?? "")}/chat`, {
      method: "POST",
      body: JSON.stringify({ text }),
      headers: {
        "Content-Type": "application/json",
        Accept: "text/event-stream",
        "X-CSRF-Token": localStorage.getItem(SECRET) ?? "",
      },
    });
    if (!sent.ok || !sent.body) {
      const problem = await sent.json().catch(() => ({}));
      return complain([problem.detail ?? "It was not taken", problem.hint].filter(Boolean).join("; "));
    }
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
  } catch {
    complain("The connection broke. The answer is written all the same, and shown when it is there.");
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
      else if (told.kind === "used") state.textContent = `looks at ${told.used.tool}`;
      else if (told.kind === "waits") state.textContent = "the model is asked again";
      else if (told.kind === "answered") return;
    }
  }
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
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    const next = /** @type {HTMLElement} */ (document.importNode(fresh, true));
    // Forms lead back to the page they are on.
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (next.querySelectorAll("[name=back]"))) if (back) field.value = back;
    [...next.querySelectorAll("details")].forEach((one, at) => (one.open = open[at] ?? false));
    old.replaceWith(next);
    newest(next);
  } catch {
    // It is tried again with the next thing that is said.
  }
}

/** What others ask and apply is shown as well. @param {HTMLElement} panel */
function follow(panel) {
  const source = new EventSource(`/v1/runs/${encodeURIComponent(panel.dataset.chat ?? "")}/chat`);
  source.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    const known = told.message
      ? panel.querySelector(`[data-id="${CSS.escape(told.message.id)}"]`)
      : document.getElementById(`proposal-${told.proposal?.id}`);
    const status = (told.message ?? told.proposal)?.status;
    if (known instanceof HTMLElement && known.dataset.status === status && status !== "writing") return;
    clearTimeout(soon);
    soon = setTimeout(() => void refresh(panel), 250);
  });
  addEventListener("pagehide", () => source.close());
}
