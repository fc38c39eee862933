#!/bin/sh
# Any program can be an agent: it reads a brief, works in its clone, and leaves a result.
own=$CHECKREIN_JOB_FILES
case "$CHECKREIN_PHASE_KIND $CHECKREIN_PHASE_NUMBER" in
"strategic 1")
    {
        echo "# Plan"
        echo
        echo "1. Let greet.sh take a name: \`greet.sh Ann\` says \`Hello, Ann!\`"
        if grep -q 'without a name' "$CHECKREIN_BRIEF"; then
            echo "2. Without a name it says \`Hello, world!\`, as before"
        fi
    } > "$own/plan.md"
    reply=
    if [ "$CHECKREIN_ROUND" -gt 1 ]; then
        reply=', "comment_replies": [{"id": "c1", "text": "It stays as it was; the plan says so now."}]'
        todos='"Greet by name", "Keep the greeting without a name"'
    else
        todos='"Greet by name"'
    fi
    echo "{\"summary\": \"plan for greetings by name\", \"next_todos\": [$todos] $reply}" > "$CHECKREIN_RESULT"
    ;;
"tactical "*)
    printf '#!/bin/sh\necho "Hello, ${1:-world}!"\n' > greet.sh
    git commit -qam "todo 1: greet by name"
    echo '`greet.sh NAME` greets NAME.' >> README.md
    git commit -qam "todo 2: say so in the README"
    echo '{"summary": "greet.sh greets by name", "confidence": 0.9}' > "$CHECKREIN_RESULT"
    ;;
*)
    echo '{"outcome": "job_complete", "summary": "greetings by name, tried and documented"}' > "$CHECKREIN_RESULT"
    ;;
esac
