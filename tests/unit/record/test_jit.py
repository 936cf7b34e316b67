from __future__ import annotations

from pathlib import Path

from sonde.record.outside.jit import jit_environment, remove_jit_files


def test_kernels_are_dumped_into_the_private_folder(tmp_path: Path) -> None:
    assert jit_environment(tmp_path, {}) == {"ONEDNN_JIT_PROFILE": "5", "JITDUMPDIR": str(tmp_path)}


def test_what_the_user_asked_for_is_kept(tmp_path: Path) -> None:
    asked = {"ONEDNN_JIT_PROFILE": "2", "JITDUMPDIR": "/elsewhere"}
    assert jit_environment(tmp_path, asked) == {"ONEDNN_JIT_PROFILE": "6"}
    assert jit_environment(tmp_path, {"DNNL_JIT_PROFILE": "0"})["ONEDNN_JIT_PROFILE"] == "4"


def test_only_the_dumps_are_removed(tmp_path: Path) -> None:
    dump = tmp_path / ".debug/jit/dnnl.abc/jit-1.dump"
    dump.parent.mkdir(parents=True)
    dump.write_bytes(b"x")
    (tmp_path / "other").write_text("kept")
    remove_jit_files(tmp_path)
    remove_jit_files(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["other"]
