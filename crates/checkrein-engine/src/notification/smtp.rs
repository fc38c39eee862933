//! Sends a letter: encrypted unless the mail server is on this machine, to an address that was looked at.

use std::net::IpAddr;

use checkrein_core::notification::Mail;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls as Encryption, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use super::target::{Smtp, Tls};
use super::{Outcome, TIME_MAX};

pub(super) async fn send(smtp: &Smtp, id: &str, mail: Mail) -> Outcome {
    match tokio::time::timeout(TIME_MAX, try_to(smtp, id, mail)).await {
        Ok(Ok(answer)) => Outcome::Arrived { answer },
        Ok(Err(answer)) => Outcome::failed(answer),
        Err(_) => Outcome::failed("no answer in time".to_owned()),
    }
}

async fn try_to(smtp: &Smtp, id: &str, mail: Mail) -> Result<String, String> {
    let letter = letter(smtp, id, mail)?;
    let found = smtp.reach.resolve(smtp.host.trim_matches(['[', ']']), smtp.port).await?;
    let address = found.first().ok_or("its name has no address")?.ip();
    let words = |error: lettre::transport::smtp::Error| error.to_string();
    // Connected to by its address, known by its name.
    let parameters = || TlsParameters::new(smtp.host.clone()).map_err(words);
    let encryption = match protection(smtp.tls, address) {
        Protection::None => Encryption::None,
        Protection::Started => Encryption::Required(parameters()?),
        Protection::Wrapped => Encryption::Wrapper(parameters()?),
    };
    let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(address.to_string())
        .port(smtp.port)
        .tls(encryption)
        .timeout(Some(TIME_MAX));
    if let Some((user, password)) = &smtp.credentials {
        transport = transport.credentials(Credentials::new(user.clone(), password.clone()));
    }
    let answer = transport.build().send(letter).await.map_err(words)?;
    Ok(format!("answered {}", answer.code()))
}

/// How a connection is encrypted; nothing is said before it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    None,
    Started,
    Wrapped,
}

fn protection(wanted: Tls, address: IpAddr) -> Protection {
    match wanted {
        Tls::Wrapped => Protection::Wrapped,
        // What does not leave this machine.
        Tls::Started if address.is_loopback() => Protection::None,
        Tls::Started => Protection::Started,
    }
}

fn letter(smtp: &Smtp, id: &str, mail: Mail) -> Result<Message, String> {
    let mut letter = Message::builder()
        .from(smtp.from.clone())
        .subject(mail.subject)
        // The same however often it is sent, so that a second one can be told from the first.
        .message_id(Some(format!("<{id}@checkrein>")))
        .header(ContentType::TEXT_PLAIN);
    for recipient in &smtp.to {
        letter = letter.to(recipient.clone());
    }
    // Nobody's absence is answered to a machine.
    let name = HeaderName::new_from_ascii_str("Auto-Submitted");
    let letter = letter.raw_header(HeaderValue::new(name, "auto-generated".to_owned()));
    letter.body(mail.text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_on_this_machine_is_not_encrypted() {
        for (wanted, address, expected) in [
            (Tls::Started, "127.0.0.1", Protection::None),
            (Tls::Started, "::1", Protection::None),
            (Tls::Started, "10.0.0.1", Protection::Started),
            (Tls::Started, "8.8.8.8", Protection::Started),
            (Tls::Wrapped, "127.0.0.1", Protection::Wrapped),
            (Tls::Wrapped, "8.8.8.8", Protection::Wrapped),
        ] {
            assert_eq!(protection(wanted, address.parse().unwrap()), expected, "{wanted:?} {address}");
        }
    }
}
