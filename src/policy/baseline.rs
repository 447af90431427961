//! Findings that were there before: only new ones count.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::report::Diagnosis;

/// Number of this file format.
const FORMAT: u32 = 1;

/// The findings of one moment, by fingerprint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema_version: u32,
    /// For people: which finding it is, and where it was.
    findings: BTreeMap<String, Known>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    id: String,
    path: String,
}

/// Why a file is no baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    #[error("it is not a baseline: {0}")]
    Broken(String),
    #[error("it has the format {0}; this `fix` reads {FORMAT}")]
    Newer(u64),
}

impl Baseline {
    /// How a baseline's text begins.
    pub const BEGINNING: &[u8] = b"{\n  \"schema_version\"";

    /// Reads a baseline.
    pub fn read(text: &str) -> Result<Self, BaselineError> {
        let broken = |error: serde_json::Error| BaselineError::Broken(error.to_string());
        let value: serde_json::Value = serde_json::from_str(text).map_err(broken)?;
        match value.get("schema_version").and_then(serde_json::Value::as_u64) {
            Some(1) => serde_json::from_value(value).map_err(broken),
            Some(other) => Err(BaselineError::Newer(other)),
            None => Err(BaselineError::Broken("it has no `schema_version`".to_owned())),
        }
    }

    /// Takes all that stands in a diagnosis, and what an older baseline knew of it.
    pub fn of(diagnosis: &Diagnosis, before: Option<&Baseline>) -> Self {
        let mut findings: BTreeMap<String, Known> = BTreeMap::new();
        for (finding, place) in diagnosis.marks() {
            let known = Known { id: finding.id.clone(), path: place.path.clone() };
            findings.insert(place.fingerprint.clone(), known);
        }
        for one in &diagnosis.suppressed {
            if before.is_some_and(|before| before.has(&one.fingerprint)) {
                findings.insert(one.fingerprint.clone(), Known { id: one.id.clone(), path: one.path.clone() });
            }
        }
        Self { schema_version: FORMAT, findings }
    }

    /// Writes it, in a fixed order.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("text keys serialise");
        text.push('\n');
        text
    }

    pub fn has(&self, fingerprint: &str) -> bool {
        self.findings.contains_key(fingerprint)
    }

    pub fn len(&self) -> usize {
        self.findings.len()
    }

    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}
