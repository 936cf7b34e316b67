"""Decoding CPUID of processors that we do not have, with and without the system's consent."""

from __future__ import annotations

from sonde.machine import isa
from sonde.machine.isa import Registers

AVX_ON, AVX512_ON, AMX_ON = 0x7, 0xE7, 0x602E7
LEAF1 = (0, 0, 1 << 19 | 1 << 20 | 1 << 28 | 1 << 29 | 1 << 12, 0)


def processor(leaves: dict[tuple[int, int], Registers]) -> isa.Cpuid:
    return lambda leaf, subleaf: leaves.get((leaf, subleaf))


HASWELL = processor({(1, 0): LEAF1, (7, 0): (0, 1 << 5, 0, 0)})
AVX512_BITS = 1 << 5 | 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31
SAPPHIRE = processor(
    {
        (1, 0): LEAF1,
        (7, 0): (1, AVX512_BITS, 1 << 11, 1 << 22 | 1 << 23 | 1 << 24 | 1 << 25),
        (7, 1): (1 << 4 | 1 << 5, 0, 0, 0),
    }
)
GRANITE = processor(
    {
        (1, 0): LEAF1,
        (7, 0): (1, AVX512_BITS, 1 << 11, 1 << 22 | 1 << 23 | 1 << 24 | 1 << 25),
        (7, 1): (1 << 4 | 1 << 5 | 1 << 21, 0, 0, 1 << 19),
        (0x24, 0): (0, 1 | 7 << 16, 0, 0),
    }
)


def decode(cpuid: isa.Cpuid, xcr0: int) -> isa.Isa:
    found = isa.from_cpuid(cpuid, xcr0)
    assert found is not None
    return found


def test_haswell_is_avx2() -> None:
    found = decode(HASWELL, AVX_ON)
    assert (found.level, found.disabled) == ("AVX2", ())
    assert found.usable == ("sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2")


def test_sapphire_rapids_has_amx_when_the_system_saves_tiles() -> None:
    assert decode(SAPPHIRE, AMX_ON).level == "AMX"
    without = decode(SAPPHIRE, AVX512_ON)
    assert without.level == "AVX-512 FP16"
    assert set(without.disabled) == {"amx_tile", "amx_bf16", "amx_int8"}


def test_avx512_that_the_hypervisor_hides_in_xcr0_is_not_usable() -> None:
    found = decode(SAPPHIRE, AVX_ON)
    assert found.level == "AVX2 VNNI"
    assert "avx512f" in found.disabled


def test_no_vector_state_at_all() -> None:
    assert decode(HASWELL, 0).level == "SSE4.1"


def test_avx10_tells_its_version() -> None:
    found = decode(GRANITE, AMX_ON)
    assert found.avx10_version == 1
    assert "amx_fp16" in found.usable


def test_a_processor_without_cpuid() -> None:
    assert isa.from_cpuid(processor({}), 0) is None


def test_the_flags_of_the_kernel_give_the_same_names() -> None:
    live = isa.live_cpuid()
    if live is None:
        return
    decoded = isa.from_cpuid(*live)
    if decoded is None:
        return
    with open("/proc/cpuinfo") as file:
        line = next((x for x in file if x.startswith("flags")), ":")
    flags = frozenset(line.partition(":")[2].split())
    if flags:
        assert set(decoded.usable) == set(isa.from_flags(flags).usable)
