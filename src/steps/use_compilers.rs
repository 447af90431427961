//! Gives the re-run other compilers: as arguments of the configure call that the command is, else by CC and CXX.
//!
//! Never more than `confirm`: what a build is compiled with is the user's choice.

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, EnvEdit};
use crate::evidence::build_command;
use crate::evidence::questions::ArgSpec;
use crate::recipe::{Applicability, Text};

/// `use_compilers = { cxx = "${compiler.cxx}", instead_of = "${compiler.gone}" }`
pub const USE_COMPILERS: Verb = Verb {
    name: "use_compilers",
    about: "Gives the re-run other compilers, by -D where the command is a configure call, else by CC and CXX; at most `confirm`.",
    args: &[
        ArgSpec { name: "c", required: false, about: "The C compiler" },
        ArgSpec { name: "cxx", required: false, about: "The C++ compiler" },
        ArgSpec { name: "instead_of", required: true, about: "What they take the place of, for the user" },
    ],
    lower: use_compilers,
};

fn use_compilers(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    let configure = order.command.and_then(|command| build_command::direct_configure(command, order.host));
    let mut given = Vec::new();
    for (arg, entry, variable) in [("c", "CMAKE_C_COMPILER", "CC"), ("cxx", "CMAKE_CXX_COMPILER", "CXX")] {
        if order.text(arg).is_none() {
            continue;
        }
        let path: AbsPath = order.path(arg)?;
        if order.host.follow(path.as_path()).is_err() {
            return Err(LowerError(Text::new(format!("`{path}` is gone"), format!("`{path}` 已不存在"))));
        }
        let argument = format!("-D{entry}:FILEPATH={path}");
        match &configure {
            Some(configure) if configure.defines.iter().any(|name| name == entry) => continue,
            Some(_) => lowered.rerun_args.push(argument.clone().into()),
            None if order.command.is_some() => lowered.overlay.edit(variable, EnvEdit::Set(path.to_string())),
            None => {}
        }
        given.push((path, argument));
    }
    if given.is_empty() {
        return Err(LowerError(Text::new("no other compiler is given", "没有给出其他编译器")));
    }
    if order.command.is_none() {
        let list: Vec<&str> = given.iter().map(|(_, argument)| argument.as_str()).collect();
        let list = list.join(" ");
        lowered.advice.push(Text::new(
            format!("Configure again with `{list}`: without it CMake takes whatever compiler it finds."),
            format!("请带上 `{list}` 重新配置：否则 CMake 会使用它找到的任意编译器。"),
        ));
    }
    let paths: Vec<String> = given.iter().map(|(path, _)| format!("`{path}`")).collect();
    let (paths, instead_of) = (paths.join(", "), order.require("instead_of")?);
    lowered.limits.push((
        Applicability::Confirm,
        Text::new(
            format!("the build gets another compiler, {paths} instead of {instead_of}"),
            format!("构建将改用另一个编译器：用 {paths} 代替 {instead_of}"),
        ),
    ));
    Ok(lowered)
}
