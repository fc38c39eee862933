//! Agents that do to their clone what nobody expects. What they leave is data, and nothing of it runs.

use super::{Job, git, job, scene};

/// A job whose second phase does this, and then works as usual.
fn done(second: &str) -> Job {
    let agent = format!("case $n in 2) {second}\nwork ;; *) usual ;; esac");
    job(scene(&agent), &["--autonomy", "full"], 0)
}

#[test]
fn an_agent_may_commit_by_itself() {
    let agent = r#"case $n in
      2) for f in one two; do echo $f > $f; git add $f; git commit -qm "todo: $f"; done; work ;;
      *) usual ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "dependent"], 3);
    job.approve(3);
    let titles = job.titles("phase-2-tactical");
    for title in ["todo: one", "todo: two", "worked"] {
        assert!(titles.contains(&title.to_owned()), "{titles:?}");
    }
    let names = job.git(&["log", "--format=%an %cn", "main..phase-2-tactical"]);
    assert!(names.lines().all(|line| line == "agent agent" || line == "checkrein checkrein"), "{names}");
}

#[test]
fn an_agent_that_signs_as_somebody_else_does_not() {
    let job = done(
        r#"git config user.name carla; git config user.email carla@example.org
      GIT_AUTHOR_NAME=checkrein GIT_AUTHOR_EMAIL=engine@checkrein.invalid git commit -q --allow-empty -m nothing
      echo x > x; git add x; git commit -qm mine"#,
    );
    let merge = r#"{"merge":"merge"}"#;
    assert!(!job.git(&["log", "--all", "--format=%an"]).contains("carla"), "{merge}");
}

#[test]
fn an_agent_that_leaves_its_branch_is_followed() {
    for second in [
        "git switch -qc elsewhere; echo x > x; git add x; git commit -qm elsewhere",
        "git checkout -q --detach; echo x > x; git add x; git commit -qm detached",
        "git branch -m renamed; echo x > x; git add x; git commit -qm renamed",
        "echo x > x; git add x; git commit -qm packed; git pack-refs --all; git gc -q --prune=now",
        "git checkout -q --orphan fresh; echo x > x; git add x; git commit -qm orphan",
        "echo x > x; rm -rf .git",
        "echo x > x; rm -rf .git; git init -q; git add .; git commit -qm 'a new one'",
        "echo x > x; echo broken > .git/HEAD",
        "echo x > x; git add x; git commit -q --amend -m rewritten",
        "git reset -q --hard main; echo x > x",
        "echo x > x; chmod 000 .git",
        "echo x > x; rm -f .git/index; mkfifo .git/index",
    ] {
        let job = done(second);
        assert_eq!(job.file("main", "x"), "x", "{second}");
        assert_eq!(job.file("main", "work-2"), "work of 2.1", "{second}");
        assert_eq!(job.branches(), ["main"], "{second}");
        assert_eq!(job.titles("main")[1..].len(), 2, "{second}: {:?}", job.titles("main"));
    }
}

#[test]
fn a_nested_repository_is_files() {
    let agent = r#"case $n in 2)
      mkdir inner; echo x > inner/x; git -C inner init -q; git -C inner add x; git -C inner commit -qm inner
      git init -q --bare bare.git
      printf '[submodule "evil"]\n\tpath = evil\n\turl = ext::sh -c touch%%20/tmp/x\n' > .gitmodules
      work ;; *) usual ;; esac"#;
    // `.gitmodules` is protected, so that a person looks at it.
    let job = job(scene(agent), &["--autonomy", "full"], 3);
    assert!(job.asked().to_string().contains(".gitmodules"), "{}", job.asked());
    job.approve(0);
    let names = job.files("main");
    assert!(names.contains(&"inner/x".to_owned()), "{names:?} {}", job.found());
    assert!(!names.iter().any(|name| name.contains("inner/.git")), "{names:?}");
    assert!(!job.found().is_empty(), "that something was left out is told");
}

#[test]
fn a_clone_that_is_gone_is_told() {
    for second in
        [r#"cd ..; rm -rf "$OLDPWD""#, r#"d=$PWD; cd ..; mv "$d" "$here/stolen"; cd "$here/stolen""#]
    {
        let job = done(second);
        assert!(job.found().contains("the clone is gone"), "{second}: {}", job.found());
        assert_eq!(job.titles("main").len(), 3, "{second}: {:?}", job.titles("main"));
        assert!(!job.files("main").contains(&"work-2".to_owned()), "{second}");
    }
}

#[test]
fn what_git_ignores_stays_until_the_job_is_over() {
    let agent = r#"case $n in
      1) mkdir target; echo built > target/thing; printf '/target/\n' > .gitignore; usual ;;
      *) cat target/thing >> "$here/seen"; usual ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "partial"], 3);
    job.approve(3);
    let seen = std::fs::read_to_string(job.place.path().join("seen")).unwrap();
    assert_eq!(seen, "built\nbuilt\n", "in each phase after the first");
    job.approve(0);
    let beside = std::fs::read_dir(job.repository().parent().unwrap()).unwrap();
    let names: Vec<String> = beside.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.starts_with("rested") || name == "clone"), "{names:?}");
}

