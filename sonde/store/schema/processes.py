"""Who ran: processes and their threads."""

from sonde.store.schema.spec import TableSpec, i32, i64, text

PROCESSES = TableSpec(
    "processes",
    "a process of the job, or of the imported trace",
    (
        i32("process", "identity in this recording, 0 is the program itself", refers="processes"),
        i32("pid", "operating system pid"),
        i32("parent", "process that started it, -1 when outside the recording", refers="processes"),
        i32("rank", "distributed rank, -1 when there is none"),
        i32("world_size", "number of ranks of the job, -1 when unknown"),
        text("role", "main, rank, dataloader, child or imported"),
        text("command", "command line, or the name of the imported file"),
        text("runtime", "python 3.11.7, native, …"),
        text(
            "engine",
            "sampling engine in use: timer+kernel, perf+kernel, perf+timer, timer; null when not sampled",
        ),
        i64("start_ns", "first moment seen", "ns"),
        i64("end_ns", "last moment seen", "ns"),
        i32("exit_code", "exit code; -N when killed by signal N; -1000 when unknown"),
        i64("cpu_user_ns", "user CPU time by rusage, -1 when unknown", "ns"),
        i64("cpu_system_ns", "system CPU time by rusage, -1 when unknown", "ns"),
        i64("max_rss_bytes", "peak resident memory by rusage, -1 when unknown", "bytes"),
    ),
)

THREADS = TableSpec(
    "threads",
    "a thread of a process",
    (
        i32("thread", "identity in this recording", refers="threads"),
        i32("process", "its process", refers="processes"),
        i64("tid", "operating system thread id (or the id in an imported trace)"),
        text("kind", "main, omp, autograd, interop, dataloader, python, native or sonde"),
        text("name", "name by the program or the system"),
        i64("start_ns", "first moment seen", "ns"),
        i64("end_ns", "last moment seen", "ns"),
        i64("cpu_ns", "CPU time of the thread by its own clock, -1 when unknown", "ns"),
    ),
)
