//! One file out of a ZIP archive, bounded in size.

use std::io::Read;

use flate2::read::DeflateDecoder;

/// The content of the entry with this name; none where it is not there, or odd in any way.
pub fn entry(archive: &[u8], name: &str, bytes_max: usize) -> Option<Vec<u8>> {
    // The directory is at the end, behind it only a comment.
    let tail = archive.len().saturating_sub(22 + 65_535);
    let end = archive.get(tail..)?.windows(4).rposition(|four| four == b"PK\x05\x06")? + tail;
    let count = usize::from(u16_at(archive, end + 10)?);
    let mut at = usize::try_from(u32_at(archive, end + 16)?).ok()?;
    for _ in 0..count {
        let header = archive.get(at..)?;
        if !header.starts_with(b"PK\x01\x02") {
            return None;
        }
        let length = |offset: usize| u16_at(header, offset).map(usize::from);
        let (name_length, extra, comment) = (length(28)?, length(30)?, length(32)?);
        if header.get(46..46 + name_length)? == name.as_bytes() {
            return content(archive, header, bytes_max);
        }
        at += 46 + name_length + extra + comment;
    }
    None
}

fn content(archive: &[u8], header: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let (flags, method) = (u16_at(header, 8)?, u16_at(header, 10)?);
    let packed = usize::try_from(u32_at(header, 20)?).ok()?;
    let local = archive.get(usize::try_from(u32_at(header, 42)?).ok()?..)?;
    let begin = 30 + usize::from(u16_at(local, 26)?) + usize::from(u16_at(local, 28)?);
    let data = local.get(begin..begin.checked_add(packed)?)?;
    match method {
        _ if flags & 1 == 1 => None,
        0 => Some(data.to_vec()).filter(|data| data.len() <= bytes_max),
        8 => {
            let mut out = Vec::new();
            let most = u64::try_from(bytes_max).ok()?.saturating_add(1);
            DeflateDecoder::new(data).take(most).read_to_end(&mut out).ok()?;
            (out.len() <= bytes_max).then_some(out)
        }
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
