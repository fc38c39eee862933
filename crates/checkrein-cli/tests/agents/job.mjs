// Real coding agents, each through a whole guided job with one request for changes, with a model on loopback. Run where
// there is no other network: whatever else an agent would ask for is not there.

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Place } from './place.mjs';

// What the model does, whoever asks it to use its tools.
const script = {
    answers: [
        { says: ['# Phase 1 (strategic) of job', 'Round: 2.'], turns: [
            { calls: [{ tool: 'get_comments' }], usage: { input: 900, output: 30 } },
            { calls: [{ run: "printf '# Plan\\n\\nWrite a friendly letter.\\n' > plan.md" }], usage: { input: 900, output: 30 } },
            { calls: [{ tool: 'reply_comment', input: { id: 'c1', text: 'it is friendly now' } }], usage: { input: 900, output: 30 } },
            { calls: [{ tool: 'next_phase_todos', input: { todos: ['write the friendly letter'] } }], usage: { input: 900, output: 30 } },
            { text: 'The plan is friendlier.', usage: { input: 900, output: 30 } },
        ] },
        { says: '# Phase 1 (strategic) of job', turns: [
            { text: 'I plan.', calls: [{ run: "printf '# Plan\\n\\nWrite a letter.\\n' > plan.md" }], usage: { input: 1000, output: 20 } },
            { calls: [{ tool: 'next_phase_todos', input: { todos: ['write the letter'] } }], usage: { input: 1100, output: 20 } },
            { text: 'The plan is there.', usage: { input: 1200, output: 10 } },
        ] },
        { says: '# Phase 2 (tactical) of job', turns: [
            { calls: [{ run: 'echo "Dear friend," > letter.md' }] },
            { calls: [{ run: "git add -A && git commit -qm 'write the letter' && git rev-list --count HEAD | sed s/^/commits:/" }] },
            { calls: [{ tool: 'todo_complete', input: { id: 1 } }] },
            { calls: [{ tool: 'report_response', input: { status: 'warning', summary: 'wrote the letter', confidence: 0.7, warnings: [{ text: 'nobody proofread it', severity: 'low' }] } }] },
            { text: 'The letter is written.' },
        ] },
        { says: '# Phase 3 (strategic) of job', turns: [
            { calls: [{ tool: 'job_complete', input: { summary: 'the letter is written' } }] },
            { text: 'Nothing is left.' },
        ] },
    ],
};

// The same of a model that has no tools: aider changes files as its answers say, in the form it asked the model for, and its result
// is at the end of them.
const answer = (text, result, usage) => ({ text: `${text}\n\n<checkrein-result>\n${JSON.stringify(result)}\n</checkrein-result>`, usage });
const whole = (file, content) => `${file}\n\`\`\`\n${content}\`\`\``;
const searched = (file, content) => `${file}\n\`\`\`\n<<<<<<< SEARCH\n=======\n${content}>>>>>>> REPLACE\n\`\`\``;
const withoutTools = {
    answers: [
        { anywhere: 'one-line Git commit message', turns: [{ text: 'docs: what was asked for' }] },
        { says: ['# Phase 1 (strategic) of job', 'Round: 2.'], turns: [
            answer(`The plan is friendlier.\n\n${whole('plan.md', '# Plan\n\nWrite a friendly letter.\n')}`, {
                summary: 'a friendlier plan', next_todos: ['write the friendly letter'], comment_replies: [{ id: 'c1', text: 'it is friendly now' }],
            }, { input: 900, output: 30 }),
        ] },
        { says: '# Phase 1 (strategic) of job', turns: [
            answer(`The plan is there.\n\n${whole('plan.md', '# Plan\n\nWrite a letter.\n')}`, {
                // Longer than a line of any terminal, which nothing may break.
                summary: `planned ${'with care '.repeat(40)}`, next_todos: ['write the letter'],
            }, { input: 3300, output: 50 }),
        ] },
        { says: '# Phase 2 (tactical) of job', turns: [
            answer(`The letter is written.\n\n${searched('letter.md', 'Dear friend,\n')}`, {
                summary: 'wrote the letter', todos_done: [1], confidence: 0.7, warnings: [{ text: 'nobody proofread it', severity: 'low' }],
            }, { input: 5000, output: 100 }),
        ] },
        { says: '# Phase 3 (strategic) of job', turns: [answer('Nothing is left.', { outcome: 'job_complete', summary: 'the letter is written' })] },
    ],
};
const scriptOf = (agent) => (agent === 'aider' ? withoutTools : script);

