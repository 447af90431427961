//! Which versions of Ascend's packages belong together, from `data/ascend.toml`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::cann_version::CannVersion;

/// The tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    torch_npu: Vec<Pairing>,
    chip: Vec<Chip>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pairing {
    cann: String,
    versions: Vec<String>,
}

/// A chip and its operator package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    pub kernels: Vec<String>,
    pub name: String,
    old: Option<String>,
    new: Option<String>,
    /// Whether HCCL knows ranges of ports for its NPU side there.
    pub socket_range: bool,
}

impl Tables {
    pub fn embedded() -> &'static Self {
        static TABLES: OnceLock<Tables> = OnceLock::new();
        TABLES.get_or_init(|| {
            let text = include_str!("../../data/ascend.toml");
            toml_edit::de::from_str(text).expect("data/ascend.toml has the shape of `Tables`: a test reads it")
        })
    }

    /// The CANN that a torch_npu belongs to, where the table knows it.
    pub fn cann_of(&self, torch_npu: &str) -> Option<&str> {
        // Local parts (`+cpu`, `+git1234`) do not matter.
        let version = torch_npu.split('+').next().unwrap_or(torch_npu);
        let pairing = self.torch_npu.iter().find(|one| one.versions.iter().any(|known| known == version));
        pairing.map(|one| one.cann.as_str())
    }

    /// The chip whose kernels lie in a folder of that name.
    pub fn chip_of(&self, kernels: &str) -> Option<&Chip> {
        self.chip.iter().find(|chip| chip.kernels.iter().any(|known| known == kernels))
    }

    /// Names the operator packages of all chips for a CANN on this machine.
    pub fn packages(&self, version: &str) -> Vec<String> {
        let newer = CannVersion::parse(version) >= CannVersion::parse("8.5.0.alpha001");
        let arch = std::env::consts::ARCH;
        let name = |chip: &Chip| match (newer, &chip.old, &chip.new) {
            (true, _, Some(new)) => Some(format!("Ascend-cann-{new}-ops_{version}_linux-{arch}.run")),
            (false, Some(old), _) => Some(format!("Ascend-cann-kernels-{old}_{version}_linux-{arch}.run")),
            (true, _, None) | (false, None, _) => None,
        };
        self.chip.iter().filter_map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_whole() {
        let tables = Tables::embedded();
        for pairing in &tables.torch_npu {
            assert!(CannVersion::parse(&pairing.cann).is_some(), "{}", pairing.cann);
            for version in &pairing.versions {
                assert_eq!(
                    tables.cann_of(&format!("{version}+x")),
                    Some(pairing.cann.as_str()),
                    "{version} is listed twice"
                );
            }
        }
        assert_eq!(tables.cann_of("0.0"), None);
        assert_eq!(tables.chip_of("ascend910b").unwrap().name, "Atlas A2");
        assert!(tables.packages("8.3.RC1")[0].starts_with("Ascend-cann-kernels-910b_8.3.RC1_linux-"));
        assert!(tables.packages("9.1.0")[1].starts_with("Ascend-cann-A3-ops_9.1.0_linux-"));
    }
}
