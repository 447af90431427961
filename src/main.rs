//! The `fix` binary: hands over to [`build_fix::cli`].

fn main() -> std::process::ExitCode {
    build_fix::cli::main()
}
