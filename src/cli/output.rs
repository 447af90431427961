//! Standard output and standard error: the only writer of both.
//!
//! A reader that went away or a full disk must never stop a repair half-way, so that nothing here fails or panics:
//! what could not be written is remembered, and [`finish`] says so at the end.

use std::io::{self, ErrorKind, Write};
use std::sync::{LazyLock, Mutex};

use anstream::{AutoStream, ColorChoice};
use encoding_rs::{EncoderResult, Encoding, GB18030, GBK};

/// Why something of standard output is lost; the first reason.
static LOST: Mutex<Option<ErrorKind>> = Mutex::new(None);

/// Writes styled text to standard output; styles are taken out where it takes none.
pub fn show(text: &str) {
    remember(match charset() {
        None => anstream::stdout().write_all(text.as_bytes()),
        Some(charset) => {
            let plain = AutoStream::choice(&io::stdout()) == ColorChoice::Never;
            io::stdout().write_all(&in_charset(text, charset, plain))
        }
    });
}

/// Writes to standard output exactly what is given: a document for a program.
pub fn hand_out(bytes: &[u8]) {
    remember(io::stdout().write_all(bytes));
}

/// Writes styled text to standard error. Nobody can be told when that fails.
pub fn tell(text: &str) {
    let _ = match charset() {
        None => anstream::stderr().write_all(text.as_bytes()),
        Some(charset) => {
            let plain = AutoStream::choice(&io::stderr()) == ColorChoice::Never;
            io::stderr().write_all(&in_charset(text, charset, plain))
        }
    };
}

/// The charset of the locale where it is one of China's own; everything else takes UTF-8, as it did.
fn charset() -> Option<&'static Encoding> {
    static CHARSET: LazyLock<Option<&Encoding>> = LazyLock::new(|| charset_of(|name| std::env::var(name).ok()));
    *CHARSET
}

fn charset_of(env: impl Fn(&str) -> Option<String>) -> Option<&'static Encoding> {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| env(name).filter(|value| !value.is_empty()))?;
    let named = locale.split_once('.').map(|(_, name)| name.split('@').next().unwrap_or(name).to_ascii_lowercase())?;
    match named.as_str() {
        "gbk" | "gb2312" | "euccn" | "euc-cn" => Some(GBK),
        "gb18030" => Some(GB18030),
        _ => None,
    }
}

/// Characters that the charset lacks become question marks, as other programs have it.
fn in_charset(text: &str, charset: &'static Encoding, plain: bool) -> Vec<u8> {
    let stripped = plain.then(|| anstream::adapter::strip_str(text).to_string());
    let text = stripped.as_deref().unwrap_or(text);
    let mut encoder = charset.new_encoder();
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len() * 4);
        bytes.reserve(room);
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::Unmappable(_) => bytes.push(b'?'),
            EncoderResult::InputEmpty => return bytes,
            EncoderResult::OutputFull => {}
        }
    }
}

/// Writes to standard error exactly what is given. Nobody can be told when that fails.
pub fn say_raw(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Sees that standard output has everything; says why not.
pub fn finish() -> io::Result<()> {
    remember(io::stdout().flush());
    match *LOST.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(kind) => Err(kind.into()),
        None => Ok(()),
    }
}

fn remember(written: io::Result<()>) {
    if let Err(error) = written {
        LOST.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error.kind());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_names_the_charset() {
        let of = |all: &str, lang: &str| {
            let charset = charset_of(|name| match name {
                "LC_ALL" => Some(all.to_owned()),
                "LANG" => Some(lang.to_owned()),
                _ => None,
            });
            charset.map(Encoding::name)
        };
        let table = [
            ("", "zh_CN.GBK", Some("GBK")),
            ("zh_CN.gb2312", "C.UTF-8", Some("GBK")),
            ("zh_CN.GB18030@x", "", Some("gb18030")),
            ("", "zh_CN.UTF-8", None),
            ("C", "zh_CN.GBK", None),
            ("", "", None),
        ];
        for (all, lang, want) in table {
            assert_eq!(of(all, lang), want, "{all} {lang}");
        }
    }

    #[test]
    fn what_a_charset_lacks_is_a_question_mark() {
        let bytes = in_charset("\u{1b}[1m错误\u{1b}[0m：\u{1f600} x", GBK, true);
        assert_eq!(GBK.decode(&bytes).0, "错误：? x");
        assert!(in_charset("\u{1b}[1m错", GBK, false).starts_with(b"\x1b[1m\xb4\xed"));
    }
}
