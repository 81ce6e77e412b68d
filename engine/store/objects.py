"""Raw git objects: written by hand (loose, or a pack when there are many), read with a check.

Blobs hold the exact bytes of a file: nothing is converted, no attribute or filter takes part. What
is read is hashed again, so that a damaged store can fail a command but never damage a file.
"""

from __future__ import annotations

import binascii
import hashlib
import mmap
import os
import struct
import zlib

from takeback.engine import work
from takeback.engine.errors import TakebackError
from takeback.engine.facts import EMPTY_TREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import IO

_TYPES = {"commit": 1, "tree": 2, "blob": 3}
_KINDS = {1: b"commit", 2: b"tree", 3: b"blob"}
_PACK_ABOVE = 100
_BUFFER_BYTES = 8 << 20
_BUFFER_OBJECTS = 4000
_STREAM_ABOVE = 8 << 20
_CHUNK = 1 << 20
_ANSWER_S = 10.0


class StoreError(TakebackError):
    """The store does not hold, or cannot give, what it should."""


def object_id(kind: str, data: bytes) -> str:
    """The id that git gives to these bytes."""
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()


def parse_tree(data: bytes) -> dict[bytes, tuple[int, str]]:
    """The entries of a raw tree: name to (mode, id)."""
    entries: dict[bytes, tuple[int, str]] = {}
    at, end = 0, len(data)
    while at < end:
        space = data.index(b" ", at)
        nul = data.index(b"\0", space)
        entries[data[space + 1 : nul]] = (int(data[at:space], 8), data[nul + 1 : nul + 21].hex())
        at = nul + 21
    return entries


def format_tree(entries: dict[bytes, tuple[int, str]]) -> bytes:
    """A raw tree in git's order: folders sort as if their name ended in a slash."""
    order = sorted(entries, key=lambda name: name + b"/" if entries[name][0] == 0o40000 else name)
    return b"".join(
        b"%o %s\0" % (entries[name][0], name) + bytes.fromhex(entries[name][1]) for name in order
    )


