//! The options of torchrun, as far as they decide which port it listens on.
//!
//! argparse accepts `-` and `_` alike, beginnings of names that are unique, `--name=value` and `--name value`; of two
//! the last wins; all behind the script's name is the script's.

/// A word of a launcher's command line, as it is written and as the program gets it.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    pub raw: &'a str,
    /// `None` where a shell would expand something in it.
    pub literal: Option<&'a str>,
}

/// Where the value of an option stands: in `raw` of a word, from a byte on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueAt {
    pub word: usize,
    pub from: usize,
}

/// What the options say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub master_port: Option<ValueAt>,
    pub endpoint: Option<ValueAt>,
    pub backend: Option<ValueAt>,
    pub nodes: Option<ValueAt>,
    pub standalone: bool,
    /// Words among the options that only a shell can tell: they may hold any option.
    pub opaque: bool,
}

/// Options that take a value, with `-` in their names.
const WITH_VALUE: &[&str] = &[
    "nnodes",
    "nproc-per-node",
    "rdzv-backend",
    "rdzv-endpoint",
    "rdzv-id",
    "rdzv-conf",
    "max-restarts",
    "monitor-interval",
    "start-method",
    "event-log-handler",
    "role",
    "log-dir",
    "redirects",
    "tee",
    "local-ranks-filter",
    "duplicate-stdout-filters",
    "duplicate-stderr-filters",
    "node-rank",
    "master-addr",
    "master-port",
    "local-addr",
    "logs-specs",
    "numa-binding",
    "signals-to-handle",
    "shutdown-timeout",
];

const FLAGS: &[&str] = &["standalone", "module", "no-python", "run-path", "use-env", "virtual-local-rank", "help"];

/// Short options that take a value, and flags.
const SHORT_WITH_VALUE: &[&str] = &["-r", "-t"];
const SHORT_FLAGS: &[&str] = &["-m", "-h"];

/// Reads the words behind the launcher's name up to the script; `None` where an option is not known, for then nobody
/// can tell where the options end.
pub fn read(words: &[Word<'_>]) -> Option<Options> {
    let mut options = Options::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        // The option's name is plain even where its value is not.
        let plain = word.literal.unwrap_or_else(|| word.raw.trim_start_matches('"'));
        let Some(name) = plain.strip_prefix("--") else {
            match word.literal {
                None => {
                    options.opaque = true;
                    continue;
                }
                Some(literal) if SHORT_FLAGS.contains(&literal) => continue,
                Some(literal) if SHORT_WITH_VALUE.contains(&literal) => {
                    at += 1;
                    continue;
                }
                Some(literal) if SHORT_WITH_VALUE.iter().any(|short| literal.starts_with(short)) => continue,
                Some(literal) if literal.starts_with('-') => return None,
                Some(_) => return Some(options),
            }
        };
        let (name, joined) = match name.split_once('=') {
            Some((name, _)) => (name, word.raw.find('=').map(|equals| equals + 1)),
            None if word.literal.is_none() => return None,
            None => (name, None),
        };
        let known = full_name(name)?;
        if FLAGS.contains(&known) {
            options.standalone |= known == "standalone";
            continue;
        }
        let value = match joined {
            Some(from) => ValueAt { word: at - 1, from },
            None => {
                at += 1;
                ValueAt { word: at - 1, from: 0 }
            }
        };
        words.get(value.word)?;
        match known {
            "master-port" => options.master_port = Some(value),
            "rdzv-endpoint" => options.endpoint = Some(value),
            "rdzv-backend" => options.backend = Some(value),
            "nnodes" => options.nodes = Some(value),
            _ => {}
        }
    }
    // No script: `torchrun --help`, or a line that was not understood.
    options.opaque.then_some(options)
}

/// Completes the beginning of a name; `None` where it is none, or the beginning of several.
fn full_name(given: &str) -> Option<&'static str> {
    let given = given.replace('_', "-");
    let all = || WITH_VALUE.iter().chain(FLAGS);
    if let Some(exact) = all().find(|name| **name == given) {
        return Some(exact);
    }
    let mut starting = all().filter(|name| !given.is_empty() && name.starts_with(&given));
    let first = starting.next()?;
    starting.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let raw: Vec<&str> = line.split(' ').collect();
        let words: Vec<Word<'_>> =
            raw.iter().map(|raw| Word { raw, literal: (!raw.contains('$')).then_some(*raw) }).collect();
        let Some(options) = read(&words) else { return "?".into() };
        let value = |at: Option<ValueAt>| at.map(|at| raw[at.word][at.from..].to_owned()).unwrap_or("-".into());
        let flags = format!(
            "{}{}",
            if options.standalone { " alone" } else { "" },
            if options.opaque { " opaque" } else { "" }
        );
        format!(
            "{} {} {} {}{flags}",
            value(options.master_port),
            value(options.endpoint),
            value(options.backend),
            value(options.nodes)
        )
    }

    #[test]
    fn options_up_to_the_script() {
        for (line, want) in [
            ("x.py", "- - - -"),
            ("--nproc-per-node=2 x.py --master_port=1", "- - - -"),
            ("--master_port=5 x.py", "5 - - -"),
            ("--master-port 5 x.py", "5 - - -"),
            ("--master_p=5 x.py", "5 - - -"),
            ("--master_port=5 --nproc_per_node 8 --master-port=6 x.py", "6 - - -"),
            ("--rdzv-endpoint=h:5 --rdzv_backend c10d --nnodes 1 x.py", "- h:5 c10d 1"),
            ("--standalone -m pkg.train", "- - - - alone"),
            ("-t 3 -r3 --master_port 5 x.py", "5 - - -"),
            ("$ARGS x.py", "- - - - opaque"),
            ("--master_port=$P --nproc_per_node $N x.py", "$P - - -"),
            ("--master=5 x.py", "?"),
            ("--unheard-of x.py", "?"),
            ("-q x.py", "?"),
            ("--$X x.py", "?"),
            ("--master_port", "?"),
            ("--help", "?"),
        ] {
            assert_eq!(told(line), want, "{line}");
        }
    }
}
