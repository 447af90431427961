//! Where a preset of CMake puts the build tree, as cmake-presets(7) has it.
//!
//! Only what is certain is told: a macro that is not known here, an include that cannot be read or a circle leave the
//! build tree unknown.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Host;
use crate::os::AbsPath;

const FILES: [&str; 2] = ["CMakeUserPresets.json", "CMakePresets.json"];
const MOST_FILES: usize = 64;
const MOST_BYTES: u64 = 1 << 20;
/// Presets that one inherits from, counted with repetition.
const MOST_PARENTS: usize = 256;

/// What a configure preset says of the build.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigurePreset {
    /// `None` where the preset leaves it to the command line.
    pub tree: Option<AbsPath>,
    pub generator: Option<String>,
    /// Names of the cache entries that it sets, sorted.
    pub defines: Vec<String>,
}

/// Reads the configure preset `name` of the project in `source`; `None` where it is not there or not certain.
pub fn configure_preset(host: &dyn Host, source: &AbsPath, name: &str) -> Option<ConfigurePreset> {
    Presets::read(host, source)?.configure(host, source, name)
}

/// Returns the build tree of the build preset `name` of the project in `source`.
pub fn tree_of_build_preset(host: &dyn Host, source: &AbsPath, name: &str) -> Option<AbsPath> {
    let presets = Presets::read(host, source)?;
    let configure = presets.inherited("buildPresets", name)?.get("configurePreset")?.as_str()?.to_owned();
    presets.configure(host, source, &configure)?.tree
}

/// All presets of the files that count, by kind and name, each with the folder of its file.
struct Presets(BTreeMap<(String, String), (Value, AbsPath)>);

impl Presets {
    fn read(host: &dyn Host, source: &AbsPath) -> Option<Self> {
        let mut presets = Self(BTreeMap::new());
        let mut files: Vec<AbsPath> = FILES.iter().map(|name| source.resolve(name)).collect();
        files.retain(|path| host.follow(path.as_path()).is_ok());
        let mut at = 0;
        while let Some(path) = files.get(at).cloned() {
            at += 1;
            let folder = path.parent()?;
            let document: Value = serde_json::from_slice(&host.read(path.as_path(), MOST_BYTES).ok()?).ok()?;
            for include in document.get("include").and_then(Value::as_array).into_iter().flatten() {
                let include = include.as_str().filter(|include| !include.contains('$'))?;
                let included = folder.resolve(include);
                if !files.contains(&included) {
                    files.push(included);
                }
            }
            if files.len() > MOST_FILES {
                return None;
            }
            for kind in ["configurePresets", "buildPresets"] {
                for preset in document.get(kind).and_then(Value::as_array).into_iter().flatten() {
                    let name = preset.get("name").and_then(Value::as_str)?;
                    presets.0.insert((kind.to_owned(), name.to_owned()), (preset.clone(), folder.clone()));
                }
            }
        }
        Some(presets)
    }

    /// Returns a preset with what it inherits: of several parents the first that says something counts.
    fn inherited(&self, kind: &str, name: &str) -> Option<Value> {
        let mut left = MOST_PARENTS;
        self.with_parents(kind, name, &mut left)
    }

    fn with_parents(&self, kind: &str, name: &str, left: &mut usize) -> Option<Value> {
        *left = left.checked_sub(1)?;
        let (preset, folder) = self.0.get(&(kind.to_owned(), name.to_owned()))?;
        let mut preset = preset.clone();
        if let Some(given) = preset.get_mut("binaryDir")
            && let Some(text) = given.as_str()
        {
            // The one macro that depends on where a preset stands.
            *given = text.replace("${fileDir}", &folder.to_string()).into();
        }
        let parents: Vec<String> = match preset.get("inherits") {
            None => Vec::new(),
            Some(Value::String(parent)) => vec![parent.clone()],
            Some(Value::Array(parents)) => {
                parents.iter().map(|parent| parent.as_str().map(str::to_owned)).collect::<Option<_>>()?
            }
            Some(_) => return None,
        };
        for parent in parents {
            let parent = self.with_parents(kind, &parent, left)?;
            let own = preset.as_object_mut()?;
            for (key, theirs) in parent.as_object()? {
                match (key.as_str(), own.get_mut(key)) {
                    ("name" | "hidden" | "inherits" | "description" | "displayName" | "condition", _) => {}
                    ("cacheVariables" | "environment", Some(Value::Object(ours))) => {
                        for (name, value) in theirs.as_object()? {
                            ours.entry(name).or_insert_with(|| value.clone());
                        }
                    }
                    (_, Some(_)) => {}
                    (_, None) => {
                        own.insert(key.clone(), theirs.clone());
                    }
                }
            }
        }
        Some(preset)
    }

