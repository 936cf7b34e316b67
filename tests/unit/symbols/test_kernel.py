"""Names of the kernel's functions, and why there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.symbols.kernel import KernelNames, boot_number

TABLE = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t vfs_read
ffffffff81000200 d some_data
ffffffffc0001000 t ext4_read\t[ext4]
"""


@pytest.fixture
def boot(tmp_path: Path) -> Path:
    file = tmp_path / "boot_id"
    file.write_text("0123abcd-4567-89ef-0123-456789abcdef\n")
    return file


def names(folder: Path, boot: Path, table: str, boot_id: int | None) -> KernelNames:
    (folder / "kallsyms").write_text(table)
    return KernelNames.read(boot_id, folder / "kallsyms", boot)


def test_an_address_belongs_to_the_function_before_it(tmp_path: Path, boot: Path) -> None:
    found = names(tmp_path, boot, TABLE, boot_number(boot))
    assert found.missing is None
    inside = found.at(0xFFFFFFFF81000250)
    assert inside is not None
    assert (inside.name, inside.start, inside.module) == ("vfs_read", 0xFFFFFFFF81000100, "[kernel]")
    first = found.at(0xFFFFFFFF81000000)
    assert first is not None
    assert first.name == "_stext"
    loaded = found.at(0xFFFFFFFFC0001001)
    assert loaded is not None
    assert loaded.module == "[ext4]"
    assert found.at(0xFFFFFFFF80000000) is None
    assert found.at(0xFFFFFFFFE0000000) is None  # far behind the last one


def test_hidden_addresses_and_other_boots_say_so(tmp_path: Path, boot: Path) -> None:
    hidden = "".join(f"{0:016x} t function{i}\n" for i in range(3))
    found = names(tmp_path, boot, hidden, boot_number(boot))
    assert "kptr_restrict" in (found.missing or "")
    assert found.at(0xFFFFFFFF81000250) is None
    assert "restarted" in (names(tmp_path, boot, TABLE, 7).missing or "")
    assert "restarted" in (names(tmp_path, boot, TABLE, None).missing or "")
    assert boot_number(boot) == 0x0123ABCD45678
    assert boot_number(tmp_path / "nothing") is None


def test_a_table_that_breaks_off_and_names_that_are_no_utf8(tmp_path: Path, boot: Path) -> None:
    (tmp_path / "kallsyms").write_bytes(b"ffffffff81000100 t caf\xe9\n\nffffffff81000200 T last\nffffffff81")
    found = KernelNames.read(boot_number(boot), tmp_path / "kallsyms", boot)
    one, two = found.at(0xFFFFFFFF81000100), found.at(0xFFFFFFFF81000210)
    assert one is not None
    assert one.name == "caf\ufffd"
    assert two is not None
    assert two.name == "last"
    (tmp_path / "kallsyms").write_bytes(b"")
    assert KernelNames.read(boot_number(boot), tmp_path / "kallsyms", boot).at(0xFFFFFFFF81000100) is None
