"""What kind of work a thread did, by its stack alone (`kind_of_stacks`) and with its state (`kind_of_samples`).

In: `StackIndex` and `samples`. Out: codes of `kinds.KINDS`. A stack is judged by what stands innermost on it:
the interpreter, an operator, a kernel. What was called on behalf of something (the compiler, a DataLoader, the
garbage collector, a debugging aid) belongs to that, whatever it looks like.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.analyze.account.kinds import CODES, operator_kind
from sonde.analyze.samples.chain_levels import frame_level
from sonde.analyze.samples.frame_kinds import frame_kind
from sonde.analyze.samples.stack_index import Mask, StackIndex
from sonde.columns import Array, Table

# Work on the elements of tensors. Loops of a TensorIterator count as well where nothing around them is called a kernel.
KERNEL_NAME = (
    r"(?i)mkl_|mkldnn|dnnl::impl::cpu|onednn|cblas_|[sdhb]gemm|gemm_|omp_fn|outlined|xnn_|[xy]nn::|fbgemm|[Ss]leef|brgemm"
    r"|at::vec::|at::native::.*(kernel|loop|vectori[sz]ed|cpublas|_worker|_frame|_range)|kernel_cpu|cpp_fused|triton_"
    r"|c10::function_ref.*callback_fn|TensorIteratorBase::(serial_)?for_each|at::internal::serial_for_each"
)
MATH_NAME = (
    r"(?i)gemm|brgemm|mkl_blas|conv_|_conv|convolution|cblas_|flash_attention|matmul|\bdot_(fp|bf|int|f)\d"
)
# Powers, roots, logarithms: tens of instructions per element, whatever loop calls them.
_FUNCTION = (
    r"^_*(Sleef_\w+|svml_\w+|mkl_vml_\w+|vm[sd][A-Z]\w+|npy_(pow|exp|log|sin|cos|tan|hypot|cbrt)\w*|(ieee754_|GI_)*(pow|exp|log|sin|cos|tan|hypot)"
    r"(1p|m1|2|10|h)?[fl]?(_fma\w*|_avx\w*|_sse\w*)?(@.*)?$)|^(HALF|FLOAT|DOUBLE|C?LONGDOUBLE|CFLOAT|CDOUBLE)_(power|exp\w*"
    r"|log\w*|sin\w*|cos\w*|tan\w*|arc\w+|hypot|cbrt)(_[A-Z0-9_]+)?$"
)
_REORDER = r"(?i)reorder|transpose"  # not the packing inside of a product: that is the product's own
# Before a kernel runs: shapes, strides, types and overlaps are worked out, whatever the kernel does.
_SET_UP = (
    r"TensorIterator(Base|Config)?::(build\w*|compute_\w+|mark_\w+|fast_set_up|allocate_\w+|reorder_dimensions|add_\w+"
    r"|coalesce_dimensions|validate\w*|set_output\w*|populate\w*|permute_dimensions)|assert_no_(partial_|internal_)?overlap"
    r"|get_overlap_status|c10::Sym(Int|Bool|Float)|infer_size|computeStride|at::expand_inplace|applySlicing"
)
_RANDOM = (
    r"(?i)mt19937|philox|CPUGeneratorImpl|normal_fill|bernoulli|random_from_to|random_kernel"
    r"|uniform_real|normal_distribution"
)
_GC = (
    r"^(gc_collect\w*|_?PyGC_Collect\w*|deduce_unreachable|visit_decref|visit_reachable|subtract_refs"
    r"|move_unreachable|delete_garbage|update_refs)$"
)
_DEBUG_FILE = (
    r"torch/autograd/(anomaly_mode|gradcheck)|torch/profiler/|torch/utils/_traceback"
    r"|/(traceback|linecache|pdb|bdb|cProfile|profile|tracemalloc|trace|faulthandler)\.py$"
)
# Of modules that serve other ends as well: who called whom, from which line of which file; a warning in words.
_DEBUG_FUNCTION = {
    r"/inspect\.py$": r"(^|\.)(stack|trace|getouterframes|getinnerframes|getframeinfo|findsource|getsource\w*)$",
    r"/warnings\.py$": r"(^|\.)(warn\w*|_?showwarn\w*|_?formatwarn\w*)$",
}
_SHOWN_TENSOR = r"torch/_tensor_str\.py$"  # its numbers as text; where that is printed as well, it is output
_DEBUG_NAME = (
    r"Anomaly|^torch::(autograd::)?profiler::|^libkineto::|PythonTracer|ThreadLocalSubqueue|RecordQueue|KinetoThreadLocal"
    r"|^(call_trampoline|(trace|profile)_trampoline|profiler_callback|tracemalloc_\w+|ptrace_\w+)$"
)
_GENERATES = r"jit_generator\w*::create_kernel|Xbyak::|dnnl::impl::.*::(create_kernel|generate|init_conf)$"
_TENSOR_MEMORY = (
    r"^c10::(alloc_cpu|free_cpu|.*Allocator|StorageImpl|TensorImpl|intrusive_ptr)|^tensor::free$"
    r"|^(array_dealloc|PyArray_NewFromDescr\w*)$"
)
_LOADER_FILE = r"torch/utils/data/(dataloader|_utils)"
NATIVE_LOADER = r"^torch::data::(\w+::)*\w*DataLoader\w*::"
COMMUNICATION = r"^(c10d::|gloo::|nccl[A-Z]|MPI_|PMPI_|ucc_|horovod::)"
COMMUNICATION_FILE = r"torch/distributed/(distributed_c10d|c10d_logger|rendezvous)|/mpi4py/"
_IO_FILE = (
    r"torch/serialization\.py$|/logging/__init__|/logging/handlers|/tqdm/|tensorboard|/wandb/|/(shutil|csv|gzip|zipfile|tarfile"
    r"|bz2|lzma|socket|subprocess)\.py$|numpy/lib/(_?npyio|format)|/h5py/|/urllib|/http/"
)
_IO_NAME = (
    r"^(builtin_print|_io_\w+|_?PyFile_\w+|bufferedwriter_\w+|textiowrapper_\w+|fileio_\w+|_buffered\w+|os_(write|fsync|read|open)"
    r"|_*(GI_+)?(libc_)?(write|read|pread64|pwrite64|fsync|fdatasync|open64|open|fwrite|fflush|fread|sendto|recvfrom)"
    r"(@\w+)?|caffe2::serialize::.*|torch::serialize::.*|mz_\w+)$|PyTorchStream(Writer|Reader)"
)
_IO_SYSTEM = (
    r"^(ksys_write|vfs_write|ksys_read|vfs_read|do_fsync|vfs_fsync\w*|do_sys_open\w*|ksys_p(read|write)64)$"
)
# Numbers taken out of Python objects one by one, or made into them.
_CONVERSION = (
    r"internal_new_from_data|recursive_store|legacy_tensor_generic_ctor|infer_scalar_type|compute_sizes|store_scalar"
    r"|tensor_to_list|recursive_to_list|THPVariable_tolist|load_scalar|array_converter|PyArray_FromAny|array_tolist"
    r"|PyArray_DiscoverDTypeAndShape|PyArray_AssignFromCache"
)
_PYTHON_EXTENSION = (
    r"lib-dynload|^lib(crypto|ssl|z|lzma|bz2|sqlite3|expat|ffi)[.-]"
    r"|^_(json|pickle|sre|csv|datetime|struct|random|bisect|heapq|hashlib|elementtree|decimal)\."
)
_NUMPY_LIBRARY = r"_multiarray_umath|_umath_linalg|_pocketfft|numpy"
# NumPy around single numbers: an array element becomes an object, an object an array, a slice a view.
_NUMPY_PER_CALL = (
    r"^(gentype_\w+|PyArray_(Scalar|FromScalar|NewFromDescr\w*|DescrFrom\w+|ResultType|Return|Pack\w+)|\w+_copyswap"
    r"|array_(dealloc|subscript\w*|item|result_type)|prepare_index\w*|_typenum_fromtypeobj|PyDataMem_User\w+)$"
)
_INTERPRETER = r"^(libpython|python)"
_NUMPY_RANDOM = r"^_?(mt19937|pcg64|philox|sfc64|generator|mtrand|bounded_integers|common)\."
_SYSTEM_LIBRARY = (
    r"^(libc[.-]|libpython|python|ld-linux|libpthread|libm[.-]|libstdc|libgcc|linux-vdso|\[vdso|libgomp|libomp"
    r"|libiomp|libsonde)"
)
_TORCH_LIBRARY = r"^(libtorch|libc10|_C\.|libshm|libgomp|libomp|libiomp)"


def kind_of_stacks(index: StackIndex) -> Array:
    """Code of the kind of each stack, as if it were on the CPU."""
    return kinds_of_stacks(index)[0]


def kinds_of_stacks(index: StackIndex) -> tuple[Array, Array]:
    """The same; and once more for a line's sake: page faults count to what writes there, functions are arithmetic."""
    if not len(index):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    where = index.frames_where
    python = where(layer="^python$")
    native = where(layer="^(native|jit|gpu)$")
    operators = where(layer="^op$")
    kernel_frames = where(KERNEL_NAME, layer="^native$") | where(layer="^(jit|gpu)$")
    own = _frame_kinds(index)
    levels = _levels(index)
    kind = np.full(len(index), CODES["python"], np.int64)

    def last(wanted: Mask, *others: Mask) -> Mask:
        """Stacks on which a frame of `wanted` stands below (is called by) all frames of the others."""
        rivals = wanted.copy()
        for other in others:
            rivals |= other
        at = index.innermost(rivals)
        return np.concatenate((wanted, [False]))[at]

    foreign = (
        where(layer="^native$")
        & ~where(library=_SYSTEM_LIBRARY)
        & ~where(library=_TORCH_LIBRARY)
        & ~where(library=_PYTHON_EXTENSION)
        & ~index.frames.text("library").equals("")
        & np.array([bool(v) for v in index.frames.text("library").tolist()], np.bool_)
    )
    numpy_frames = where(layer="^native$", library=_NUMPY_LIBRARY)
    numpy_random = where(layer="^native$", library=_NUMPY_RANDOM)
    kind[last(foreign, python, operators)] = CODES["native"]
    in_numpy = last(numpy_frames, python, operators)
    kind[in_numpy] = CODES["memory"]
    function = where(_FUNCTION, layer="^native$")
    kind[in_numpy & index.on_stack(function)] = CODES["arithmetic"]
    single = where(_NUMPY_PER_CALL, layer="^native$") | where(layer="^native$", library=_INTERPRETER)
    kind[in_numpy & last(single, python, operators, numpy_frames & ~single)] = CODES["python"]
    kind[last(numpy_random, python, operators)] = CODES["random"]

    level = np.concatenate((levels, [""]))[index.innermost(levels != "")]
    kind[np.isin(level, ("engine", "autograd"))] = CODES["autograd"]
    below_python = last(operators | (native & (levels != "")), python)
    kind[below_python & np.isin(level, ("binding", "dispatcher", "kernel", "dynamo", "aot", "generated"))] = (
        CODES["dispatch"]
    )
    operator = index.innermost(operators)
    of_operator = np.concatenate((_operator_kinds(index, operators), [-1]))[operator]
    copying = own == "copy"
    in_kernel = last(kernel_frames | copying, python) & (index.on_stack(kernel_frames) | (operator >= 0))
    plainly = np.isin(of_operator, [CODES[k] for k in ("random", "gather", "copies")])
    in_kernel |= plainly & (level == "kernel")
    in_kernel |= last(own == "kernel", python) & np.isin(level, ("library", "jit"))
    named = np.where(
        index.on_stack(where(MATH_NAME, layer="^(native|jit)$")), CODES["arithmetic"], CODES["memory"]
    )
    named = np.where(index.on_stack(where(_RANDOM, layer="^native$")), CODES["random"], named)
    kind = np.where(in_kernel, np.where(of_operator >= 0, of_operator, named), kind)
    kind[
        in_kernel & last(where(_REORDER, layer="^(native|jit)$"), python) & (kind == CODES["arithmetic"])
    ] = CODES["copies"]
    kind[in_kernel & index.on_stack(where(_RANDOM, layer="^native$"))] = CODES["random"]
    setting_up = where(_SET_UP, layer="^native$")
    kind[in_kernel & last(setting_up, python, kernel_frames, copying)] = CODES["dispatch"]
    kind[index.on_stack(where(_CONVERSION, layer="^native$")) & ~in_kernel] = CODES["copies"]
    before, allocating = kind.copy(), last(own == "allocation", python, kernel_frames)
    kind[allocating] = CODES["allocation"]
    # Descriptors and nodes are allocated because there is a call; only tensors are of a size that matters by itself.
    large = where(_TENSOR_MEMORY, layer="^native$") | where(layer="^kernel$")
    per_call = allocating & ~index.on_stack(large)
    of_work = np.where(per_call, np.where(operator >= 0, CODES["dispatch"], before), kind)
    # The account sets memory traffic against the bytes that operators move: there a function stays with its operator.
    of_work[(of_work == CODES["memory"]) & last(function, python, operators)] = CODES["arithmetic"]
    kind[index.on_stack(own == "fault")] = CODES["allocation"]
    looking = where(layer="^python$", file=_DEBUG_FILE) | where(_DEBUG_NAME, layer="^native$")
    for file, name in _DEBUG_FUNCTION.items():
        looking |= where(name, layer="^python$", file=file)
    for code, frames in (
        ("debugging", where(layer="^python$", file=_SHOWN_TENSOR)),
        ("io", where(_IO_NAME, layer="^native$") | where(_IO_SYSTEM, layer="^kernel$")),
        ("io", where(layer="^python$", file=_IO_FILE)),
        ("communication", where(COMMUNICATION, layer="^native$")),
        ("communication", where(layer="^python$", file=COMMUNICATION_FILE)),
        ("loading", where(layer="^python$", file=_LOADER_FILE) | where(NATIVE_LOADER, layer="^native$")),
        ("debugging", looking),
        ("gc", where(_GC, layer="^native$")),
        ("compiling", (levels == "compiling") | where(_GENERATES, layer="^native$")),
    ):
        on_behalf = index.on_stack(frames)
        kind[on_behalf] = of_work[on_behalf] = CODES[code]
    return kind, of_work


