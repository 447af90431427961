//! Lists `recipes/` and writes an index of it, so that nothing is parsed at run time before it is needed.
//!
//! It reads recipes with the program's own reader. Questions and verbs are not known here: whether they exist is
//! checked by a test and by `fix recipe lint`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[expect(dead_code, reason = "the program uses all of these files, this script a part")]
#[path = "src/recipe"]
mod recipe {
    mod audit;
    mod cases;
    pub mod check;
    mod model;
    pub mod names;
    mod nearest;
    pub mod parse;
    mod reader;
    pub mod source;
    mod template;
    mod text;
    mod vocabulary;

    pub use model::{
        Applicability, Audit, Case, CaseVerdict, Check, Each, Param, ParamKind, ParamSource, Probe, Recipe, Role, Side,
        Signature, Stage, Step, TextTemplate, Value, Values,
    };
    pub use source::RecipeError;
    pub use template::{Template, TemplateError};
    pub use text::Text;
    pub use vocabulary::Vocabulary;
}

#[path = "src/evidence/log/literals.rs"]
mod literals;

use recipe::parse::Loaded;
use recipe::{RecipeError, check, names, parse};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=recipes");
    println!("cargo::rerun-if-changed=src/recipe");
    println!("cargo::rerun-if-changed=src/evidence/log/literals.rs");

    let files = recipe_files(Path::new("recipes"))?;
    let texts: Vec<(String, String)> = files
        .iter()
        .map(|path| Ok((path.display().to_string(), fs::read_to_string(path).map_err(|error| at(path, &error))?)))
        .collect::<io::Result<_>>()?;
    let rules =
        check::Rules { anchors: |regex| literals::anchors(regex).map_err(|error| error.to_string()), vocabulary: None };
    let mut loaded = Vec::new();
    let mut errors = Vec::new();
    for (file, text) in &texts {
        match parse::load(file, text, &rules) {
            Ok(recipe) => loaded.push(recipe),
            Err(mistakes) => errors.extend(mistakes),
        }
    }
    errors.extend(names::clashes(loaded.iter().map(|loaded| (&loaded.recipe, &loaded.source))));
    for RecipeError { file, line, column, message, hint } in &errors {
        // Cargo takes one line an error, shows it and stops the build.
        let text = format!("{file}:{line}:{column}: {message} (hint: {hint})");
        println!("cargo::error={}", text.replace(['\n', '\r'], " "));
    }
    loaded.sort_by(|left, right| left.recipe.id.cmp(&right.recipe.id));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    fs::write(out.join("catalogue.rs"), index(&loaded))
}

fn recipe_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn index(recipes: &[Loaded<'_>]) -> String {
    let mut out = String::from("static EMBEDDED: &[Entry] = &[\n");
    for loaded in recipes {
        let recipe = &loaded.recipe;
        let file = loaded.source.file();
        out.push_str("    Entry {\n");
        let mut field = |name: &str, value: String| {
            writeln!(out, "        {name}: {value},").expect("writing to a String cannot fail");
        };
        field("id", text(&recipe.id));
        field("slug", text(&recipe.slug));
        field("aliases", texts(&recipe.aliases));
        field("family", text(&recipe.family));
        field("applicability", format!("Applicability::{:?}", recipe.applicability));
        field("title_en", text(&recipe.title.en));
        field("title_zh", text(&recipe.title.zh));
        field("masks", texts(&recipe.masks));
        field("audits", recipe.audit.is_some().to_string());
        let signatures = recipe.signatures.iter().zip(&loaded.anchors).map(|(signature, anchors)| {
            let any = signature.any.iter().zip(anchors).map(|(regex, anchors)| {
                format!("IndexedRegex {{ regex: {}, anchors: {} }}", text(regex), texts(anchors))
            });
            let (role, lines, side, any) = (signature.role, signature.lines, signature.side, list(any));
            format!("IndexedSignature {{ role: Role::{role:?}, lines: {lines}, side: Side::{side:?}, any: {any} }}")
        });
        field("signatures", list(signatures));
        field("file", text(file));
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?})", format!("/{file}"));
        field("toml", format!("Cow::Borrowed(include_str!({path}))"));
        out.push_str("    },\n");
    }
    out.push_str("];\n");
    out
}

fn text(text: &str) -> String {
    format!("Cow::Borrowed({text:?})")
}

fn texts(items: &[String]) -> String {
    list(items.iter().map(|item| text(item)))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("Cow::Borrowed(&[{}])", items.collect::<Vec<_>>().join(", "))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
