//! Which versions of Ascend's packages belong together, from `data/ascend.toml`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::cann_version::CannVersion;

/// The tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    torch_npu: Vec<Pairing>,
    driver: Vec<Pairing>,
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
    #[serde(default)]
    names: Vec<String>,
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

    /// The chip that `npu-smi info` calls so; `numbered` says whether its table has the column Phy-ID.
    pub fn chip_named(&self, name: &str, numbered: bool) -> Option<&Chip> {
        let is_named = |begins: &String| {
            name.strip_prefix(begins.as_str()).is_some_and(|rest| match (begins.as_str(), rest) {
                ("910B", rest) => rest.starts_with(|c: char| c.is_ascii_digit()),
                ("Ascend910", rest) => rest.is_empty() && numbered,
                _ => true,
            })
        };
        self.chip.iter().find(|chip| chip.names.iter().any(is_named))
    }

    /// Says whether a driver is one of those that a CANN runs on; `None` where the table does not tell.
    pub fn driver_fits(&self, cann: &str, driver: &str) -> Option<bool> {
        let two = |version: &str| {
            let mut numbers = version.split('.').map(|number| number.parse::<u32>());
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        };
        let (cann, driver) = (two(cann)?, two(driver)?);
        let row = self.driver.iter().find(|one| two(&one.cann) == Some(cann))?;
        let known = || row.versions.iter().filter_map(|version| two(version));
        if known().any(|version| version == driver) {
            return Some(true);
        }
        (known().min()? > driver).then_some(false)
    }

    /// The drivers that a CANN runs on, as far as the table tells.
    pub fn drivers_of(&self, cann: &str) -> Option<&[String]> {
        let row =
            self.driver.iter().find(|one| cann.strip_prefix(&one.cann).is_some_and(|rest| rest.starts_with('.')))?;
        Some(&row.versions)
    }

    /// Names the operator package of a chip for a CANN on this machine.
    pub fn package(&self, chip: &Chip, version: &str) -> Option<String> {
        let newer = CannVersion::parse(version) >= CannVersion::parse("8.5.0.alpha001");
        let arch = std::env::consts::ARCH;
        match (newer, &chip.old, &chip.new) {
            (true, _, Some(new)) => Some(format!("Ascend-cann-{new}-ops_{version}_linux-{arch}.run")),
            (false, Some(old), _) => Some(format!("Ascend-cann-kernels-{old}_{version}_linux-{arch}.run")),
            (true, _, None) | (false, None, _) => None,
        }
    }

    /// Names the package of a CANN itself for this machine.
    pub fn toolkit(&self, version: &str) -> String {
        format!("Ascend-cann-toolkit_{version}_linux-{}.run", std::env::consts::ARCH)
    }

    /// Names the operator packages of all chips for a CANN on this machine.
    pub fn packages(&self, version: &str) -> Vec<String> {
        self.chip.iter().filter_map(|chip| self.package(chip, version)).collect()
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
        for pairing in &tables.driver {
            let newest = pairing.versions.last().unwrap();
            assert_eq!(tables.driver_fits(&format!("{}.0", pairing.cann), &format!("{newest}.0")), Some(true));
        }
        assert_eq!(tables.cann_of("0.0"), None);
        assert_eq!(tables.chip_of("ascend910b").unwrap().name, "Atlas A2");
        assert!(tables.packages("8.3.RC1")[0].starts_with("Ascend-cann-kernels-910b_8.3.RC1_linux-"));
        for (name, numbered, want) in [
            ("910B3", false, Some("Atlas A2")),
            ("910B2C", false, Some("Atlas A2")),
            ("910B", false, None),
            ("910A", false, None),
            ("Ascend910", true, Some("Atlas A3")),
            ("Ascend910", false, None),
            ("310P3", false, Some("Atlas 300I")),
            ("950PR", true, Some("Atlas A5")),
        ] {
            assert_eq!(tables.chip_named(name, numbered).map(|chip| chip.name.as_str()), want, "{name}");
        }
        for (cann, driver, want) in [
            ("9.1.0", "25.0.rc1.1", Some(false)),
            ("9.1.0", "24.1.0.3", Some(false)),
            ("9.1.0", "25.2.1", Some(true)),
            ("9.0.0-beta.2", "25.0.rc1", Some(true)),
            ("9.1.0", "27.0.0", None),
            ("7.0.0", "23.0", None),
        ] {
            assert_eq!(tables.driver_fits(cann, driver), want, "{cann} {driver}");
        }
        assert!(tables.packages("9.1.0")[1].starts_with("Ascend-cann-A3-ops_9.1.0_linux-"));
    }
}
