//! What the words of a conda command say about channels.

use std::ffi::OsString;

use crate::evidence::Host;
use crate::evidence::build_command::{base_name, is_literal, plain_words, shell_parts, strip_wrappers};
use crate::os::AbsPath;

/// Which program reads the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Conda,
    /// mamba and micromamba read `~/.mambarc` as well.
    Mamba,
    /// Has a manifest and a configuration of its own.
    Pixi,
    /// Nothing tells.
    Unknown,
    /// A program whose channels are not known here.
    Other,
}

/// A conda command, as far as its words tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CondaCommand {
    pub tool: Tool,
    /// Of `-c`.
    pub channels: Vec<String>,
    /// `--override-channels`: nothing but `-c` counts.
    pub overrides: bool,
    /// Configuration that cannot be told from the words counts: `--no-env`, several files of `--rc-file`.
    pub other_configuration: bool,
    /// `--no-rc`: no configuration file counts.
    pub no_rc: bool,
    /// `--rc-file`: these count alone.
    pub rc_files: Vec<AbsPath>,
    /// `-n` or `-p`: where the environment is that the command works on.
    pub environment: Option<Environment>,
    pub environment_files: Vec<AbsPath>,
}

/// How a command names its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Environment {
    Name(String),
    Prefix(AbsPath),
}

impl CondaCommand {
    /// Reads a command; a `sh -c` line is read as far as it is plain.
    pub fn read(host: &dyn Host, command: Option<&[OsString]>) -> Self {
        let mut read = Self {
            tool: Tool::Unknown,
            channels: Vec::new(),
            overrides: false,
            other_configuration: false,
            no_rc: false,
            rc_files: Vec::new(),
            environment: None,
            environment_files: Vec::new(),
        };
        let words = command.and_then(plain_words).unwrap_or_default();
        let mut folder = host.project().clone();
        match strip_wrappers(&words).map(|words| (words, shell_parts(words))) {
            Some((_, Some(parts))) => {
                for part in parts {
                    let Ok(words) = shell_words::split(part) else { continue };
                    match words.as_slice() {
                        [program, target, ..] if program == "cd" && is_literal(target) => {
                            folder = folder.resolve(target);
                        }
                        words => read.take(strip_wrappers(words).unwrap_or_default(), &folder),
                    }
                }
            }
            Some((words, None)) => read.take(words, &folder),
            None => {}
        }
        if read.tool == Tool::Unknown {
            // A script may do anything: what a project is known by counts.
            let usual = ["environment.yml", "environment.yaml"].map(|name| folder.resolve(name));
            read.environment_files = usual.into_iter().filter(|file| host.follow(file.as_path()).is_ok()).collect();
        }
        read
    }

    fn take(&mut self, words: &[String], folder: &AbsPath) {
        let Some((program, arguments)) = words.split_first() else { return };
        let tool = match base_name(program) {
            "conda" | "conda-env" => Tool::Conda,
            "mamba" | "micromamba" => Tool::Mamba,
            "pixi" => Tool::Pixi,
            "rattler-build" => Tool::Other,
            _ => return,
        };
        if self.tool == Tool::Unknown || tool != Tool::Other {
            self.tool = tool;
        }
        let verbs: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).take(2).collect();
        if verbs.first() == Some(&"run") || tool == Tool::Pixi {
            // The words behind are another program's.
            return;
        }
        let is_environment = base_name(program) == "conda-env" || verbs.first() == Some(&"env");
        let mut files = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = |options: [&str; 2]| -> Option<String> {
                let [short, long] = options;
                if word == short || word == long {
                    return words.next().cloned();
                }
                let joined = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
                let short = word.strip_prefix(short).filter(|rest| !rest.is_empty() && !word.starts_with("--"));
                joined.or(short).map(|value| value.trim_start_matches('=').to_owned())
            };
            if let Some(channel) = value(["-c", "--channel"]) {
                self.channels.extend(channel.split(',').map(str::to_owned).filter(|channel| !channel.is_empty()));
            } else if let Some(file) = value(["-f", "--file"]) {
                files.push(file);
            } else if let Some(file) = value(["--rcfile", "--rc-file"]) {
                // Further words would be files as well.
                let is_more = words.clone().next().is_some_and(|word| !word.starts_with('-'));
                self.other_configuration |= is_more || !is_literal(&file) || !self.rc_files.is_empty();
                self.rc_files.push(folder.resolve(&file));
            } else if let Some(name) = value(["-n", "--name"]) {
                self.environment = Some(Environment::Name(name));
            } else if let Some(prefix) = value(["-p", "--prefix"]).filter(|prefix| is_literal(prefix)) {
                self.environment = Some(Environment::Prefix(folder.resolve(&prefix)));
            } else if word == "--override-channels" {
                self.overrides = true;
            } else if word == "--no-rc" {
                self.no_rc = true;
            } else if word == "--no-env" || word.starts_with("--rcfile") {
                self.other_configuration = true;
            }
        }
        let is_yaml = |file: &String| file.ends_with(".yml") || file.ends_with(".yaml");
        let is_made = verbs.iter().any(|verb| matches!(*verb, "create" | "update" | "install"));
        if is_environment && files.is_empty() && is_made {
            files.push("environment.yml".to_owned());
        }
        let files = files.iter().filter(|file| is_yaml(file) && is_literal(file) && !file.contains("://"));
        self.environment_files.extend(files.map(|file| folder.resolve(file)));
    }
}

