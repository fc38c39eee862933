//! Which addresses of others may be spoken to. Whoever names a webhook must not make the server talk to
//! what only the server can reach, whatever the name resolves to by the time it is used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, redirect};

const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How far an address may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What everybody can reach.
    Public,
    /// Private networks and this machine as well.
    Anywhere,
    /// Those alone: what is said there is not encrypted.
    Near,
}

impl Reach {
    pub fn allows(self, address: IpAddr) -> Result<(), &'static str> {
        match (class(address), self) {
            (Class::Never, _) => Err("it is an address nothing is sent to"),
            (Class::Public, Reach::Near) => Err("it is public, and needs encryption"),
            (Class::Near, Reach::Public) => Err("it is in a private network or on this machine"),
            (Class::Public | Class::Near, _) => Ok(()),
        }
    }

    /// Speaks HTTP to what may be reached, without redirects and proxies, which would lead elsewhere.
    pub fn client(self, answer_max: Duration) -> Result<Client, reqwest::Error> {
        // Whoever was first made the same choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("checkrein/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .dns_resolver(self)
            .connect_timeout(CONNECT_MAX)
            .timeout(answer_max)
            .pool_max_idle_per_host(1);
        if self == Reach::Near {
            // Nothing is encrypted there, so a machine without certificates will do.
            builder = builder.tls_certs_only([]);
        }
        builder.build()
    }

    /// The addresses of a host that may be connected to, looked up now.
    pub async fn resolve(self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        let found = tokio::net::lookup_host((host, port)).await;
        let found: Vec<SocketAddr> =
            found.map_err(|error| format!("its name is not known: {error}"))?.collect();
        let mut refused = "its name has no address";
        let mut allowed = Vec::new();
        for address in found {
            match self.allows(address.ip()) {
                Ok(()) => allowed.push(address),
                Err(why) => refused = why,
            }
        }
        if allowed.is_empty() { Err(refused.to_owned()) } else { Ok(allowed) }
    }
}

/// What connects to a host by its name connects to what was looked at, and to nothing else.
impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = *self;
        Box::pin(async move {
            let found = reach.resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Public,
    /// A private network, or this machine.
    Near,
    /// Metadata services of clouds, and what is no address of one machine.
    Never,
}

fn class(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => class_v6(address),
    }
}

fn class_v4(address: Ipv4Addr) -> Class {
    match address.octets() {
        // Metadata services outside of link-local.
        [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16] => Class::Never,
        [0 | 224..=255, ..] | [169, 254, ..] => Class::Never,
        // For documents alone.
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Class::Never,
        [10 | 127, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => Class::Near,
        [192, 0, 0, _] | [198, 18 | 19, ..] => Class::Near,
        _ => Class::Public,
    }
}

fn class_v6(address: Ipv6Addr) -> Class {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        class_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Class::Near,
        // An address of the other kind inside of one is what it is.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // What goes through somebody's tunnel ends nobody knows where.
        [0x64, 0xff9b, ..] | [0x2001, 0, ..] | [0x2001, 0xdb8, ..] => Class::Never,
        [0xfd00, 0xec2, ..] => Class::Never,
        [0xfe80..=0xfebf, ..] | [0xff00..=0xffff, ..] | [0x100, 0, 0, 0, ..] => Class::Never,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Class::Near,
        [0x2000..=0x3fff, ..] => Class::Public,
        _ => Class::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_address_is() {
        for (address, expected) in [
            ("93.184.215.14", Class::Public),
            ("8.8.8.8", Class::Public),
            ("172.32.0.1", Class::Public),
            ("100.128.0.1", Class::Public),
            ("2606:4700::1111", Class::Public),
            ("127.0.0.1", Class::Near),
            ("127.255.0.9", Class::Near),
            ("10.1.2.3", Class::Near),
            ("172.16.0.1", Class::Near),
            ("172.31.255.255", Class::Near),
            ("192.168.1.1", Class::Near),
            ("100.64.0.1", Class::Near),
            ("::1", Class::Near),
            ("fd12:3456::1", Class::Near),
            ("::ffff:10.0.0.1", Class::Near),
            ("::ffff:127.0.0.1", Class::Near),
            ("64:ff9b::7f00:1", Class::Near),
            ("2002:7f00:1::", Class::Near),
            ("0.0.0.0", Class::Never),
            ("0.1.2.3", Class::Never),
            ("169.254.169.254", Class::Never),
            ("169.254.0.1", Class::Never),
            ("100.100.100.200", Class::Never),
            ("224.0.0.1", Class::Never),
            ("255.255.255.255", Class::Never),
            ("240.0.0.1", Class::Never),
            ("192.0.2.1", Class::Never),
            ("::", Class::Never),
            ("fe80::1", Class::Never),
            ("ff02::1", Class::Never),
            ("fd00:ec2::254", Class::Never),
            ("::ffff:169.254.169.254", Class::Never),
            ("64:ff9b::a9fe:a9fe", Class::Never),
            ("2002:a9fe:a9fe::1", Class::Never),
            ("2001::1", Class::Never),
            ("2001:db8::1", Class::Never),
            ("4000::1", Class::Never),
        ] {
            assert_eq!(class(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn how_far_each_reaches() {
        let [public, near, never] =
            ["8.8.8.8", "10.0.0.1", "169.254.169.254"].map(|text| text.parse().unwrap());
        for (reach, expected) in [
            (Reach::Public, [true, false, false]),
            (Reach::Anywhere, [true, true, false]),
            (Reach::Near, [false, true, false]),
        ] {
            let actual = [public, near, never].map(|address| reach.allows(address).is_ok());
            assert_eq!(actual, expected, "{reach:?}");
        }
    }

    #[tokio::test]
    async fn a_name_is_judged_by_what_it_resolves_to() {
        assert!(Reach::Public.resolve("localhost", 80).await.is_err());
        let near = Reach::Near.resolve("localhost", 80).await.unwrap();
        assert!(near.iter().all(|address| address.ip().is_loopback()), "{near:?}");
    }
}
