"""Content codings as servers make them, and undone as clients do: Python's zlib, brotli, zstandard."""

import gzip
import zlib

import brotli
import zstandard


def raw_deflate(data):
    coder = zlib.compressobj(wbits=-15)
    return coder.compress(data) + coder.flush()


def undo_deflate(data):
    return zlib.decompress(data)


def undo_zstd(data):
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


CODERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress,
          "br": brotli.compress, "zstd": zstandard.compress}
UNDO = {"gzip": gzip.decompress, "x-gzip": gzip.decompress, "deflate": undo_deflate,
        "br": brotli.decompress, "zstd": undo_zstd}


def encode(codings, data):
    """`codings` as in Content-Encoding: the first one is applied first."""
    for name in codings.split(","):
        data = CODERS[name.strip()](data)
    return data


def decode(codings, data):
    for name in reversed(codings.split(",")):
        data = UNDO[name.strip()](data)
    return data


class Flowing:
    """One coding, flushed after each piece, as servers of events do."""

    def __init__(self, coding):
        self.coding = coding
        self.coder = {"gzip": lambda: zlib.compressobj(wbits=31), "deflate": zlib.compressobj,
                      "br": brotli.Compressor,
                      "zstd": zstandard.ZstdCompressor().compressobj}[coding]()

    def piece(self, data):
        if self.coding == "br":
            return self.coder.process(data) + self.coder.flush()
        how = zstandard.COMPRESSOBJ_FLUSH_BLOCK if self.coding == "zstd" else zlib.Z_SYNC_FLUSH
        return self.coder.compress(data) + self.coder.flush(how)

    def end(self):
        return self.coder.finish() if self.coding == "br" else self.coder.flush()
