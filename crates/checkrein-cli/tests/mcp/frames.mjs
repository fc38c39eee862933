// The tools, prompts and resources of frames: with the official SDK on both transports, and with the inspector.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Place, binary, load, modules } from './place.mjs';

const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');

const TOOLS = [
    'flame_autonomy_config', 'flame_should_push', 'flame_should_pop', 'flame_auto_suggest', 'flame_autonomy_stats', 'flame_push',
    'flame_pop', 'flame_plan', 'flame_plan_children', 'flame_activate', 'flame_invalidate', 'flame_tree', 'flame_status',
    'flame_summarize', 'flame_add_artifact', 'flame_add_decision', 'flame_context_preview', 'flame_get_state', 'flame_feedback',
    'flame_undo',
];

const place = new Place();
const agent = place.token('agent', 'framer');

// Calls every tool in a session of its own.
async function walk(client, session) {
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    for (const name of TOOLS) assert(names.includes(name), `${name} is not in ${names}`);
    const called = new Set();
    const call = async (name, args = {}) => {
        called.add(name);
        const answer = await client.callTool({ name, arguments: { session, ...args } });
        assert(!answer.isError, `${name}: ${JSON.stringify(answer)}`);
        assert.equal(answer.structuredContent.session, session, name);
        return { text: answer.content[0].text, ...answer.structuredContent };
    };
    assert.equal((await call('flame_push', { goal: 'Build the parser' })).current.id, 'f1');
    await call('flame_plan', { goal: 'Write the manual' });
    await call('flame_plan_children', { goals: ['Lexer', 'Grammar'] });
    await call('flame_activate', { frame: 'f3' });
    await call('flame_add_artifact', { artifact: 'lexer.rs' });
    await call('flame_add_decision', { decision: 'by hand' });
    await call('flame_summarize', { summary: 'half done' });
    const popped = await call('flame_pop', { status: 'completed', summary: 'it lexes' });
    assert.deepEqual([popped.frame.status, popped.current.id], ['completed', 'f1']);
    assert.deepEqual((await call('flame_invalidate', { frame: 'f4', reason: 'no need' })).invalidated, ['f4']);
    assert.equal((await call('flame_undo')).undone, 'invalidation of f4');
    assert((await call('flame_tree')).text.includes('✓ f3 Lexer'));
    assert((await call('flame_context_preview', { tokens: 500 })).context.includes('it lexes'));
    const config = await call('flame_autonomy_config', { level: 'suggest', pushThreshold: 20, disableHeuristic: 'duration' });
    assert.equal(config.config.pushThreshold, 20);
    const asked = await call('flame_should_push', {
        potentialGoal: 'Fix authentication bug', recentMessages: 20, recentFileChanges: ['src/auth/login.ts', 'src/auth/token.ts'], errorCount: 2,
    });
    assert(asked.text.startsWith('# Push Heuristic Evaluation\n') && asked.text.includes('- **Should Push:** YES'), asked.text);
    await call('flame_feedback', { id: asked.suggestion.id, useful: true });
    assert((await call('flame_status')).text.includes('[FLAME SUGGESTION: Consider pushing a new frame for "Fix authentication bug"'));
    assert((await call('flame_should_pop', { successSignals: ['tests passing'], tokenCount: 50000, contextLimit: 100000 })).text.includes('**Should Pop:** NO'));
    assert((await call('flame_auto_suggest', { enable: false, showHistory: true, clearPending: true })).text.includes('disabled'));
    assert.equal((await call('flame_autonomy_stats')).stats.ignored, 1);
    assert.equal((await call('flame_autonomy_config', { reset: true })).config.pushThreshold, 70);
    assert.equal((await call('flame_get_state')).frames.length, 4);
    assert.deepEqual([...called].sort(), [...TOOLS].sort(), 'every tool was called');
    const refused = await client.callTool({ name: 'flame_pop', arguments: { session } });
    assert(refused.isError && refused.content[0].text.includes('is a root'), JSON.stringify(refused));

    const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
    assert.deepEqual(prompts, ['push', 'pop', 'plan', 'status']);
    const prompt = await client.getPrompt({ name: 'push', arguments: { goal: 'Ship "it"' } });
    assert(prompt.messages[0].content.text.includes('flame_push') && prompt.messages[0].content.text.includes('Ship \\"it\\"'));
    const uris = (await client.listResources()).resources.map((resource) => resource.uri);
    for (const uri of [`checkrein://frames/${session}`, `checkrein://frames/${session}/f3/log`]) {
        assert(uris.includes(uri), `${uri} is not in ${uris}`);
    }
    const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
    assert((await read(`checkrein://frames/${session}`)).includes('● f1 Build the parser'));
    assert((await read(`checkrein://frames/${session}/f3/log`)).includes('decision: by hand'));
    await assert.rejects(read('checkrein://frames/none'));
}

{
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport({ command: binary, args: ['mcp'], env: place.env, cwd: place.path, stderr: 'inherit' }));
    await walk(client, 'by-stdio');
    await client.close();
}
{
    const server = await place.serve();
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url), {
        requestInit: { headers: { Authorization: `Bearer ${agent}` } },
    }));
    await walk(client, 'by-http');
    await client.close();
    assert.equal((await server.end()).code, 0);
}

// The inspector's command line.
const inspect = (args) => {
    const cli = join(modules, 'node_modules/@modelcontextprotocol/inspector/cli/build/cli.js');
    const ran = spawnSync(process.execPath, [cli, '--cli', binary, 'mcp', ...args], { env: place.env, cwd: place.path, encoding: 'utf8' });
    assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    return JSON.parse(ran.stdout);
};
const listed = inspect(['--method', 'tools/list']).tools.map((tool) => tool.name);
for (const name of TOOLS) assert(listed.includes(name), `${name} is not in ${listed}`);
const pushed = inspect(['--method', 'tools/call', '--tool-name', 'flame_push', '--tool-arg', 'goal=Inspect', '--tool-arg', 'session=inspected']);
assert.equal(pushed.structuredContent.frame.goal, 'Inspect');
assert(place.run(['frame', 'tree', '--session', 'inspected']).includes('● f1 Inspect'));

place.remove();
console.log('frames: the official TypeScript SDK on stdio and HTTP, and the inspector');
process.exit(0);
