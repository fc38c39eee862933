//! What a phase of a job costs beside its agent, and how much of that git takes.
//! Run by `scripts/bench`.

use std::error::Error;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "shared/mod.rs"]
mod shared;

use shared::{Table, median, ms, verdict};

const FILES: usize = 1_000;
/// Of the long job; odd, since a job ends in a strategic phase.
const PHASES: u32 = 11;
const TURNS: usize = 5;
const PHASE_MAX: Duration = Duration::from_millis(300);

/// Plans when it must, does nothing, and ends after so many phases.
const AGENT: &str = r#"#!/bin/sh
if [ "$CHECKREIN_PHASE_NUMBER" -ge "$(cat "$(dirname "$0")/phases")" ]
then echo '{"outcome":"job_complete"}' > "$CHECKREIN_RESULT"
elif [ "$CHECKREIN_PHASE_KIND" = strategic ]
then echo '{"next_todos":["nothing"]}' > "$CHECKREIN_RESULT"
fi
"#;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    if let Some(place) = timed_git() {
        return pass_on(&place);
    }
    let bench = Bench::new()?;
    let mut table = Table::default();
    let (mut phases, mut agents, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let one = bench.job(1, None)?;
        let many = bench.job(PHASES, None)?;
        let agent = bench.agent()?;
        phases.push((many.saturating_sub(one) / (PHASES - 1)).saturating_sub(agent));
        agents.push(agent);
        shares.push(bench.git()?);
    }
    let (phase, agent) = (median(phases), median(agents));
    let (git, calls) = median(shares);
    table.row("starting the agent alone", ms(agent), "", "the floor".into());
    table.row(
        &format!("a phase of a job on {FILES} files, beyond its agent"),
        ms(phase),
        &verdict(phase <= PHASE_MAX, "≤ 300 ms"),
        String::new(),
    );
    let share = 100.0 * git.as_secs_f64() / phase.as_secs_f64().max(f64::MIN_POSITIVE);
    table.row(&format!("of that, in {calls} calls of git"), ms(git), "", format!("{share:.0} % of it"));
    table.print();
    Ok(())
}

struct Bench {
    binary: String,
    place: tempfile::TempDir,
}

impl Bench {
    fn new() -> Result<Bench, Box<dyn Error>> {
        let binary = std::env::var("CHECKREIN_BIN").map_err(|_| "run it by scripts/bench")?;
        // On the disk the work is on: a temporary directory may be memory.
        let place = tempfile::tempdir_in(std::env::current_dir()?)?;
        let repository = place.path().join("repository");
        for number in 0..FILES {
            let path = repository.join(format!("part-{}/file-{number}.txt", number % 20));
            std::fs::create_dir_all(path.parent().ok_or("no parent")?)?;
            std::fs::write(path, format!("file {number}\n").repeat(40))?;
        }
        let bench = Bench { binary, place };
        bench.run(Command::new("git").args(["init", "-q"]).current_dir(&repository))?;
        bench.run(Command::new("git").args(["add", "."]).current_dir(&repository))?;
        let identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        let commit = ["commit", "-qm", "files"];
        bench.run(Command::new("git").args(identity).args(commit).current_dir(&repository))?;
        bench.script("agent.sh", AGENT)?;
        Ok(bench)
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn script(&self, name: &str, text: &str) -> Result<PathBuf, Box<dyn Error>> {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().ok_or("no parent")?)?;
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    /// A whole job at the level that never holds.
    fn job(&self, phases: u32, path: Option<&str>) -> Result<Duration, Box<dyn Error>> {
        std::fs::write(self.path().join("phases"), phases.to_string())?;
        let agent = format!("cmd:{}", self.path().join("agent.sh").display());
        let mut checkrein = Command::new(&self.binary);
        checkrein.args(["job", "Do nothing", "--autonomy", "full", "--format", "minimal", "--agent", &agent]);
        checkrein.args(["--repo", "repository", "--store", "store.db"]).current_dir(self.path());
        if let Some(path) = path {
            checkrein.env("PATH", path);
        }
        let begun = Instant::now();
        self.run(&mut checkrein)?;
        Ok(begun.elapsed())
    }

    fn agent(&self) -> Result<Duration, Box<dyn Error>> {
        let begun = Instant::now();
        for _ in 0..20 {
            let mut agent = Command::new("/bin/sh");
            agent.arg("-c").arg(self.path().join("agent.sh"));
            agent.env("CHECKREIN_PHASE_NUMBER", "1").env("CHECKREIN_PHASE_KIND", "strategic");
            self.run(agent.env("CHECKREIN_RESULT", "/dev/null"))?;
        }
        Ok(begun.elapsed() / 20)
    }

    /// What git takes of a phase: this program stands in its place and notes how long each call was.
    fn git(&self) -> Result<(Duration, u64), Box<dyn Error>> {
        let path = std::env::var("PATH")?;
        let real = std::env::split_paths(&path).map(|d| d.join("git")).find(|git| git.exists());
        let place = self.path().join("timed");
        std::fs::create_dir_all(&place)?;
        for (name, target) in [("git", std::env::current_exe()?), ("real", real.ok_or("no git")?)] {
            let _ = std::fs::remove_file(place.join(name));
            std::os::unix::fs::symlink(target, place.join(name))?;
        }
        let path = format!("{}:{path}", place.display());
        let noted = place.join("noted");
        let mut took = Vec::new();
        for phases in [1, PHASES] {
            let _ = std::fs::remove_file(&noted);
            self.job(phases, Some(&path))?;
            let noted = std::fs::read_to_string(&noted)?;
            let calls: Vec<u64> = noted.lines().filter_map(|line| line.parse().ok()).collect();
            took.push((calls.iter().sum::<u64>(), calls.len() as u64));
        }
        let [one, many] = took.as_slice() else { return Err("two jobs were measured".into()) };
        let phases = u64::from(PHASES - 1);
        let nanoseconds = many.0.saturating_sub(one.0) / phases;
        Ok((Duration::from_nanos(nanoseconds), many.1.saturating_sub(one.1) / phases))
    }

    fn run(&self, command: &mut Command) -> Result<(), Box<dyn Error>> {
        let ran = command.stdin(Stdio::null()).output()?;
        if ran.status.success() {
            return Ok(());
        }
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&ran.stderr)).into())
    }
}

/// The directory of the links, where this program was called as git.
fn timed_git() -> Option<PathBuf> {
    let called = PathBuf::from(std::env::args_os().next()?);
    (called.file_name()? == "git").then(|| called.parent().map(Path::to_owned))?
}

fn pass_on(place: &Path) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let ended = Command::new(place.join("real")).args(std::env::args_os().skip(1)).status()?;
    let took = begun.elapsed().as_nanos();
    let mut noted = std::fs::File::options().create(true).append(true).open(place.join("noted"))?;
    noted.write_all(format!("{took}\n").as_bytes())?;
    std::process::exit(ended.code().unwrap_or(1))
}
