//! A filled command in a real shell: every value comes out exactly as it went in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail like tests")]

use std::process::Command;

use checkrein_core::plan::{Context, fill_shell};

const VALUES: &[&str] = &[
    "",
    "plain",
    "two words  and more",
    "it's",
    "\"quoted\"",
    "'; echo injected; '",
    "\"; echo injected; \"",
    "$(echo injected)",
    "`echo injected`",
    "${HOME}",
    "a\nb\n\nc",
    "*",
    "~",
    "-n",
    "\\",
    "\\n",
    "$((1+1))",
    "{v}",
    "# no comment",
    "&& echo injected",
    "\t tab",
    "E",
    "é ü 漢",
];

/// Each prints `[`, the value, `]`.
const COMMANDS: &[&str] = &[
    "printf '[%s]' {v}",
    "printf '[%s]' \"{v}\"",
    "printf '[%s]' '{v}'",
    "printf '%s' [{v}]",
    "printf '%s' \"[{v}]\"",
    "printf '%s' '['{v}']'",
    "printf '%s' '[{v}]'",
    "x={v}; printf '[%s]' \"$x\"",
    "printf '[%s]' \"$(printf '%s.' '{v}' | sed '$s/[.]$//')\"",
    "x=$(printf '%s.' {v}); printf '[%s]' \"${x%.}\"",
    "x=`printf '%s.' {v}`; printf '[%s]' \"${x%.}\"",
    "x=\"`printf '%s.' {v}`\"; printf '[%s]' \"${x%.}\"",
    "x=\"$(printf '%s.' \"{v}\")\"; printf '[%s]' \"${x%.}\"",
    "# it's for {nobody}\nprintf '[%s]' {v} # and \"so\" on",
    "case {v} in\n  '') printf '[]' ;;\n  *) printf '[%s]' {v} ;;\nesac",
    "f() { printf '[%s]' \"$1\"; }; f {v}",
    "printf '[%s]' \"${NOT_THERE:-{v}}\"",
    "for x in {v}; do printf '[%s]' \"$x\"; done",
];

/// What a shell prints; nothing if this machine does not have it.
fn printed(shell: &str, command: &str, value: &str) -> Option<String> {
    let context = Context::from([("v".to_owned(), value.to_owned())]);
    let (filled, variables) = fill_shell(command, &context).unwrap();
    let run = Command::new(shell).arg("-c").arg(&filled).envs(variables).current_dir("/").output();
    match run {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) if shell != "sh" => None,
        Err(error) => panic!("{shell}: {error}"),
    }
}

fn check(command: &str, value: &str, expected: &str) {
    // `sh` is one of several shells, and they do not agree about everything.
    for shell in ["sh", "bash"] {
        if let Some(printed) = printed(shell, command, value) {
            assert_eq!(printed, expected, "{shell}: {command}");
        }
    }
}

#[test]
fn a_value_comes_out_as_it_went_in() {
    for command in COMMANDS {
        for value in VALUES {
            check(command, value, &format!("[{value}]"));
        }
    }
}

#[test]
fn a_here_document_takes_values_and_a_quoted_one_does_not() {
    for value in VALUES {
        let plain = "cat <<END\nit's \"{v}\"\nEND\nprintf '[%s]' {v}";
        check(plain, value, &format!("it's \"{value}\"\n[{value}]"));
        let quoted = "cat <<'END'\nit's {v}\nEND\nprintf '[%s]' {v}";
        check(quoted, value, &format!("it's {{v}}\n[{value}]"));
    }
}
