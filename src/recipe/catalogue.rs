//! All recipes there are: the embedded ones, known without parsing, and those of an author's folder.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::check::Rules;
use super::nearest::nearest;
use super::parse::{self, LONGEST_FILE, Loaded};
use super::{Applicability, Lang, Recipe, RecipeError, Role, Side, Vocabulary, names};

/// More files than this is not a folder of recipes.
const MOST_FILES: usize = 2_000;

/// The known issues, sorted by id.
#[derive(Debug, Clone)]
pub struct Catalogue {
    entries: Cow<'static, [Entry]>,
}

/// What is known of a recipe before it is parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: Cow<'static, str>,
    pub slug: Cow<'static, str>,
    pub aliases: Cow<'static, [Cow<'static, str>]>,
    pub family: Cow<'static, str>,
    pub applicability: Applicability,
    pub title_en: Cow<'static, str>,
    pub title_zh: Cow<'static, str>,
    pub masks: Cow<'static, [Cow<'static, str>]>,
    /// Whether it can be found without a log.
    pub audits: bool,
    pub signatures: Cow<'static, [IndexedSignature]>,
    /// The file's name as messages show it.
    pub file: Cow<'static, str>,
    /// The file's text.
    pub toml: Cow<'static, str>,
}

/// A signature, as the scanner needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedSignature {
    pub role: Role,
    pub lines: u32,
    pub side: Side,
    pub any: Cow<'static, [IndexedRegex]>,
}

/// One alternative of a signature.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedRegex {
    pub regex: Cow<'static, str>,
    /// One of these stands in every text that matches.
    pub anchors: Cow<'static, [Cow<'static, str>]>,
}

/// One alternative of a signature, with the way back to its recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexedPattern<'c> {
    pub entry: &'c Entry,
    /// Index of the signature in the recipe.
    pub signature: usize,
    /// Index of the alternative in the signature.
    pub alternative: usize,
    pub role: Role,
    pub regex: &'c str,
    pub anchors: &'c [Cow<'static, str>],
    pub lines: u32,
    pub side: Side,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<'c> {
    One(&'c Entry),
    /// Several recipes answer to it, sorted by id.
    Ambiguous(Vec<&'c Entry>),
    None {
        /// Names that look like it, closest first.
        nearest: Vec<&'c str>,
    },
}

/// Why a folder of recipes cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("`{}` holds more than {MOST_FILES} files", .0.display())]
    TooMany(PathBuf),
    #[error("{} mistakes in recipes, the first: {}", .0.len(), .0.first().map_or(String::new(), RecipeError::to_string))]
    Broken(Vec<RecipeError>),
}

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

impl Catalogue {
    /// The recipes that this program was built with. Nothing is parsed.
    pub fn embedded() -> Self {
        Self { entries: Cow::Borrowed(EMBEDDED) }
    }

    /// The recipes of a folder alone.
    pub fn from_folder(folder: &Path, vocabulary: &Vocabulary) -> Result<Self, FolderError> {
        Self { entries: Cow::Borrowed(&[]) }.with_folder(folder, vocabulary)
    }

    /// Adds the recipes of a folder; one with the id of a recipe here takes its place.
    pub fn with_folder(self, folder: &Path, vocabulary: &Vocabulary) -> Result<Self, FolderError> {
        let files = read_folder(folder)?;
        let rules = Rules { anchors: vocabulary.anchors, vocabulary: Some(vocabulary) };
        let mut loaded = Vec::new();
        let mut errors = Vec::new();
        for (file, text) in &files {
            match parse::load(file, text, &rules) {
                Ok(recipe) => loaded.push((recipe, text)),
                Err(mistakes) => errors.extend(mistakes),
            }
        }
        errors.extend(names::clashes(loaded.iter().map(|(loaded, _)| (&loaded.recipe, &loaded.source))));
        let new: BTreeSet<&str> = loaded.iter().map(|(loaded, _)| loaded.recipe.id.as_str()).collect();
        let kept: Vec<&Entry> = self.entries.iter().filter(|entry| !new.contains(&*entry.id)).collect();
        for (loaded, _) in &loaded {
            errors.extend(clashes_with(&kept, loaded));
        }
        if !errors.is_empty() {
            errors.sort();
            return Err(FolderError::Broken(errors));
        }
        let mut entries: Vec<Entry> = kept.into_iter().cloned().collect();
        entries.extend(loaded.into_iter().map(|(loaded, text)| Entry::from_loaded(loaded, text)));
        entries.sort_by(|left, right| left.id.cmp(&right.id));
        Ok(Self { entries: Cow::Owned(entries) })
    }

