//! How fast a frozen workspace is indexed, read by the model and searched, beside what the machine itself can do.
//! Run by `scripts/bench`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use checkrein_core::config::Settings;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, SearchBy, SearchRequest};
use checkrein_search::{Model, Vector, matmul_flops_per_second};
use checkrein_store::{NewVector, Store};

#[path = "shared/mod.rs"]
mod shared;

use shared::{Table, median, ms, rate, repository, verdict};

const FILES: usize = 400;
const SECTIONS: usize = 25;
const TURNS: usize = 3;
const QUERIES: usize = 300;
/// Questions before they are counted.
const WARMING: usize = 20;
/// How long the model reads at a time.
const READING: Duration = Duration::from_secs(8);

const CHUNKS_MIN: f64 = 5_000.0;
const SHARE_MIN: f64 = 0.70;
const QUERY_MAX: Duration = Duration::from_millis(30);
const MEMORY_MAX_MB: f64 = 250.0;

/// Set for a process whose memory is measured.
const PART: &str = "CHECKREIN_BENCH_PART";

/// Leaves the workspace that was prepared, and ends; then it is held.
const AGENT: &str =
    r#"cp -R "$(dirname "$0")/workspace/." . && echo '{"next_todos":["nothing"]}' > "$CHECKREIN_RESULT""#;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if let Ok(path) = std::env::var(PART) {
        let scene = Scene::again(Path::new(&path))?;
        runtime.block_on(scene.index_and_read())?;
        println!("{}", peak_memory_mb().ok_or("this machine does not say how much memory is used")?);
        return Ok(());
    }
    // On the disk the work is on: a temporary directory may be memory.
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let scene = Scene::new(place.path())?;
    let mut table = Table::default();

    let (mut times, mut chunks) = (Vec::new(), 0);
    for _ in 0..TURNS {
        let indexed = runtime.block_on(scene.index())?;
        times.push((indexed.took, indexed.on_cores));
        chunks = indexed.passages;
    }
    let (took, on_cores) = median(times);
    let per_second = chunks as f64 / took.as_secs_f64();
    table.row(
        &format!("words of a frozen workspace: {chunks} passages in {FILES} files, from git to found"),
        rate(per_second),
        &verdict(per_second >= CHUNKS_MIN, "≥ 5,000/s"),
        format!("{}, of which {} on a core", ms(took), ms(on_cores)),
    );

    let (threads, cores) = (checkrein_search::threads(), std::thread::available_parallelism()?.get());
    // What is compared is measured in turns, so that whatever else the machine does hits both alike.
    let (mut ceilings, mut rates, mut shares, mut undisturbed) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let ceiling = matmul_flops_per_second(threads);
        let Read { passages, operations, took, on_cores } = runtime.block_on(scene.read())?;
        ceilings.push(whole(ceiling));
        rates.push(whole(passages as f64 / took.as_secs_f64() * 10.0));
        shares.push(whole(operations / took.as_secs_f64() / ceiling * 10_000.0));
        undisturbed.push(whole(operations / on_cores.as_secs_f64() * threads as f64 / ceiling * 10_000.0));
    }
    let (ceiling, share) = (median(ceilings) as f64, median(shares) as f64 / 10_000.0);
    let giga = |operations: f64| format!("{:.1} GFLOP/s", operations / 1e9);
    table.row(
        &format!("products of matrices alone, on {threads} of {cores} cores"),
        giga(ceiling),
        "",
        "the ceiling".into(),
    );
    table.row(
        "passages read by the model in the background",
        format!("{:.1}/s", median(rates) as f64 / 10.0),
        &verdict(share >= SHARE_MIN, "≥ 70 % of the ceiling"),
        format!(
            "{:.0} %; of the time it had a core {:.0} %",
            share * 100.0,
            median(undisturbed) as f64 / 100.0
        ),
    );

    let (half, most, on_cores) = runtime.block_on(scene.queries())?;
    table.row(
        &format!("a question to {chunks} passages, median"),
        ms(half),
        "",
        format!("{} of it on a core", ms(on_cores)),
    );
    table.row(
        "the same, one in a hundred is slower",
        ms(most),
        &verdict(most <= QUERY_MAX, "≤ 30 ms"),
        String::new(),
    );

    let memory = scene.memory()?;
    table.row(
        "memory at most while it is indexed and read",
        format!("{memory:.0} MB"),
        &verdict(memory <= MEMORY_MAX_MB, "≤ 250 MB"),
        "the whole process".into(),
    );
    table.print();
    Ok(())
}

