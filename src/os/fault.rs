//! The one point that every file-system step passes, so that a test can stop the world there.
//!
//! In a debug build `FIX_CRASH_AT=N` aborts the process before its Nth step and `FIX_FAIL_AT=N:ERRNO` lets
//! the Nth step fail once; [`arm`] does the same inside one thread. A release build has none of this.

use std::io;
use std::path::Path;

/// What happens to the file-system steps of this thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    None,
    /// From step N on nothing is done any more, as if the process had died there.
    DeadFrom(u64),
    /// Step N fails with this error number; later ones work.
    FailOnce(u64, i32),
}

#[cfg(debug_assertions)]
mod armed {
    use std::cell::{Cell, RefCell};
    use std::path::PathBuf;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    thread_local! {
        static FAULT: RefCell<Fault> = const { RefCell::new(Fault::None) };
        static SEPARATE: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }
    static PROCESS_STEPS: AtomicU64 = AtomicU64::new(0);

    struct FromEnv {
        crash_at: Option<u64>,
        fail_at: Option<(u64, i32)>,
    }

    fn from_env() -> &'static FromEnv {
        static ENV: OnceLock<FromEnv> = OnceLock::new();
        ENV.get_or_init(|| {
            let text = |name: &str| std::env::var(name).ok();
            FromEnv {
                crash_at: text("FIX_CRASH_AT").and_then(|value| value.parse().ok()),
                fail_at: text("FIX_FAIL_AT")
                    .and_then(|value| value.split_once(':').map(|(at, with)| (at.parse().ok(), with.parse().ok())))
                    .and_then(|(at, with)| Some((at?, with?))),
            }
        })
    }

    pub fn step() -> io::Result<()> {
        let overall = PROCESS_STEPS.fetch_add(1, Ordering::SeqCst);
        let env = from_env();
        if env.crash_at == Some(overall) {
            std::process::abort();
        }
        if let Some((at, errno)) = env.fail_at
            && at == overall
        {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let here = STEPS.get();
        STEPS.set(here + 1);
        FAULT.with_borrow(|fault| match fault {
            Fault::DeadFrom(at) if here >= *at => Err(io::Error::other("the process is dead")),
            Fault::FailOnce(at, errno) if here == *at => Err(io::Error::from_raw_os_error(*errno)),
            Fault::None | Fault::DeadFrom(_) | Fault::FailOnce(..) => Ok(()),
        })
    }

    pub fn arm(fault: Fault) {
        STEPS.set(0);
        FAULT.set(fault);
    }

    pub fn steps() -> u64 {
        STEPS.get()
    }

    pub fn separate(prefixes: Vec<PathBuf>) {
        SEPARATE.set(prefixes);
    }

    pub fn is_separate(a: &Path, b: &Path) -> bool {
        SEPARATE.with_borrow(|prefixes| {
            let inside = |path: &Path| prefixes.iter().filter(|prefix| path.starts_with(prefix)).max();
            inside(a) != inside(b)
        })
    }
}

/// Passes one step.
#[cfg(debug_assertions)]
pub fn step() -> io::Result<()> {
    armed::step()
}

/// Passes one step.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn step() -> io::Result<()> {
    Ok(())
}

/// Says whether a test wants these two paths to lie on different file systems.
#[cfg(debug_assertions)]
pub fn is_separate(a: &Path, b: &Path) -> bool {
    armed::is_separate(a, b)
}

/// Says whether a test wants these two paths to lie on different file systems.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn is_separate(_a: &Path, _b: &Path) -> bool {
    false
}

/// Counts this thread's steps from here and lets `fault` happen to them.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn arm(fault: Fault) {
    armed::arm(fault);
}

/// Returns how many steps this thread has made since [`arm`].
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn steps() -> u64 {
    armed::steps()
}

/// Makes renames and links into or out of these folders fail with `EXDEV` in this thread.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn separate(prefixes: Vec<std::path::PathBuf>) {
    armed::separate(prefixes);
}
