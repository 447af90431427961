//! Where a package would be imported from, without importing it.

use super::{Interpreter, distributions};
use crate::evidence::Host;
use crate::os::AbsPath;

/// A finder of setuptools is a small script with one long line.
const FINDER: u64 = 4 << 20;
const MOST_NAMES: usize = 50_000;

/// Finds the folder of a top-level package: on the path first, as Python does, then by the finders of editable installs.
/// A link that leads nowhere counts: it is why the import fails.
pub fn package_folder(host: &dyn Host, interpreter: &Interpreter, name: &str) -> Option<AbsPath> {
    let folders = distributions::import_folders(host, interpreter);
    let on_path = folders.iter().map(|folder| folder.resolve(name)).find(|path| host.inspect(path.as_path()).is_ok());
    on_path.or_else(|| {
        interpreter.packages.iter().find_map(|site| {
            let names = host.list(site.as_path(), MOST_NAMES).unwrap_or_default();
            names.iter().filter_map(|file| file.to_str()).find_map(|file| {
                if !file.starts_with("__editable__") || !file.ends_with("_finder.py") {
                    return None;
                }
                let text = host.read(site.resolve(file).as_path(), FINDER).ok()?;
                mapped(&String::from_utf8_lossy(&text), name).and_then(|path| AbsPath::new(path).ok())
            })
        })
    })
}

/// Reads a name out of `MAPPING: dict[str, str] = {'name': '/path'}`.
fn mapped(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("MAPPING"))?;
    let rest = line.split_once('=')?.1;
    let quoted: Vec<&str> = rest.split('\'').skip(1).step_by(2).collect();
    quoted.chunks_exact(2).find(|pair| pair[0] == name).map(|pair| pair[1].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_of_a_finder_is_read() {
        let text =
            "import sys\nMAPPING: dict[str, str] = {'a': '/x/a', 'triton': '/y/python/triton'}\nNAMESPACES = {}\n";
        assert_eq!(mapped(text, "triton").as_deref(), Some("/y/python/triton"));
        assert_eq!(mapped(text, "b"), None);
        assert_eq!(mapped("MAPPING = {}", "a"), None);
        assert_eq!(mapped("MAPPING", "a"), None);
    }
}
