//! What is mounted where, as the kernel tells it.

use std::path::{Path, PathBuf};

use super::Host;
use crate::os::machine::{MOUNT_INFO, mount_points_in};

/// A container host with thousands of mounts lists some hundred kilobytes.
const MOST: u64 = 16 << 20;

/// Lists all mount points, sorted; none where the machine does not tell.
pub fn mount_points(host: &dyn Host) -> Vec<PathBuf> {
    host.read(Path::new(MOUNT_INFO), MOST).map(|text| mount_points_in(&text)).unwrap_or_default()
}