/// Returns the command without some of the channels that its `-c` name; `None` where that cannot be said in words: the
/// line of a shell may expand to anything.
pub fn without_channels(command: &[OsString], goes: &dyn Fn(&str) -> bool) -> Option<Vec<OsString>> {
    let words = plain_words(command)?;
    let own = strip_wrappers(&words)?;
    let (program, arguments) = own.split_first()?;
    if !matches!(base_name(program), "conda" | "conda-env" | "mamba" | "micromamba") {
        return None;
    }
    let kept = |value: &str| {
        let all: Vec<&str> = value.split(',').filter(|channel| !channel.is_empty()).collect();
        let kept: Vec<&str> = all.iter().copied().filter(|channel| !goes(channel)).collect();
        (kept.len() < all.len()).then(|| kept.join(","))
    };
    let mut new: Vec<String> = words[..words.len() - arguments.len()].to_vec();
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let (option, value) = if word == "-c" || word == "--channel" {
            (None, arguments.next()?.clone())
        } else if let Some(value) = word.strip_prefix("--channel=") {
            (Some("--channel="), value.to_owned())
        } else if let Some(value) = word.strip_prefix("-c").filter(|_| !word.starts_with("--")) {
            (Some("-c"), value.trim_start_matches('=').to_owned())
        } else {
            new.push(word.clone());
            continue;
        };
        match (option, kept(&value)) {
            (None, None) => new.extend([word.clone(), value]),
            (Some(_), None) => new.push(word.clone()),
            (_, Some(rest)) if rest.is_empty() => {}
            (None, Some(rest)) => new.extend([word.clone(), rest]),
            (Some(option), Some(rest)) => new.push(format!("{option}{rest}")),
        }
    }
    (new != words).then(|| new.into_iter().map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    #[test]
    fn reads_commands() {
        let cases = [
            ("conda create -n x python", "Conda [] false false []"),
            ("conda install -c nvidia --channel=lab -cx y", "Conda [nvidia lab x] false false []"),
            ("conda env create", "Conda [] false false [environment.yml]"),
            ("conda env update -f dev/e.yaml --prune", "Conda [] false false [dev/e.yaml]"),
            ("conda env list", "Conda [] false false []"),
            ("micromamba create -f e.yml --no-rc", "Mamba [] false false [e.yml]"),
            ("micromamba create --no-env x", "Mamba [] false true []"),
            ("micromamba create --rc-file a.yml b.yml -c d", "Mamba [d] false true []"),
            ("conda run -n x tool -c y", "Conda [] false false []"),
            ("pixi exec -c lab tool", "Pixi [] false false []"),
            ("mamba create --override-channels -c a", "Mamba [a] true false []"),
            ("conda create --file requirements.txt", "Conda [] false false []"),
            ("bash -c 'cd sub && conda env create -q'", "Conda [] false false [sub/environment.yml]"),
            ("env A=1 conda install -c 'https://h/x' y", "Conda [https://h/x] false false []"),
            ("pixi install", "Pixi [] false false []"),
            ("rattler-build build", "Other [] false false []"),
            ("bash build.sh", "Unknown [] false false [environment.yml]"),
            ("make env", "Unknown [] false false [environment.yml]"),
        ];
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("environment.yml"), "").unwrap();
        let root = AbsPath::new(folder.path()).unwrap();
        let host = LocalHost::new(root.clone(), [], Box::new(NoGit));
        for (line, want) in cases {
            let words: Vec<OsString> = shell_words::split(line).unwrap().into_iter().map(OsString::from).collect();
            let read = CondaCommand::read(&host, Some(&words));
            let files: Vec<String> = read
                .environment_files
                .iter()
                .map(|file| file.as_path().strip_prefix(root.as_path()).unwrap().display().to_string())
                .collect();
            let channels = read.channels.join(" ");
            let got = format!(
                "{:?} [{channels}] {} {} [{}]",
                read.tool,
                read.overrides,
                read.other_configuration,
                files.join(" ")
            );
            assert_eq!(got, want, "{line}");
        }
    }
    #[test]
    fn channels_go_from_the_words() {
        for (line, want) in [
            ("conda install -c gone -c lab x", Some("conda install -c lab x")),
            ("mamba create --channel=gone,lab x", Some("mamba create --channel=lab x")),
            ("env A=1 micromamba install -cgone x -c lab,gone", Some("env A=1 micromamba install x -c lab")),
            ("conda install --channel gone x", Some("conda install x")),
            ("conda install -c lab --channel-priority gone", None),
            ("bash -c 'conda install -c gone x'", None),
            ("pixi exec -c gone x", None),
            ("conda install x -c", None),
        ] {
            let words: Vec<OsString> = shell_words::split(line).unwrap().into_iter().map(OsString::from).collect();
            let got = without_channels(&words, &|channel| channel == "gone");
            let got = got.map(|words| words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" "));
            assert_eq!(got.as_deref(), want, "{line}");
        }
    }
}
