//! What everybody knows: hosts, names of accounts, and words of file names that tell nothing about their owner.

/// Public hosts; a name below one of them is public as well.
#[rustfmt::skip]
const HOSTS: &[&str] = &[
    "github.com", "githubusercontent.com", "github.io", "githubassets.com", "gitee.com", "gitcode.com", "gitlab.com",
    "pypi.org", "pypi.python.org", "pythonhosted.org", "python.org", "pypa.io", "pytorch.org", "anaconda.org", "anaconda.com",
    "conda.io", "conda-forge.org", "aliyun.com", "tsinghua.edu.cn", "ustc.edu.cn", "bfsu.edu.cn", "sjtu.edu.cn",
    "nju.edu.cn", "zju.edu.cn", "lzu.edu.cn", "hit.edu.cn", "163.com", "mirrors.cloud.tencent.com",
    "mirrors.huaweicloud.com", "repo.huaweicloud.com", "myhuaweicloud.com", "hiascend.com", "mindspore.cn",
    "huggingface.co", "hf-mirror.com", "modelscope.cn", "docker.io", "docker.com", "quay.io", "ghcr.io", "gcr.io",
    "llvm.org", "cmake.org", "kitware.com", "gnu.org", "kernel.org", "sourceware.org", "debian.org", "ubuntu.com",
    "openeuler.org", "openeuler.openatom.cn", "centos.org", "fedoraproject.org", "archlinux.org", "readthedocs.io",
    "readthedocs.org", "stackoverflow.com", "apache.org", "crates.io", "docs.rs", "rustup.rs", "rust-lang.org",
    "triton-lang.org", "nvidia.com", "intel.com", "amd.com", "openssl.org", "w3.org", "json-schema.org", "npmjs.org",
    "nodejs.org", "golang.org", "ninja-build.org", "mesonbuild.com", "tritonlang.blob.core.windows.net",
    "launchpad.net", "sourceforge.net", "freedesktop.org", "opensource.org", "wikipedia.org", "astral.sh",
    "localhost", "localhost.localdomain",
];

/// Names of accounts and machines that many have, and words that stand where a name could.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "root", "user", "users", "username", "nobody", "git", "admin", "www-data", "ubuntu", "debian", "centos", "ec2-user",
    "runner", "jenkins", "gitlab-runner", "vscode", "hwhiaiuser", "daemon", "bin", "sys", "mail", "man", "docker",
    "host", "hosts", "hostname", "localhost", "server", "client", "node", "machine", "master", "worker", "proxy",
    "build", "work", "workspace", "home", "test", "tests", "tmp", "data", "default", "none", "null", "true", "false",
    "secret", "path", "email", "hidden", "pid", "mac", "name", "password", "token", "unknown", "local", "group",
    "the", "and", "for", "not", "is", "was", "has", "with", "from", "this", "that", "linux", "windows", "darwin",
    "anonymous", "guest", "public", "private", "system", "service", "postgres", "mysql", "redis", "conda", "base",
    "self", "staff", "wheel", "shared", "error", "warning", "info", "debug", "x86_64", "aarch64", "arm64", "amd64",
];

