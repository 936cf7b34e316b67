"""The program's own source files, as they were when the run ended."""

from sonde.store.schema.spec import TableSpec, flag, i64, text

SOURCES = TableSpec(
    "sources",
    "a source file of the project that frames or operators name",
    (
        text("file", "its path, as in frames.file and ops.file"),
        text("sha256", "hash of the file as it was on disk"),
        i64("size_bytes", "its size", "bytes"),
        flag("changed", "it was changed after the program had started: lines may have moved"),
        text("text", "the text, known forms of keys replaced by ***; null when it is not kept"),
        text("left_out", "why the text is not kept: too large, not text, or no room; null when it is"),
    ),
)
