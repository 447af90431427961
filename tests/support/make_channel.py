"""make_channel.py DIR: a conda channel in DIR with one small package, `demo`."""

import hashlib
import io
import json
import pathlib
import sys
import tarfile

folder = pathlib.Path(sys.argv[1], "noarch")
folder.mkdir(parents=True)
record = {"name": "demo", "version": "1.0", "build": "0", "build_number": 0, "depends": [], "subdir": "noarch", "noarch": "generic"}
content = b"hello\n"
file = {"_path": "share/demo.txt", "path_type": "hardlink", "sha256": hashlib.sha256(content).hexdigest(), "size_in_bytes": len(content)}
package = folder / "demo-1.0-0.tar.bz2"
with tarfile.open(package, "w:bz2") as archive:
    for name, data in (
        ("info/index.json", json.dumps(record).encode()),
        ("info/files", b"share/demo.txt\n"),
        ("info/paths.json", json.dumps({"paths": [file], "paths_version": 1}).encode()),
        ("share/demo.txt", content),
    ):
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
data = package.read_bytes()
record |= {"md5": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
index = {"info": {"subdir": "noarch"}, "packages": {package.name: record}, "packages.conda": {}, "repodata_version": 1}
(folder / "repodata.json").write_text(json.dumps(index))
