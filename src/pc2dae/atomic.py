"""Atomic writes: a file is either complete or absent."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str], *, size: int | None = None, is_private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success sync it and rename it to `path`.

    If the body raises, the temporary file is removed and an existing `path` is left unchanged. If `size` [bytes] is
    given, the error for a full disk states it. `is_private`: only the owner may read the file.
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
            temporary.chmod(0o600 if is_private else 0o666 & ~umask)
            temporary.replace(target)
            _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary folder beside `path`; on success sync it and rename it to `path`.

    If the body raises, the temporary folder is removed and an existing `path` is left unchanged.
    """
    target = Path(path)
    with _naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
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
    """Make file-system errors name the target file instead of the temporary one."""
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


def write_text(path: str | os.PathLike[str], text: str, *, is_private: bool = False) -> None:
    """Write `text` as UTF-8, atomically."""
    write_bytes(path, text.encode(), is_private=is_private)


def write_bytes(path: str | os.PathLike[str], data: bytes, *, is_private: bool = False) -> None:
    """Write `data` atomically."""
    with replacing(path, size=len(data), is_private=is_private) as temporary:
        temporary.write_bytes(data)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