    /// All recipes, sorted by id.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Finds a recipe by its id.
    pub fn by_id(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Finds what a name stands for: an id, slug or alias, or the section number of one. Case does not count.
    pub fn find(&self, name: &str) -> Found<'_> {
        let name = name.trim().to_lowercase();
        // From the strictest reading to the loosest: the first that fits anything decides.
        let readings: [fn(&str, &str) -> bool; 3] = [
            |known, name| known == name,
            |known, name| section(known) == Some(name),
            // `2.1` and `tda-2.1` stand for `tda-2.1a` and `tda-2.1b`.
            |known, name| {
                let part = |text: &str| text.strip_suffix(|c: char| c.is_ascii_lowercase()).map(str::len);
                section(known).is_some_and(|section| {
                    part(section).is_some_and(|len| &section[..len] == name)
                        || part(known).is_some_and(|len| &known[..len] == name)
                })
            },
        ];
        for fits in readings {
            let has = |entry: &&Entry| entry.names().any(|known| fits(&known.to_lowercase(), &name));
            let found: Vec<&Entry> = self.entries.iter().filter(has).collect();
            match found.as_slice() {
                [] => continue,
                [one] => return Found::One(one),
                _ => return Found::Ambiguous(found),
            }
        }
        Found::None { nearest: nearest(&name, self.entries.iter().flat_map(Entry::names)) }
    }

    /// Lists all patterns that the scanner looks for, in a fixed order.
    pub fn patterns(&self) -> Vec<IndexedPattern<'_>> {
        let mut patterns = Vec::new();
        for entry in self.entries() {
            for (signature, indexed) in entry.signatures.iter().enumerate() {
                for (alternative, pattern) in indexed.any.iter().enumerate() {
                    patterns.push(IndexedPattern {
                        entry,
                        signature,
                        alternative,
                        role: indexed.role,
                        regex: &pattern.regex,
                        anchors: &pattern.anchors,
                        lines: indexed.lines,
                        side: indexed.side,
                    });
                }
            }
        }
        patterns
    }
}

impl Entry {
    /// Parses the recipe.
    pub fn recipe(&self, vocabulary: &Vocabulary) -> Result<Recipe, Vec<RecipeError>> {
        parse::parse(&self.file, &self.toml, vocabulary)
    }

    /// Reads the recipe, which was checked when it came into the catalogue.
    pub fn checked_recipe(&self) -> Result<Recipe, Vec<RecipeError>> {
        parse::read_checked(&self.file, &self.toml)
    }

    /// The title in a reader's language.
    pub fn title(&self, lang: Lang) -> &str {
        match lang {
            Lang::En => &self.title_en,
            Lang::Zh => &self.title_zh,
        }
    }

    /// Id, slug and aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&*self.id, &*self.slug].into_iter().chain(self.aliases.iter().map(|alias| &**alias))
    }

    fn from_loaded(loaded: Loaded<'_>, text: &str) -> Self {
        let Loaded { recipe, anchors, source } = loaded;
        let signatures = recipe.signatures.into_iter().zip(anchors).map(|(signature, anchors)| {
            let any = signature.any.into_iter().zip(anchors);
            let any = any.map(|(regex, anchors)| IndexedRegex { regex: regex.into(), anchors: owned(anchors) });
            IndexedSignature { role: signature.role, lines: signature.lines, side: signature.side, any: any.collect() }
        });
        Self {
            signatures: signatures.collect(),
            id: recipe.id.into(),
            slug: recipe.slug.into(),
            aliases: owned(recipe.aliases),
            family: recipe.family.into(),
            applicability: recipe.applicability,
            title_en: recipe.title.en.into(),
            title_zh: recipe.title.zh.into(),
            masks: owned(recipe.masks),
            audits: recipe.audit.is_some(),
            file: source.file().to_owned().into(),
            toml: text.to_owned().into(),
        }
    }
}

