//! What a good signature keeps to: it recognises one issue and nothing else, and is cheap to look for.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

use super::check::{capture_names, parse_regex};
use super::parse::Loaded;
use super::{ParamSource, Role};

/// Lines that failures of all kinds print: whoever matches one of them recognises nothing.
const GENERIC: &[&str] = &[
    "ninja: build stopped: subcommand failed.",
    "FAILED: lib/foo.o",
    "make: *** [Makefile:2: all] Error 2",
    "make[1]: *** [CMakeFiles/Makefile2:83: CMakeFiles/foo.dir/all] Error 2",
    "gmake: *** [Makefile:136: all] Error 2",
    "CMake Error at CMakeLists.txt",
    "CMake Error at CMakeLists.txt:12 (find_package):",
    "CMake Error at CMakeLists.txt:12 (message):",
    "CMake Error:",
    "-- Configuring incomplete, errors occurred!",
    "See also \"/src/build/CMakeFiles/CMakeOutput.log\".",
    "error: subprocess-exited-with-error",
    "error: metadata-generation-failed",
    "note: This error originates from a subprocess, and is likely not a problem with pip.",
    "ERROR: Failed building wheel for foo",
    "error: legacy-install-failure",
    "Traceback (most recent call last):",
    "subprocess.CalledProcessError: Command '['cmake', '--build', '.']' returned non-zero exit status 1.",
    "collect2: error: ld returned 1 exit status",
    "clang: error: linker command failed with exit code 1 (use -v to see invocation)",
    "fatal error: too many errors emitted, stopping now [-ferror-limit=]",
    "compilation terminated.",
    "error: command '/usr/bin/gcc' failed with exit code 1",
    // The first is how CANN spells it.
    "ERR99999 UNKNOWN applicaiton exception",
    "ERR99999 UNKNOWN application exception",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
    "RuntimeError: ",
    "Process completed with exit code 1.",
];

/// Longer regular expressions are unreadable, and slow to compile.
const LONGEST_REGEX: usize = 2_000;

/// The memory that a compiled regular expression may take.
const LARGEST_REGEX: usize = 1024 * 1024;

/// Alternatives of one signature.
const MOST_ALTERNATIVES: usize = 40;

/// Complains about signatures; an anchor of less than `least_anchor` bytes costs too much.
pub fn check(loaded: &Loaded<'_>, least_anchor: usize) {
    let source = &loaded.source;
    for (index, signature) in loaded.recipe.signatures.iter().enumerate() {
        if signature.any.len() > MOST_ALTERNATIVES {
            let message = format!("more than {MOST_ALTERNATIVES} alternatives");
            source.complain(&format!("signature[{index}]"), message, "split the signature, or the recipe");
        }
        for (at, regex) in signature.any.iter().enumerate() {
            let path = format!("signature[{index}].any[{at}]");
            if regex.len() > LONGEST_REGEX {
                let message = format!("the regular expression is longer than {LONGEST_REGEX} bytes");
                source.complain(&path, message, "make alternatives of it");
                continue;
            }
            let Ok(hir) = parse_regex(regex) else { continue };
            if has_nested_repetition(&hir) {
                let message = "a repetition of nothing but repetitions";
                source.complain(&path, message, "put something fixed into it: `(?: \\S+)*`, not `(?:\\s*\\S+)*`");
            }
            for short in loaded.anchors[index][at].iter().filter(|anchor| anchor.len() < least_anchor) {
                let (bytes, hint) = (
                    short.len(),
                    "quote more of what stands beside it in every match: it costs a second pass over each log",
                );
                let message = format!(
                    "the literal `{short}`, which this is looked for by, has {bytes} of at least {least_anchor} bytes"
                );
                source.complain(&path, message, hint);
            }
            let unnamed =
                capture_names(&hir).into_iter().filter(|name| signature.role == Role::Veto || !is_param(loaded, name));
            for name in unnamed {
                let message = format!("group `{name}` is no parameter's `capture`");
                source.complain_about(&path, &format!("<{name}>"), message, "add a `[[param]]`, or use `(?:…)`");
            }
            match compile(regex) {
                Ok(compiled) if signature.role == Role::Required => {
                    for line in GENERIC.iter().filter(|line| compiled.is_match(line.as_bytes())) {
                        let message = format!("a required signature matches the generic line `{}`", line.trim_end());
                        source.complain(&path, message, "quote words that only this issue prints");
                    }
                }
                Ok(_) => {}
                Err(_) => {
                    let message = "the regular expression is too large when compiled";
                    source.complain(&path, message, "use smaller counts");
                }
            }
        }
    }
}

/// Compiles a regular expression with the flags of the scanner.
fn compile(regex: &str) -> Result<Regex, regex::Error> {
    let mut builder = RegexBuilder::new(regex);
    builder.unicode(false).case_insensitive(true).multi_line(true).size_limit(LARGEST_REGEX).build()
}

fn is_param(loaded: &Loaded<'_>, group: &str) -> bool {
    let captures = |source: &ParamSource| matches!(source, ParamSource::Capture(name) if name == group);
    loaded.recipe.params.iter().any(|param| param.from.iter().any(captures))
}

/// Says whether something like `(a+)+` or `(\s*\S*)*` is in it: there is no telling where one round ends.
fn has_nested_repetition(hir: &Hir) -> bool {
    let mut left = vec![hir];
    while let Some(hir) = left.pop() {
        match hir.kind() {
            HirKind::Repetition(repetition) => {
                if repetition.max.is_none_or(|max| max > 1) && is_only_repetitions(&repetition.sub) {
                    return true;
                }
                left.push(&repetition.sub);
            }
            HirKind::Capture(capture) => left.push(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => left.extend(parts),
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => {}
        }
    }
    false
}

/// Says whether nothing in it must stand between two rounds. `\s+\S+` is fine: each part must be there, and the two
/// tell each other's end.
fn is_only_repetitions(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Repetition(repetition) => repetition.max.is_none(),
        HirKind::Capture(capture) => is_only_repetitions(&capture.sub),
        HirKind::Concat(parts) => {
            let must = parts.iter().filter(|part| part.properties().minimum_len() != Some(0)).count();
            must < 2 && parts.iter().all(is_only_repetitions)
        }
        HirKind::Alternation(parts) => parts.iter().any(is_only_repetitions),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_tell_its_rounds_apart_is_nested() {
        for (regex, expected) in [
            ("(a+)+", true),
            ("(?:a*)*", true),
            (r"(?:\s*\S+)*", true),
            (r"(?:\w+\s*)+", true),
            (r"x(?P<a>(?:b|c+)+)y", true),
            (r"(?:a+){2,9}", true),
            (r"\S+(?: \S+)*", false),
            (r"(?:\s+\S+)*", false),
            (r"(?:\w+, )*\w+", false),
            (r"(?:a+)?", false),
            (r"(?:[0-9]+\.)+[0-9]+", false),
            (r"[^\n]*?(?:/[^/\n]+)+", false),
        ] {
            assert_eq!(has_nested_repetition(&parse_regex(regex).unwrap()), expected, "{regex}");
        }
    }
}