// What the log of each agent says. A commit has a number only if it was made.
const tools = ['next_phase_todos', 'todo_complete', 'job_complete', /commits:\d/];
const words = { aider: ['aider begins with openai/scripted', '▸ edit path=plan.md', '▸ edit path=letter.md', 'docs: what was asked for', '5100 tokens, $0.01'] };
// One model writes whole files and costs nothing, the other looks for what it replaces and has a price.
const config = { aider: { agents: { aider: { models: { strategic: 'openai/scripted', tactical: 'gpt-4o' } } } } };

async function wholeJob(agent, more = []) {
    const place = await Place.with(agent, scriptOf(agent), config[agent]);
    await place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', 'guided', ...more], { code: 3 });
    let job = await place.job();
    const id = job.run_id;
    assert.deepEqual([job.status, job.phase], ['pending_review', 'phase-1-strategic'], 'the plan waits');
    // A held job does nothing.
    const asked = place.asked.length;
    await place.run(['resume', id], { code: 3 });
    assert.equal(place.asked.length, asked, 'nothing is asked of the model while a person is');
    const used = job.job.spent;
    assert(used.tokens >= 2200, `${agent} says that it used ${used.tokens} tokens`);
    await place.judge(['request-changes', job.checkpoint, '-m', 'be friendly', '--comment', 'plan.md:3=friendlier, please']);
    await place.run(['resume', id], { code: 3 });
    job = await place.job();
    assert.deepEqual([job.status, job.phase], ['pending_review', 'phase-1-strategic']);
    // What the session used before is not counted again, and what was spent stays spent.
    const round = job.job.spent.tokens - used.tokens;
    const [least, most] = agent === 'aider' ? [900, 1800] : [4650, 5500];
    assert(round >= least && round < most, `${agent} says that the second round used ${round} tokens`);
    assert(job.job.spent.cost < 3 * (used.cost || 1), `${agent} says that all cost ${job.job.spent.cost}, after ${used.cost}`);
    assert.equal(job.job.spent_since_answer.tokens, round);
    const review = await place.json(['review', job.checkpoint]);
    assert(JSON.stringify(review).includes('it is friendly now'), 'the comment is answered');
    // The session went on: the model was told what it had said before.
    const again = place.asked.filter((one) => JSON.stringify(one.body).includes('Round: 2.'));
    assert(again.some((one) => JSON.stringify(one.body).includes('The plan is there.')), `${agent} began anew`);
    await place.judge(['approve', job.checkpoint]);
    await place.run(['resume', id], { code: 3 });
    job = await place.job();
    assert.deepEqual([job.status, job.phase], ['pending_review', 'phase-3-strategic'], 'the result waits');
    assert.equal(job.job.phase.work.result.summary, 'the letter is written');
    await place.judge(['approve', job.checkpoint]);
    await place.run(['resume', id]);
    job = await place.job();
    assert(['completed', 'completed_with_warnings'].includes(job.status), job.status);
    // Commits, todos, and the job's own files.
    assert.equal(place.git(id, ['show', 'main:letter.md']), 'Dear friend,\n');
    assert.equal(place.git(id, ['show', 'main:plan.md']), '# Plan\n\nWrite a friendly letter.\n');
    // Nothing an agent keeps for itself is among them.
    const files = place.git(id, ['ls-tree', '-r', '--name-only', 'main']).trim().split('\n');
    assert.deepEqual(files.filter((file) => file.startsWith('.')), [], `${agent} left files of its own`);
    const log = place.git(id, ['log', '--format=%B', 'main']);
    assert.match(log, /phase 2 \(tactical\): wrote the letter\n\n- write the friendly letter/);
    assert.match(place.git(id, ['show', 'main:archive/phase-2-tactical-todos.yaml']), /friendly letter/);
    // The audit trail: what it did, in its own order, with tokens; and what it reported.
    const did = await place.run(['log', id]);
    for (const word of ['begins', 'plan.md', 'tokens', 'The letter is written.', ...words[agent] ?? tools]) {
        assert(word instanceof RegExp ? word.test(did) : did.includes(word), `${word} is not in the log of ${agent}:\n${did}`);
    }
    assert(!did.includes('sk-scripted-1'), 'the key is nowhere');
    const report = await place.run(['report', id]);
    assert(report.includes('nobody proofread it'), report);
    const { spent } = job.job;
    assert(spent.tokens > used.tokens + round, `${agent} says that the whole job used ${spent.tokens} tokens`);
    for (const text of [report, await place.run(['show', id])]) assert(text.includes(`${spent.tokens} tokens`), text);
    offered(agent, place, more);
    place.remove();
    console.log(`${agent}: a whole job ${more.join(' ')}`);
}

