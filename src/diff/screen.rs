pub enum Colour {}
pub struct ScreenStyle {}
pub fn render_for_screen() {}
pub fn shown_command() {}