class Objects:
    """The object database of one store. Only the holder of the store's lock may write.

    Args:
        git_dir: a git repository with SHA-1 ids.
        temp: a folder on the same file system for files that are not complete yet.
    """

    def __init__(self, git_dir: bytes, temp: bytes) -> None:
        self.git_dir = git_dir
        self._objects = os.path.join(git_dir, b"objects")
        self._temp = temp
        self._buffer: dict[str, tuple[str, bytes, int]] = {}
        self._buffered = 0
        self._fresh: list[bytes] = []
        self._packs: list[_PackIndex] | None = None
        self._given_up: set[str] = set()
        self._batch: subprocess.Popen[bytes] | None = None

    # --- Writing -----------------------------------------------------------------------------

    def write(self, kind: str, data: bytes) -> str:
        """Keep an object; it is on disk after `flush`."""
        oid = object_id(kind, data)
        if oid in self._buffer or self._sound(oid, data):
            return oid
        self._add(oid, kind, zlib.compress(data, 1), len(data))
        return oid

    def add_compressed(self, oid: str, kind: str, packed: bytes, size: int) -> None:
        """Keep an object that a caller hashed and compressed (in a thread of its own)."""
        if oid not in self._buffer and not self.has(oid):
            self._add(oid, kind, packed, size)

    def _add(self, oid: str, kind: str, packed: bytes, size: int) -> None:
        self._buffer[oid] = (kind, packed, size)
        self._buffered += len(packed)
        if self._buffered > _BUFFER_BYTES or len(self._buffer) > _BUFFER_OBJECTS:
            self._spill()

    def write_file(self, fd: int, size: int) -> str:
        """Keep the bytes of an open file as a blob.

        Raises:
            OSError: it cannot be read, or the store cannot be written.
            StoreError: the file shrank or grew while it was read.
        """
        if size <= _STREAM_ABOVE:
            data = read_all(fd, size)
            return self.write("blob", data)
        return self._stream(fd, size)

    def _stream(self, fd: int, size: int) -> str:
        header = b"blob %d\0" % size
        digest = hashlib.sha1(header)
        packer = zlib.compressobj(1)
        name = os.path.join(self._temp, b"stream-%d" % os.getpid())
        out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(out, packer.compress(header))
            left = size
            while chunk := os.read(fd, _CHUNK):
                work.check()
                left -= len(chunk)
                digest.update(chunk)
                _write_all(out, packer.compress(chunk))
                if left < 0:
                    break
            if left:
                raise StoreError("A file changed its size while it was read.")
            _write_all(out, packer.flush())
        except BaseException:
            os.close(out)
            os.unlink(name)
            raise
        os.close(out)
        oid = digest.hexdigest()
        if self.has(oid):
            os.unlink(name)
        else:
            self._place(name, oid)
        return oid

    def _loose_path(self, oid: str) -> bytes:
        return os.path.join(self._objects, oid[:2].encode(), oid[2:].encode())

    def _place(self, temp: bytes, oid: str) -> None:
        path = self._loose_path(oid)
        os.chmod(temp, 0o400)
        try:
            os.rename(temp, path)
        except FileNotFoundError:
            os.mkdir(os.path.dirname(path), 0o700)
            os.rename(temp, path)
        self._fresh.append(path)

    def discard(self, oid: str) -> None:
        """Give up an object that cannot be read, so that it can be written again, loose."""
        self._given_up.add(oid)
        try:
            os.unlink(self._loose_path(oid))
        except FileNotFoundError:
            pass

    def _spill(self) -> None:
        if not self._buffer:
            return
        if len(self._buffer) > _PACK_ABOVE:
            self._fresh.extend(
                write_pack(os.path.join(self._objects, b"pack"), self._temp, self._buffer)
            )
            self._packs = None
        else:
            for oid, (kind, packed, size) in self._buffer.items():
                raw = b"%s %d\0" % (kind.encode(), size) + zlib.decompress(packed)
                name = os.path.join(self._temp, b"loose-%d" % os.getpid())
                out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
                try:
                    _write_all(out, zlib.compress(raw, 1))
                finally:
                    os.close(out)
                self._place(name, oid)
        self._buffer.clear()
        self._buffered = 0

    def flush(self, durable: bool = False) -> None:
        """Put everything kept so far on disk; with `durable`, past a loss of power too."""
        self._spill()
        if durable:
            folders = {self._objects} if self._fresh else set()
            for path in self._fresh:
                try:
                    sync_path(path)
                    folders.add(os.path.dirname(path))
                except FileNotFoundError:
                    # Another process moved it into a pack, which was flushed before.
                    continue
            for folder in folders:
                try:
                    sync_path(folder)
                except FileNotFoundError:
                    continue
        if durable or len(self._fresh) > 10000:
            self._fresh.clear()

    def make_durable(self, oids: set[str]) -> None:
        """Flush objects that earlier processes wrote; all of them are on the disk afterwards."""
        self.flush(durable=True)
        if len(oids) > 500:
            os.sync()
            return
        folders = set()
        for oid in oids:
            path = self._loose_path(oid)
            try:
                sync_path(path)
                folders.add(os.path.dirname(path))
            except FileNotFoundError:
                continue
        for folder in folders:
            sync_path(folder)

    # --- Reading -----------------------------------------------------------------------------

    def has(self, oid: str) -> bool:
        """Whether an object is there (its soundness is checked when it is read)."""
        if oid in self._buffer or os.path.exists(self._loose_path(oid)):
            return True
        return self._packed(oid)

    def _packed(self, oid: str) -> bool:
        raw = bytes.fromhex(oid)
        found = any(pack.has(raw) for pack in self._pack_indexes())
        return found and oid not in self._given_up

    def _sound(self, oid: str, data: bytes) -> bool:
        """Whether the object is there and holds these bytes: a damaged one is written again."""
        path = self._loose_path(oid)
        try:
            with open(path, "rb") as file:
                packed = file.read()
        except OSError:
            return self._packed(oid)
        try:
            return zlib.decompress(packed).endswith(data)
        except zlib.error:
            return False

    def _pack_indexes(self) -> list[_PackIndex]:
        if self._packs is None:
            folder = os.path.join(self._objects, b"pack")
            self._packs = []
            for name in sorted(os.listdir(folder)):
                if name.endswith(b".idx") and os.path.exists(
                    os.path.join(folder, name[:-4] + b".pack")
                ):
                    index = _PackIndex.open(os.path.join(folder, name))
                    if index is not None:
                        self._packs.append(index)
        return self._packs

    def read(self, oid: str) -> bytes:
        """The bytes of an object, proven to be those that the id names.

        Raises:
            StoreError: it is missing or damaged.
        """
        if oid == EMPTY_TREE:
            return b""
        kept = self._buffer.get(oid)
        if kept is not None:
            return zlib.decompress(kept[1])
        try:
            with open(self._loose_path(oid), "rb") as file:
                raw = zlib.decompress(file.read())
        except FileNotFoundError:
            return self._read_packed(oid)
        except (OSError, zlib.error) as error:
            raise _damaged(oid) from error
        if hashlib.sha1(raw).hexdigest() != oid:
            raise _damaged(oid)
        return raw[raw.index(b"\0") + 1 :]

    def _read_packed(self, oid: str) -> bytes:
        wanted = bytes.fromhex(oid)
        for pack in self._pack_indexes():
            data = pack.read(wanted, oid)
            if data is not None:
                return data
        return self._read_by_git(oid)

    def _read_by_git(self, oid: str) -> bytes:
        from takeback.engine.store.git import Git, GitTimeout, give_up

        if self._batch is None or self._batch.poll() is not None:
            self.close()
            self._batch = Git(self.git_dir).start("cat-file", "--batch", stdin=True)
        pipe = self._batch
        assert pipe.stdin is not None and pipe.stdout is not None
        try:
            pipe.stdin.write(oid.encode() + b"\n")
            pipe.stdin.flush()
            if not self._answers(pipe.stdout):
                pipe.kill()
                give_up()
                raise GitTimeout("git did not answer in time. Nothing was changed.")
            header = pipe.stdout.readline().split()
        except OSError as error:
            raise _damaged(oid) from error
        if len(header) != 3:
            if header[1:] != [b"missing"]:
                self.close()
                raise _damaged(oid)
            raise StoreError(
                f"The store no longer holds object {oid[:12]}. Nothing was changed.",
                "Run 'takeback verify' to see what is missing.",
            )
        data = pipe.stdout.read(int(header[2]) + 1)[:-1]
        if hashlib.sha1(b"%s %s\0" % (header[1], header[2]) + data).hexdigest() != oid:
            raise _damaged(oid)
        return data

    def _answers(self, stream: IO[bytes]) -> bool:
        """Wait for the answer of the reading process; whether it came in time."""
        import select
        from time import monotonic

        end = monotonic() + _ANSWER_S
        while True:
            left = end - monotonic()
            wait = min(left, work.SLICE_S) if work.can_stop() else left
            if select.select([stream], [], [], max(0.0, wait))[0]:
                return True
            if left <= wait:
                return False
            try:
                work.check()
            except work.Cancelled:
                # Its answer would be taken for that to the next question.
                if self._batch is not None:
                    self._batch.kill()
                self.close()
                raise

    def close(self) -> None:
        """End the reading process, if one runs."""
        pipe, self._batch = self._batch, None
        if pipe is None:
            return
        for stream in (pipe.stdin, pipe.stdout, pipe.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        pipe.wait()


def _damaged(oid: str) -> StoreError:
    return StoreError(
        f"Object {oid[:12]} of the store is damaged. Nothing was changed.",
        "Run 'takeback verify' to see what is affected.",
    )


def read_all(fd: int, size: int) -> bytes:
    """All bytes of an open file that is expected to hold `size` bytes."""
    parts: list[bytes] = []
    while chunk := os.read(fd, max(size + 1, 65536) if not parts else _CHUNK):
        parts.append(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_path(path: bytes) -> None:
    """Flush a file or folder to the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_pack(
    folder: bytes, temp: bytes, objects: dict[str, tuple[str, bytes, int]]
) -> list[bytes]:
    """Write one pack and its index (version 2; gitformat-pack(5)) of whole, undeltified objects.

    The index is placed first: git looks for indexes by their packs' names, so a pack without an
    index would be dead weight after a kill, an index without a pack is ignored.
    """
    digest = hashlib.sha1()
    entries: list[tuple[bytes, int, int]] = []
    name = os.path.join(temp, b"pack-%d" % os.getpid())
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb", 1 << 20) as out:
        head = b"PACK" + struct.pack(">II", 2, len(objects))
        out.write(head)
        digest.update(head)
        offset = len(head)
        for oid, (kind, packed, size) in objects.items():
            first = (_TYPES[kind] << 4) | (size & 15)
            size >>= 4
            lead = bytearray()
            while size:
                lead.append(first | 0x80)
                first = size & 0x7F
                size >>= 7
            lead.append(first)
            entry = bytes(lead) + packed
            out.write(entry)
            digest.update(entry)
            entries.append((bytes.fromhex(oid), binascii.crc32(entry), offset))
            offset += len(entry)
        out.write(digest.digest())
    entries.sort()
    fan = [0] * 256
    for raw, _, _ in entries:
        fan[raw[0]] += 1
    for at in range(1, 256):
        fan[at] += fan[at - 1]
    small: list[int] = []
    large: list[int] = []
    for _, _, at in entries:
        if at < 0x80000000:
            small.append(at)
        else:
            small.append(0x80000000 | len(large))
            large.append(at)
    body = b"".join(
        (
            b"\xfftOc",
            struct.pack(">I256I", 2, *fan),
            b"".join(raw for raw, _, _ in entries),
            struct.pack(f">{len(entries)}I", *(crc for _, crc, _ in entries)),
            struct.pack(f">{len(small)}I", *small),
            struct.pack(f">{len(large)}Q", *large),
            digest.digest(),
        )
    )
    body += hashlib.sha1(body).digest()
    final = os.path.join(folder, b"pack-" + digest.hexdigest().encode())
    fd = os.open(name + b".idx", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write_all(fd, body)
    finally:
        os.close(fd)
    os.rename(name + b".idx", final + b".idx")
    os.rename(name, final + b".pack")
    return [final + b".idx", final + b".pack"]


class _PackIndex:
    """Look-ups in one pack and its index (version 2).

    Only whole objects are read here, as our own packs hold them; deltas are left to git.
    """

    def __init__(self, view: mmap.mmap, count: int, pack: bytes) -> None:
        self._view = view
        self._count = count
        self._pack = pack

    @classmethod
    def open(cls, path: bytes) -> _PackIndex | None:
        try:
            with open(path, "rb") as file:
                view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
        if view[:8] != b"\xfftOc\0\0\0\2":
            return None
        (count,) = struct.unpack_from(">I", view, 8 + 255 * 4)
        return cls(view, count, path[:-4] + b".pack")

    def read(self, raw: bytes, oid: str) -> bytes | None:
        """An object's bytes, or None if it is not here, is a delta, or does not match its id."""
        at = self._find(raw)
        if at < 0:
            return None
        base = 8 + 1024 + self._count * 24
        (offset,) = struct.unpack_from(">I", self._view, base + at * 4)
        if offset & 0x80000000:
            return None
        try:
            with open(self._pack, "rb") as file:
                file.seek(offset)
                data = file.read(8192)
                kind = data[0] >> 4 & 7
                size, shift, used = data[0] & 15, 4, 1
                while data[used - 1] & 0x80:
                    size |= (data[used] & 0x7F) << shift
                    shift += 7
                    used += 1
                if kind not in _KINDS:
                    return None
                unpacker = zlib.decompressobj()
                out = unpacker.decompress(data[used:])
                while len(out) < size and (more := file.read(max(8192, size // 4))):
                    out += unpacker.decompress(more)
        except (OSError, zlib.error, IndexError):
            return None
        header = b"%s %d\0" % (_KINDS[kind], size)
        return out if hashlib.sha1(header + out).hexdigest() == oid else None

    def has(self, raw: bytes) -> bool:
        return self._find(raw) >= 0

    def _find(self, raw: bytes) -> int:
        """The position of an id in the index, or -1."""
        first = raw[0]
        low: int = struct.unpack_from(">I", self._view, 8 + (first - 1) * 4)[0] if first else 0
        high: int = struct.unpack_from(">I", self._view, 8 + first * 4)[0]
        while low < high:
            middle = (low + high) // 2
            at = 8 + 1024 + middle * 20
            found = self._view[at : at + 20]
            if found == raw:
                return middle
            if found < raw:
                low = middle + 1
            else:
                high = middle
        return -1
