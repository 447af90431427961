//! Error codes of CANN, HCCL and torch_npu, from `data/codes.toml`.

use toml_edit::{DocumentMut, Item, Table};

use super::Text;

/// The table, parsed when a code is asked for.
const TABLE: &str = include_str!("../../data/codes.toml");

/// What is known of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// As the user wrote it, or as the table has it.
    pub id: String,
    pub title: Text,
    pub meaning: Text,
    pub remedy: Text,
    /// The recipe whose failure prints it.
    pub recipe: Option<String>,
    /// Where this is known from.
    pub source: String,
}

/// Finds a code: `EI0020`, `507015`, `HCCL_E_TIMEOUT`, or torch_npu's `ERR02200`, which says module and kind.
pub fn find(name: &str) -> Option<Code> {
    let document: DocumentMut = TABLE.parse().expect("the table is tested");
    let codes = document.get("code").and_then(Item::as_array_of_tables)?;
    let named = |wanted: &str| {
        codes.iter().find(|table| {
            let aliases = table.get("aliases").and_then(Item::as_array);
            let mut aliases = aliases.into_iter().flatten().filter_map(toml_edit::Value::as_str);
            text(table, "id").eq_ignore_ascii_case(wanted) || aliases.any(|alias| alias.eq_ignore_ascii_case(wanted))
        })
    };
    if let Some(table) = named(name) {
        return Some(read(table));
    }
    // torch_npu: ERR, two digits for the module, three for the kind.
    let digits = name.get(..3).filter(|head| head.eq_ignore_ascii_case("ERR")).and_then(|_| name.get(3..))?;
    if digits.len() != 5 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (module, kind) = (named(&format!("ERR{}", &digits[..2]))?, named(&format!("ERRxx{}", &digits[2..]))?);
    let (module, kind) = (read(module), read(kind));
    let both = |pick: fn(&Code) -> &Text| {
        let (module, kind) = (pick(&module), pick(&kind));
        Text::new(format!("{} – {}", module.en, kind.en), format!("{} – {}", module.zh, kind.zh))
    };
    Some(Code {
        id: name.to_ascii_uppercase(),
        title: both(|code| &code.title),
        meaning: both(|code| &code.meaning),
        remedy: kind.remedy.clone(),
        recipe: kind.recipe.clone(),
        source: kind.source.clone(),
    })
}

fn read(table: &Table) -> Code {
    let bilingual = |key: &str| {
        let part = |lang: &str| {
            let value = table.get(key).and_then(|item| item.get(lang)).and_then(Item::as_str);
            value.unwrap_or_default().to_owned()
        };
        Text { en: part("en"), zh: part("zh") }
    };
    Code {
        id: text(table, "id").to_owned(),
        title: bilingual("title"),
        meaning: bilingual("meaning"),
        remedy: bilingual("remedy"),
        recipe: table.get("recipe").and_then(Item::as_str).map(str::to_owned),
        source: text(table, "source").to_owned(),
    }
}

fn text<'t>(table: &'t Table, key: &str) -> &'t str {
    table.get(key).and_then(Item::as_str).unwrap_or_default()
}

/// Says whether a word looks like a code that logs print: `EI0020`, `E40002`, `ERR02200`.
pub fn looks_like_code(word: &str) -> bool {
    let bytes = word.as_bytes();
    let digits = |from: usize| bytes.len() > from && bytes[from..].iter().all(u8::is_ascii_digit);
    match bytes {
        [b'E', b'R', b'R', ..] => bytes.len() == 8 && digits(3),
        [b'E', second, ..] => bytes.len() == 6 && (second.is_ascii_uppercase() || second.is_ascii_digit()) && digits(2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let document: DocumentMut = TABLE.parse().unwrap();
        let codes = document["code"].as_array_of_tables().unwrap();
        assert!(codes.len() > 100);
        let mut seen = std::collections::BTreeSet::new();
        for table in codes {
            let code = read(table);
            assert!(seen.insert(code.id.clone()), "{} twice", code.id);
            for text in [&code.title, &code.meaning, &code.remedy] {
                assert!(!text.en.is_empty() && !text.zh.is_empty() && text.en != text.zh, "{}", code.id);
            }
            assert!(!code.source.is_empty(), "{}", code.id);
        }
    }

    #[test]
    fn codes_are_found_by_id_alias_and_parts() {
        assert_eq!(find("ei0020").unwrap().recipe.as_deref(), Some("tda-1.6"));
        assert!(find("507015").is_some());
        assert_eq!(find("ERR02200").unwrap().id, "ERR02200");
        assert!(find("ERR02999").is_none() && find("EI9990").is_none() && find("").is_none());
        for (word, is) in [("EI0020", true), ("E40002", true), ("ERR00100", true), ("ERROR", false), ("E0277", false)] {
            assert_eq!(looks_like_code(word), is, "{word}");
        }
    }
}
