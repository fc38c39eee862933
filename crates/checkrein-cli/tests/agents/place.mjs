// A directory of its own with a store in it, the binary under test, and a model that says what a script says. The
// agents themselves are in AGENT_MODULES, which scripts/test fills from the lock file beside this; aider is the program AIDER.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const needed = (name) => {
    const value = process.env[name];
    if (!value) throw new Error(`${name} is not set; run this by scripts/test`);
    return value;
};

export const binary = needed('CHECKREIN_BINARY');
const modelBinary = needed('SCRIPTED_MODEL');
const modules = needed('AGENT_MODULES');
const aider = needed('AIDER');

// What each agent needs to find its model on loopback, and a place of its own.
const settings = {
    claude: ({ url }) => ({
        ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-scripted-1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1',
        CLAUDE_CODE_MAX_RETRIES: '1',
    }),
    codex: ({ url, path }) => {
        const home = join(path, 'codex');
        mkdirSync(home, { recursive: true });
        writeFileSync(join(home, 'config.toml'), [
            'model = "gpt-scripted"', 'model_provider = "scripted"', '[model_providers.scripted]', 'name = "scripted"',
            `base_url = "${url}/v1"`, 'env_key = "OPENAI_API_KEY"', 'wire_api = "responses"', 'stream_max_retries = 0',
            'request_max_retries = 0', 'supports_websockets = false', '',
        ].join('\n'));
        return { CODEX_HOME: home, OPENAI_API_KEY: 'sk-scripted-1' };
    },
    opencode: ({ url, path }) => {
        const file = join(path, 'opencode.json');
        const provider = { npm: '@ai-sdk/openai-compatible', name: 'scripted', options: { baseURL: `${url}/v1`, apiKey: 'sk-scripted-1' }, models: { m: { name: 'm' } } };
        writeFileSync(file, JSON.stringify({ provider: { scripted: provider }, model: 'scripted/m', small_model: 'scripted/m' }));
        // It asks a registry for packages before it begins, and there is none: once is enough.
        return { OPENCODE_CONFIG: file, OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', npm_config_fetch_retries: '0' };
    },
    aider: ({ url }) => ({ OPENAI_API_KEY: 'sk-scripted-1', OPENAI_API_BASE: `${url}/v1`, AIDER_MODEL: 'openai/scripted' }),
    gemini: ({ url }) => ({ GEMINI_API_KEY: 'sk-scripted-1', GOOGLE_GEMINI_BASE_URL: url, GEMINI_MODEL: 'gemini-2.5-pro' }),
};

// Models end with the test, however that ends.
const models = new Set();
process.on('exit', () => { for (const model of models) model.kill(); });

export class Place {
    // A place whose model follows `script`.
    static async with(agent, script, config = {}) {
        const place = new Place();
        // Gemini CLI believes no settings below a directory anybody may write to, and the sandbox has a /tmp of its own.
        place.path = mkdtempSync(join(needed('AGENT_PLACES'), `${agent}-`));
        place.script = join(place.path, 'script.json');
        writeFileSync(place.script, JSON.stringify(script));
        await place.startModel();
        const agents = { opencode: { environment: ['npm_config_fetch_retries'] }, ...config.agents };
        // Of the person, since a project has no say in programs and variables.
        const own = join(place.path, '.config', 'checkrein');
        mkdirSync(own, { recursive: true });
        writeFileSync(join(own, 'checkrein.yaml'), JSON.stringify({ ...config, agents }));
        const bin = join(place.path, 'bin');
        mkdirSync(bin);
        // Nothing that was installed ran then, so its own link is not there.
        const wrapper = join(modules, 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs');
        symlinkSync(aider, join(bin, 'aider'));
        symlinkSync(join(modules, `node_modules/opencode-linux-${process.arch}/bin/opencode`), join(bin, 'opencode'));
        writeFileSync(join(bin, 'claude'), `#!/bin/sh\nexec '${process.execPath}' '${wrapper}' "$@"\n`, { mode: 0o755 });
        place.env = {
            PATH: `${bin}:${join(modules, 'node_modules', '.bin')}:${process.env.PATH}`, HOME: place.path, LANG: 'C.UTF-8',
            CHECKREIN_STORE: join(place.path, 'store', 'store.db'), GIT_CONFIG_NOSYSTEM: '1',
            ...settings[agent]?.({ url: place.url, path: place.path }),
        };
        return place;
    }

    // From now on its model follows another script, at the same address.
    async say(script) {
        writeFileSync(this.script, JSON.stringify(script));
        this.model.removeAllListeners('exit');
        const ended = new Promise((resolve) => this.model.once('exit', resolve));
        this.model.kill();
        models.delete(this.model);
        await ended;
        await this.startModel(this.url.replace('http://', ''));
    }

    async startModel(...address) {
        this.model = spawn(modelBinary, [this.script, ...address], { stdio: ['ignore', 'pipe', 'ignore'] });
        models.add(this.model);
        this.asked = [];
        let open = '';
        this.url = await new Promise((resolve, reject) => {
            this.model.stdout.setEncoding('utf8').on('data', (text) => {
                const lines = (open + text).split('\n');
                open = lines.pop();
                for (const line of lines) {
                    if (line.startsWith('http')) resolve(line);
                    else this.asked.push(JSON.parse(line));
                }
            });
            this.model.once('exit', (code) => reject(new Error(`the model ended with ${code}`)));
        });
    }

    // Runs checkrein to its end, while the model answers.
    run(args, options) {
        return this.command([binary, ...args], options);
    }

    // Runs any program to its end; what it says on standard output.
    async command([program, ...args], { code = 0, env = {}, input = '', cwd = this.path } = {}) {
        const child = spawn(program, args, { cwd, env: { ...this.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
        // Who does not read has no use for it.
        child.stdin.on('error', () => undefined).end(input);
        let [out, err] = ['', ''];
        child.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
        child.stderr.setEncoding('utf8').on('data', (text) => { err += text; });
        const ended = await new Promise((resolve) => child.once('close', resolve));
        assert.equal(ended, code, `${program} ${args.join(' ')}: ${out}${err}`);
        return out;
    }

    // A verdict, by somebody who may give one.
    async judge(args) {
        this.reviewer ??= (await this.run(['token', 'create', '--role', 'reviewer', '--name', 'ann'])).trim();
        return this.run(args, { env: { CHECKREIN_TOKEN: this.reviewer } });
    }

    async json(args, options) {
        return JSON.parse(await this.run([...args, '--json'], options));
    }

    // A repository with these files, as somebody might have cloned it.
    repository(files) {
        const cwd = mkdtempSync(join(this.path, 'repository-'));
        for (const [name, content] of Object.entries({ 'README.md': '# Letters\n', ...files })) {
            mkdirSync(dirname(join(cwd, name)), { recursive: true });
            writeFileSync(join(cwd, name), content);
        }
        const who = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
        for (const args of [['init', '--quiet'], ['add', '--all'], ['commit', '--quiet', '--message', 'begin']]) {
            const ran = spawnSync('git', [...who, ...args], { cwd, env: this.env, encoding: 'utf8' });
            assert.equal(ran.status, 0, `git ${args.join(' ')}: ${ran.stderr}`);
        }
        return cwd;
    }

    async job() {
        const [{ run_id: id }] = (await this.json(['runs'])).items;
        return this.json(['show', id]);
    }

    git(job, args) {
        const repository = join(this.path, 'store', 'jobs', job, 'repository.git');
        const ran = spawnSync('git', ['--git-dir', repository, ...args], { encoding: 'utf8' });
        assert.equal(ran.status, 0, `git ${args.join(' ')}: ${ran.stderr}`);
        return ran.stdout;
    }

    remove() {
        this.model.removeAllListeners('exit');
        this.model.kill();
        models.delete(this.model);
        rmSync(this.path, { recursive: true, force: true });
    }
}