    fn configure(&self, host: &dyn Host, source: &AbsPath, name: &str) -> Option<ConfigurePreset> {
        let preset = self.inherited("configurePresets", name)?;
        let text = |key: &str| preset.get(key).and_then(Value::as_str);
        let environment = preset.get("environment").and_then(Value::as_object);
        let generator = text("generator").map(str::to_owned);
        let macro_value = |spelled: &str, name_of: &str| -> Option<String> {
            match (spelled, name_of) {
                ("$", "sourceDir") => Some(source.to_string()),
                ("$", "sourceParentDir") => Some(source.parent()?.to_string()),
                ("$", "sourceDirName") => Some(source.file_name()?.to_str()?.to_owned()),
                ("$", "presetName") => Some(name.to_owned()),
                ("$", "generator") => generator.clone(),
                ("$", "hostSystemName") => Some(if cfg!(target_os = "macos") { "Darwin" } else { "Linux" }.to_owned()),
                ("$", "dollar") => Some("$".to_owned()),
                ("$", "pathListSep") => Some(":".to_owned()),
                ("$env", variable) => match environment.and_then(|environment| environment.get(variable)) {
                    // Its value may have macros of its own: only a plain one is certain.
                    Some(value) => value.as_str().filter(|value| !value.contains('$')).map(str::to_owned),
                    None => host.env(variable)?.into_string().ok(),
                },
                ("$penv", variable) => host.env(variable)?.into_string().ok(),
                _ => None,
            }
        };
        let tree = match text("binaryDir") {
            Some(given) => Some(source.resolve(expand(given, &macro_value)?)),
            None => None,
        };
        let defines = preset.get("cacheVariables").and_then(Value::as_object);
        let defines = defines.map(|defines| defines.keys().cloned().collect()).unwrap_or_default();
        Some(ConfigurePreset { tree, generator, defines })
    }
}

/// Puts values for `${name}`, `$env{name}` and `$penv{name}`; `None` where one has none, or for another `$`.
fn expand(text: &str, value: &dyn Fn(&str, &str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let (spelled, inner) = rest[at..].split_once('{')?;
        let (name, after) = inner.split_once('}')?;
        out.push_str(&value(spelled, name)?);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    /// Tells a preset in one line, with `~` for the project's folder.
    fn read(files: &[(&str, &str)], name: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        for (file, text) in files {
            std::fs::create_dir_all(root.resolve(file).parent().unwrap()).unwrap();
            std::fs::write(root.resolve(file), text).unwrap();
        }
        let env = [("OUT".into(), "/out".into())];
        let host = LocalHost::new(root.clone(), env, Box::new(NoGit));
        let show = |path: &AbsPath| path.to_string().replacen(&root.to_string(), "~", 1);
        match configure_preset(&host, &root, name) {
            None => match tree_of_build_preset(&host, &root, name) {
                None => "unknown".to_owned(),
                Some(tree) => format!("builds {}", show(&tree)),
            },
            Some(preset) => format!(
                "{} {} [{}]",
                preset.tree.as_ref().map_or("-".to_owned(), show),
                preset.generator.as_deref().unwrap_or("-"),
                preset.defines.join(" ")
            ),
        }
    }

    const MAIN: &str = r#"{"version": 6, "include": ["cmake/more.json"], "configurePresets": [
        {"name": "base", "hidden": true, "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}",
         "cacheVariables": {"A": "1"}, "environment": {"KIND": "fast"}},
        {"name": "dev", "inherits": "base", "cacheVariables": {"B": {"type": "BOOL", "value": "ON"}}},
        {"name": "env", "inherits": ["base"], "binaryDir": "$env{OUT}/$env{KIND}"},
        {"name": "relative", "binaryDir": "out"},
        {"name": "plain"},
        {"name": "two", "inherits": ["more", "base"]},
        {"name": "circle", "inherits": "circle"},
        {"name": "unset", "binaryDir": "$penv{NOT_SET}/x"},
        {"name": "odd", "binaryDir": "${vendor}/x"}],
        "buildPresets": [{"name": "b", "configurePreset": "dev"}, {"name": "b2", "inherits": "b"}]}"#;
    const MORE: &str = r#"{"version": 6, "configurePresets": [{"name": "more", "binaryDir": "${fileDir}/b"}]}"#;

    #[test]
    fn presets_are_read_as_cmake_reads_them() {
        let files = [("CMakePresets.json", MAIN), ("cmake/more.json", MORE)];
        for (name, want) in [
            ("dev", "~/build/dev Ninja [A B]"),
            ("env", "/out/fast Ninja [A]"),
            ("relative", "~/out - []"),
            ("plain", "- - []"),
            ("more", "~/cmake/b - []"),
            ("two", "~/cmake/b Ninja [A]"),
            ("b", "builds ~/build/dev"),
            ("b2", "builds ~/build/dev"),
            ("circle", "unknown"),
            ("unset", "unknown"),
            ("odd", "unknown"),
            ("none", "unknown"),
        ] {
            assert_eq!(read(&files, name), want, "{name}");
        }
        let own = r#"{"version": 3, "configurePresets": [{"name": "mine", "inherits": "dev", "binaryDir": "/b"}]}"#;
        assert_eq!(read(&[files[0], files[1], ("CMakeUserPresets.json", own)], "mine"), "/b Ninja [A B]");
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        for text in ["", "[]", "{", r#"{"configurePresets": [{}]}"#, r#"{"include": ["none.json"]}"#, "\u{feff}{}"] {
            assert_eq!(read(&[("CMakePresets.json", text)], "dev"), "unknown", "{text}");
        }
        assert_eq!(read(&[], "dev"), "unknown");
    }
}
