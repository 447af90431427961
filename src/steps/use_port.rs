//! Gives a torchrun job another port, where that is said: in the command, in a launch script, or in a variable.

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{Change, EnvEdit, EnvOverlay, FileImage, FileState, Precondition, WriteFile};
use crate::evidence::questions::ArgSpec;
use crate::evidence::torch_launch;
use crate::recipe::Text;

/// `use_port = { taken = "${launch.port}", port = "${free.port}" }`
pub const USE_PORT: Verb = Verb {
    name: "use_port",
    about: "Gives a torchrun job another port: in the command that runs again, in its launch script, or in the \
            variable that says it. The port must be free when the repair is made, and when the command runs.",
    args: &[
        ArgSpec { name: "taken", required: true, about: "The port that the job has now" },
        ArgSpec { name: "port", required: true, about: "The port to use" },
    ],
    lower: use_port,
};

fn use_port(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let number = |name: &str| {
        let text = order.require(name)?;
        let wrong = || LowerError(Text::new(format!("`{text}` is no port"), format!("`{text}` 不是端口号")));
        text.parse::<u16>().map_err(|_| wrong())
    };
    let (taken, port) = (number("taken")?, number("port")?);
    if port == 0 {
        return Err(LowerError(Text::new("torchrun waits for ever on port 0", "端口 0 会使 torchrun 一直等待")));
    }
    let nowhere = || {
        LowerError(Text::new(
            format!("nothing in the command says port {taken}"),
            format!("命令中没有指定端口 {taken} 的地方"),
        ))
    };
    // An earlier step may have changed the command's words already.
    let command = order.so_far.rerun_argv.as_deref().or(order.command).ok_or_else(nowhere)?;
    let rewritten = torch_launch::rewrite(command, taken, port, order.host).ok_or_else(nowhere)?;
    let mut lowered = Lowered { preconditions: vec![Precondition::PortFree(port)], ..Lowered::default() };
    lowered.rerun_argv = rewritten.argv;
    for name in rewritten.variables {
        // The name comes from a script of the project.
        if EnvOverlay::steers_programs(&name) || name.ends_with("PATH") {
            return Err(nowhere());
        }
        lowered.overlay.edit(name, EnvEdit::Set(port.to_string()));
    }
    for (path, old, new) in rewritten.scripts {
        let before = order.file(&path)?;
        let FileState::Present(image) = &before else { return Err(nowhere()) };
        if image.bytes != old.as_bytes() || order.pending(&path).is_some() {
            return Err(LowerError(Text::new(
                format!("`{path}` changes meanwhile"),
                format!("`{path}` 在此期间发生了变化"),
            )));
        }
        let after = FileState::Present(FileImage { bytes: new.into_bytes(), mode: image.mode });
        lowered.changes.push(Change::WriteFile(WriteFile { path, before, after }));
    }
    Ok(lowered)
}
