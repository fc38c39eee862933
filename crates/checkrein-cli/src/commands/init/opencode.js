// The plugin of Checkrein for OpenCode. Made by `checkrein init --client opencode`; changes here are lost.
// It tells Checkrein what happens in a session, and shows the model its frame. Whatever goes wrong, the session goes on.

import { spawn } from 'node:child_process';

const PROGRAM = "checkrein" /* program */;
const PATIENCE_MS = 4000;

// OpenCode may find a plugin in more than one place; one of them is enough in a directory.
const taken = (globalThis[Symbol.for('checkrein.opencode')] ??= new Set());
// What is added to a request is known again by this.
const OWN = 'prt_checkrein';

function tell(directory, event) {
    return new Promise((resolve) => {
        try {
            const child = spawn(PROGRAM, ['hook', 'opencode'], { cwd: directory, stdio: ['pipe', 'pipe', 'ignore'] });
            let out = '';
            const timer = setTimeout(() => { child.kill(); resolve({}); }, PATIENCE_MS);
            child.stdout.setEncoding('utf8');
            child.stdout.on('data', (text) => { out += text; });
            child.stdin.on('error', () => {});
            child.on('error', () => { clearTimeout(timer); resolve({}); });
            child.on('close', () => {
                clearTimeout(timer);
                try { resolve(out.trim() ? JSON.parse(out) : {}); } catch { resolve({}); }
            });
            child.stdin.end(JSON.stringify({ directory, ...event }));
        } catch { resolve({}); }
    });
}

// `opencode run` puts a prompt of several words in quotes.
const textOf = (parts) => (parts ?? []).filter((part) => part?.type === 'text' && !part.synthetic).map((part) => part.text).join('\n')
    .trim().replace(/^"([^"]*)"$/, '$1');

export const Checkrein = async ({ directory }) => {
    if (taken.has(directory)) return {};
    taken.add(directory);

    // Sub-agents have sessions of their own; they work in a frame of their parent's session.
    const parents = new Map();
    const limits = new Map();
    const counted = new Set();
    const said = new Map();
    const whose = (session) => (parents.has(session) ? { session: parents.get(session), agentKey: session } : { session });
    const ask = (event) => tell(directory, event);

    const transform = async (_input, output) => {
        try {
            const messages = output?.messages ?? [];
            const last = [...messages].reverse().find((message) => message.info?.role === 'user');
            if (!last || parents.has(last.info.sessionID) || last.parts.some((part) => part.id?.startsWith(OWN))) return;
            const { text } = await ask({ event: 'context', session: last.info.sessionID });
            if (!text) return;
            last.parts.push({
                id: `${OWN}_${Date.now()}`, sessionID: last.info.sessionID, messageID: last.info.id,
                type: 'text', text, synthetic: true,
            });
        } catch { /* the session goes on */ }
    };

    return {
        dispose: async () => { taken.delete(directory); },
        'chat.message': async (input, output) => {
            try {
                if (parents.has(input.sessionID)) return;
                const key = output?.message?.id ?? input.messageID;
                await ask({ event: 'prompt', session: input.sessionID, key, agent: input.agent, text: textOf(output?.parts) });
            } catch { /* the session goes on */ }
        },
        'chat.params': async (input) => {
            const limit = input?.model?.limit?.context;
            if (limit) limits.set(input.sessionID, limit);
        },
        'tool.execute.before': async (input, output) => {
            if (/flame_/.test(input.tool) && output?.args && output.args.session === undefined) {
                output.args.session = whose(input.sessionID).session;
            }
        },
        'tool.execute.after': async (input, output) => {
            try {
                if (/flame_/.test(input.tool)) return;
                const metadata = output?.metadata ?? {};
                await ask({
                    event: 'tool', ...whose(input.sessionID), key: input.callID, tool: input.tool, args: input.args,
                    output: String(output?.output ?? '').slice(0, 20000), exit: metadata.exit,
                    files: Array.isArray(metadata.files) ? metadata.files.map((file) => file?.filePath ?? file?.relativePath).filter(Boolean) : [],
                });
            } catch { /* the session goes on */ }
        },
        'experimental.chat.messages.transform': transform,
        'chat.messages.transform': transform,
        'experimental.session.compacting': async (input, output) => {
            try {
                const { text } = await ask({ event: 'compact', session: input.sessionID, text: said.get(input.sessionID) ?? '' });
                if (text) output?.context?.push(text);
            } catch { /* the session goes on */ }
        },
        event: async ({ event }) => {
            try {
                const info = event?.properties?.info;
                if (event.type === 'session.created' && info?.parentID) {
                    parents.set(info.id, whose(info.parentID).session);
                    await ask({ event: 'agent-began', ...whose(info.id), key: info.id, text: info.title });
                } else if (event.type === 'message.updated' && info?.role === 'assistant' && info.time?.completed && !counted.has(info.id)) {
                    counted.add(info.id);
                    const tokens = info.tokens ?? {};
                    const input = tokens.input ?? 0;
                    const output = (tokens.output ?? 0) + (tokens.reasoning ?? 0);
                    const cached = (tokens.cache?.read ?? 0) + (tokens.cache?.write ?? 0);
                    await ask({
                        event: 'message', ...whose(info.sessionID), key: info.id, spent: input + output,
                        context: input + output + cached, limit: limits.get(info.sessionID),
                    });
                } else if (event.type === 'message.part.updated' && event.properties.part?.type === 'text') {
                    const part = event.properties.part;
                    said.set(part.sessionID, `${said.get(part.sessionID) ?? ''}\n${part.text}`.slice(-100000));
                } else if (event.type === 'message.part.updated' && event.properties.part?.type === 'tool' && event.properties.part.state?.status === 'error') {
                    const part = event.properties.part;
                    await ask({ event: 'tool', ...whose(part.sessionID), key: part.callID, tool: part.tool, args: part.state.input, error: String(part.state.error ?? 'it failed') });
                } else if (event.type === 'session.idle') {
                    const session = event.properties.sessionID;
                    if (parents.has(session)) {
                        await ask({ event: 'agent-ended', ...whose(session), key: session, text: (said.get(session) ?? '').slice(-2000).trim() });
                    } else {
                        await ask({ event: 'idle', session, key: `${session} ${counted.size}` });
                    }
                }
            } catch { /* the session goes on */ }
        },
    };
};