/// Reads the recipe files of a folder, sorted by name. A file that is too long is cut where that shows.
pub fn read_folder(folder: &Path) -> Result<BTreeMap<String, String>, FolderError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| FolderError::Read { path, source }
    };
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        if files.len() == MOST_FILES {
            return Err(FolderError::TooMany(folder.to_owned()));
        }
        files.insert(path.display().to_string(), read_file(&path).map_err(failed(&path))?);
    }
    Ok(files)
}

/// Reads a recipe file, of one that is too long only as much as shows that it is.
pub fn read_file(path: &Path) -> std::io::Result<String> {
    // A pipe could block for ever: only regular files are recipes.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LONGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST_FILE {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "not UTF-8"))
}

/// The section number at the end of `tda-1.9`: `1.9`, or `2.1a`.
fn section(name: &str) -> Option<&str> {
    let (_, tail) = name.rsplit_once('-')?;
    let (chapter, rest) = tail.split_once('.')?;
    let rest = rest.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(chapter) && number(rest)).then_some(tail)
}

/// Finds names of a new recipe that recipes here have already.
fn clashes_with(kept: &[&Entry], loaded: &Loaded<'_>) -> Vec<RecipeError> {
    let known: Vec<(String, &str)> =
        kept.iter().flat_map(|entry| entry.names().map(|name| (name.to_lowercase(), &*entry.id))).collect();
    let clash = |path: &str, name: &str| {
        let (_, owner) = known.iter().find(|(known, _)| *known == name.to_lowercase())?;
        let message = format!("`{name}` is a name of recipe `{owner}` already");
        Some(loaded.source.error(path, message, "names are unique over all recipes: choose another"))
    };
    names::all(&loaded.recipe).filter_map(|(path, name)| clash(&path, name)).collect()
}

