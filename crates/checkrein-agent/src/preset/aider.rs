//! aider: `aider --message-file`, text. It has no tools of MCP, so its result is read from what it says.

use super::{Invocation, Prompt, path, program};
use crate::task::AgentTask;

pub const VARIABLES: &[&str] = &[
    "OPENAI_API_KEY",
    "OPENAI_API_BASE",
    "ANTHROPIC_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "AIDER_MODEL",
    "AIDER_CONFIG_FILE",
];

pub fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    let message = task.home.join("aider-message.md");
    let mut args = [
        "--yes-always",
        "--no-pretty",
        "--no-stream",
        "--no-check-update",
        "--no-analytics",
        "--no-show-model-warnings",
        "--no-gitignore",
        "--no-detect-urls",
    ]
    .map(str::to_owned)
    .to_vec();
    args.extend(["--message-file".to_owned(), path(&message)]);
    for (option, file) in [
        ("--chat-history-file", "aider.chat.history.md"),
        ("--input-history-file", "aider.input.history"),
        ("--llm-history-file", "aider.llm.history"),
    ] {
        args.extend([option.to_owned(), path(&task.home.join(file))]);
    }
    if task.session.is_some() {
        args.push("--restore-chat-history".to_owned());
    }
    if let Some(model) = task.spec.model(task.kind) {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend(task.spec.args.iter().cloned());
    let env = if task.sandboxed { vec![("HOME".to_owned(), path(&task.home))] } else { Vec::new() };
    let files = vec![(message, prompt.text.to_owned())];
    Invocation { program: program(&task.spec, "aider"), args, env, stdin: String::new(), files }
}
