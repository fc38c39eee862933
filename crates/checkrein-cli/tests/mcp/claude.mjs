// Claude Code as the client, on both transports and as the agent of a job, with a model on loopback that calls a
// tool and then says what came back.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Place, binary, needed } from './place.mjs';

const place = new Place();
const agent = place.token('agent', 'claude');

// The model: its first turn calls the tool, its second repeats the result.
const offered = new Set();
// What the model calls, by what it is asked.
let wanted = () => undefined;
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
        const call = wanted(body);
        const can = (asked.tools ?? []).some((tool) => tool.name === call?.name);
        const block = results.length > 0 || !can
            ? { type: 'text', text: `the tool said: ${JSON.stringify(results.map((result) => result.content))}` }
            : { type: 'tool_use', id: 'toolu_1', name: call.name, input: call.input };
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

const settings = {
    IS_SANDBOX: '1', ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.address().port}`,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1',
    // A busy machine starts a server slowly; without it there is nothing to call.
    MCP_CONNECTION_NONBLOCKING: '0', MCP_CONNECT_TIMEOUT_MS: '60000', MCP_TIMEOUT: '60000',
};

// Its command line, without a prompt.
const claude = (server) => [
    process.execPath, join(needed('AGENT_MODULES'), 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs'),
    '-p', '--output-format', 'json', '--strict-mcp-config',
    // Its tools are there from the start, not behind a search that a model has to make first.
    '--mcp-config', JSON.stringify({ mcpServers: { checkrein: { ...server, alwaysLoad: true } } }), '--dangerously-skip-permissions',
];

// Runs a command to its end, while the model answers; what it says on standard output.
async function run([program, ...args]) {
    const env = { ...place.env, ...settings };
    const child = spawn(program, args, { cwd: place.path, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => { err += text; });
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(code, 0, `${program}: ${out}${err}`);
    return out;
}

async function asks(server, id) {
    offered.clear();
    const call = { name: 'mcp__checkrein__request_checkpoint', input: { worker: 'claude', deliverable: 'Sales are up 4 %', id } };
    wanted = () => call;
    const said = JSON.parse(await run([...claude(server), 'Ask for an approval.'])).result;
    assert(offered.has(call.name), `it was offered ${[...offered]}`);
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

// A job whose agent it is: a plan, the work, and the end, each handed in by a tool.
{
    offered.clear();
    const calls = {
        'Phase 1 (strategic)': { name: 'mcp__checkrein__next_phase_todos', input: { todos: ['write it'] } },
        'Phase 2 (tactical)': { name: 'mcp__checkrein__todo_complete', input: { id: 1 } },
        'Phase 3 (strategic)': { name: 'mcp__checkrein__job_complete', input: { summary: 'all is done' } },
    };
    wanted = (body) => calls[Object.keys(calls).find((phase) => body.includes(`# ${phase} of job`))];
    const quoted = claude({ type: 'stdio', command: binary, args: ['mcp'] }).map((word) => `'${word}'`).join(' ');
    const override = JSON.stringify({ autonomy: 'full', environment: Object.keys(settings) });
    await run([binary, 'job', 'Write a letter', '--agent', quoted, '--config-override', override]);
    const runs = JSON.parse(place.run(['runs', '--json']));
    const job = JSON.parse(place.run(['show', runs.items[0].run_id, '--json']));
    assert.deepEqual([job.status, job.phase], ['completed', 'phase-3-strategic']);
    assert.equal(job.job.phase.work.result.summary, 'all is done');
    // In the attempt of a job there is no store, and nothing to ask with.
    assert(!offered.has('mcp__checkrein__request_checkpoint') && offered.has('mcp__checkrein__get_review'), [...offered].join());
}

model.close();
place.remove();
console.log('Claude Code: stdio, HTTP and a job');
process.exit(0);