fn owned(texts: Vec<String>) -> Cow<'static, [Cow<'static, str>]> {
    texts.into_iter().map(Cow::Owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{RECIPE, vocabulary};
    use super::*;

    /// Writes recipes with these ids, slugs and aliases into a folder.
    fn folder(recipes: &[(&str, &str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (id, slug, alias) in recipes {
            let text = RECIPE.replace("tda-1.9", id).replace("llvmcgdata-residue", slug).replace("tda-3.9", alias);
            std::fs::write(folder.path().join(format!("{id}.toml")), text).unwrap();
        }
        std::fs::write(folder.path().join("AUTHORING.md"), "no recipe").unwrap();
        folder
    }

    fn sample() -> Catalogue {
        let folder = folder(&[
            ("tda-1.2", "no-network", "tda-3.2"),
            ("tda-1.9", "llvmcgdata-residue", "lld-targets"),
            ("tda-2.1a", "aclshmem-symbol", "shmem"),
            ("tda-2.1b", "hivm-arguments", "hivm"),
            ("hp-oom", "out-of-memory", "oom"),
            ("xx-1.2", "other-book", "zz"),
        ]);
        Catalogue::from_folder(folder.path(), &vocabulary()).unwrap()
    }

    #[test]
    fn finds_by_every_name() {
        let catalogue = sample();
        let ids = |name: &str| match catalogue.find(name) {
            Found::One(entry) => vec![entry.id.to_string()],
            Found::Ambiguous(entries) => entries.iter().map(|entry| entry.id.to_string()).collect(),
            Found::None { nearest } => nearest.iter().map(|name| format!("?{name}")).collect(),
        };
        for (name, expected) in [
            ("tda-1.9", &["tda-1.9"][..]),
            ("1.9", &["tda-1.9"]),
            (" TDA-1.9", &["tda-1.9"]),
            ("LLVMcgdata-residue", &["tda-1.9"]),
            ("lld-targets", &["tda-1.9"]),
            ("3.2", &["tda-1.2"]),
            ("1.2", &["tda-1.2", "xx-1.2"]),
            ("2.1a", &["tda-2.1a"]),
            ("2.1", &["tda-2.1a", "tda-2.1b"]),
            ("tda-2.1", &["tda-2.1a", "tda-2.1b"]),
            ("oom", &["hp-oom"]),
            ("hp-oon", &["?hp-oom"]),
            ("tda-1.7", &["?tda-1.2", "?tda-1.9", "?tda-3.2"]),
            ("llvmcg", &["?llvmcgdata-residue"]),
            ("1", &[]),
            ("", &[]),
            ("no such thing", &[]),
        ] {
            assert_eq!(ids(name), expected, "{name}");
        }
    }

    #[test]
    fn patterns_lead_back_to_their_recipes() {
        for catalogue in [sample(), Catalogue::embedded()] {
            assert!(catalogue.entries().is_sorted_by(|left, right| left.id < right.id));
            let signatures = catalogue.entries().iter().flat_map(|entry| entry.signatures.iter());
            let count: usize = signatures.map(|signature| signature.any.len()).sum();
            let patterns = catalogue.patterns();
            assert_eq!(patterns.len(), count);
            for pattern in patterns {
                let signature = &pattern.entry.signatures[pattern.signature];
                assert_eq!((pattern.role, pattern.lines), (signature.role, signature.lines));
                assert_eq!(pattern.regex, signature.any[pattern.alternative].regex);
                assert!(!pattern.anchors.is_empty(), "{}", pattern.regex);
                assert!(pattern.entry.toml.contains(&*pattern.entry.id));
            }
        }
    }

    #[test]
    fn a_folder_replaces_its_ids_and_may_not_take_other_names() {
        let first = folder(&[("a-one", "s-one", "x-one"), ("a-two", "s-two", "x-two")]);
        let catalogue = Catalogue::from_folder(first.path(), &vocabulary()).unwrap();
        let second = folder(&[("a-one", "s-new", "x-one")]);
        let changed = catalogue.clone().with_folder(second.path(), &vocabulary()).unwrap();
        assert_eq!(changed.by_id("a-one").unwrap().slug, "s-new");
        assert_eq!(changed.entries().len(), 2);
        assert_eq!(changed.by_id("a-one").unwrap().recipe(&vocabulary()).unwrap().slug, "s-new");
        let third = folder(&[("a-three", "S-Two", "x-three")]);
        let Err(FolderError::Broken(mistakes)) = catalogue.clone().with_folder(third.path(), &vocabulary()) else {
            panic!("a name is taken twice");
        };
        assert_eq!(mistakes[0].message, "`S-Two` is a name of recipe `a-two` already");
        std::fs::write(second.path().join("a-one.toml"), "id = 1").unwrap();
        let error = catalogue.with_folder(second.path(), &vocabulary()).unwrap_err().to_string();
        assert!(error.contains("a-one.toml:1:1: missing field `applicability`"), "{error}");
    }

    #[test]
    fn what_is_no_recipe_file_is_an_error_not_a_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.toml");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(Catalogue::from_folder(folder.path(), &vocabulary()), Err(FolderError::Read { .. })));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        let error = Catalogue::from_folder(folder.path(), &vocabulary()).unwrap_err().to_string();
        assert!(error.ends_with("pipe.toml`: not UTF-8"), "{error}");
        std::fs::write(&path, vec![b'#'; 300 * 1024]).unwrap();
        let error = Catalogue::from_folder(folder.path(), &vocabulary()).unwrap_err().to_string();
        assert!(error.contains("the file has 262145 bytes"), "{error}");
        let gone = folder.path().join("gone");
        assert!(
            matches!(Catalogue::from_folder(&gone, &vocabulary()), Err(FolderError::Read { path, .. }) if path == gone)
        );
    }
}