def kind_of_samples(samples: Table, stack: Array, of_stack: Array, faults: bool = True) -> Array:
    """Code of each sample's kind: its state and the reason of its wait first, else what its stack says.

    Without `faults`, waits for a page are what the stack says.
    """
    known = np.append(of_stack, CODES["native"])
    kind = known[stack]
    state, reason = samples.text("state"), samples.text("reason")
    waiting = state.equals("waiting")
    on_behalf = np.isin(kind, [CODES[k] for k in ("loading", "communication", "compiling")])
    free = waiting & ~on_behalf
    kind[free & ~(reason.equals("fault") & (not faults))] = CODES["waiting"]
    for word, code in (
        ("lock", "locks"),
        ("gil", "locks"),
        ("io", "io"),
        ("sleep", "sleep"),
        ("fault", "allocation"),
        ("idle", "barriers"),
    ):
        if faults or word != "fault":
            kind[free & reason.equals(word)] = CODES[code]
    kind[state.matches(("spinning", "imbalance"))] = CODES["barriers"]
    kind[waiting & reason.equals("preempted")] = CODES["taken"]
    return kind


def _frame_kinds(index: StackIndex) -> Array:
    frames = index.frames
    rows = zip(*(frames.text(c).tolist() for c in ("layer", "name", "library")), strict=True)
    return np.array([frame_kind(*row) for row in rows], np.str_)


def _levels(index: StackIndex) -> Array:
    frames = index.frames
    rows = zip(*(frames.text(c).tolist() for c in ("layer", "name", "library", "file")), strict=True)
    return np.array([frame_level(*row) or "" for row in rows], np.str_)


def _operator_kinds(index: StackIndex, operators: Mask) -> Array:
    names = index.frames.text("name")
    of_name = np.array(
        [CODES[operator_kind(re.sub(r"^\[\w+\] ", "", v))] for v in names.values] + [-1], np.int64
    )
    return np.where(operators, of_name[names.codes], -1)
