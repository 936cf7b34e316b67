"""Inductor's kernels: which operators were fused into each, and from which lines of the program they came.

The scheduler knows when it defines a kernel, and forgets. So its `define_kernel` is wrapped: name, operators,
graph nodes, lines and modules of each kernel are kept until the generated module is loaded. A module that
comes out of the compiler's cache is not scheduled again; what an earlier run under Sonde learned is kept
by the hash of the generated code in Sonde's cache folder. Failing that, the operators are read from the
kernel's name, and there are no lines but those of library calls; `provenance` says which.

Nothing of the compiler's settings is touched: its provenance option would change the program's cache keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from typing import Any

from sonde.record.inside.patch import wrap

KERNEL_PREFIXES = ("cpp_fused", "cpp_", "triton_")
_SCHEDULERS = (
    ("torch._inductor.codegen.cpp", "CppScheduling"),
    ("torch._inductor.codegen.triton", "TritonScheduling"),
)
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in ([^\n]+)(?:\n[ \t]+([^\n]+))?')
_EXTERN = re.compile(r"(extern_kernels\.\w+|torch\.ops\.[\w.]+)\(")
_DIRECTION = re.compile(r"# AOT ID: \['\d+_(\w+)'\]")
MOST_SOURCES = 32

Kernel = dict[str, Any]


class InductorCode:
    """Remembers what the scheduler says until the generated module shows up."""

    def __init__(self) -> None:
        self._graphs: list[tuple[int, dict[str, Kernel]]] = []  # identity of the graph → its kernels
        self._wrapped: set[str] = set()

    def watch(self) -> None:
        """Wrap the schedulers that are loaded by now; called again before each compilation."""
        for module_name, class_name in _SCHEDULERS:
            scheduling = getattr(sys.modules.get(module_name), class_name, None)
            if scheduling is not None and module_name not in self._wrapped:
                self._wrapped.add(module_name)
                wrap(scheduling, "define_kernel", self._defining)
        external = getattr(sys.modules.get("torch._inductor.ir"), "ExternKernel", None)
        if external is not None and "extern" not in self._wrapped:
            self._wrapped.add("extern")
            wrap(external, "codegen_comment", self._commenting)

    def kernels(self, module: Any) -> list[Kernel]:
        """The kernels of a generated module, each with name, library, fused operators and sources."""
        with open(module.__file__, encoding="utf-8", errors="replace") as file:
            source = file.read()
        key = hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()[:32]
        names = [name for name in vars(module) if name.startswith(KERNEL_PREFIXES)]
        learned = self._take(set(names))
        if learned:
            _remember(key, learned)
        else:
            learned = _recall(key) or _read_code(module.__file__, source, names)
        direction = _DIRECTION.search(source)
        found = []
        for name in [*names, *(n for n in learned if n not in names)]:
            owner = getattr(getattr(module, name, None), "__self__", None)
            facts: Kernel = {"kernel": name, "library": getattr(owner, "__file__", None)}
            facts |= {"wrapper": module.__file__, "direction": direction[1] if direction else None}
            found.append({**facts, **learned.get(name, {})})
        return found

    def _defining(self, original: Any) -> Any:
        def define_kernel(scheduling: Any, src_code: Any, nodes: Any, *args: Any, **kwargs: Any) -> Any:
            name = original(scheduling, src_code, nodes, *args, **kwargs)
            self._learn(name, nodes)
            return name

        return define_kernel

    def _commenting(self, original: Any) -> Any:
        def codegen_comment(node: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(node, *args, **kwargs)
            try:
                self._learn(node.try_get_kernel_name() or type(node).__name__, node)
            except Exception:  # the compilation goes on; this kernel is named by its code alone
                return result
            return result

        return codegen_comment

    def _learn(self, name: Any, nodes: Any) -> None:
        try:
            from torch._inductor.utils import aggregate_origins
            from torch._inductor.virtualized import V

            listed = list(nodes) if isinstance(nodes, (list, tuple)) else nodes
            found = _facts(aggregate_origins(listed))
            graph = id(V.graph)
            if not self._graphs or self._graphs[-1][0] != graph:
                self._graphs.append((graph, {}))
                del self._graphs[:-64]
            kernels = self._graphs[-1][1]
            if name in kernels:
                kernels[name] = _united(kernels[name], found)
            else:
                kernels[name] = found
        except Exception:  # another version of the compiler: names must do
            return

    def _take(self, names: set[str]) -> dict[str, Kernel]:
        """The oldest graph that defined just these kernels."""
        for index, (_, kernels) in enumerate(self._graphs):
            if {name for name in kernels if name.startswith(KERNEL_PREFIXES)} == names:
                del self._graphs[index]
                return kernels
        return {}


def _facts(origins: Any) -> Kernel:
    operators: list[str] = []
    nodes: list[str] = []
    sources: list[dict[str, Any]] = []
    modules: list[str] = []
    for node in _in_graph_order(list(origins)):
        if node.op != "call_function":
            continue
        meta = node.meta
        operator = _operator(meta.get("original_aten"))
        _append(operators, operator)
        _append(nodes, node.name)
        place = innermost(meta.get("stack_trace") or "")
        if place is not None and len(sources) < MOST_SOURCES:
            _append(sources, {**place, "op": operator})
        stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
        if stack:
            _append(modules, _path(list(stack.values())[-1][0]))
    return {
        "fused": operators,
        "nodes": nodes,
        "sources": sources,
        "modules": modules,
        "provenance": "compiler",
    }


def _in_graph_order(nodes: list[Any]) -> list[Any]:
    try:
        return sorted(nodes)  # nodes of one graph compare by their place in it
    except TypeError:
        return sorted(nodes, key=lambda node: node.name)


def innermost(trace: str) -> dict[str, Any] | None:
    """The last frame of a stack that the tracer kept as text."""
    frames = _FRAME.findall(trace)
    if not frames:
        return None
    file, line, function, code = frames[-1]
    return {"file": file, "line": int(line), "function": function.strip(), "code": code.strip()}


def _operator(target: Any) -> str | None:
    """aten.mul.Tensor → aten::mul."""
    packet = getattr(target, "_overloadpacket", None)
    if packet is None:
        name = getattr(target, "name", None)
        return str(name()) if callable(name) else None
    return str(packet).replace(".", "::", 1)


def _path(name: str) -> str:
    """L['self'].encoder.layers.0 or L__self___encoder → the path below the root."""
    text = re.sub(r"^L\['?\w+'?\]\.?|^L__self___?", "", name)
    return re.sub(r"_modules\['([^']+)'\]", r"\1", text)


def _append(values: list[Any], value: Any) -> None:
    if value is not None and value != "" and value not in values:
        values.append(value)


def _united(first: Kernel, second: Kernel) -> Kernel:
    """One kernel that several places of the graph use."""
    result = dict(first)
    for key in ("fused", "nodes", "sources", "modules"):
        result[key] = list(first[key])
        for value in second[key]:
            _append(result[key], value)
    return result


def _read_code(path: str, source: str, names: list[str]) -> dict[str, Kernel]:
    """What the generated code itself tells: operators by name, and lines of library calls.

    The compiler's map from its lines to the program's is right for calls of libraries only: a fused kernel
    is written out when the next node is at hand, and the map names that node's line.
    """
    cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
    found: dict[str, Kernel] = {name: {"fused": fused_by_name(name), "provenance": "name"} for name in names}
    for number, line in enumerate(source.splitlines(), 1):
        match = _EXTERN.search(line)
        if match is None:
            continue
        kernel = found.setdefault(match[1], {"sources": [], "provenance": "code"})
        try:
            frames = cache.stack_frames_for_code(path, number)  # type: ignore[union-attr]
        except Exception:  # no map in this version
            frames = None
        if frames:
            _append(kernel["sources"], {ours: frames[0].get(theirs) for ours, theirs in _FRAME_KEYS})
    return found


_FRAME_KEYS = (("file", "filename"), ("line", "line"), ("function", "name"))


def fused_by_name(kernel: str) -> list[str]:
    """cpp_fused_mul_relu_threshold_backward_0 → aten::mul, aten::relu, aten::threshold_backward."""
    torch = sys.modules.get("torch")
    body = re.sub(r"^(cpp|triton_[a-z]+)_fused_|_\d+$", "", kernel)
    words = body.split("_")
    found: list[str] = []
    start = 0
    while start < len(words):
        for end in range(len(words), start, -1):
            name = "aten::" + "_".join(words[start:end])
            if name != "aten::" and _is_operator(torch, name):
                _append(found, name)
                start = end
                break
        else:
            start += 1
    return found


def _is_operator(torch: Any, name: str) -> bool:
    try:
        return bool(torch._C._jit_get_schemas_for_operator(name))
    except Exception:
        return False


def _cache_path(key: str) -> str | None:
    """As sonde.symbols.cache, which must not be imported here."""
    folder = os.environ.get("SONDE_CACHE")
    if folder is None:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(base, "sonde")
    return os.path.join(folder, "inductor-v1", key + ".json") if folder else None


def _remember(key: str, kernels: dict[str, Kernel]) -> None:
    path = _cache_path(key)
    if path is None:
        return
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump(kernels, file)
        os.replace(f"{path}.{os.getpid()}", path)
    except (OSError, TypeError, ValueError):
        return  # a cache that cannot be written is no error


def _recall(key: str) -> dict[str, Kernel]:
    path = _cache_path(key)
    try:
        with open(path or "", encoding="utf-8") as file:
            kept: dict[str, Kernel] = json.load(file)
        return {name: {**facts, "provenance": "cache"} for name, facts in kept.items()}
    except (OSError, ValueError, AttributeError):
        return {}
