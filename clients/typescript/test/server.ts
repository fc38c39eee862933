/** A real server for each test: its own store, its own tokens, a port of its own. */

import { type ChildProcess, execFileSync, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { accessSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

import { CheckpointStore, Client, type ClientOptions } from "checkrein";

export class Server {
  readonly directory = mkdtempSync(join(tmpdir(), "checkrein-"));
  address = "127.0.0.1:0";
  #process: ChildProcess | undefined;
  #arguments: string[] = [];
  #environment: Record<string, string> = {};

  /** One that is gone at the end of the test. */
  static idle(t: TestContext): Server {
    const server = new Server();
    t.after(async () => {
      await server.kill();
      rmSync(server.directory, { recursive: true });
    });
    return server;
  }

  static started(t: TestContext): Promise<Server> {
    return Server.idle(t).start();
  }

  start(args: string[] = [], environment: Record<string, string> = {}): Promise<Server> {
    this.#arguments = args;
    this.#environment = environment;
    return this.again();
  }

  /** Where it listened before, as it was started before. */
  async again(): Promise<Server> {
    const args = ["serve", "--listen", this.address, ...this.#arguments];
    const child = spawn(binary(), args, { cwd: this.directory, env: this.#env(), stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    let said = "";
    for await (const line of createInterface(child.stderr)) {
      said += `${line}\n`;
      const address = /listens on http:\/\/(\S+)/.exec(line)?.[1];
      if (address !== undefined) {
        this.address = address;
        child.stderr.resume();
        return this;
      }
    }
    throw new Error(`the server did not start: ${said}`);
  }

  async kill(how: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    this.#process = undefined;
    const gone = once(child, "exit");
    child.kill(how);
    await gone;
  }

  get url(): string {
    return `http://${this.address}`;
  }

  token(role: string, name: string): string {
    const args = ["token", "create", "--role", role, "--name", name];
    const stdio: StdioOptions = ["ignore", "pipe", "ignore"];
    return execFileSync(binary(), args, { cwd: this.directory, env: this.#env(), encoding: "utf8", stdio }).trim();
  }

  client(role: string, name: string, options: ClientOptions = {}): Client {
    return new Client({ url: this.url, token: this.token(role, name), ...options });
  }

  /** As the program sees it that asks. */
  worker(): CheckpointStore {
    return new CheckpointStore(this.client("agent", "writer"));
  }

  /** As somebody sees it who answers. */
  person(): CheckpointStore {
    return new CheckpointStore(this.client("reviewer", "ann"));
  }

  #env(): Record<string, string> {
    const kept = Object.entries(process.env).filter(([name]) => !/^(CHECKREIN|DWORKERS)_/.test(name));
    return { ...Object.fromEntries(kept), CHECKREIN_STORE: join(this.directory, "store.db"), ...this.#environment };
  }
}

function binary(): string {
  const named = process.env["CHECKREIN_BIN"];
  const places = named ? [named] : (process.env["PATH"] ?? "").split(delimiter).map((place) => join(place, "checkrein"));
  for (const place of places) {
    try {
      accessSync(place);
      return resolve(place);
    } catch {
      continue;
    }
  }
  const hint = "`cargo build -p checkrein-cli`, then set CHECKREIN_BIN to target/debug/checkrein";
  throw new Error(`there is no \`checkrein\` to test with\n  hint: ${hint}`);
}
