// The official SDK of another language against both transports.

import assert from 'node:assert/strict';
import { Place, binary, load } from './place.mjs';

const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { ElicitRequestSchema } = load('@modelcontextprotocol/sdk/types.js');

const place = new Place();
const reviewer = place.token('reviewer', 'ann');
const agent = place.token('agent', 'writer');
const viewer = place.token('viewer', 'vera');
const job = place.job(`cat > /dev/null
printf '# Plan\\n\\nThe crawler visits each page once.\\n' > plan.md
echo '{"summary":"planned","next_todos":["write it"]}' > "$CHECKREIN_RESULT"`);

// A client whose person accepts whatever they are told.
async function connected(transport, capabilities = { elicitation: {} }) {
    const client = new Client({ name: 'test', version: '1' }, { capabilities });
    const told = [];
    if (capabilities.elicitation) {
        client.setRequestHandler(ElicitRequestSchema, async (request) => {
            told.push(request.params.message);
            return { action: 'accept', content: { verdict: 'approve', approved: true } };
        });
    }
    await client.connect(transport);
    return { client, told };
}

async function asks(client, told, id, look) {
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    for (const name of ['request_checkpoint', 'check_checkpoint', 'todo_list', 'job_complete', 'inbox', 'show_run']) {
        assert(names.includes(name), `${name} is not in ${names}`);
    }
    const call = async (name, args) => {
        const answer = await client.callTool({ name, arguments: args });
        assert(!answer.isError, JSON.stringify(answer));
        assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent);
        return answer.structuredContent;
    };
    const asked = await call('request_checkpoint', { worker: 'writer', deliverable: { pages: 12 }, id });
    assert.equal(asked.status, 'pending');
    assert.equal(asked.look_at, look);
    assert.equal(asked.notice, 'accepted');
    assert(told.length === 1 && told[0].includes(look), told.join());
    // What a client answers for its person is no verdict.
    assert.equal(place.checkpoint(id).status, 'pending');
    const waiting = call('check_checkpoint', { id, timeout: '40s' });
    place.run(['approve', id, '-m', 'fine'], { token: reviewer });
    assert.deepEqual([(await waiting).status, (await waiting).resolved_by], ['approved', 'ann']);
    const missing = await client.callTool({ name: 'check_checkpoint', arguments: { id: 'none' } });
    assert(missing.isError && missing.content[0].text.includes('hint: '), JSON.stringify(missing));
}

// A job that waits for its review, looked at as a companion does.
async function looks(client, job) {
    const names = (await client.listTools()).tools;
    for (const name of ['get_job', 'get_job_progress', 'get_todos', 'get_graph_changes', 'get_audit_trail', 'search_audit',
        'get_llm_request', 'list_workspace_files', 'read_workspace_file', 'search_workspace', 'vector_search',
        'git_log', 'git_diff', 'git_show']) {
        const tool = names.find((tool) => tool.name === name);
        assert(tool && tool.annotations.readOnlyHint && tool.inputSchema.properties.job, `${name}: ${JSON.stringify(tool)}`);
    }
    const call = async (name, args) => {
        const answer = await client.callTool({ name, arguments: { job, ...args } });
        assert(!answer.isError, JSON.stringify(answer));
        return answer.structuredContent;
    };
    assert.equal((await call('get_job')).status, 'pending_review');
    const files = (await call('list_workspace_files', { file: '*.md' })).files.map((file) => file.path);
    assert(files.includes('plan.md'), files.join());
    assert.equal((await call('read_workspace_file', { path: 'plan.md' })).text, '# Plan\n\nThe crawler visits each page once.\n');
    assert.equal((await call('vector_search', { query: 'a spider fetches websites' })).hits[0].file, 'plan.md');
    assert.equal((await call('search_workspace', { text: 'CRAWLER' })).hits[0].line, 3);
    assert((await call('git_diff')).diff.text.includes('+The crawler visits'));
    assert.equal((await call('get_graph_changes')).state.status, 'pending_review');
    const outside = await client.callTool({ name: 'read_workspace_file', arguments: { job, path: '../../store.db' } });
    assert(outside.isError && outside.content[0].text.includes('there is no file'), JSON.stringify(outside));
}

// Standard input and output.
{
    const transport = new StdioClientTransport({ command: binary, args: ['mcp'], env: place.env, cwd: place.path, stderr: 'inherit' });
    const { client, told } = await connected(transport);
    assert.equal(client.getServerVersion().name, 'checkrein');
    await asks(client, told, 'by-stdio', 'checkrein checkpoint show by-stdio');
    await looks(client, job);
    await client.close();
}

// HTTP.
{
    const server = await place.serve();
    const transport = (token) => new StreamableHTTPClientTransport(new URL('/mcp', server.url), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
    });
    const { client, told } = await connected(transport(agent));
    await asks(client, told, 'by-http', `${server.url}/checkpoints/by-http`);
    const looking = await connected(transport(viewer), {});
    const names = (await looking.client.listTools()).tools.map((tool) => tool.name);
    await looks(looking.client, job);
    const hidden = await client.callTool({ name: 'get_job', arguments: { job } });
    assert(hidden.isError && hidden.content[0].text.includes('there is no run'), JSON.stringify(hidden));
    assert(names.includes('inbox') && !names.includes('request_checkpoint') && !names.includes('job_complete'), names.join());
    await assert.rejects(connected(transport('chk_none')));
    // Both are still connected, with a stream open; the server ends all the same.
    const { code, said } = await server.end();
    assert.equal(code, 0, said);
    await Promise.allSettled([client.close(), looking.client.close()]);
}

place.remove();
console.log('the official TypeScript SDK: stdio and HTTP');
process.exit(0);
