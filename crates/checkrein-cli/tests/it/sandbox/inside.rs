//! An agent that wants to answer for a person.

use super::{Room, finish, users};

#[test]
fn a_hostile_agent_gets_no_verdict() {
    for user in users() {
        let room = Room::new(*user);
        std::fs::remove_file(room.path("store/store.db")).unwrap();
        let outside = |script: &str| {
            let script = format!("export CHECKREIN_STORE=$STORE/store.db; {script}");
            finish(room.command(&["sh".into(), "-c".into(), script.into()]).spawn().unwrap())
        };
        let asked =
            outside("checkrein checkpoint create --worker w --type deliverable --deliverable draft --id ask");
        assert_eq!(asked.code, Some(3), "{}", asked.seen());
        outside(
            "checkrein token create --role reviewer --name ann > $STORE/token && cp $STORE/token ~/.netrc",
        )
        .good();
        for attempt in [
            "checkrein approve ask",
            "CHECKREIN_STORE=$STORE/store.db checkrein approve ask",
            "env -i $ROOM/bin/checkrein approve --store $STORE/store.db ask",
            "script -qec \"checkrein approve --store $STORE/store.db ask\" /dev/null < /dev/null",
            "CHECKREIN_TOKEN=$(cat $STORE/token || cat ~/.netrc) checkrein approve --store $STORE/store.db ask",
            "checkrein token create --role reviewer --name me --store $STORE/store.db",
            "checkrein token create --role reviewer --name me --store /tmp/own.db > t; cp /tmp/own.db* $STORE/",
            "sqlite3 $STORE/store.db \"update checkpoints set status = 'approved'\"",
            "python3 -c \"import sqlite3; sqlite3.connect('$STORE/store.db').execute('drop table checkpoints')\"",
            "rm -rf $STORE; mv $STORE $STORE.old; : > $STORE/store.db; cp file $STORE/store.db",
            "echo 'autonomy: full' > $REPO/checkrein.yaml || echo 'autonomy: full' > ~/.config/checkrein/checkrein.yaml",
            "echo 'checkrein approve ask' >> ~/.bashrc || git config --global core.pager 'checkrein approve ask'",
            "pkill checkrein; kill -9 $PPID; kill -9 -1",
        ] {
            let ended = room.run(attempt);
            assert!(ended.code != Some(0), "{attempt}: {}", ended.seen());
            assert!(!ended.stdout.contains("approved ask"), "{attempt}: {}", ended.seen());
        }
        let shown = outside(
            "checkrein checkpoint show ask --json; checkrein store check; checkrein token list --json",
        );
        assert!(shown.good().contains("\"status\": \"pending\""), "{}", shown.seen());
        assert!(shown.stdout.contains("sound: 1 checkpoint, 1 event"), "{}", shown.seen());
        assert_eq!(shown.stdout.matches("\"reviewer\"").count(), 1, "{}", shown.seen());
        assert_eq!(room.read("repo/checkrein.yaml"), "autonomy: { job: guided }\n");
        assert_eq!(room.read("home/.bashrc"), "# mine\n");
        // The store of this test is one that can be answered from outside.
        let approved = outside("CHECKREIN_TOKEN=$(cat $STORE/token) checkrein approve ask");
        assert!(approved.good().contains("approved ask"), "{}", approved.seen());
    }
}

#[test]
fn checkrein_knows_that_it_is_inside() {
    for user in users() {
        let room = Room::new(*user);
        let ended = room.run(
            "export CHECKREIN_STORE=/tmp/own.db; checkrein checkpoint create --worker w --deliverable d --id ask; \
             env -i $ROOM/bin/checkrein approve --store /tmp/own.db ask; (setsid env -i $ROOM/bin/checkrein approve --store /tmp/own.db ask &) | cat",
        );
        assert_eq!(ended.stderr.matches("inside an agent's attempt").count(), 2, "{}", ended.seen());
        assert!(!ended.stdout.contains("approved"), "{}", ended.seen());
    }
}
