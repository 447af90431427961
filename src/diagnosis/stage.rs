//! How far a build got, read off what its tools print when a stage is done.

use regex::bytes::Regex;
use std::sync::LazyLock;

/// The stages of a native build, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stage {
    /// Nothing told yet.
    #[default]
    Start,
    /// CMake knows its compilers.
    Compilers,
    /// CMake has configured and generated.
    Configured,
    /// The first object is compiled.
    Compiling,
    /// Something is linked.
    Linking,
    /// Files are installed, or a wheel is made.
    Packaged,
    /// pip has installed.
    Installed,
}

/// What a tool prints when a stage is reached.
struct Marker {
    stage: Stage,
    /// Stands in every line that the pattern matches; looking for it costs a tenth of the pattern.
    words: &'static [&'static str],
    pattern: Regex,
}

static MARKERS: LazyLock<Vec<Marker>> = LazyLock::new(|| {
    let make = |stage, words, pattern: &str| Marker {
        stage,
        words,
        pattern: Regex::new(pattern).expect("the patterns below are tested"),
    };
    vec![
        make(Stage::Installed, &["Successfully installed "], r"(?m-u)^\s*Successfully installed "),
        make(
            Stage::Packaged,
            &["Successfully built ", "-- Install configuration:"],
            r"(?m-u)^\s*(Successfully built |-- Install configuration:)",
        ),
        make(Stage::Linking, &["] Linking "], r"(?m-u)^\s*\[ *\d+(/\d+|%)\] Linking "),
        make(Stage::Compiling, &["] Building "], r"(?m-u)^\s*\[ *\d+(/\d+|%)\] Building "),
        make(
            Stage::Configured,
            &["-- Configuring done", "-- Build files have been written to: "],
            r"(?m-u)^\s*-- (Configuring done|Build files have been written to: )",
        ),
        make(
            Stage::Compilers,
            &[" compiler identification is "],
            r"(?m-u)^\s*-- The [A-Z]+ compiler identification is ",
        ),
    ]
});

/// Follows a command's output and remembers the latest stage that showed.
///
/// Only the stages after the one already seen are looked for, so that the cost ends with the build.
#[derive(Debug, Default)]
pub struct Progress {
    stage: Stage,
    /// The beginning of a line that is not complete yet, bounded.
    carry: Vec<u8>,
}

/// Longest beginning of a line that is kept for the next chunk: all markers stand at the beginning.
const CARRY: usize = 512;

impl Progress {
    /// Looks at the next bytes of the output.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            self.keep(bytes);
            return;
        };
        if !self.carry.is_empty() {
            let first = memchr::memchr(b'\n', bytes).unwrap_or(end);
            self.keep(&bytes[..first.min(CARRY)]);
            let line = std::mem::take(&mut self.carry);
            self.look(&line);
        }
        self.look(&bytes[..=end]);
        self.carry.clear();
        self.keep(&bytes[end + 1..]);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = CARRY.saturating_sub(self.carry.len());
        self.carry.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn look(&mut self, lines: &[u8]) {
        let reached = MARKERS.iter().take_while(|marker| marker.stage > self.stage).find(|marker| {
            marker.words.iter().any(|word| memchr::memmem::find(lines, word.as_bytes()).is_some())
                && marker.pattern.is_match(lines)
        });
        if let Some(marker) = reached {
            self.stage = marker.stage;
        }
    }

    /// The latest stage that showed so far.
    pub fn stage(&self) -> Stage {
        self.stage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_read_in_any_chunking() {
        let log =
            b"-- The C compiler identification is GNU 12\n-- Configuring done (0.1s)\n[1/2] Building C object a.o\n\
                    [2/2] Linking C executable m\n";
        for (upto, want) in
            [(44, Stage::Compilers), (70, Stage::Configured), (100, Stage::Compiling), (127, Stage::Linking)]
        {
            for size in [1, 7, 1000] {
                let mut progress = Progress::default();
                log[..upto.min(log.len())].chunks(size).for_each(|chunk| progress.feed(chunk));
                progress.feed(b"\n");
                assert_eq!(progress.stage(), want, "{upto} {size}");
            }
        }
    }
}
