"""Text views by name. Adding one is one file and one line here."""

from __future__ import annotations

# view -> (module, one line for --help)
VIEWS: dict[str, tuple[str, str]] = {
    "stacks": ("sonde.render.text.stacks", "where on-CPU time goes: hottest functions and the call tree"),
    "quality": ("sonde.render.text.quality", "how far the recording can be trusted"),
    "gpu": ("sonde.render.text.gpu", "what each device did, and late ranks"),
    "ops": (
        "sonde.render.text.ops",
        "operators: self and total time, memory, calls",
    ),
    "chain": ("sonde.render.text.chain", "from the Python line to the kernel: the dispatch chain of --op"),
    "steps": ("sonde.render.text.steps", "steps and phases, with warm-up set apart"),
    "compile": (
        "sonde.render.text.compile",
        "torch.compile: its time, regions, graph breaks, recompiles, kernels",
    ),
    "memory": (
        "sonde.render.text.memory",
        "running total, the peak and what was alive at it, growth over steps",
    ),
    "threads": ("sonde.render.text.threads", "what each thread did: running, spinning, waiting"),
    "waits": ("sonde.render.text.waits", "time off the CPU by reason and place"),
    "primitives": ("sonde.render.text.primitives", "oneDNN and MKL calls by kind, implementation and shape"),
    "roofline": ("sonde.render.text.roofline", "how close work comes to what the machine can do"),
    "machine": (
        "sonde.render.text.machine",
        "where it ran, and the instruction sets of the kernels that ran",
    ),
    "losses": ("sonde.render.text.losses", "what is known to be missing or doubtful"),
}
