// Claude Code and OpenCode with the hooks of frames installed by `checkrein init`, with a model on loopback: what the model
// is shown, and what its calls leave in the tree.

import assert from 'node:assert/strict';
import { Place } from './place.mjs';

const script = {
    answers: [
        { says: 'Fix the login page instead', turns: [{ text: 'The login page is fixed.' }] },
        { says: 'Build the parser', turns: [
            { calls: [{ tool: 'flame_push', input: { goal: 'Write the lexer' } }], usage: { input: 1000, output: 100 } },
            { calls: [{ run: 'exit 3' }], usage: { input: 1100, output: 100 } },
            { text: 'The parser is built.', usage: { input: 1200, output: 100 } },
        ] },
    ],
};

// How each client is asked once, and what it says its session is.
const clients = {
    'claude-code': {
        agent: 'claude',
        command: (prompt, session) => [
            'claude', '-p', '--output-format', 'json', '--dangerously-skip-permissions', '--settings', '{"enableAllProjectMcpServers": true}',
            ...(session ? ['--resume', session] : []), prompt,
        ],
        env: { IS_SANDBOX: '1' },
        session: (out) => JSON.parse(out).session_id,
        event: (session, directory) => ({
            hook_event_name: 'PostToolUse', session_id: session, cwd: directory, tool_name: 'Bash', tool_use_id: 'toolu_again',
            tool_input: { command: 'cargo test' }, tool_response: { stdout: 'ok' },
        }),
    },
    opencode: {
        agent: 'opencode',
        command: (prompt, session) => ['opencode', 'run', '--format', 'json', ...(session ? ['--session', session] : []), prompt],
        env: {},
        session: (out) => out.trim().split('\n').map((line) => JSON.parse(line)).find((line) => line.sessionID).sessionID,
        event: (session, directory) => ({
            event: 'tool', session, directory, key: 'call_again', tool: 'bash', args: { command: 'cargo test' }, output: 'ok', exit: 0,
        }),
    },
};

async function framed(name) {
    const client = clients[name];
    const place = await Place.with(client.agent, script);
    await place.run(['init', '--client', name]);
    assert.equal(await place.run(['init', '--client', name]), 'nothing to change\n');
    const env = { ...client.env, FLAME_PUSH_THRESHOLD: '20' };
    const ask = async (prompt, session) => client.session(await place.command(client.command(prompt, session), { env }));
    // What the model was asked as an agent: with tools.
    const requests = () => place.asked.filter((one) => (one.body.tools ?? []).length > 0).map((one) => JSON.stringify(one.body).replaceAll('\\"', '"'));

    const session = await ask('Build the parser');
    assert(requests()[0].includes('<goal>Build the parser</goal>'), `${name}: the context is not in the first request: ${requests()[0]}`);
    // The call knew its session, and what was measured belongs to the frame it was measured in.
    const tree = () => place.json(['frame', 'tree', '--session', session]);
    const { current, frames } = await tree();
    assert.deepEqual(frames.map((frame) => frame.goal), ['Build the parser', 'Write the lexer'], name);
    assert.equal(current.id, 'f2', name);
    assert(frames[1].signals.errors >= 1 && frames[1].signals.tokens > 0, `${name}: ${JSON.stringify(frames)}`);

    const before = requests().length;
    assert.equal(await ask('Fix the login page instead', session), session);
    const seen = requests()[before];
    assert(seen.includes('[FLAME SUGGESTION: Consider pushing a new frame for "Fix the login page instead"'), `${name}: no suggestion in ${seen}`);
    assert(seen.includes('<goal>Write the lexer</goal>'), `${name}: no context in ${seen}`);
    // The suggestion is part of what is shown now, and of nothing that was said before.
    assert.equal(seen.split('[FLAME SUGGESTION').length, 2, `${name}: ${seen}`);

    // An event that comes twice counts once.
    const event = JSON.stringify(client.event(session, place.path));
    const counted = async () => { await place.run(['hook', name], { env, input: event }); return (await tree()).frames; };
    const once = await counted();
    assert.notDeepEqual(once, frames, `${name}: the event counts`);
    assert.deepEqual(await counted(), once, `${name}: and only once`);

    await place.run(['init', '--client', name, '--remove']);
    assert.equal(await place.run(['init', '--client', name, '--remove']), 'nothing to change\n');
    assert.notEqual(await ask('Build the parser'), session);
    assert.deepEqual((await place.json(['frame', 'sessions'])).items.map((one) => one.id), [session], `${name}: nothing is kept any more`);
    place.remove();
    console.log(`frames: ${name}`);
}

await Promise.all(Object.keys(clients).map(framed));
process.exit(0);
