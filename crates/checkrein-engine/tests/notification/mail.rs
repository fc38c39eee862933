//! Mail, to a server of our own on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use checkrein_core::notification::DeliveryStatus;

use crate::Place;

/// A mail server that takes everything after refusing so many letters for now. It keeps what was said.
struct MailServer {
    address: SocketAddr,
    said: Arc<Mutex<Vec<String>>>,
}

impl MailServer {
    fn start(refused: usize) -> MailServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&said);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let _ = talk(&stream.unwrap(), &own, number < refused);
            }
        });
        MailServer { address, said }
    }

    fn url(&self, more: &str) -> String {
        format!("smtp://user:p%40ss@{}/?from=rein@example.com&to=ann@example.com{more}", self.address)
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }
}

fn talk(mut stream: &TcpStream, said: &Mutex<Vec<String>>, refuse: bool) -> std::io::Result<()> {
    let lines = BufReader::new(stream).lines();
    stream.write_all(b"220 here\r\n")?;
    let mut in_letter = false;
    for line in lines {
        let line = line?;
        said.lock().unwrap().push(line.clone());
        let answer = match line.split([' ', ':']).next().unwrap_or_default() {
            _ if in_letter && line != "." => continue,
            "." if in_letter => {
                in_letter = false;
                "250 taken\r\n"
            }
            "EHLO" => "250-here\r\n250 AUTH PLAIN\r\n",
            "AUTH" => "235 known\r\n",
            "RCPT" if refuse => "451 not now\r\n",
            "DATA" => {
                in_letter = true;
                "354 go on\r\n"
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n")?;
                return Ok(());
            }
            _ => "250 well\r\n",
        };
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

#[tokio::test]
async fn a_letter_says_what_waits_to_everybody_named() {
    let (place, server) = (Place::new(), MailServer::start(0));
    let webhook = place.add(&server.url("&to=Bob%20%3Cbob@example.com%3E"), &[]).await;
    place.ask("c1", "ring\u{7}\r\n.\r\nQUIT\r\nBcc: everybody@example.com ü").await;
    place.deliver().await;
    let said = server.said();
    assert_eq!(
        place.state(&webhook).await,
        (DeliveryStatus::Delivered, 1, "answered 250".to_owned()),
        "{said:#?}"
    );
    let recipients: Vec<&String> = said.iter().filter(|line| line.starts_with("RCPT")).collect();
    assert_eq!(recipients, ["RCPT TO:<ann@example.com>", "RCPT TO:<bob@example.com>"]);
    let id = place.only(&webhook).await.id;
    for header in [
        "From: rein@example.com",
        "Auto-Submitted: auto-generated",
        "Content-Type: text/plain; charset=utf-8",
        &format!("Message-ID: <{id}@checkrein>"),
    ] {
        assert!(said.iter().any(|line| line == header), "{header}: {said:#?}");
    }
    assert!(
        said.iter().any(|line| line.starts_with("Subject: [checkrein] writer waits for an")),
        "{said:#?}"
    );
    // One letter, and what the agent wrote is only ever inside of it.
    let ends: Vec<usize> = (0..said.len()).filter(|at| said[*at] == ".").collect();
    assert_eq!(ends.len(), 1, "{said:#?}");
    assert!(said.iter().all(|line| !line.starts_with("Bcc")), "{said:#?}");
    assert!(said.iter().any(|line| line.starts_with("> Bcc")), "{said:#?}");
    assert!(said[..ends[0]].iter().all(|line| line != "QUIT"), "{said:#?}");
}

#[tokio::test]
async fn a_letter_that_is_not_taken_is_tried_again() {
    let (place, server) = (Place::new(), MailServer::start(1));
    let webhook = place.add(&server.url(""), &[]).await;
    place.ask("c1", "x").await;
    place.deliver().await;
    let (status, attempts, said) = place.state(&webhook).await;
    assert_eq!((status, attempts), (DeliveryStatus::Waiting, 1));
    assert!(said.contains("451") && !said.contains("p@ss"), "{said}");
    place.time_passes();
    place.deliver().await;
    assert_eq!(place.state(&webhook).await.0, DeliveryStatus::Delivered);
}
