// A directory of its own with a store in it, and the binary under test. What the scripts need from elsewhere
// is in MCP_MODULES, which scripts/test fills from the lock file beside this.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const needed = (name) => {
    const value = process.env[name];
    if (!value) throw new Error(`${name} is not set; run this by scripts/test`);
    return value;
};

export const binary = needed('CHECKREIN_BINARY');
export const modules = needed('MCP_MODULES');
export const load = createRequire(join(modules, 'node_modules', 'none.js'));

export class Place {
    constructor() {
        this.path = mkdtempSync(join(tmpdir(), 'checkrein-mcp-'));
        this.env = { PATH: process.env.PATH, HOME: this.path, CHECKREIN_STORE: join(this.path, 'store.db') };
    }

    // Runs a command to its end; what it says on standard output.
    run(args, { token, code = 0 } = {}) {
        const env = token ? { ...this.env, CHECKREIN_TOKEN: token } : this.env;
        const ran = spawnSync(binary, args, { env, cwd: this.path, encoding: 'utf8' });
        assert.equal(ran.status, code, `checkrein ${args.join(' ')}: ${ran.stdout}${ran.stderr}`);
        return ran.stdout.trim();
    }

    token(role, name) {
        return this.run(['token', 'create', '--role', role, '--name', name]);
    }

    checkpoint(id) {
        return JSON.parse(this.run(['checkpoint', 'show', id, '--json'], { token: this.viewer ??= this.token('viewer', 'looks') }));
    }

    // A job of a scripted agent, which waits for its first review.
    job(script) {
        const agent = join(this.path, 'agent');
        writeFileSync(agent, `${script}\n`);
        const args = ['job', 'Write a letter', '--agent', `sh ${agent}`];
        const ran = spawnSync(binary, args, { env: this.env, cwd: this.path, encoding: 'utf8' });
        assert.equal(ran.status, 3, `${ran.stdout}${ran.stderr}`);
        return ran.stderr.match(/note: job (\S+)/)[1];
    }

    // A server on a port of its own.
    async serve() {
        const child = spawn(binary, ['serve', '--listen', '127.0.0.1:0', '--no-worker'], {
            env: this.env, cwd: this.path, stdio: ['ignore', 'ignore', 'pipe'],
        });
        let said = '';
        const url = await new Promise((resolve, reject) => {
            child.stderr.setEncoding('utf8').on('data', (text) => {
                said += text;
                const found = said.match(/listens on (http:\S+)/);
                if (found) resolve(found[1]);
            });
            child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
        });
        const ended = new Promise((resolve) => child.once('exit', (code) => resolve({ code, said })));
        return { url, end: () => { child.kill('SIGTERM'); return ended; } };
    }

    remove() {
        rmSync(this.path, { recursive: true, force: true });
    }
}
