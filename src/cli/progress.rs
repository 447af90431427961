//! Progress of a transaction, on standard error.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::session::Session;
use crate::os::signals::Interrupts;
use crate::recipe::Text;
use crate::transaction::{Event, Watch};

/// Shows a spinner while something takes long; says nothing where nobody looks.
pub struct Progress<'a> {
    session: &'a Session,
    bar: Option<ProgressBar>,
    copied: u64,
    interrupts: Option<Interrupts>,
}

impl<'a> Progress<'a> {
    pub fn new(session: &'a Session) -> Self {
        // Without signals to listen to, the transaction just cannot be stopped half-way.
        Self { session, bar: None, copied: 0, interrupts: Interrupts::install().ok() }
    }

    fn spin(&mut self, text: &Text) {
        if self.session.common.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_style(ProgressStyle::default_spinner());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        bar.set_message(text.get(self.session.lang()).to_owned());
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Progress<'_> {
    fn event(&mut self, event: Event) {
        match event {
            Event::Change { .. } => {}
            Event::Moving { path } => {
                self.spin(&Text::new(format!("moving {path}"), format!("正在移动 {path}")));
            }
            Event::Saving { path } => {
                self.spin(&Text::new(format!("saving {path}"), format!("正在保存 {path}")));
            }
            Event::Copied { bytes } => {
                self.copied += bytes;
                let mib = self.copied >> 20;
                if mib > 0 {
                    self.spin(&Text::new(format!("copied {mib} MiB"), format!("已复制 {mib} MiB")));
                }
            }
            Event::Running { program } => {
                self.spin(&Text::new(format!("running {program}"), format!("正在运行 {program}")));
            }
            // The proof runs the user's command, which has the terminal for itself.
            Event::Proving => self.clear(),
            Event::Undoing => {
                self.clear();
                self.session.say(&Text::new("taking the repair back", "正在撤回修复"));
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupts.as_ref().is_some_and(|interrupts| interrupts.requested().is_some())
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
