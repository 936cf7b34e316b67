"""Words and fixes for programs without Python, where a rule speaks of Python otherwise."""

from __future__ import annotations

from dataclasses import replace

from sonde.insights.model import Insight
from sonde.insights.subject import Subject

# Rule → its fix in C++. Rules that are not here advise variables, or what has the same name in both.
_FIXES = {
    "missing_inference_mode": "c10::InferenceMode guard;   // before the model's calls\nauto y = model->forward(x);",
    "debug_left_on": "torch::autograd::AnomalyMode::set_enabled(false);   // turn it on only to find a NaN",
    "denormals": "at::globalContext().setFlushDenormal(true);   // once, at the start",
    "dense_embedding_gradient": "torch::nn::Embedding(torch::nn::EmbeddingOptions(rows, width).sparse(true))",
    "conv_bias": "torch::nn::Conv2dOptions(in, out, size).bias(false)   // before BatchNorm2d",
    "fp64_by_accident": "x = x.to(torch::kFloat);   // and model->to(torch::kFloat)",
    "reorders": "model->to(torch::MemoryFormat::ChannelsLast);\nx = x.contiguous(torch::MemoryFormat::ChannelsLast);",
    "overhead_bound": "auto y = model->forward(torch::stack(rows));   // many rows in one call",
    "unfused_attention": "auto y = at::scaled_dot_product_attention(q, k, v, mask);",
    "cudnn_benchmark": "at::globalContext().setBenchmarkCuDNN(true);   // once; shapes must stay the same",
}


def overhead_words(subject: Subject) -> str:
    """What overhead consists of in this program."""
    return "dispatch and bookkeeping" if subject.native else "Python, dispatch and bookkeeping"


def in_its_language(insight: Insight, subject: Subject) -> Insight:
    """The same finding with a fix that can be copied into the program."""
    fix = _FIXES.get(insight.rule) if subject.native else None
    return replace(insight, fix=fix) if fix else insight
