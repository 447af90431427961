//! Which bytes a log is written in: UTF-16 with or without a mark, GBK, else UTF-8 or whatever it is.
//!
//! Decided by content alone, never by how it arrives, so that a pipe and a file give the same result.

use encoding_rs::{Decoder, DecoderResult, Encoding, GBK, UTF_16BE, UTF_16LE};

/// As much of the beginning as is looked at for UTF-16 without a mark.
const SAMPLE_BYTES: usize = 4096;

/// What is known of a log's encoding so far.
pub enum Decoding {
    /// Nothing read yet.
    Unknown,
    /// Only ASCII so far.
    Ascii,
    /// Bytes are taken as they are: UTF-8, or a mixture.
    AsIs,
    Transcoded(Box<Decoder>),
}

impl Decoding {
    /// Looks at a block of the log, the first time at its beginning, and decides what can be decided.
    /// Returns how many bytes to skip.
    pub fn look_at(&mut self, block: &[u8]) -> usize {
        if matches!(self, Self::Unknown) {
            if let Some((encoding, skip)) = marked(block).or_else(|| unmarked_utf16(block)) {
                *self = Self::Transcoded(Box::new(encoding.new_decoder_without_bom_handling()));
                return skip;
            }
            if let Some(rest) = block.strip_prefix(b"\xef\xbb\xbf") {
                *self = Self::AsIs;
                return block.len() - rest.len();
            }
            *self = Self::Ascii;
        }
        if matches!(self, Self::Ascii) && !block.is_ascii() {
            *self = if looks_like_gbk(block) {
                Self::Transcoded(Box::new(GBK.new_decoder_without_bom_handling()))
            } else {
                Self::AsIs
            };
        }
        0
    }
}

fn marked(block: &[u8]) -> Option<(&'static Encoding, usize)> {
    match block {
        [0xff, 0xfe, ..] => Some((UTF_16LE, 2)),
        [0xfe, 0xff, ..] => Some((UTF_16BE, 2)),
        _ => None,
    }
}

/// PowerShell's `>` writes UTF-16; a tool that appends loses the mark. Latin text has a zero in each pair.
fn unmarked_utf16(block: &[u8]) -> Option<(&'static Encoding, usize)> {
    let sample = &block[..block.len().min(SAMPLE_BYTES)];
    let pairs = sample.len() / 2;
    if pairs < 4 {
        return None;
    }
    let zeros = |offset: usize| sample.chunks_exact(2).filter(|pair| pair[offset] == 0).count();
    let (first, second) = (zeros(0), zeros(1));
    if second * 2 > pairs && first * 20 < pairs {
        return Some((UTF_16LE, 0));
    }
    (first * 2 > pairs && second * 20 < pairs).then_some((UTF_16BE, 0))
}

/// Hardly any UTF-8, and as GBK nearly all Chinese characters and their punctuation.
fn looks_like_gbk(block: &[u8]) -> bool {
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in block.utf8_chunks() {
        good += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    if bad == 0 || bad < good || (bad == 1 && is_cut_character(block)) {
        return false;
    }
    let mut decoder = GBK.new_decoder_without_bom_handling();
    let mut text = vec![0; 4096];
    let (mut rest, mut chinese, mut other) = (block, 0usize, 0usize);
    loop {
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(rest, &mut text, false);
        for character in String::from_utf8_lossy(&text[..written]).chars().filter(|character| !character.is_ascii()) {
            match character {
                '\u{4e00}'..='\u{9fff}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}' => chinese += 1,
                '\u{2010}'..='\u{2027}' => chinese += 1,
                _ => other += 1,
            }
        }
        rest = &rest[read..];
        match result {
            DecoderResult::InputEmpty => break,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => other += 1,
        }
    }
    chinese >= 2 && other * 10 <= chinese
}

/// The block's only fault is a character that goes on in the next one.
fn is_cut_character(block: &[u8]) -> bool {
    matches!(std::str::from_utf8(block), Err(error) if error.error_len().is_none())
}

/// Turns a line into text for people: UTF-8, else GBK when that fits, else with replacement characters.
pub fn readable(line: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(line) {
        return text.to_owned();
    }
    if looks_like_gbk(line) {
        return GBK.decode_without_bom_handling(line).0.into_owned();
    }
    String::from_utf8_lossy(line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(block: &[u8]) -> &'static str {
        let mut decoding = Decoding::Unknown;
        decoding.look_at(block);
        match decoding {
            Decoding::Unknown => "unknown",
            Decoding::Ascii => "ascii",
            Decoding::AsIs => "as is",
            Decoding::Transcoded(decoder) => decoder.encoding().name(),
        }
    }

    #[test]
    fn encodings() {
        let (gbk, ..) = GBK.encode("错误：找不到文件 clang");
        let little: Vec<u8> = "cl: 错误 fatal error".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "cl: 错误 fatal error".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let table: &[(&[u8], &str)] = &[
            (b"plain", "ascii"),
            ("错误".as_bytes(), "as is"),
            (&"错误：找不到文件".as_bytes()[..23], "as is"),
            (b"\xef\xbb\xbfplain", "as is"),
            (&gbk, "GBK"),
            (&little, "UTF-16LE"),
            (&big, "UTF-16BE"),
            (b"\xff\xfeh\0i\0", "UTF-16LE"),
            (b"\xfe\xff\0h\0i", "UTF-16BE"),
            (b"na\xefve caf\xe9 ol\xe9", "as is"),
            (b"\0\0\0\0\0\0\0\0\0\0", "ascii"),
            ("正常的文字很多很多很多\u{fffd}".as_bytes(), "as is"),
            (&[b"\xe9\x94\x99\xe8\xaf\xaf\xe6\x89\xbe\xe4\xb8\x8d\xe5\x88\xb0 ".as_slice(), b"\xff"].concat(), "as is"),
        ];
        for (block, expected) in table {
            assert_eq!(name(block), *expected, "{block:?}");
        }
        assert_eq!(readable(&gbk), "错误：找不到文件 clang");
        assert_eq!(readable(b"caf\xe9"), "caf\u{fffd}");
    }
}