struct Scene {
    place: PathBuf,
    job: String,
    by: Principal,
}

impl Scene {
    /// A job that waits for the review of many documents.
    fn new(place: &Path) -> Result<Scene, Box<dyn Error>> {
        let binary = std::env::var("CHECKREIN_BIN").map_err(|_| "run it by scripts/bench")?;
        repository(place)?;
        let workspace = place.join("workspace");
        std::fs::create_dir_all(&workspace)?;
        for file in 0..FILES {
            std::fs::write(workspace.join(format!("notes-{file}.md")), document(file))?;
        }
        std::fs::write(place.join("agent"), AGENT)?;
        let agent = format!("cmd:sh {}", place.join("agent").display());
        let given = Command::new(binary)
            .args(["job", "Write notes", "--agent", &agent, "--store", "store.db", "--format", "minimal"])
            .current_dir(place)
            .output()?;
        let said = String::from_utf8_lossy(&given.stderr).into_owned();
        let job = said.lines().find_map(|line| line.strip_prefix("note: job ")).ok_or(said.clone())?;
        if given.status.code() != Some(3) {
            return Err(format!("the job does not wait: {said}").into());
        }
        std::fs::write(place.join("job"), job)?;
        Scene::again(place)
    }

    fn again(place: &Path) -> Result<Scene, Box<dyn Error>> {
        let job = std::fs::read_to_string(place.join("job"))?;
        let by = Principal {
            kind: PrincipalKind::Person,
            name: "bench".to_owned(),
            role: Role::Admin,
            token: None,
            worker: None,
        };
        Ok(Scene { place: place.to_owned(), job, by })
    }

    fn store(&self) -> Result<Store, Box<dyn Error>> {
        Ok(Store::open(&self.place.join("store.db"))?)
    }

    fn index_file(&self) -> PathBuf {
        self.place.join("jobs").join(&self.job).join("index.db")
    }

    fn engine(&self) -> Result<Engine, Box<dyn Error>> {
        Ok(Engine::new(self.store()?, Settings::new(None, None, None, Vec::new())?))
    }

    fn asked(&self, query: &str, by: SearchBy, patience: Duration) -> SearchRequest {
        SearchRequest { query: query.to_owned(), by, limit: 10, patience, ..SearchRequest::default() }
    }

    /// Indexes everything anew, until words are found in it.
    async fn index(&self) -> Result<Index, Box<dyn Error>> {
        self.store()?.index(&self.job, &self.index_file()).remove()?;
        let engine = self.engine()?;
        let (begun, before_cores) = (Instant::now(), time_on_cores()?);
        let request = self.asked("entry notes", SearchBy::Words, Duration::ZERO);
        let answer = engine.search(&self.by, &self.job, &request).await?;
        if answer.hits.is_empty() {
            return Err("nothing is found".into());
        }
        let on_cores = time_on_cores()?.saturating_sub(before_cores);
        Ok(Index { passages: answer.chunks, took: begun.elapsed(), on_cores })
    }

    /// Lets the model read for a while, as it does in the background.
    async fn read(&self) -> Result<Read, Box<dyn Error>> {
        let model = Model::builtin().ok_or("the model is damaged")?;
        let place = self.store()?.index(&self.job, &self.index_file());
        let before = place.open()?.missing(Model::NAME, usize::MAX)?;
        let engine = self.engine()?;
        let (begun, before_cores) = (Instant::now(), time_on_cores()?);
        engine.search(&self.by, &self.job, &self.asked("x", SearchBy::Meaning, READING)).await?;
        let (took, on_cores) = (begun.elapsed(), time_on_cores()?.saturating_sub(before_cores));
        drop(engine);
        let after = place.open()?.missing(Model::NAME, usize::MAX)?.len();
        let read = before.len().saturating_sub(after);
        let texts: Vec<&str> = before.iter().take(read).map(|(_, text)| text.as_str()).collect();
        Ok(Read { passages: read, operations: model.operations(&texts), took, on_cores })
    }