// Every model that is asked to do the work has our tools before it, and the web only where nothing is asked.
const web = /^(WebFetch|WebSearch|web_?fetch|web_?search|google_web_search|google_search|codesearch)$/;
function offered(agent, place, more) {
    if (agent === 'aider') return;
    const working = place.asked.filter((one) => JSON.stringify(one.body).includes('# Phase ') && toolsOf(one.body).length > 0);
    assert(working.length > 8, `${agent} asked ${working.length} times`);
    for (const { body } of working) {
        const names = toolsOf(body);
        assert(names.some((name) => name.endsWith('job_complete')), `${agent} has none of our tools: ${names}`);
        if (!more.includes('--sandbox')) assert.deepEqual(names.filter((name) => web.test(name)), [], `${agent} may use the web`);
    }
}

// The names of the tools a model is offered, in any dialect.
function toolsOf(body) {
    const named = (tool) => {
        const inner = tool.functionDeclarations ?? (tool.type === 'namespace' ? tool.tools : undefined);
        if (inner) return inner.flatMap(named);
        return tool.defer_loading ? [] : [tool.name ?? tool.function?.name ?? tool.type ?? Object.keys(tool)[0]];
    };
    return (body.tools ?? []).flatMap(named);
}

// What a person has to see to: the job is paused, says why, and goes on afterwards.
async function trouble(agent, fault, said, { env = {} } = {}) {
    const broken = structuredClone(scriptOf(agent));
    broken.answers.find((one) => one.says === '# Phase 1 (strategic) of job').turns[0].fault = fault;
    const place = await Place.with(agent, broken);
    Object.assign(place.env, env);
    await place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', 'review'], { code: 7 });
    const job = await place.job();
    assert.equal(job.status, 'paused', `${agent}: ${JSON.stringify(job.stopped)}`);
    const shown = await place.run(['show', job.run_id]);
    assert(shown.includes(said), `${agent}: ${shown}`);
    place.remove();
    console.log(`${agent}: ${said}`);
}

// A model that is away for the moment: the job is paused, says when it is tried again, and ends as if nothing had been.
async function outage(agent, fault) {
    const broken = structuredClone(scriptOf(agent));
    broken.answers.find((one) => one.says === '# Phase 1 (strategic) of job').turns[0].fault = fault;
    broken.answers.find((one) => one.says === '# Phase 2 (tactical) of job').turns = [{ calls: [{ run: 'echo "Dear friend," > letter.md' }] }, { text: 'The letter is written.' }];
    const place = await Place.with(agent, broken);
    await place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', 'full'], { code: 7 });
    let job = await place.job();
    const shown = await place.run(['show', job.run_id]);
    assert.equal(job.status, 'paused', `${agent}: ${shown}`);
    assert(job.retry_at, `${agent}: ${shown}`);
    assert.match(shown, /was told to come back later|cannot reach its model|got no answer from its model/, agent);
    broken.answers.find((one) => one.says === '# Phase 1 (strategic) of job').turns[0].fault = undefined;
    await place.say(broken);
    await place.run(['resume', job.run_id]);
    job = await place.job();
    assert.deepEqual([job.status, job.response_totals.warnings, job.response_totals.errors], ['completed', 0, 0], agent);
    place.remove();
    console.log(`${agent}: a model that answers with ${JSON.stringify(fault)}`);
}

