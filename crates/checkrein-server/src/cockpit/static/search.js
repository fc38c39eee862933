// Shows what a search found beside the review. Without it the form leads to a page of its own, and so it does here
// whenever something is odd.

// @ts-check

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches("[data-search]")) return;
  const place = document.getElementById("search-found");
  if (!place) return;
  event.preventDefault();
  const address = new URL(form.action);
  for (const [name, value] of new FormData(form)) address.searchParams.set(name, String(value));
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("found");
    if (!answer.ok || !found) throw new Error("no answer");
    const all = document.createElement("a");
    all.href = address.href;
    all.textContent = "On a page of its own, with filters";
    const more = document.createElement("p");
    more.append(all);
    place.replaceChildren(...found.childNodes, more);
  } catch {
    location.assign(address);
  } finally {
    place.removeAttribute("aria-busy");
  }
});