    /// Half of the questions take less than the first, one in a hundred more than the second; and how long one has a
    /// core in the mean.
    async fn queries(&self) -> Result<(Duration, Duration, Duration), Box<dyn Error>> {
        self.fill()?;
        let engine = self.engine()?;
        let (mut times, mut before_cores) = (Vec::new(), Duration::ZERO);
        for number in 0..QUERIES + WARMING {
            if number == WARMING {
                before_cores = time_on_cores()?;
            }
            let query = question(number);
            let begun = Instant::now();
            let request = self.asked(&query, SearchBy::Both, Duration::ZERO);
            let answer = engine.search(&self.by, &self.job, &request).await?;
            let took = begun.elapsed();
            if answer.unread > 0 || answer.hits.len() != 10 {
                return Err("not everything is searched".into());
            }
            if number >= WARMING {
                times.push(took);
            }
        }
        let on_cores = time_on_cores()?.saturating_sub(before_cores) / u32::try_from(QUERIES)?;
        times.sort_unstable();
        let place = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
        Ok((place(50), place(99), on_cores))
    }

    /// Gives every passage a vector that nobody had to compute: how long a question takes does not depend on what it says.
    fn fill(&self) -> Result<(), Box<dyn Error>> {
        let mut index = self.store()?.index(&self.job, &self.index_file()).open()?;
        let mut dice = Dice(1);
        let missing = index.missing(Model::NAME, usize::MAX)?;
        let vectors: Vec<NewVector> = missing
            .iter()
            .map(|(digest, _)| {
                let numbers: Vec<f32> = (0..384).map(|_| dice.next(2_001) as f32 / 1_000.0 - 1.0).collect();
                let vector = Vector::normalised(&numbers);
                NewVector { digest: *digest, bytes: vector.to_bytes(), numbers: vector.numbers().collect() }
            })
            .collect();
        index.put_vectors(Model::NAME, &vectors)?;
        Ok(())
    }

    async fn index_and_read(&self) -> Result<(), Box<dyn Error>> {
        self.index().await?;
        self.read().await?;
        Ok(())
    }

    /// What a process uses at most that does both.
    fn memory(&self) -> Result<f64, Box<dyn Error>> {
        let output = Command::new(std::env::current_exe()?).env(PART, &self.place).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = || format!("{said}{}", String::from_utf8_lossy(&output.stderr));
        said.trim().parse().map_err(|_| failed().into())
    }
}

/// How a workspace was indexed.
struct Index {
    passages: u64,
    took: Duration,
    /// Of this process; git has some of its own.
    on_cores: Duration,
}

/// What was read of a workspace.
struct Read {
    passages: usize,
    /// Of matrices alone.
    operations: f64,
    took: Duration,
    /// How long this process had a core: others may have taken them.
    on_cores: Duration,
}

fn time_on_cores() -> Result<Duration, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("an odd /proc/self/stat")?;
    let ticks: u64 = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    // A hundred in a second, on every Linux there is.
    Ok(Duration::from_millis(ticks * 10))
}

fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes / 1_024.0)
}

/// The same numbers each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Words of English, the most common first, as the model knows them.
const VOCABULARY: &str = include_str!("../../checkrein-search/model/vocab.txt");

fn words() -> &'static [&'static str] {
    static WORDS: std::sync::OnceLock<Vec<&str>> = std::sync::OnceLock::new();
    let plain = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    WORDS.get_or_init(|| VOCABULARY.lines().filter(plain).collect())
}

/// As often as words are in a language: the hundredth word a hundredth as often as the first.
fn word(dice: &mut Dice, from: usize) -> &'static str {
    let words = words();
    let most = (words.len() as f64 / from as f64).ln();
    let rank = (dice.next(1_000_000) as f64 / 1e6 * most).exp() * from as f64;
    words.get(whole(rank).saturating_sub(1) as usize).copied().unwrap_or("word")
}

fn sentence(dice: &mut Dice, length: usize, from: usize) -> String {
    (0..length).map(|_| word(dice, from)).collect::<Vec<_>>().join(" ")
}

/// A file of several sections, each a passage of about eighty words and a number of its own.
fn document(file: usize) -> String {
    let mut dice = Dice(file as u64 + 7);
    let mut text = format!("# Notes {file}\n");
    for section in 0..SECTIONS {
        let title = sentence(&mut dice, 4, 50);
        let body: Vec<String> = (0..4).map(|_| format!("{}.", sentence(&mut dice, 18, 1))).collect();
        text.push_str(&format!("\n## {title}\n\nEntry {file}-{section}. {}\n", body.join(" ")));
    }
    text
}

fn question(number: usize) -> String {
    format!("why {}", sentence(&mut Dice(number as u64 + 99), 8, 20))
}

/// So that it can be sorted.
fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}
