//! The address of a webhook, taken apart and judged before anything is sent.

use checkrein_core::notification::{WebhookKind, WebhookUrl};
use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::reach::Reach;

#[derive(Clone, Debug)]
pub(super) enum Target {
    Http { url: Url, reach: Reach },
    Smtp(Box<Smtp>),
}

#[derive(Clone)]
pub(super) struct Smtp {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub reach: Reach,
    pub credentials: Option<(String, String)>,
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
}

impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// How a mail server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// From the first byte.
    Wrapped,
    /// After a greeting; without it nothing is sent, except on this machine.
    Started,
}

const RECIPIENTS_MAX: usize = 20;
const URL_BYTES_MAX: usize = 2000;

/// Reads an address as it was given.
pub(super) fn parse(kind: WebhookKind, text: &str, allow_private: bool) -> Result<Target, String> {
    if text.len() > URL_BYTES_MAX {
        return Err(format!("it is longer than {URL_BYTES_MAX} bytes"));
    }
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    let target = match (kind, url.scheme()) {
        (WebhookKind::Smtp, "smtp" | "smtps") => Target::Smtp(Box::new(mail(&url, allow_private)?)),
        (WebhookKind::Smtp, _) => return Err("mail takes `smtp://` or `smtps://`".to_owned()),
        (_, "https") => {
            let reach = if allow_private { Reach::Anywhere } else { Reach::Public };
            Target::Http { url: http(url)?, reach }
        }
        (_, "http") if allow_private => Target::Http { url: http(url)?, reach: Reach::Near },
        (_, "http") => {
            return Err(
                "it takes `https://`, unless it is in a private network or on this machine".to_owned()
            );
        }
        _ => return Err("it takes `https://`".to_owned()),
    };
    // A name is judged when it is looked up; an address can be at once, and is not looked up later.
    let (host, reach) = match &target {
        Target::Http { url, reach } => (url.host().map(|host| host.to_owned()), *reach),
        Target::Smtp(smtp) => (Host::parse(&smtp.host).ok(), smtp.reach),
    };
    let literal = match host {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        Some(Host::Domain(_)) | None => None,
    };
    match literal.map(|address| reach.allows(address)) {
        Some(Err(why)) => Err(why.to_owned()),
        _ => Ok(target),
    }
}

impl Target {
    pub fn of(kind: WebhookKind, url: &WebhookUrl, allow_private: bool) -> Result<Target, String> {
        parse(kind, url.reveal(), allow_private)
    }
}

/// Why nothing can be sent to an address, if so.
pub(crate) fn check(kind: WebhookKind, url: &WebhookUrl, allow_private: bool) -> Result<(), String> {
    Target::of(kind, url, allow_private).map(|_| ())
}

/// What kind of webhook an address looks like.
pub(crate) fn kind_of(text: &str) -> WebhookKind {
    let url = Url::parse(text).ok();
    let slack = |url: &Url| url.host_str() == Some("hooks.slack.com");
    match &url {
        Some(url) if matches!(url.scheme(), "smtp" | "smtps") => WebhookKind::Smtp,
        Some(url) if slack(url) => WebhookKind::Slack,
        _ => WebhookKind::Webhook,
    }
}

fn http(url: Url) -> Result<Url, String> {
    if url.host_str().is_none_or(str::is_empty) {
        return Err("it names no host".to_owned());
    }
    if url.fragment().is_some() {
        return Err("it has a part after `#`, which is not sent".to_owned());
    }
    Ok(url)
}

