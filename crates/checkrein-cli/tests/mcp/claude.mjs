// Claude Code as the client, on both transports, with a model on loopback that calls a tool and then says
// what came back.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Place, binary, modules } from './place.mjs';

const place = new Place();
const agent = place.token('agent', 'claude');

// The model: its first turn calls the tool, its second repeats the result.
const offered = new Set();
let wanted;
const model = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => { body += text; }).on('end', () => {
        if (!request.url.startsWith('/v1/messages') || request.url.includes('count_tokens')) {
            response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens": 1}');
            return;
        }
        const asked = JSON.parse(body);
        for (const tool of asked.tools ?? []) offered.add(tool.name);
        const last = asked.messages.at(-1).content;
        const results = Array.isArray(last) ? last.filter((block) => block.type === 'tool_result') : [];
        const can = (asked.tools ?? []).some((tool) => tool.name === wanted?.name);
        const block = results.length > 0 || !can
            ? { type: 'text', text: `the tool said: ${JSON.stringify(results.map((result) => result.content))}` }
            : { type: 'tool_use', id: 'toolu_1', name: wanted.name, input: wanted.input };
        answer(response, asked, block);
    });
});

function answer(response, asked, block) {
    const stop = block.type === 'tool_use' ? 'tool_use' : 'end_turn';
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: asked.model, content: [], stop_reason: null, stop_sequence: null, usage };
    if (!asked.stream) {
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

// One headless session; what it says in the end.
async function claude(server) {
    const child = spawn(process.execPath, [
        join(modules, 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs'),
        '-p', 'Ask for an approval.', '--output-format', 'json', '--strict-mcp-config',
        '--mcp-config', JSON.stringify({ mcpServers: { checkrein: server } }),
        '--dangerously-skip-permissions',
    ], {
        cwd: place.path,
        env: {
            ...place.env, IS_SANDBOX: '1', ANTHROPIC_API_KEY: 'none',
            ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.address().port}`,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => { err += text; });
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(code, 0, `claude: ${out}${err}`);
    return JSON.parse(out).result;
}

async function asks(server, id) {
    offered.clear();
    wanted = { name: 'mcp__checkrein__request_checkpoint', input: { worker: 'claude', deliverable: 'Sales are up 4 %', id } };
    const said = await claude(server);
    assert(offered.has(wanted.name), `it was offered ${[...offered]}`);
    assert(said.includes(id) && said.includes('pending'), said);
    const verdicts = [...offered].filter((name) => /^mcp__checkrein__.*(approve|reject|verdict|withdraw|request_changes)/.test(name));
    assert.deepEqual(verdicts, []);
    const there = place.checkpoint(id);
    assert.deepEqual([there.status, there.worker], ['pending', 'claude']);
}

await asks({ type: 'stdio', command: binary, args: ['mcp'] }, 'claude-by-stdio');
const server = await place.serve();
await asks({ type: 'http', url: `${server.url}/mcp`, headers: { Authorization: `Bearer ${agent}` } }, 'claude-by-http');
assert.equal((await server.end()).code, 0);
model.close();
place.remove();
console.log('Claude Code: stdio and HTTP');
process.exit(0);
