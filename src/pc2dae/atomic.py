"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str], *, size: int | None = None) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success sync it and put it in place in one step.

    If the body raises, the temporary file is removed and whatever stood at `path` is untouched. An error of a full disk
    says how large the file would be, where `size` [bytes] is known.
    """
    target = Path(path)
    with _naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        with _naming(target, temporary, size):
            yield temporary
            _sync(temporary)
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
            _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | os.PathLike[str], *, scratch: Path | None = None) -> Iterator[Path]:
    """Give the path of a folder to make, beside `path` or in `scratch`; on success sync all of it and put it in place.

    If the body raises, what was made is removed and whatever stood at `path` is untouched.
    """
    target = Path(path)
    place = scratch if scratch is not None else target.parent
    with _naming(target):
        place.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=place))
    new, old = temporary / "new", temporary / "old"
    try:
        with _naming(target, temporary):
            yield new
            for made in (*new.rglob("*"), new):
                _sync(made)
            if target.exists():
                target.rename(old)
            try:
                new.rename(target)
            except OSError:
                if old.exists():
                    old.rename(target)
                raise
            _sync(target.parent)
    finally:
        shutil.rmtree(temporary)


@contextmanager
def _naming(target: Path, temporary: Path | None = None, size: int | None = None) -> Iterator[None]:
    """Errors of the file system name the target, which a person knows, instead of the temporary file or nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (
            error.filename is not None and temporary is not None and str(temporary) not in str(error.filename)
        ):
            raise
        words = error.strerror
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            words = "no space left on the device" + (f", {size:,} bytes are needed" if size is not None else "")
        raise OSError(error.errno, words, str(target)) from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data`, whole or not at all."""
    with replacing(path, size=len(data)) as temporary:
        temporary.write_bytes(data)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
