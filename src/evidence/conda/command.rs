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
    /// Nothing tells.
    Unknown,
    /// A program that has a configuration of its own.
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
    /// `--no-rc`, `--rc-file`: another configuration counts.
    pub other_configuration: bool,
    pub environment_files: Vec<AbsPath>,
}

impl CondaCommand {
    /// Reads a command; a `sh -c` line is read as far as it is plain.
    pub fn read(host: &dyn Host, command: Option<&[OsString]>) -> Self {
        let mut read = Self {
            tool: Tool::Unknown,
            channels: Vec::new(),
            overrides: false,
            other_configuration: false,
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
            "pixi" | "rattler-build" => Tool::Other,
            _ => return,
        };
        if self.tool == Tool::Unknown || tool != Tool::Other {
            self.tool = tool;
        }
        let verbs: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).take(2).collect();
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
            } else if word == "--override-channels" {
                self.overrides = true;
            } else if ["--no-rc", "--rc-file", "--rcfile", "--no-env"].iter().any(|option| word.starts_with(option)) {
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
            ("micromamba create -f e.yml --no-rc", "Mamba [] false true [e.yml]"),
            ("mamba create --override-channels -c a", "Mamba [a] true false []"),
            ("conda create --file requirements.txt", "Conda [] false false []"),
            ("bash -c 'cd sub && conda env create -q'", "Conda [] false false [sub/environment.yml]"),
            ("env A=1 conda install -c 'https://h/x' y", "Conda [https://h/x] false false []"),
            ("pixi install", "Other [] false false []"),
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
}