// Two jobs of one person, begun at once where its program never ran.
async function together(agent) {
    const place = await Place.with(agent, scriptOf(agent), config[agent]);
    const job = () => place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', 'guided'], { code: 3 });
    await Promise.all([job(), job()]);
    place.remove();
    console.log(`${agent}: two jobs at once in a fresh home`);
}

// Where a client does not take what it is given, by its arguments or by what is in the repository, the job is paused before its model
// does anything, and says why.
async function unproven(agent, args, files, said = 'it did not load the tools of Checkrein') {
    const place = await Place.with(agent, script, { agents: { [agent]: { args } } });
    const cwd = files ? place.repository(files) : place.path;
    await place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', 'review'], { code: 7, cwd });
    const job = await place.job();
    assert.equal(job.status, 'paused', `${agent}: ${JSON.stringify(job.stopped)}`);
    const shown = await place.run(['show', job.run_id]);
    assert(shown.includes(`${agent} works without its limits: ${said}`), `${agent}: ${shown}`);
    if (files) assert(!(await place.run(['log', job.run_id])).includes('▸'), `${agent} called something`);
    place.remove();
    console.log(`${agent}: its tools are missing ${JSON.stringify(files ?? args)}`);
}

// Settings that would take our tools away, in the repository or of the person, have no say in it.
async function stubborn(agent, files, prepare = () => undefined) {
    const place = await Place.with(agent, script);
    prepare(place);
    await place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', 'guided'], { code: 3, cwd: place.repository(files) });
    const job = await place.job();
    assert.deepEqual([job.status, job.phase], ['pending_review', 'phase-1-strategic'], `${agent}: ${JSON.stringify(job.stopped)}`);
    assert(JSON.stringify(await place.json(['review', job.checkpoint])).includes('write the letter'), agent);
    place.remove();
    console.log(`${agent}: its tools are there whatever ${JSON.stringify(files)} says`);
}

// A budget ends an agent in the middle of its turn: nothing else would end a command that never does. Whether the agent asks once more
// before it is gone is up to the agent. Claude Code refuses to sleep for long.
async function budget(agent, limit, said) {
    const endless = limit.tokens ? 'tail -f /dev/null' : 'true';
    const turns = [
        { text: 'I plan.', calls: [{ run: 'true' }], usage: { input: 1000, output: 20 } },
        { calls: [{ run: endless }], usage: { input: 1100, output: 20 } },
        { calls: [{ run: endless }], usage: { input: 5000, output: 20 } },
        { text: 'Nobody asked for this.', usage: { input: 5000, output: 20 } },
    ];
    const place = await Place.with(agent, { answers: [{ says: '# Phase 1 (strategic) of job', turns }] });
    await place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', JSON.stringify({ level: 'review', budget: limit })], { code: 3 });
    const job = await place.job();
    assert.equal(job.status, 'pending_review', `${agent}: ${JSON.stringify(job.stopped)}`);
    const shown = await place.run(['show', job.run_id]);
    assert.match(shown, said, agent);
    place.remove();
    console.log(`${agent}: a budget of ${JSON.stringify(limit)}`);
}

// A plan that waits, made where an agent sees and does nothing else.
async function sandboxed(agent) {
    const place = await Place.with(agent, scriptOf(agent), config[agent]);
    await place.run(['job', 'Write a letter', '--agent', agent, '--autonomy', 'guided', '--sandbox'], { code: 3 });
    const job = await place.job();
    assert.deepEqual([job.status, job.phase], ['pending_review', 'phase-1-strategic'], `${agent}: ${JSON.stringify(job.stopped)}`);
    const todos = place.git(job.run_id, ['show', 'phase-1-strategic:todos.yaml']);
    assert(todos.includes('write the letter'), `${agent}: ${todos}`);
    assert.equal(place.git(job.run_id, ['show', 'phase-1-strategic:plan.md']), '# Plan\n\nWrite a letter.\n');
    place.remove();
    console.log(`${agent}: a plan in the sandbox`);
}

