"""A stand-in for conda at its own boundary: reads conda's configuration, asks each channel for its index over real
HTTP, and ends with conda's own words where a channel has none. It solves nothing: an environment is a folder."""

import os
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

import yaml

DEFAULTS = ["https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r"]


def search_path():
    home, root, prefix = (pathlib.Path(os.environ.get(name) or "/nonexistent") for name in ("HOME", "CONDA_ROOT", "CONDA_PREFIX"))
    for folder in (root, home / ".config/conda", home / ".conda"):
        yield from (folder / ".condarc", folder / "condarc")
        yield from sorted((folder / "condarc.d").glob("*.y*ml"))
    yield from (home / ".condarc", prefix / ".condarc", prefix / "condarc")
    if os.environ.get("CONDARC"):
        yield pathlib.Path(os.environ["CONDARC"])


def configuration():
    merged = {"channels": [], "default_channels": [], "custom_channels": {}, "custom_multichannels": {}, "channel_alias": "https://conda.anaconda.org", "solver": "libmamba"}
    for file in search_path():
        if not file.is_file():
            continue
        settings = yaml.safe_load(file.read_text()) or {}
        for key in ("channels", "default_channels"):
            merged[key] = list(settings.get(key) or []) + merged[key]
        for key in ("custom_channels", "custom_multichannels"):
            merged[key].update(settings.get(key) or {})
        for key in ("channel_alias", "solver"):
            merged[key] = settings.get(key, merged[key])
    for key in ("channels", "default_channels"):
        named = os.environ.get("CONDA_" + key.upper(), "")
        merged[key] = [word.strip() for word in named.split(",") if word.strip()] + merged[key]
    return merged


def bases(word, config):
    if "://" in word:
        return [word]
    if word in config["custom_multichannels"]:
        return config["custom_multichannels"][word]
    if word == "defaults":
        return config["default_channels"] or DEFAULTS
    part = word
    while part not in config["custom_channels"] and "/" in part:
        part = part.rsplit("/", 1)[0]
    return [config["custom_channels"].get(part, config["channel_alias"]).rstrip("/") + "/" + word.strip("/")]


def fetch(base):
    base = base.rstrip("/")
    try:
        urllib.request.urlopen(base + "/noarch/repodata.json", timeout=20).read()
    except urllib.error.HTTPError as error:
        name = urllib.parse.urlparse(base).path.strip("/")
        print("failed\n", flush=True)
        print(f"UnavailableInvalidChannel: HTTP {error.code} {error.reason} for channel {name} <{base}>\n", file=sys.stderr)
        print("The channel is not accessible or is invalid.\n", file=sys.stderr)
        print("You will need to adjust your conda configuration to proceed.", file=sys.stderr)
        print("Use `conda config --show channels` to view your configuration's current state,", file=sys.stderr)
        print("and use `conda config --show-sources` to view config file locations.\n", file=sys.stderr)
        sys.exit(1)


def main(words):
    config = configuration()
    asked, named = [], []
    prefix = file = None
    for option, value in zip(words, words[1:] + [""]):
        if option == "-c":
            asked.append(value)
        elif option == "-p":
            prefix = value
        elif option == "-f":
            file = value
    if words[:1] == ["env"]:
        named = yaml.safe_load(pathlib.Path(file or "environment.yml").read_text()).get("channels") or []
    print("Collecting package metadata (repodata.json): ...working... ", end="", flush=True)
    configured = [] if "nodefaults" in named else config["channels"]
    plugins = pathlib.Path(os.environ["CONDA_ROOT"], "lib").glob("python3*/site-packages/conda_libmamba_solver")
    solver = os.environ.get("CONDA_SOLVER") or config["solver"]
    if solver == "libmamba" and not any(plugins):
        sys.exit("\nCondaValueError: You have chosen a non-default solver backend (libmamba) but it was not recognized. Choose one of: classic\n")
    if not asked + named + configured:
        sys.exit("\nNoChannelsConfiguredError: No channels are configured. Conda requires at least one channel to search for packages.\n")
    for word in asked + [word for word in named if word != "nodefaults"] + configured:
        for base in bases(word, config):
            fetch(base)
    print("done")
    pathlib.Path(prefix, "conda-meta").mkdir(parents=True)


main(sys.argv[1:])
