// Claude Code with the hooks of frames installed, against a model on loopback: what the model is shown, and what a call of
// its leaves in the tree.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Place, binary, modules } from './place.mjs';

const place = new Place();
place.run(['init', '--client', 'claude-code']);
assert.equal(place.run(['init', '--client', 'claude-code']), 'nothing to change');

const asked = [];
let script = [];
const model = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => { body += text; }).on('end', () => {
        if (!request.url.startsWith('/v1/messages') || request.url.includes('count_tokens')) {
            response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens": 1}');
            return;
        }
        const question = JSON.parse(body);
        const isAgent = (question.tools ?? []).length > 0;
        if (isAgent) asked.push(body);
        const next = isAgent ? script.shift() : undefined;
        answer(response, question, next ? { type: 'tool_use', id: `toolu_${asked.length}`, ...next } : { type: 'text', text: 'done' });
    });
});

function answer(response, question, block) {
    const stop = block.type === 'tool_use' ? 'tool_use' : 'end_turn';
    const usage = { input_tokens: 1000, output_tokens: 100 };
    const message = { id: `msg_${asked.length}`, type: 'message', role: 'assistant', model: question.model, content: [], stop_reason: null, stop_sequence: null, usage };
    if (!question.stream) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...message, content: [block], stop_reason: stop }));
        return;
    }
    const [start, delta] = block.type === 'tool_use'
        ? [{ ...block, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
        : [{ type: 'text', text: '' }, { type: 'text_delta', text: block.text }];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of [
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: start },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage },
        { type: 'message_stop' },
    ]) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
}
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));

async function claude(prompt, more = []) {
    const env = {
        ...place.env, IS_SANDBOX: '1', ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.address().port}`,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1', FLAME_PUSH_THRESHOLD: '20',
    };
    const mcp = JSON.stringify({ mcpServers: { checkrein: { type: 'stdio', command: binary, args: ['mcp'] } } });
    const args = [
        join(modules, 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs'), '-p', '--output-format', 'json', '--strict-mcp-config',
        '--mcp-config', mcp, '--dangerously-skip-permissions', ...more, prompt,
    ];
    const child = spawn(process.execPath, args, { cwd: place.path, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => { err += text; });
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(code, 0, `${out}${err}`);
    return JSON.parse(out);
}

script = [{ name: 'mcp__checkrein__flame_push', input: { goal: 'Write the lexer' } }, { name: 'Bash', input: { command: 'exit 3', description: 'fails' } }];
const { session_id: session } = await claude('Build the parser');
const text = (body) => JSON.parse(JSON.stringify(body)).replaceAll('\\n', '\n').replaceAll('\\"', '"');
assert(text(asked[0]).includes('<goal>Build the parser</goal>'), 'the context is in the first request');
const tree = () => JSON.parse(place.run(['frame', 'tree', '--session', session, '--json']));
// The call knew its session, and what was measured belongs to the frame it was measured in.
let frames = tree().frames;
assert.deepEqual(frames.map((frame) => frame.goal), ['Build the parser', 'Write the lexer']);
assert.equal(tree().current.id, 'f2');
assert(frames[1].signals.errors >= 1 && frames[1].signals.tokens > 0, JSON.stringify(frames));

asked.length = 0;
await claude('Fix the login page instead', ['--resume', session]);
const seen = text(asked[0]);
assert(seen.includes('[FLAME SUGGESTION: Consider pushing a new frame for'), 'the suggestion is in the request');
assert(seen.includes('<goal>Write the lexer</goal>'), 'and the context of the frame');

model.close();
place.remove();
console.log('hooks: Claude Code');
process.exit(0);