async function missing() {
    const place = await Place.with('none', script, { agents: { claude: { program: 'no-such-claude' } } });
    await place.run(['job', 'Write a letter', '--agent', 'claude', '--autonomy', 'review'], { code: 7 });
    const job = await place.job();
    assert.equal(job.status, 'paused');
    assert((await place.run(['show', job.run_id])).includes('`no-such-claude` is not installed'));
    place.remove();
    console.log('a program that is missing');
}

// Named agents alone, with options for their job, as in `job.mjs claude --sandbox`.
const named = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const more = process.argv.slice(2).filter((word) => word.startsWith('--'));
const agents = named.length > 0 ? named : ['opencode', 'claude', 'codex', 'gemini', 'aider'];
const work = agents.map((agent) => () => wholeJob(agent, more));
if (named.length === 0) {
    work.push(
        () => wholeJob('claude', ['--sandbox']),
        // It tries for a minute before it gives up.
        () => trouble('aider', { status: 429 }, 'aider was told to come back later'),
        ...['opencode', 'codex', 'gemini', 'aider'].map((agent) => () => sandboxed(agent)),
        () => unproven('claude', ['--mcp-config', JSON.stringify({ mcpServers: { checkrein: { command: 'false' } } })]),
        () => unproven('codex', ['-c', 'mcp_servers.checkrein.enabled=false']),
        () => unproven('gemini', ['--allowed-mcp-server-names', 'nobody']),
        () => unproven('gemini', [], { '.gemini/settings.json': '{"mcp": {"excluded": ["checkrein"]}}' }),
        () => unproven('gemini', [], { '.gemini/settings.json': '{"mcpServers": {"checkrein": {"command": "false"}}}' }),
        () => unproven('claude', [], { '.claude/settings.json': '{"permissions": {"deny": ["mcp__checkrein"]}}' }, 'its model is not offered the tools of Checkrein'),
        () => stubborn('gemini', { '.gemini/settings.json': '{"tools": {"core": ["run_shell_command"], "exclude": ["mcp_checkrein_*"]}}' }),
        () => stubborn('opencode', { 'opencode.json': '{"tools": {"checkrein_*": false}, "permission": {"checkrein_*": "deny", "*": "deny"}}' }),
        () => stubborn('opencode', { 'opencode.json': '{"default_agent": "mine", "agent": {"mine": {"mode": "primary", "tools": {"checkrein_*": false}}, "build": {"tools": {"checkrein_*": false}}}}' }),
        () => stubborn('codex', {}, (place) => appendFileSync(join(place.env.CODEX_HOME, 'config.toml'), '[mcp_servers.checkrein]\nenabled = false\nenabled_tools = []\ndisabled_tools = ["next_phase_todos"]\n')),
        () => budget('codex', { tokens: 1500 }, /Budget reached: (2140|7160) of 1500 tokens/),
        () => budget('claude', { tokens: 1500 }, /Budget reached: (21|71)\d\d of 1500 tokens/),
        () => budget('claude', { cost: 0.006 }, /Budget reached: 0.00\d+ of 0.006 in cost/),
        () => trouble('claude', { status: 401 }, 'was refused by its model'),
        () => trouble('codex', { status: 429, retry_after: 3600 }, 'come back later'),
        () => trouble('aider', { status: 401 }, 'aider was refused by its model'),
        // Left to itself it would wait for somebody to log in with a browser.
        () => trouble('aider', null, 'aider has no key for its model', { env: { OPENAI_API_KEY: '', AIDER_MODEL: '' } }),
        ...[{ status: 500 }, { status: 529 }, { drop: true }, { empty: true }].flatMap((fault) => [
            () => outage('opencode', fault),
            () => outage('claude', fault),
            () => outage('codex', fault),
        ]),
        // Claude Code makes do with the first half of an answer.
        () => outage('opencode', { cut: true }),
        () => outage('codex', { cut: true }),
        () => outage('gemini', { cut: true }),
        () => outage('gemini', { empty: true }),
        // It would ask again for minutes.
        () => outage('gemini', { status: 503 }),
        () => together('opencode'),
        missing,
    );
}
// An agent waits about as long as it works, so there are more of them than processors.
const turn = async () => { for (let next = work.shift(); next; next = work.shift()) await next(); };
await Promise.all(Array.from({ length: availableParallelism() + 1 }, turn));
process.exit(0);