/// `smtp://user:password@host:587/?from=ADDRESS&to=ADDRESS`
fn mail(url: &Url, allow_private: bool) -> Result<Smtp, String> {
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or("it names no host")?;
    let (mut from, mut to) = (None, Vec::new());
    for (name, value) in url.query_pairs() {
        let mailbox = || value.parse::<Mailbox>().map_err(|_| format!("`{name}` is no mail address"));
        match name.as_ref() {
            "from" => from = Some(mailbox()?),
            "to" => to.push(mailbox()?),
            _ => return Err("after `?` it takes `from` and `to`".to_owned()),
        }
    }
    let from = from.ok_or("it takes `?from=ADDRESS`")?;
    if to.is_empty() {
        return Err("it takes `&to=ADDRESS`".to_owned());
    }
    if to.len() > RECIPIENTS_MAX {
        return Err(format!("it has more than {RECIPIENTS_MAX} recipients"));
    }
    let tls = if url.scheme() == "smtps" { Tls::Wrapped } else { Tls::Started };
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let credentials = (!url.username().is_empty())
        .then(|| (decoded(url.username()), decoded(url.password().unwrap_or_default())));
    let default_port = if tls == Tls::Wrapped { 465 } else { 587 };
    Ok(Smtp {
        host: host.to_owned(),
        port: url.port().unwrap_or(default_port),
        tls,
        reach: if allow_private { Reach::Anywhere } else { Reach::Public },
        credentials,
        from,
        to,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_named() {
        use WebhookKind::{Slack, Smtp, Webhook};
        for (kind, url, public, private) in [
            (Webhook, "https://example.com/hook?a=b", true, true),
            (Webhook, "https://8.8.8.8/", true, true),
            (Webhook, "https://127.0.0.1/", false, true),
            (Webhook, "https://[::1]/", false, true),
            (Webhook, "https://2130706433/", false, true),
            (Webhook, "https://0x7f.1/", false, true),
            (Webhook, "https://169.254.169.254/latest/meta-data", false, false),
            (Webhook, "https://[::ffff:169.254.169.254]/", false, false),
            (Webhook, "https://[fe80::1]/", false, false),
            (Webhook, "http://example.com/", false, true),
            (Webhook, "http://8.8.8.8/", false, false),
            (Webhook, "http://10.0.0.1:8080/x", false, true),
            (Webhook, "ftp://example.com/", false, false),
            (Webhook, "file:///etc/passwd", false, false),
            (Webhook, "example.com", false, false),
            (Webhook, "https://example.com/#x", false, false),
            (Webhook, "smtp://example.com/?from=a@b.c&to=d@e.f", false, false),
            (Slack, "https://hooks.slack.com/services/T/B/x", true, true),
            (Smtp, "smtp://u:p@mail.example.com/?from=a@b.c&to=d@e.f&to=g@h.i", true, true),
            (Smtp, "smtps://mail.example.com/?from=a@b.c&to=Ann%20%3Cd@e.f%3E", true, true),
            (Smtp, "smtp://127.0.0.1:25/?from=a@b.c&to=d@e.f", false, true),
            (Smtp, "smtp://[fe80::1]/?from=a@b.c&to=d@e.f", false, false),
            (Smtp, "smtp://mail.example.com/?from=a@b.c", false, false),
            (Smtp, "smtp://mail.example.com/?to=a@b.c", false, false),
            (Smtp, "smtp://mail.example.com/?from=a@b.c&to=d@e.f%0d%0aBcc:%20x@y.z", false, false),
            (Smtp, "smtp://mail.example.com/?from=a@b.c&to=d@e.f&cc=x@y.z", false, false),
            (Smtp, "https://example.com/", false, false),
        ] {
            for (allow_private, expected) in [(false, public), (true, private)] {
                let parsed = parse(kind, url, allow_private);
                assert_eq!(parsed.is_ok(), expected, "{url} {allow_private}: {parsed:?}");
            }
        }
    }

    #[test]
    fn the_kind_is_told_by_the_address() {
        for (url, kind) in [
            ("https://hooks.slack.com/services/x", WebhookKind::Slack),
            ("smtps://mail.example.com", WebhookKind::Smtp),
            ("https://example.com", WebhookKind::Webhook),
            ("what", WebhookKind::Webhook),
        ] {
            assert_eq!(kind_of(url), kind, "{url}");
        }
    }
}