/// Words of names of files and folders that many have.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "aarch", "abi", "abs", "acl", "aclnn", "activate", "adapter", "add", "aicore", "aicpu", "aiohttp", "all", "amd",
    "anaconda", "apex", "api", "app", "ar", "arch", "archive", "args", "arm", "artifacts", "ascend", "ascendnpu",
    "asm", "ast", "async", "atb", "autograd", "aux", "backend", "backends", "base", "bash", "bashrc", "bin", "binary",
    "bisheng", "bishengir", "bitcode", "boot", "build", "builds", "built", "cache", "cann", "cc", "ccache", "ccec",
    "cfg", "channel", "channels", "check", "checkpoint", "checks", "clang", "clean", "cli", "cmake", "cmd", "code",
    "codegen", "comm", "common", "compile", "compiler", "compilers", "component", "components", "conan", "conda",
    "condarc", "conf", "config", "configs", "configuration", "configure", "container", "contrib", "core", "cp", "cpp",
    "cpu", "cpython", "cuda", "custom", "cxx", "data", "dataset", "datasets", "debug", "deepspeed", "default",
    "dependencies", "deps", "detail", "dev", "devel", "develop", "device", "dialect", "dist", "distributed",
    "distutils", "doc", "docker", "dockerfile", "docs", "driver", "dtypes", "dump", "dynamo", "editable", "egg",
    "elf", "env", "envrc", "envs", "err", "error", "errors", "etc", "example", "examples", "exe", "export", "exports",
    "ext", "extension", "extensions", "external", "fallback", "fc", "file", "files", "find", "firmware", "flags",
    "for", "forge", "framework", "frameworks", "free", "fs", "func", "functional", "gcc", "ge", "gen", "generated",
    "generator", "git", "gitignore", "glibc", "gloo", "gnu", "go", "gold", "gpu", "graph", "group", "gxx", "hccl",
    "hcom", "hcomm", "header", "headers", "hivm", "hivmc", "hook", "hooks", "host", "hyper", "impl", "implementation",
    "import", "in", "include", "index", "inductor", "info", "init", "install", "installed", "installer", "internal",
    "io", "ipc", "ir", "isa", "jit", "job", "json", "jsonl", "kernel", "kernels", "latest", "launch", "launcher",
    "ld", "lib", "libexec", "libraries", "library", "libs", "link", "linker", "linux", "list", "lists", "ll", "lld",
    "llvm", "local", "lock", "locks", "log", "logs", "lower", "lowering", "main", "make", "makefile", "makefiles",
    "mambaforge", "manifest", "manylinux", "math", "mem", "meson", "metadata", "micromamba", "mindspore", "miniconda",
    "miniforge", "mirror", "mlir", "mmap", "model", "models", "module", "modules", "mpi", "msys", "musllinux",
    "native", "net", "ninja", "nn", "noarch", "none", "npu", "npuir", "numpy", "nvidia", "obj", "object", "objects",
    "op", "opc", "opp", "ops", "opt", "optim", "options", "out", "output", "outputs", "package", "packages",
    "parallel", "party", "pass", "passes", "patch", "patches", "pep", "pip", "pipeline", "pkg", "pkgs", "platform",
    "plog", "plugin", "plugins", "post", "pp", "prebuilt", "presets", "proc", "process", "profile", "program",
    "programs", "project", "projects", "proto", "protobuf", "py", "pybind", "pyc", "pycache", "pyi", "pypa", "pypi",
    "pyproject", "pytest", "python", "pytorch", "query", "rank", "ranlib", "rc", "readme", "release", "released",
    "releases", "repo", "repodata", "repos", "repository", "req", "requirements", "resources", "root", "rpc", "rst",
    "ruff", "run", "runner", "runtime", "sbin", "schema", "scipy", "script", "scripts", "set", "setup", "setuptools",
    "sh", "share", "shared", "shell", "shm", "simple", "site", "so", "software", "source", "sources", "spack",
    "spawn", "spec", "sqlite", "src", "stack", "stage", "static", "std", "stderr", "stdlib", "stdout", "store",
    "stream", "sub", "subprocess", "support", "sys", "system", "tar", "target", "targets", "tbe", "te", "temp",
    "template", "templates", "tensor", "test", "testing", "tests", "third", "tiling", "tmp", "toml", "tool",
    "toolchain", "toolchains", "toolkit", "tools", "torch", "torchair", "torchrun", "torchvision", "train",
    "training", "transformers", "transforms", "tree", "triton", "txt", "types", "unknown", "usr", "util", "utils",
    "uv", "var", "vcs", "vendor", "vendors", "venv", "verify", "version", "versions", "virtualenv", "warnings", "web",
    "wheel", "wheels", "whl", "win", "windows", "work", "workdir", "worker", "workers", "workspace", "wrap", "yaml",
    "yml", "zip", "zlib", "zst", "zstd",
];

