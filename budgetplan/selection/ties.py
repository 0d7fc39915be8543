"""Who goes first among equals: a seeded 64-bit hash of each item's id.

Invariant: an item's key depends on the seed, the purpose and its id alone, never on its row or on the other items.
"""

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_WORD = 8


def tie_keys(item_id: pa.StringArray, seed: int, purpose: str) -> NDArray[np.uint64]:
    """Hash (seed, purpose, id) of every item; the lowest key goes first.

    Different purposes draw independently, so that two policies do not break their ties alike.
    """
    return keyed(id_hashes(item_id), seed, purpose)


def keyed(hashes: NDArray[np.uint64], seed: int, purpose: str) -> NDArray[np.uint64]:
    """Turn `id_hashes` into `tie_keys`; the hashes serve any number of seeds and purposes."""
    salt = np.array([seed % 2**64, zlib.crc32(purpose.encode())], dtype=np.uint64)
    return _mixed(hashes ^ _mixed(_mixed(salt[:1]) ^ salt[1:]))


def id_hashes(item_id: pa.StringArray) -> NDArray[np.uint64]:
    """Hash every id by itself, eight bytes at a time."""
    if not len(item_id):
        return np.zeros(0, dtype=np.uint64)
    length = np.asarray(pc.binary_length(item_id), dtype=np.int64)
    width = max(-(-int(length.max()) // _WORD), 1) * _WORD
    padded = pc.ascii_rpad(item_id, width, "\0")
    words = np.frombuffer(
        padded.buffers()[2], dtype="<u8", count=len(padded) * width // _WORD, offset=padded.offset * width
    )
    hashes: NDArray[np.uint64] = length.astype(np.uint64)
    for place, column in enumerate(words.reshape(len(padded), -1).T):
        hashes = np.where(length > place * _WORD, _mixed(hashes ^ column), hashes)
    return hashes


def uniform(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Read keys as numbers in [0, 1)."""
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits by one step of SplitMix64 (Steele, Lea, Flood 2014); unsigned overflow is intended."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return state
