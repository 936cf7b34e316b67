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
        i32("local_rank", "rank among those of its host, -1 when unknown"),
        text("host", "name of the machine it ran on, null when unknown"),
        text(
            "job_role",
            "what it is for, by sonde.role() or the launcher: trainer, rollout, …; null when not said",
        ),
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

GROUPS = TableSpec(
    "groups",
    "a process group as one of its ranks knows it",
    (
        i32("group", "identity in this recording", refers="groups"),
        i32("process", "the process that knows it", refers="processes"),
        text(
            "name", "torch's name of it, the same on all its ranks: 0 is the default group; null when unknown"
        ),
        text("description", "what it is for, by the program: default_pg, mesh_dp, …"),
        text("backend", "gloo, nccl, …"),
        i32("rank", "rank of the process in the group, -1 when unknown"),
        text("ranks", "ranks of the job that are in it, JSON; null when unknown"),
    ),
)
