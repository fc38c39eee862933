#!/bin/sh
# Any program can be an agent: it reads a brief, works in its clone, and leaves a result.
plan=$CHECKREIN_JOB_FILES/plan.md

# What people said, one line each with the id of the comment; what came without one has none.
said() {
    awk '/^## /{feedback = $0 == "## Feedback"}
        feedback && /^- \*\*c[0-9]+\*\* /{id = $2; gsub(/\*/, "", id)}
        feedback && /^  > /{if (id) {print id, substr($0, 5); comments++} else if (!words) words = substr($0, 5); id = ""}
        END {if (!comments && words) print "-", words}' "$CHECKREIN_BRIEF"
}

# Lines as the items of a JSON list.
items() {
    tr '\001-\011\013-\037' ' ' | sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&"/' | paste -sd, -
}

case "$CHECKREIN_PHASE_KIND $CHECKREIN_PHASE_NUMBER" in
"strategic 1")
    if [ ! -f "$plan" ]; then
        printf '# Plan\n\n1. Let greet.sh take a name: `greet.sh Ann` says `Hello, Ann!`\n' > "$plan"
    fi
    replies=
    while read -r id words; do
        [ -n "$words" ] || continue
        number=$(($(grep -c '^[0-9]' "$plan") + 1))
        case $words in
        *"without a name"*)
            point='Without a name it says `Hello, world!`, as before'
            reply="It stays as it was; the plan says so now." ;;
        *)
            point="As you asked: $words"
            reply="It is point $number of the plan now." ;;
        esac
        printf '%s. %s\n' "$number" "$point" >> "$plan"
        replies="$replies${replies:+, }{\"id\": \"$id\", \"text\": \"$reply\"}"
    done <<END
$(said)
END
    todos=$(sed -n 's/^[0-9]*\. //p' "$plan" | items)
    printf '{"summary": "plan for greetings by name", "next_todos": [%s], "comment_replies": [%s]}\n' \
        "$todos" "$replies" > "$CHECKREIN_RESULT"
    ;;
"tactical "*)
    printf '#!/bin/sh\necho "Hello, ${1:-world}!"\n' > greet.sh
    git commit -qam "todo 1: greet by name"
    echo '`greet.sh NAME` greets NAME.' >> README.md
    sed -n 's/^[0-9]*\. As you asked: /- /p' "$plan" >> README.md
    git commit -qam "say so in the README"
    echo '{"summary": "greet.sh greets by name", "confidence": 0.9}' > "$CHECKREIN_RESULT"
    ;;
*)
    said | sed 's/^[^ ]* /- /' >> README.md
    git commit -qam "what was asked for in the last review"
    echo '{"outcome": "job_complete", "summary": "greetings by name, tried and documented"}' > "$CHECKREIN_RESULT"
    ;;
esac
