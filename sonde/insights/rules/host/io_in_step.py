"""Rule 16, logging, printing or checkpointing in the step.

Condition: the stepping thread is in torch.save, print, logging, progress bars, SummaryWriter, write or
    fsync for at least 2 % of the step, in code that is not a DataLoader's.
Saving: that share, 80 to 100 % (every N-th step still pays).
Not for: reading of input (rules 18-22).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.host_layers import in_loader
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share
from sonde.insights.subject import Subject

LEAST_SHARE = 0.02  # catalogue, rule 16
WON_LOW = 0.8
FEWEST_FORCED, LEAST_UNSEEN = 2, 0.15  # samples in fsync, and wall time without samples (ours)
SAVING = (
    r"(^|\.)(save|_save|_legacy_save|safe_save_file|save_file|save_pretrained)$",
    r"torch/serialization|safetensors|transformers",
)
LOGGING = (r".", r"/logging/__init__\.py|tqdm/|tensorboard|wandb|/loguru/|/rich/|mlflow")
NATIVE_IO = (
    r"^(_?_?GI_)?(__libc_)?(write|pwrite|pwrite64|fsync|fdatasync|__fsync|msync)$|^_io_|^os_fsync|^_Py_write"
    r"|^builtin_print|^PyFile_Write|^iobase_|^bufferedwriter_|^textiowrapper_write|^_io_FileIO_write"
)


def judge(subject: Subject) -> Iterator[Finding]:
    loading = in_loader(subject)
    saving = subject.host_with(SAVING[0], layer="^python$", file=SAVING[1]) & ~loading
    logging = subject.host_with(LOGGING[0], layer="^python$", file=LOGGING[1])
    writing = subject.host_with(NATIVE_IO, layer="^native$") | logging
    writing &= ~loading & ~saving & ~_verbose(subject)
    for claim, what in ((saving, "Saving checkpoints"), (writing, "Logging and printing")):
        share = _with_waits(subject, claim)
        if share.low < LEAST_SHARE:
            continue
        lines = subject.lines(claim, 2)
        every = (
            "if step % 500 == 0:\n    torch.save(model.state_dict(), path)   # or checkpoint.async_save"
            if claim is saving
            else "if step % 50 == 0:\n    print(f'step {step} loss {loss.item():.4f}')   # no flush, "
            "no fsync per step"
        )
        place = f"# {lines[0].file.rpartition('/')[2]}:{lines[0].line}: not in every step\n" if lines else ""
        yield Finding(
            Insight(
                rule=RULE.name,
                title=f"{what} takes {share.middle:.0%} of each step",
                why="The step waits while data goes to a terminal or a disk.",
                evidence=(
                    Evidence(f"{share.middle:.1%} of the step is in writing and what prepares it"),
                    *lines,
                ),
                saving=subject.saving(share, WON_LOW),
                confidence="high",
                fix=place + every,
                experiment=Experiment("patch"),
            ),
            claim,
        )


def _with_waits(subject: Subject, claim: Mask) -> Share:
    """The share by samples; where files are forced to disk, with the short waits that no sample shows."""
    seen = subject.share(claim)
    forced = claim & subject.host_with(r"f(data)?sync|sync_file_range|msync")
    unseen = subject.host.unseen
    if int(forced.sum()) < FEWEST_FORCED or unseen < LEAST_UNSEEN:
        return seen
    rest = 1 - unseen
    return Share(min(seen.middle * rest + 0.9 * unseen, 1.0), seen.low * rest + 0.5 * unseen, 1.0, seen.looks)


def _verbose(subject: Subject) -> Mask:
    """Writing that a library does because its own log is on: rule 17's business."""
    return subject.host_with(r"dnnl::impl::verbose|verbose_printf|mkl_serv_print", layer="^native$")


RULE = Rule("io_in_step", 16, "samples in steady steps", judge, scope="cpu", breadth=0, way="less often")
