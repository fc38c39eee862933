// Keeps a page of frames true: frames change without a word in the log of events, so it looks by itself.

// @ts-check

const EVERY_MS = 2000;

async function again() {
  // Nobody looks at a hidden page, and what somebody is writing is not taken away.
  if (document.hidden || document.activeElement instanceof HTMLInputElement) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const region of document.querySelectorAll("main [data-region]")) {
    const next = page.getElementById(region.id);
    if (next && region.id !== "said" && next.innerHTML !== region.innerHTML) region.replaceWith(next);
  }
}

setInterval(() => again().catch(() => {}), EVERY_MS);
