//! Which packages this machine's distribution has, as far as a repair may advise them.

use std::path::Path;

use crate::evidence::Host;

/// A distribution, by how it names packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distribution {
    /// Debian, Ubuntu and what derives from them; with the id and version of `os-release`.
    Debian {
        id: String,
        version: String,
    },
    /// Fedora, CentOS, openEuler, Anolis, Kylin.
    Rpm {
        dnf: bool,
    },
    Suse,
    Alpine,
    Arch,
    Unknown,
}

impl Distribution {
    /// Reads `os-release`.
    pub fn of(host: &dyn Host) -> Self {
        let text = ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .find_map(|path| host.read(Path::new(path), 64 << 10).ok())
            .unwrap_or_default();
        let dnf = ["/usr/bin/dnf", "/bin/dnf"].iter().any(|path| host.follow(Path::new(path)).is_ok());
        Self::read(&String::from_utf8_lossy(&text), dnf)
    }

    fn read(text: &str, dnf: bool) -> Self {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned()
        };
        let (id, like) = (field("ID").to_ascii_lowercase(), field("ID_LIKE").to_ascii_lowercase());
        let is = |names: &[&str]| {
            std::iter::once(id.as_str()).chain(like.split_whitespace()).any(|one| names.contains(&one))
        };
        if is(&["debian", "ubuntu"]) {
            Self::Debian { id: id.clone(), version: field("VERSION_ID") }
        } else if is(&[
            "fedora",
            "rhel",
            "centos",
            "openeuler",
            "anolis",
            "kylin",
            "rocky",
            "almalinux",
            "alinux",
            "bclinux",
            "hce",
        ]) {
            Self::Rpm { dnf }
        } else if is(&["suse", "opensuse", "sles"]) {
            Self::Suse
        } else if is(&["alpine"]) {
            Self::Alpine
        } else if is(&["arch"]) {
            Self::Arch
        } else {
            Self::Unknown
        }
    }

    /// Returns the command that installs packages, without `sudo`; empty where the distribution is not known.
    pub fn install(&self, packages: &[String]) -> String {
        let packages = packages.join(" ");
        match self {
            _ if packages.is_empty() => String::new(),
            Self::Debian { .. } => format!("apt-get install {packages}"),
            Self::Rpm { dnf: true } => format!("dnf install {packages}"),
            Self::Rpm { dnf: false } => format!("yum install {packages}"),
            Self::Suse => format!("zypper install {packages}"),
            Self::Alpine => format!("apk add {packages}"),
            Self::Arch => format!("pacman -S {packages}"),
            Self::Unknown => String::new(),
        }
    }

    /// Returns the packages that bring clang, clang++ and lld, version 15 or later where the distribution has one.
    pub fn compilers(&self) -> Vec<String> {
        let versioned = |version: u32| vec![format!("clang-{version}"), format!("lld-{version}")];
        let plain = || vec!["clang".to_owned(), "lld".to_owned()];
        match self {
            // The plain packages of these releases are older than 15.
            Self::Debian { id, version } => match (id.as_str(), version.as_str()) {
                ("debian", "11") => versioned(13),
                ("debian", "12") | ("ubuntu", "22.04") => versioned(15),
                ("ubuntu", "20.04") => versioned(12),
                _ => plain(),
            },
            Self::Rpm { .. } | Self::Suse | Self::Alpine | Self::Arch => plain(),
            Self::Unknown => Vec::new(),
        }
    }

    /// Returns the package with the link `lib<name>.so` that a linker needs, for libraries that are often missed.
    pub fn development(&self, library: &str) -> Option<&'static str> {
        let (_, debian, rpm) = DEVELOPMENT.iter().find(|(names, _, _)| names.contains(&library))?;
        match self {
            Self::Debian { .. } => Some(debian),
            Self::Rpm { .. } => Some(rpm),
            Self::Suse | Self::Alpine | Self::Arch | Self::Unknown => None,
        }
    }
}

/// Library names, and the packages of Debian and of Fedora's family.
const DEVELOPMENT: &[(&[&str], &str, &str)] = &[
    (&["z"], "zlib1g-dev", "zlib-devel"),
    (&["zstd"], "libzstd-dev", "libzstd-devel"),
    (&["tinfo"], "libtinfo-dev", "ncurses-devel"),
    (&["ncurses", "ncursesw", "curses"], "libncurses-dev", "ncurses-devel"),
    (&["xml2"], "libxml2-dev", "libxml2-devel"),
    (&["lzma"], "liblzma-dev", "xz-devel"),
    (&["bz2"], "libbz2-dev", "bzip2-devel"),
    (&["edit"], "libedit-dev", "libedit-devel"),
    (&["ffi"], "libffi-dev", "libffi-devel"),
    (&["ssl", "crypto"], "libssl-dev", "openssl-devel"),
    (&["numa"], "libnuma-dev", "numactl-devel"),
    (&["uuid"], "uuid-dev", "libuuid-devel"),
    (&["elf"], "libelf-dev", "elfutils-libelf-devel"),
    (&["dw"], "libdw-dev", "elfutils-devel"),
    (&["curl"], "libcurl4-openssl-dev", "libcurl-devel"),
    (&["sqlite3"], "libsqlite3-dev", "sqlite-devel"),
    (&["gmp"], "libgmp-dev", "gmp-devel"),
    (&["rt", "m", "c", "pthread", "dl", "util"], "libc6-dev", "glibc-devel"),
    (&["stdc++"], "g++", "libstdc++-devel"),
    (&["gcc_s", "gcc", "atomic"], "gcc", "gcc"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_packages_as_the_distribution_does() {
        for (release, compilers, zlib, install) in [
            (
                "ID=debian\nVERSION_ID=\"12\"\n",
                "clang-15 lld-15",
                Some("zlib1g-dev"),
                "apt-get install clang-15 lld-15",
            ),
            (
                "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n",
                "clang lld",
                Some("zlib1g-dev"),
                "apt-get install clang lld",
            ),
            ("ID=\"openEuler\"\nVERSION_ID=\"22.03\"\n", "clang lld", Some("zlib-devel"), "dnf install clang lld"),
            ("ID=opensuse-leap\nID_LIKE=\"suse opensuse\"\n", "clang lld", None, "zypper install clang lld"),
            ("ID=odd\n", "", None, ""),
        ] {
            let distribution = Distribution::read(release, true);
            let packages = distribution.compilers();
            assert_eq!(packages.join(" "), compilers, "{release}");
            assert_eq!(distribution.development("z"), zlib, "{release}");
            assert_eq!(distribution.install(&packages), install, "{release}");
        }
    }
}
