//! Asks the person at the terminal.

use std::io::{BufRead, IsTerminal, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::{oneshot, watch};

/// What a person chose, by number from 1, by word or by its first letter.
pub enum Chosen {
    Option(usize),
    /// They went away: end of input, or an interrupt.
    Nobody,
}

/// Asks until one of the options is chosen.
pub async fn choose(question: &str, options: &[&str], stop: &watch::Receiver<bool>) -> Chosen {
    loop {
        let mut text = format!("\n{question}\n");
        for (option, number) in options.iter().zip(1..) {
            text.push_str(&format!("  {number}) {option}\n"));
        }
        text.push_str("> ");
        let Some(answer) = line(&text, stop).await else { return Chosen::Nobody };
        let answer = answer.trim().to_lowercase();
        let chosen = options.iter().zip(1_usize..).find(|(option, number)| {
            let option = option.to_lowercase();
            let yes = *number == 1 && matches!(answer.as_str(), "y" | "yes");
            yes || answer == number.to_string() || (!answer.is_empty() && option.starts_with(&answer))
        });
        match chosen {
            Some((_, number)) => return Chosen::Option(number),
            None => {
                let _ =
                    writeln!(std::io::stderr(), "Please answer with a number from 1 to {}.", options.len());
            }
        }
    }
}

/// One line of a person's; none when they went away.
pub async fn line(text: &str, stop: &watch::Receiver<bool>) -> Option<String> {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    drop(stderr);
    // Reading blocks, and an interrupt must be heard meanwhile.
    let (read, mut answered) = oneshot::channel();
    std::thread::spawn(move || {
        // A question that is over must not take the line that answers the next one.
        while std::io::stdin().is_terminal() && !is_readable() {
            if read.is_closed() {
                return;
            }
        }
        let mut line = String::new();
        let got = std::io::stdin().lock().read_line(&mut line);
        let _ = read.send(got.ok().filter(|length| *length > 0).map(|_| line));
    });
    let mut stop = stop.clone();
    tokio::select! {
        answer = &mut answered => answer.ok().flatten(),
        Ok(_) = stop.wait_for(|stop| *stop) => None,
    }
}

/// Whether a terminal has a line, or its end; waits a moment for it.
fn is_readable() -> bool {
    let stdin = std::io::stdin();
    let moment = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    // Where that cannot be known, reading says it.
    !matches!(poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&moment)), Ok(0))
}
