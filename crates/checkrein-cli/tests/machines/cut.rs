//! A machine whose only way to the database can be taken away: in a network namespace of its own where we are root,
//! else behind something that passes on bytes, and then does not.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use crate::world::{BINARY, World};

/// Tests have one each.
static NUMBER: AtomicU8 = AtomicU8::new(1);

pub struct Way {
    namespace: Option<Namespace>,
    address: String,
    port: u16,
    cut: Arc<AtomicBool>,
}

struct Namespace {
    name: String,
    link: String,
}

impl Way {
    /// To a server that listens on this machine's loopback.
    pub fn new(server: u16) -> Way {
        match rustix::process::getuid().is_root() {
            true => {
                let (namespace, address) = Namespace::new();
                Way::through(server, Some(namespace), address)
            }
            false => Way::of_its_own(server),
        }
    }

    /// For a machine that still reaches everything else when it is cut.
    pub fn of_its_own(server: u16) -> Way {
        Way::through(server, None, "127.0.0.1".to_owned())
    }

    fn through(server: u16, namespace: Option<Namespace>, address: String) -> Way {
        let listener = TcpListener::bind((address.as_str(), 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicBool::new(false));
        let known = Arc::clone(&cut);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(database) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                for (from, to) in [(&client, &database), (&database, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let cut = Arc::clone(&known);
                    thread::spawn(move || pass_on(from, to, &cut));
                }
            }
        });
        Way { namespace, address, port, cut }
    }

    /// The binary at its other end.
    pub fn command(&self, world: &World, machine: &str, arguments: &[&str]) -> Command {
        let database = world.address.rsplit('/').next().unwrap();
        let address =
            format!("postgres://{}@{}:{}/{database}", crate::postgres::USER, self.address, self.port);
        let mut command = match &self.namespace {
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &namespace.name, BINARY]);
                command
            }
            None => Command::new(BINARY),
        };
        world.prepare(&mut command, &address, machine);
        command.args(arguments);
        command
    }

    /// Nothing gets through any more, and nobody is told.
    pub fn cut(&self) {
        match &self.namespace {
            Some(namespace) => ip(&["link", "set", &namespace.link, "down"]),
            None => self.cut.store(true, Ordering::Relaxed),
        }
    }

    pub fn mend(&self) {
        match &self.namespace {
            Some(namespace) => ip(&["link", "set", &namespace.link, "up"]),
            None => self.cut.store(false, Ordering::Relaxed),
        }
    }
}

impl Namespace {
    /// And the address of this machine as it is seen from there.
    fn new() -> (Namespace, String) {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = std::process::id() % 10_000;
        let namespace =
            Namespace { name: format!("checkrein-{id}-{number}"), link: format!("cr{id}x{number}") };
        let (name, link, peer) = (&namespace.name, &namespace.link, format!("{}p", namespace.link));
        let (outside, inside) = (format!("10.213.{number}.1"), format!("10.213.{number}.2"));
        ip(&["netns", "add", name]);
        ip(&["link", "add", link, "type", "veth", "peer", "name", &peer]);
        ip(&["link", "set", &peer, "netns", name]);
        ip(&["address", "add", &format!("{outside}/30"), "dev", link]);
        ip(&["link", "set", link, "up"]);
        ip(&["-n", name, "address", "add", &format!("{inside}/30"), "dev", &peer]);
        ip(&["-n", name, "link", "set", &peer, "up"]);
        ip(&["-n", name, "link", "set", "lo", "up"]);
        (namespace, outside)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "delete", &self.link]).stderr(Stdio::null()).status();
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).stderr(Stdio::null()).status();
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut piece = [0; 16 << 10];
    while let Ok(bytes) = from.read(&mut piece) {
        while cut.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(50));
        }
        if bytes == 0 || to.write_all(&piece[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments:?}: {words}");
}