#[test]
fn a_clone_that_became_something_else_is_not_followed() {
    let agent = r#"case $n in
      2) d=$PWD; cd ..; rm -rf "$d"; mkdir "$here/outside"; echo secret > "$here/outside/secret"
         ln -s "$here/outside" "$d"; answer '{}' ;;
      *) usual ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "dependent"], 3);
    job.approve(3);
    assert!(job.found().contains("the clone is gone"), "{}", job.found());
    job.approve(3);
    let all = job.git(&["log", "--all", "--name-only", "--format="]);
    assert!(!all.contains("secret"), "{all}");
    assert!(job.place.path().join("outside/secret").exists(), "nothing outside is removed");
}

#[test]
fn links_are_links() {
    let job = done(
        r#"echo secret > "$here/secret"; ln -s "$here/secret" link; ln -s "$here" directory
      ln -s loop loop; mkdir deep; ln -s ../../../../../../etc deep/etc; mkfifo pipe; ln "$here/secret" hard 2> "$here/no""#,
    );
    assert!(job.git(&["ls-tree", "main", "link"]).starts_with("120000"));
    assert!(!job.files("main").iter().any(|name| name.starts_with("deep/etc/") || name == "pipe"));
    assert!(job.found().contains("pipe"), "{}", job.found());
}

/// Everything in a clone that git would run, if it ran there.
const TRAPS: &str = r#"trap_=$here/trapped
for hook in pre-commit post-commit post-checkout post-merge reference-transaction pre-receive update post-receive post-index-change fsmonitor-watchman pre-push; do
  printf '#!/bin/sh\ntouch "%s-%s"\n' "$trap_" $hook > .git/hooks/$hook; chmod +x .git/hooks/$hook
done
for key in core.fsmonitor core.sshCommand core.pager core.editor core.askPass diff.external \
  filter.bad.clean filter.bad.smudge filter.bad.process diff.bad.textconv diff.bad.command merge.bad.driver \
  uploadpack.packObjectsHook gpg.program credential.helper pager.log; do
  git config $key "touch $trap_-$key; cat"
done
git config commit.gpgSign true; git config log.showSignature true; git config core.hooksPath "$PWD/.git/hooks"
git config core.worktree "$here"; git config include.path "$here/more"
git config extensions.partialClone origin; git config remote.origin.url "ext::touch $trap_-remote"
printf '* filter=bad diff=bad merge=bad\n' > .gitattributes
printf '* filter=bad diff=bad merge=bad\n' > .git/info/attributes
mkdir -p .git/objects/info; echo "$here/elsewhere" > .git/objects/info/alternates
echo x > x"#;

#[test]
fn nothing_in_a_clone_ever_runs() {
    let agent = format!("case $n in 1 | 2) {TRAPS}\nusual ;; *) usual ;; esac");
    let job = job(scene(&agent), &["--autonomy", "dependent"], 3);
    // Git is told to forget what set the traps off in the agent's own hands.
    let trapped = |job: &Job| {
        let names = std::fs::read_dir(job.place.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("trapped")).collect::<Vec<_>>()
    };
    assert_eq!(trapped(&job), Vec::<String>::new());
    job.change(&[], 3);
    job.approve(3);
    job.change(&[], 3);
    job.place.run(&["show", &job.id]);
    job.approve(3);
    assert_eq!(trapped(&job), Vec::<String>::new());
    assert_eq!(job.file("main", "x"), "x");
    let clone = job.cloned("carla", "main");
    assert!(git(&clone, &["config", "--list"]).lines().all(|line| !line.contains("touch")));
}

#[test]
fn what_is_too_big_or_too_odd_is_left_out_and_told() {
    let job = done(
        r#"truncate -s 70000000 big; mkdir -p "$(printf 'a/%.0s' $(seq 60))"; printf 'x' > "$(printf 'bad\377name')"
      printf x > "$(printf 'new\nline')"; mkdir .GIT; echo x > .GIT/config; echo x > "nor mal""#,
    );
    let names = job.git(&["ls-tree", "-r", "-z", "--name-only", "main"]);
    assert!(!names.contains("big") && !names.contains(".GIT") && names.contains("nor mal"), "{names}");
    assert!(job.found().contains("big") && job.found().contains(".GIT"), "{}", job.found());
}

#[test]
fn what_is_ignored_stays_behind() {
    let job = done(r#"printf 'build/\n*.log\n' > .gitignore; mkdir build; echo x > build/x; echo x > a.log"#);
    let names = job.files("main");
    assert!(names.contains(&".gitignore".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("build/") || name == "a.log"), "{names:?}");
}

#[test]
fn the_jobs_own_repository_is_not_in_an_agents_reach_by_git() {
    let job =
        done(r#"git remote -v > "$here/remotes"; git push origin main > "$here/pushed" 2>&1; echo x > x"#);
    assert_eq!(job.place.read("remotes"), "");
    assert!(job.place.read("pushed").contains("fatal"), "{}", job.place.read("pushed"));
}

#[test]
fn an_agent_that_deletes_everything_deletes_what_it_may() {
    let job = done(r#"rm -rf ./*; echo x > x"#);
    let names = job.files("main");
    assert!(names.contains(&"x".to_owned()) && names.contains(&"workspace.md".to_owned()), "{names:?}");
    assert!(!names.contains(&"plan.md".to_owned()), "{names:?}");
}