/// Ends of file names.
#[rustfmt::skip]
const EXTENSIONS: &[&str] = &[
    "a", "bat", "c", "cc", "cfg", "cmake", "conf", "cpp", "cu", "cxx", "csv", "err", "exe", "gz", "h", "hpp", "ini", "inc",
    "ipynb", "json", "ko", "ll", "log", "md", "mlir", "ninja", "o", "out", "patch", "pt", "pth", "py", "pyc", "pyi", "pyx", "rc",
    "rs", "safetensors", "sh", "so", "tar", "td", "tgz", "toml", "txt", "whl", "xml", "yaml", "yml", "zip", "ckpt", "bin", "run", "rst",
];

/// Whatever lies below a folder of one of these names came with a package.
pub(super) const PACKAGES: &[&str] = &[
    "Ascend",
    "ascend-toolkit",
    "CMakeFiles",
    "torch",
    "torch_npu",
    "triton",
    "mindspore",
    "numpy",
    "hyper_parallel",
    "setuptools",
    "pip",
    "transformers",
    "deepspeed",
    "llvm-project",
    "triton-ascend",
    "vllm",
    "vllm_ascend",
    "mindspeed",
    "megatron",
    "torchvision",
    "pybind11",
    "triton_dist",
    "triton-distributed",
    "triton-distributed-ascend",
    "Triton-distributed-ascend",
];

/// Says whether a host is known to everybody, or is this machine as every machine calls itself.
pub(super) fn is_public_host(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    HOSTS.iter().any(|host| name.strip_suffix(host).is_some_and(|before| before.is_empty() || before.ends_with('.')))
}

pub(super) fn is_common_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    COMMON.contains(&name.as_str())
}

/// Returns the end of a file's name with its dot, where it is a usual one.
pub(super) fn extension(name: &str) -> &str {
    let Some(at) = name.rfind('.').filter(|at| *at > 0) else { return "" };
    if EXTENSIONS.contains(&name[at + 1..].to_ascii_lowercase().as_str()) { &name[at..] } else { "" }
}

/// Says whether all words of the name of a file or folder are of those that many have.
pub(super) fn is_public_name(name: &str) -> bool {
    // `r` is a channel of Anaconda.
    if matches!(name, "." | ".." | "*" | "..." | "r") {
        return true;
    }
    let mut known = 0;
    let mut single = false;
    let mut word = String::new();
    let mut before = '.';
    for c in name.chars().chain(['.']) {
        let is_new = !c.is_ascii_alphabetic() || (c.is_ascii_uppercase() && before.is_ascii_lowercase());
        if is_new && !word.is_empty() {
            if !is_public_word(&word) {
                return false;
            }
            known += usize::from(word.len() > 1);
            single |= word.len() == 1;
            word.clear();
        }
        if c.is_ascii_alphabetic() {
            word.push(c.to_ascii_lowercase());
        } else if !c.is_ascii() {
            return false;
        }
        before = c;
    }
    // A year or a version tells nothing, a long number might be somebody's.
    // Single letters could be somebody's initials.
    let version = name.starts_with('v') || name == "x86_64";
    let longest = name.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or_default();
    longest <= 5 && (known > 0 || !single || version)
}

fn is_public_word(word: &str) -> bool {
    let known = |word: &str| WORDS.binary_search(&word).is_ok() || EXTENSIONS.contains(&word);
    // `libtorch`, `LLVMCGData`, `LLDTargets`.
    word.len() == 1
        || known(word)
        || word.strip_prefix("lib").is_some_and(known)
        || word.strip_prefix("llvm").is_some_and(|rest| rest.len() < 20)
        || ["lld", "mlir", "cmake"].iter().any(|head| word.strip_prefix(head).is_some_and(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        let mut sorted = WORDS.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert!(sorted == WORDS, "{}", sorted.iter().map(|word| format!("\"{word}\", ")).collect::<String>());
    }

    #[test]
    fn names() {
        for name in ["setup.py", "LLDTargets.cmake", "libLLVM.so.17", "python3.10", "x86_64-linux-gnu", "build.ninja"] {
            assert!(is_public_name(name), "{name}");
        }
        for name in ["alice", "secret_model.py", "项目", "20240101123", "client-acme"] {
            assert!(!is_public_name(name), "{name}");
        }
        assert!(is_public_host("files.pythonhosted.org") && !is_public_host("mygithub.com"));
        assert_eq!((extension("a.py"), extension("a.acme"), extension(".py")), (".py", "", ""));
    }
}
