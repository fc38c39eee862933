// Makes a program of every TypeScript block of the manuals. `EXPRESSION; // true` and `console.log(EXPRESSION); // "text"` are checked.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const client = new URL("../", import.meta.url);
const directory = new URL("build/manual/", client);
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });

for (const [name, path] of [
  ["manual", "../../docs/clients.md"],
  ["readme", "README.md"],
]) {
  const text = readFileSync(new URL(path, client), "utf8");
  let number = 0;
  for (const [, block] of text.matchAll(/^```ts\n(.*?)^```$/gms)) {
    const checked = block
      .replace(/^(\S.*); \/\/ (true|false)$/gm, "assert.equal($1, $2);")
      .replace(/^console\.log\((.*)\); \/\/ (".*")$/gm, "assert.equal($1, $2);");
    number += 1;
    writeFileSync(new URL(`${name}-${number}.ts`, directory), `import assert from "node:assert/strict";\n${checked}`);
  }
  if (number === 0) throw new Error(`${path} has no TypeScript`);
}
